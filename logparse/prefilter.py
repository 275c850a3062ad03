"""Which lines of a log are worth a closer look.

One scan per anchor over a block of text, in C. Anchors hold only characters that JSON and HTML leave alone, so
the scan finds them before anything is decoded. An anchor that a terminal or Markdown broke over two lines is
found by its beginning at a line's end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CLOSING, REST = 8, 200
"""Characters that may close a broken line, and those of the next line that may go on with an anchor."""


def open_end(line: str) -> str:
    """The end of a line without the blanks, quotes and JSON's line feed that may close it."""
    return line.rstrip(" \t\r\"',`").removesuffix("\\n").rstrip()


class Prefilter:
    """Finds the lines of a block on which one of `anchors` stands, or begins."""

    def __init__(self, anchors: Iterable[str]) -> None:
        self.anchors = tuple(sorted(set(anchors)))
        self._beginnings: dict[str, dict[str, None]] = {}
        self._rests: set[str] = set()
        for anchor in self.anchors:
            for cut in range(1, len(anchor)):
                self._beginnings.setdefault(anchor[:cut].rstrip(), {})[anchor] = None
                self._rests.add(anchor[cut:].lstrip()[:3])
        self._longest = max(map(len, self._beginnings), default=0)
        self._unfinished = tuple(anchor.rstrip() for anchor in self.anchors if anchor.endswith(" "))
        """What is left of an anchor whose last blank was lost."""

    def line_starts(self, block: str, tail: str = "") -> list[int]:
        """Offsets in `block` at which the lines that matter begin, in order; `tail` is what follows the block."""
        found: set[int] = set()
        for anchor in self.anchors:
            found.update(self._lines_with(block, anchor))
        found.update(self._broken(block, tail))
        return sorted(found)

    @staticmethod
    def _lines_with(block: str, anchor: str) -> Iterator[int]:
        at = block.find(anchor)
        while at >= 0:
            yield block.rfind("\n", 0, at) + 1
            end = block.find("\n", at)
            if end < 0:
                return
            at = block.find(anchor, end)

    def _broken(self, block: str, tail: str) -> Iterator[int]:
        start, reach = 0, self._longest + CLOSING
        while (end := block.find("\n", start)) >= 0:
            head = _head(block[end + 1 : end + REST] or tail[:REST])
            before = open_end(block[max(start, end - reach) : end])
            goes_on = head[:3] in self._rests or head[:2] in self._rests or head[:1] in self._rests
            if (goes_on or before.endswith(self._unfinished)) and any(self.split(before, head)):
                yield start
            start = end + 1

    def split(self, before: str, after: str) -> Iterator[str]:
        """Anchors that begin at the end of `before` and go on at the start of `after`."""
        before, head = before[-self._longest :], _head(after)
        if not head:
            return
        for at in range(len(before)):
            for anchor in self._beginnings.get(before[at:], ()):
                if head.startswith(anchor[len(before) - at :].lstrip()):
                    yield anchor


def _head(text: str) -> str:
    return text.partition("\n")[0].lstrip(" \t>|│\"'`")
