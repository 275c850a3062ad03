"""Lines that look like memory and were not read: what a report must own up to.

What such a line looks like is data (`patterns/unread.toml`). Lines that differ only in their digits are one.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from logparse import unwrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logparse.match import Event
    from logparse.patterns import PatternSet
    from logparse.sources import Block

BEFORE, BEHIND = 500, 200
"""Characters around a figure that are looked at: a line may be a whole file."""
NEAR = 160
"""Characters around a figure in which its topic stands."""
LAG = 3
"""Blocks after which all messages of a block are known, also those that go over its end."""
MOST = 1000
"""Shapes that are kept of one source."""
LONGEST_TEXT = 300
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that looks like memory and was not read, and how often one like it stands in the log."""

    source: str
    line: int
    text: str
    times: int = 1
    near: tuple[str, ...] = ()
    """Ids of the patterns whose anchor stands on it: their message is damaged, or changed."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    line: int
    figure: str
    text: str


@dataclass
class Gatherer:
    """Is shown the blocks and the events of one source, and tells what was not read."""

    source: str
    patterns: PatternSet
    _pending: deque[list[_Candidate]] = field(default_factory=deque)
    _read: dict[int, list[str]] = field(default_factory=dict)
    _found: dict[str, Unread] = field(default_factory=dict)

    def see(self, block: Block) -> None:
        """Look for figures in a block that is about to be read."""
        self._pending.append(list(self._candidates(block)))
        if len(self._pending) > LAG:
            self._settle(self._pending.popleft())

    def cover(self, event: Event) -> None:
        """Remember what was read on which lines."""
        for number in range(event.line.number, event.until[0] + 1):
            self._read.setdefault(number, []).append(event.line.text)

    def found(self) -> list[Unread]:
        """What was not read, in the order of its first lines; call it when the source is at its end."""
        while self._pending:
            self._settle(self._pending.popleft())
        return sorted(self._found.values(), key=lambda unread: unread.line)

    def _candidates(self, block: Block) -> Iterator[_Candidate]:
        looks, text = self.patterns.unread, block.text
        number, counted = block.first, 0
        for found in looks.figure.finditer(text):
            start, end = found.span()
            number += text.count("\n", counted, start)
            counted = start
            first = max(text.rfind("\n", 0, start) + 1, start - BEFORE)
            last = text.find("\n", end, end + BEHIND)
            last = last if last >= 0 else end + BEHIND
            near = text[max(first, start - NEAR) : min(last, end + NEAR)]
            if looks.apply_to(text[first:last], near):
                yield _Candidate(number, found[0], text[first:last])

    def _settle(self, candidates: list[_Candidate]) -> None:
        for candidate in candidates:
            if not any(candidate.figure in text for text in self._read.get(candidate.line, ())):
                self._put(candidate)
        if candidates:
            settled = candidates[-1].line
            self._read = {number: texts for number, texts in self._read.items() if number >= settled}

    def _put(self, candidate: _Candidate) -> None:
        text = self._decoded(candidate).strip()[:LONGEST_TEXT]
        shape = _DIGITS.sub("0", text)
        if old := self._found.get(shape):
            self._found[shape] = old if old.line == candidate.line else replace(old, times=old.times + 1)
        elif len(self._found) < MOST:
            near = tuple(p.id for anchor, group in self.patterns.by_anchor.items() if anchor in text for p in group)
            self._found[shape] = Unread(self.source, candidate.line, text, near=near)

    def _decoded(self, candidate: _Candidate) -> str:
        """The message, out of the quotes that a wrapper may have put it in."""
        parts = unwrap.decode(candidate.text, (candidate.figure,))
        whole = (part for part in parts if candidate.figure in part and self.patterns.unread.apply_to(part, part))
        return next(whole, None) or next(iter(unwrap.decode(candidate.text)), "")
