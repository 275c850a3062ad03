from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from logparse import match, sources
from logparse.prefilter import Prefilter
from logparse.unwrap import RawLine
from tests.readings import FOLDERS, IDS, rows, text
from tests.wrap import hard, soft

if TYPE_CHECKING:
    from pathlib import Path

    from logparse.patterns import PatternSet

VLLM = "INFO 12-18 10:11:12 distributed_gpu_executor.py:57] "
BLOCKS = f"{VLLM}# GPU blocks: 61446, # CPU blocks: 4681"


def _figures(content: str) -> dict[str, float]:
    return {row["quantity"]: row["value"] for row in rows(content)}


def test_several_messages_on_one_line() -> None:
    line = f"{BLOCKS}{VLLM}Loading model weights took 14.2487 GB"
    assert _figures(line) == {"gpu_blocks": 61446, "cpu_blocks": 4681, "weights": 14.2487}


@pytest.mark.parametrize(
    ("value", "step"), [("12.34", "0.01"), ("12", "1"), ("1e3", "1000"), ("1.5e-3", "0.0001"), ("0.10", "0.01")]
)
def test_last_digit(value: str, step: str) -> None:
    assert float(match.last_digit(value)) == float(step)


def test_absurd_numbers_are_not_read() -> None:
    assert _figures(f"{VLLM}# GPU blocks: {'9' * 5000}, # CPU blocks: 4681").get("gpu_blocks") is None


class _Everything(Prefilter):
    """Lets every line through."""

    def line_starts(self, block: str, tail: str = "") -> list[int]:
        del tail
        return [0, *(at + 1 for at, char in enumerate(block) if char == "\n" and at + 1 < len(block))]


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_the_prefilter_loses_nothing(folder: Path, known: PatternSet) -> None:
    naive = replace(known)
    vars(naive)["prefilter"] = _Everything(known.by_anchor)
    for content in (text(folder), "\n".join(hard(text(folder).split("\n"), 100))):
        filtered = list(match.events(sources.from_text(content), known))
        assert filtered == list(match.events(sources.from_text(content), naive))


def _wrapped(folder: Path, width: int) -> str:
    return "\n".join(hard(text(folder).replace("\r", "").split("\n"), width))


class TestWrapped:
    """A wrapped message is read right or not at all: never a number that was cut in two."""

    @pytest.mark.parametrize("width", [*range(45, 100, 5), 145])
    @pytest.mark.parametrize("folder", FOLDERS[:6] + FOLDERS[-6:], ids=IDS[:6] + IDS[-6:])
    def test_by_a_terminal(self, folder: Path, width: int) -> None:
        content = text(folder).replace("\r", "")
        whole = {(r["quantity"], r["value"], r["at"]) for r in rows(content)}
        wrapped = {(r["quantity"], r["value"], r["at"]) for r in rows(_wrapped(folder, width))}
        assert wrapped <= whole

    @pytest.mark.parametrize("width", [80, 145])
    @pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
    def test_most_is_read_from_a_terminal(self, folder: Path, width: int) -> None:
        assert len(rows(_wrapped(folder, width))) >= 0.9 * len(rows(text(folder).replace("\r", "")))

    @pytest.mark.parametrize("mark", ["", "> "])
    @pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
    def test_at_spaces(self, folder: Path, mark: str) -> None:
        content = text(folder).replace("\r", "")
        whole = [(r["quantity"], r["value"], r["at"]) for r in rows(content)]
        wrapped = [(r["quantity"], r["value"], r["at"]) for r in rows("\n".join(soft(content.split("\n"), 90, mark)))]
        known = {quantity for quantity, _, _ in whole}
        assert not [row for row in set(wrapped) - set(whole) if row[0] in known]
        assert len(wrapped) >= 0.9 * len(whole)

    @pytest.mark.parametrize("width", range(58, len(BLOCKS)))
    def test_every_cut_of_one_message(self, width: int) -> None:
        figures = _figures("\n".join(hard([BLOCKS], width)))
        assert set(figures.items()) <= {("gpu_blocks", 61446), ("cpu_blocks", 4681)}

    def test_numbers_are_put_together_where_the_width_is_known(self) -> None:
        width = len(BLOCKS) - 2
        other = f"{VLLM}{'x' * 200}"
        figures = _figures("\n".join(hard([other, other, BLOCKS, other], width)))
        assert figures == {"gpu_blocks": 61446, "cpu_blocks": 4681}

    def test_a_next_line_that_begins_with_a_number(self) -> None:
        assert _figures(f"{BLOCKS}\n2025-01-01 12:00:00 started\n")["cpu_blocks"] == 4681
        assert _figures(f"{BLOCKS}\n10.0.0.7 - GET /health\n")["cpu_blocks"] == 4681
        assert "cpu_blocks" not in _figures(f"{BLOCKS}\n12\n")

    def test_settings_fill_many_lines(self, known: PatternSet) -> None:
        folder = next(f for f in FOLDERS if f.name.startswith("0.8.5"))
        content = "\n".join(hard(text(folder).replace("\r", "").split("\n"), 80))
        found = [e for e in match.events(sources.from_text(content), known) if e.text("settings:resolved")]
        assert "max_capture_size" in str(found[0].text("settings:resolved"))


def test_a_message_that_goes_on_names_the_line_of_each_number(known: PatternSet) -> None:
    first, second = BLOCKS[:-4].rstrip(), BLOCKS[-4:]
    found = match.match_lines([RawLine(3, first), RawLine(4, second)], 0, known)
    lines = {r.quantity: r.line for event in found for r in event.readings}
    assert lines == {"gpu_blocks": 3, "cpu_blocks": 4}
