"""Which lines of a log are worth a closer look.

One scan per anchor over a block of text, in C. Anchors hold only characters that JSON and HTML leave alone, so
the scan finds them before anything is decoded. An anchor that a terminal or Markdown broke over two lines is
found by its beginning at a line's end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHORTEST_PART = 4
"""An anchor's first part at a line's end must be this long to count: shorter ones stand everywhere."""


def open_end(line: str) -> str:
    """The end of a line without the blanks, quotes and JSON's line feed that may close it."""
    return line.rstrip(" \t\r\"',`").removesuffix("\\n").rstrip()


class Prefilter:
    """Finds the lines of a block on which one of `anchors` stands, or begins."""

    def __init__(self, anchors: Iterable[str]) -> None:
        self.anchors = tuple(sorted(set(anchors)))
        self._beginnings: dict[str, list[str]] = {}
        for anchor in self.anchors:
            for cut in range(SHORTEST_PART, len(anchor)):
                self._beginnings.setdefault(anchor[:cut].rstrip(), []).append(anchor)
        self._longest = max(map(len, self._beginnings), default=0)

    def line_starts(self, block: str) -> list[int]:
        """Offsets in `block` at which the lines that matter begin, in order."""
        found: set[int] = set()
        for anchor in self.anchors:
            found.update(self._lines_with(block, anchor))
        found.update(self._broken(block))
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

    def _broken(self, block: str) -> Iterator[int]:
        start = 0
        while (end := block.find("\n", start)) >= 0:
            if any(self.split(open_end(block[max(start, end - self._longest - 8):end]), block[end + 1:end + 200])):
                yield start
            start = end + 1

    def split(self, before: str, after: str) -> Iterator[str]:
        """Anchors that begin at the end of `before` and go on at the start of `after`."""
        before = before[-self._longest:]
        candidates = (self._beginnings.get(before[cut:]) for cut in range(len(before) - SHORTEST_PART + 1))
        head = ""
        for anchors, cut in zip(candidates, range(len(before)), strict=False):
            for anchor in anchors or ():
                head = head or after.partition("\n")[0].lstrip(" \t>|│\"'`")
                rest = anchor[len(before) - cut:].lstrip()
                if rest and head.startswith(rest):
                    yield anchor
