from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logparse.errors import PatternError
from logparse.units import GIB, MIB, Interval, gib, size_interval, total, unit_bytes

numbers = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=1000)
intervals = st.tuples(numbers, numbers).map(lambda pair: Interval(min(pair), max(pair)))


def test_a_printed_figure_stands_for_all_that_print_alike() -> None:
    printed = Interval.printed("5.0", "0.01", GIB)
    assert printed.low == Fraction("4.995") * GIB
    assert printed.high == Fraction("5.005") * GIB
    assert printed.middle == 5 * GIB


def test_counts_are_exact() -> None:
    assert Interval.printed("273563", "0") == Interval.exactly(273563)


@given(intervals, intervals)
def test_sum_and_difference_hold_every_member(one: Interval, two: Interval) -> None:
    assert one.low + two.high in one + two
    assert one.high - two.low in one - two
    assert (one - two).low == one.low - two.high


@given(intervals, intervals)
def test_product_holds_every_member(one: Interval, two: Interval) -> None:
    assert one.middle * two.middle in one * two


@given(intervals, intervals)
def test_overlap_is_mutual(one: Interval, two: Interval) -> None:
    assert one.overlaps(two) == two.overlaps(one)


def test_quotient() -> None:
    assert Interval.exactly(9) / Interval(Fraction(2), Fraction(3)) == Interval(Fraction(3), Fraction(9, 2))
    with pytest.raises(ZeroDivisionError):
        Interval.exactly(1) / Interval(Fraction(-1), Fraction(1))


def test_intervals_do_not_run_backwards() -> None:
    with pytest.raises(ValueError, match="backwards"):
        Interval(Fraction(2), Fraction(1))


def test_total_of_none_is_zero() -> None:
    assert total([]) == Interval.exactly(0)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("22.06GiB", round(Fraction("22.06") * GIB)),
        ("24 GB", 24 * 10**9),
        ("80g", 80 * GIB),
        ("22Gi", 22 * GIB),
        ("1,024 MiB", 1024 * MIB),
        ("25769803776", 25769803776),
        (" 0.5 TiB ", 512 * GIB),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert round(size_interval(text).middle) == size


@pytest.mark.parametrize("text", ["", "GiB", "0", "0.00 GiB", "-1 GiB", "22,06GiB", "1e3", "1/3", "nan", "24 apples"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        size_interval(text)


def test_decimals_leave_a_size_open() -> None:
    assert size_interval("22.06GiB") == Interval.printed("22.06", "0.01", GIB)
    assert size_interval("22GiB") == Interval.exactly(22 * GIB)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0.00"), (GIB, "1.00"), (-GIB // 2, "-0.50"), (1234 * GIB, "1,234.00"), (-1, "0.00"), (GIB // 201, "0.00")],
)
def test_gib(size: int, text: str) -> None:
    assert gib(size) == text


def test_gib_rounds_half_away_from_zero() -> None:
    assert gib(Fraction(GIB, 200)) == "0.01"
    assert gib(-Fraction(GIB, 200)) == "-0.01"


def test_units() -> None:
    assert unit_bytes("GiB") == GIB
    assert unit_bytes("tokens") is None
    with pytest.raises(PatternError, match="unknown unit"):
        unit_bytes("furlong")
