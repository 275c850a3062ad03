from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from logparse import patterns, selfcheck
from logparse.errors import PatternError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from logparse.patterns import PatternSet

GOOD = """
schema = 1
engine = "toy"
[[pattern]]
name = "loaded"
releases = ["1.0.0.."]
phase = "load"
anchor = "loading took"
regex = '''loading took (?<weights>\\d++\\.\\d++) GiB'''
[pattern.field]
weights = { quantity = "weights", unit = "GiB", step = "0.01" }
[[pattern.sample]]
line = "loading took 5.01 GiB"
expect = { weights = "5.01" }
[[pattern.reject]]
line = "loading took ages"
"""


def _load(folder: Path, text: str) -> PatternSet:
    (folder / "toy").mkdir(exist_ok=True)
    (folder / "toy" / "load.toml").write_text(text, "utf-8")
    return patterns.load(folder)


def test_the_shipped_sets_have_no_fault(known: PatternSet) -> None:
    assert selfcheck.check(known) == []


def test_every_pattern_of_a_release_names_it(known: PatternSet) -> None:
    for pattern in known.patterns:
        assert pattern.releases.spans or pattern.engine == "common", pattern.id


def test_a_good_set(tmp_path: Path) -> None:
    known = _load(tmp_path, GOOD)
    assert selfcheck.check(known) == []
    assert known.get("toy/loaded") is known.get("loaded")
    with pytest.raises(UsageError, match="no single pattern is called 'x'"):
        known.get("x")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("schema = 1", "", "schema = 1 is missing"),
        ("schema = 1", "schema =", "is not valid TOML"),
        ('phase = "load"', 'phase = "lunch"', "phase is 'lunch'"),
        ('phase = "load"', 'phase = "load"\nmarks = "x"', "marks is 'x'"),
        ('phase = "load"', 'phase = "load"\ncolour = "red"', "unknown keys colour"),
        ('phase = "load"', "", "lacks phase"),
        ('"loading took"\nregex', '"took"\nregex', "anchor 'took'"),
        ('"loading took"\nregex', '"loading \\"took"\nregex', "anchor"),
        ('["1.0.0.."]', '["1.x.."]', "is not a range"),
        ('quantity = "weights"', 'quantity = "heights"', "unknown quantity 'heights'"),
        ('quantity = "weights", unit = "GiB"', 'quantity = "weights", unit = "s"', "does not fit"),
        ('quantity = "weights", unit = "GiB"', 'quantity = "weights", unit = "furlong"', "unknown unit"),
        ('quantity = "weights", unit', "unit", "must have one of"),
    ],
)
def test_bad_sets_are_refused(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in GOOD
    with pytest.raises(PatternError, match=fault):
        _load(tmp_path, GOOD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("(?<weights>", "(?<heights>", "but not in both"),
        ("(?<weights>", "(((?<weights>", "does not compile"),
        ('line = "loading took 5.01 GiB"', 'line = "loading took"', "does not match its sample"),
        ('line = "loading took 5.01 GiB"', 'line = "Loading took 5.01 GiB"', "the anchor 'loading took' is not in"),
        ('weights = "5.01"', 'weights = "5.02"', "expected '5.02'"),
        ('expect = { weights = "5.01" }', "", "appear in no sample"),
        ('"loading took ages"', '"loading took 1.00 GiB"', "matches its reject"),
    ],
)
def test_faults_are_found(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in GOOD
    faults = selfcheck.check(_load(tmp_path, GOOD.replace(old, new, 1)))
    assert any(fault in found for found in faults), faults


def test_two_patterns_of_one_name(tmp_path: Path) -> None:
    again = GOOD.partition("[[pattern]]")[2]
    with pytest.raises(PatternError, match="two patterns are called toy/loaded"):
        _load(tmp_path, f"{GOOD}\n[[pattern]]{again}")


def test_a_tie_with_other_facts_is_a_fault(tmp_path: Path) -> None:
    again = GOOD.partition("[[pattern]]")[2].replace('"loaded"', '"other"').replace('"weights"', '"checkpoint"')
    faults = selfcheck.check(_load(tmp_path, f"{GOOD}\n[[pattern]]{again}"))
    assert any("ties with toy/other" in fault for fault in faults), faults


def test_the_digest_names_the_sets(tmp_path: Path) -> None:
    first = _load(tmp_path, GOOD).digest
    assert first == _load(tmp_path, GOOD).digest
    assert first != _load(tmp_path, GOOD + "\n# more").digest
