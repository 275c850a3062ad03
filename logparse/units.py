"""Printed numbers as exact intervals.

A log prints a rounded figure in some unit. `Interval` keeps what that figure can stand for: every value that
would have been printed the same way. Sums and differences of intervals are intervals again, so a comparison
never needs a tolerance: two numbers agree when their intervals overlap.

Arithmetic is done in `Fraction`, so a step of 0.01 GiB is exactly that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from logparse.errors import PatternError

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40

# What one of the unit is in bytes. "GB" and "MB" are decimal here, always: where an engine prints
# "GB" and means 2**30, its pattern says "GiB".
BYTES: dict[str, int] = {
    "B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
}  # fmt: skip
OTHER_UNITS = frozenset(
    {"tokens", "blocks", "slots", "requests", "s", "%", "x", "1", "tokens/s", "B/token", "layers", "graphs"}
)


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`, both included. Unit: whatever the caller says, mostly bytes."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"interval runs backwards: {self.low} > {self.high}")

    @classmethod
    def exactly(cls, value: int | Fraction) -> Interval:
        """A value that is known without rounding."""
        return cls(Fraction(value), Fraction(value))

    @classmethod
    def printed(cls, value: str | Fraction, step: str | Fraction, unit: int = 1) -> Interval:
        """What a figure printed to the nearest `step` can stand for, times `unit`."""
        middle, half = Fraction(value), Fraction(step) / 2
        return cls((middle - half) * unit, (middle + half) * unit)

    @property
    def middle(self) -> Fraction:
        """The centre of the interval."""
        return (self.low + self.high) / 2

    def overlaps(self, other: Interval) -> bool:
        """True where some value lies in both."""
        return self.low <= other.high and other.low <= self.high

    def __contains__(self, value: int | Fraction) -> bool:
        return self.low <= value <= self.high

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        if 0 in other:
            raise ZeroDivisionError("the divisor may be zero")
        return self * Interval(1 / other.high, 1 / other.low)


def total(parts: list[Interval]) -> Interval:
    """Sum of intervals; of none, exactly zero."""
    return sum(parts, Interval.exactly(0))


_SIZE = re.compile(r"(\d{1,3}(?:[,_]\d{3})+|\d{1,20})(?:\.(\d{1,20}))?\s*([A-Za-z]*)", re.ASCII)
_SUFFIXES = {name.lower(): size for name, size in BYTES.items()} | {
    short + i: size for short, size in (("k", KIB), ("m", MIB), ("g", GIB), ("t", TIB)) for i in ("", "i")
}


def size_interval(text: str) -> Interval:
    """Read a size such as `22.06GiB`, `24 GB` or `1073741824` and keep what its last decimal leaves open.

    A size without decimals is taken as exact. `GB` is 10**9 bytes; `G` and `Gi` are 2**30.

    Raises:
        ValueError: `text` is not a positive size.
    """
    found = _SIZE.fullmatch(text.strip())
    unit = _SUFFIXES.get((found[3] or "B").lower()) if found else None
    if not found or unit is None:
        raise ValueError(f"{text!r} is not a size; write it as 22.06GiB")
    whole, decimals = re.sub("[,_]", "", found[1]), found[2] or ""
    if not int(whole + decimals):
        raise ValueError(f"{text!r} is not a positive size")
    step = f"1/{10 ** len(decimals)}" if decimals else "0"
    return Interval.printed(f"{whole}.{decimals or 0}", step, unit)


def unit_bytes(unit: str) -> int | None:
    """Bytes in one of `unit`, or None where it is not a size.

    Raises:
        PatternError: the unit is unknown.
    """
    if unit in BYTES:
        return BYTES[unit]
    if unit in OTHER_UNITS:
        return None
    raise PatternError(f"unknown unit {unit!r}; known are {', '.join([*BYTES, *sorted(OTHER_UNITS)])}")


def gib(size: int | Fraction) -> str:
    """Bytes as GiB with two decimals, rounded half away from zero, as reports print them."""
    hundredths = abs(Fraction(size)) * 100 / GIB
    whole = int(hundredths + Fraction(1, 2))
    sign = "-" if size < 0 and whole else ""
    return f"{sign}{whole // 100:,}.{whole % 100:02d}"
