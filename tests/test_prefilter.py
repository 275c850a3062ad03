from __future__ import annotations

import pytest

from logparse.prefilter import Prefilter, open_end

ANCHORS = ("Available KV cache memory", "GPU blocks: ", "took ")
FILTER = Prefilter(ANCHORS)


def _lines(block: str, tail: str = "") -> list[str]:
    return [block[start:].partition("\n")[0] for start in FILTER.line_starts(block, tail)]


def test_lines_with_an_anchor() -> None:
    block = "a\nx Available KV cache memory: 1 took 2\nb\ntook 3\n"
    assert _lines(block) == ["x Available KV cache memory: 1 took 2", "took 3"]


def test_first_and_last_line() -> None:
    assert _lines("took 1\nb\ntook 2") == ["took 1", "took 2"]
    assert _lines("") == []


@pytest.mark.parametrize("cut", range(1, 25))
def test_an_anchor_broken_over_two_lines(cut: int) -> None:
    anchor = ANCHORS[0]
    assert _lines(f"a\nx {anchor[:cut]}\n{anchor[cut:]}: 1\n") == [f"x {anchor[:cut]}"]


def test_an_anchor_broken_at_the_end_of_a_block() -> None:
    assert _lines("a\nAvailable KV\n", "cache memory: 1\n") == ["Available KV"]
    assert _lines("a\nAvailable KV\n", "nothing\n") == []


def test_marks_of_a_quote_stand_between() -> None:
    assert _lines("> Available KV\n> cache memory: 1\n") == ["> Available KV"]


@pytest.mark.parametrize(
    ("line", "text"), [("took 1 \r", "took 1"), ('"took 1\\n",', '"took 1'), ("`took 1`", "`took 1")]
)
def test_open_end(line: str, text: str) -> None:
    assert open_end(line) == text


def test_no_anchors() -> None:
    assert Prefilter(()).line_starts("a\nb\n") == []
