"""Order of engine releases, and ranges of them such as `0.9.1..0.13.0` or `0.14.0..`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

from logparse.errors import PatternError

_VERSION = re.compile(
    r"v?(?P<release>\d{1,9}(?:\.\d{1,9}){1,3})"
    r"(?:[._-]?(?P<stage>rc|post|dev|a|b)(?P<number>\d{0,9}))?"
    r"(?:\.?dev(?P<dev>\d{1,9}))?"
    r"(?:\+(?P<local>[\w.-]+))?"
)
_NO_DEV = 10**9
_STAGES = {"dev": -4, "a": -3, "b": -2, "rc": -1, "": 0, "post": 1}


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """An engine release as printed; the local part (`+faa43dbf`) does not take part in the order."""

    text: str
    key: tuple[tuple[int, ...], int, int, int]

    @classmethod
    def parse(cls, text: str) -> Version | None:
        """Read a version, or return None where `text` is not one."""
        found = _VERSION.fullmatch(text.strip())
        if not found:
            return None
        release = tuple(int(part) for part in found["release"].split("."))
        stage, number, dev = found["stage"] or "", found["number"], found["dev"]
        return cls(
            text.strip().removeprefix("v"),
            (release + (0,) * (4 - len(release)), _STAGES[stage], int(number or 0), int(dev) if dev else _NO_DEV),
        )

    @property
    def final(self) -> Version:
        """The release that this candidate or development build leads to, or itself."""
        release, stage, *_ = self.key
        return self if stage >= 0 else Version(self.text, (release, 0, 0, 0))

    @property
    def is_release(self) -> bool:
        """False for a candidate, a nightly or a development build: what it prints lies between two releases."""
        _, stage, _, dev = self.key
        return stage >= 0 and dev == _NO_DEV

    def __lt__(self, other: Version) -> bool:
        return self.key < other.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Releases:
    """Closed ranges of releases; an open end means that the wording still holds."""

    spans: tuple[tuple[Version | None, Version | None], ...]

    @classmethod
    def parse(cls, ranges: list[str]) -> Releases:
        """Read `["0.4.0..0.7.3", "0.14.0.."]`.

        Raises:
            PatternError: a part is not a range of versions, or runs backwards.
        """
        return cls(tuple(_span(part) for part in ranges))

    def __contains__(self, version: Version) -> bool:
        """A candidate or a development build counts as the release that it leads to."""
        version = version.final
        return any((low is None or low <= version) and (high is None or version <= high) for low, high in self.spans)

    def meets(self, other: Releases) -> bool:
        """True where some release may lie in both."""
        return bool(self.intersect(other).spans)

    def intersect(self, other: Releases) -> Releases:
        """Ranges that lie in both."""
        both = []
        for low, high in self.spans:
            for other_low, other_high in other.spans:
                first = max((v for v in (low, other_low) if v), default=None)
                last = min((v for v in (high, other_high) if v), default=None)
                if first is None or last is None or first <= last:
                    both.append((first, last))
        return Releases(tuple(both))

    def __str__(self) -> str:
        return ", ".join(_spelled(low, high) for low, high in self.spans)


def _spelled(low: Version | None, high: Version | None) -> str:
    return f"{low or ''}..{high or ''}" if low is None or low != high else str(low)


def _span(part: str) -> tuple[Version | None, Version | None]:
    low, dots, high = part.partition("..")
    ends = [Version.parse(end) if end else None for end in (low, high if dots else low)]
    for text, end in zip((low, high), ends, strict=True):
        if text and end is None:
            raise PatternError(f"{part!r} is not a range of releases; write it as '0.9.1..0.13.0' or '0.14.0..'")
    first, last = ends
    if first and last and last < first:
        raise PatternError(f"the range {part!r} ends before it begins")
    return first, last
