"""Lines that look like memory and were not read are told."""

from __future__ import annotations

import pytest

import logparse
from logparse import unread
from tests.logs import SGLANG, vllm

PREFIX = "(EngineCore pid=2) INFO 11-20 10:11:12 [new.py:7] "
NEW = "Quantum cache arena takes 3.25 GiB"


def left(*lines: str) -> list[tuple[int, str, int]]:
    text = vllm() + "".join(f"{line}\n" for line in lines)
    return [(u.line, u.text, u.times) for u in logparse.parse_text(text).lines_unread]


def test_everything_is_read_of_a_usual_log() -> None:
    assert left() == []
    assert logparse.parse_text(SGLANG).lines_unread == ()


def test_a_new_wording_is_told_with_its_line() -> None:
    first = vllm().count("\n") + 1
    assert left(PREFIX + NEW) == [(first, PREFIX + NEW, 1)]


def test_lines_that_differ_in_digits_are_one() -> None:
    [(_, text, times)] = left(PREFIX + NEW, PREFIX + NEW.replace("3.25", "11.5"), PREFIX + NEW.replace("3.25", "7"))
    assert (text, times) == (PREFIX + NEW, 3)


def test_a_damaged_message_names_the_pattern_that_it_resembles() -> None:
    text = vllm() + PREFIX + "Available KV cache memory (changed): 3.25 GiB\n"
    [found] = logparse.parse_text(text).lines_unread
    assert "vllm/kv_cache_available" in found.near


@pytest.mark.parametrize(
    "wrap", ['{{"log":"{}\\n","stream":"stderr"}}', '"{}\\n",', "\x1b[32m{}\x1b[0m", "vllm-1  | {}"]
)
def test_wrapped_lines_are_told_too(wrap: str) -> None:
    [(_, text, _)] = left(wrap.format(PREFIX + NEW))
    assert text.endswith(NEW)


@pytest.mark.parametrize(
    "line",
    [
        "Downloading torch-2.9.0.whl (899.7 MB) into the pip cache",
        "Our card has 24 GB of memory, so the weights fit.",
        "| cache | 24 GiB |",
        '    logger.info("Quantum cache arena takes 3.25 GiB")',
        PREFIX + "Received request cmpl-1: prompt: 'how much memory is 3.25 GiB of cache?'",
        "model.safetensors: 100%|██████████| 3.09G/3.09G [00:12<00:00, 250MB/s] weights",
    ],
)
def test_what_is_no_engines_line_is_not_told(line: str) -> None:
    assert left(line) == []


def test_a_message_over_two_blocks_counts_as_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from logparse import sources

    whole = logparse.parse_text(SGLANG)
    for size in (64, 100, 333):
        monkeypatch.setattr(sources, "BLOCK", size)
        again = logparse.parse_text(SGLANG)
        assert again.lines_unread == whole.lines_unread


def test_frame_and_report_carry_them() -> None:
    text = vllm() + PREFIX + NEW + "\n"
    log = logparse.parse_text(text)
    assert list(log.unread.columns) == ["source", "line", "text", "times", "near"]
    report = logparse.reconcile(log)
    assert NEW in report.to_text()
    assert NEW in report.to_markdown()
    assert logparse.Report.from_json(report.to_json()) == report


def test_long_logs_keep_few_shapes() -> None:
    words = ["".join(chr(97 + int(d)) for d in f"{i:05d}") for i in range(unread.MOST + 50)]
    text = vllm() + "".join(f"{PREFIX}{word} cache takes 3.25 GiB\n" for word in words)
    assert len(logparse.parse_text(text).lines_unread) == unread.MOST
