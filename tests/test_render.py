"""Text and Markdown: what a log says must not become markup, colour or layout."""

from __future__ import annotations

from itertools import pairwise

import logparse
from tests.logs import SGLANG, vllm

HOSTILE = "<script>alert(1)</script> [bold red]x[/] `code` | pipe \x1b[31mred\x1b[0m \u202e @someone [a](http://b)"


def made(text: str) -> logparse.Report:
    return logparse.reconcile(logparse.parse_text(text))


def hostile() -> logparse.Report:
    return made(
        vllm(arguments=f"'model': '{HOSTILE}'")
        + f"(EngineCore pid=2) ERROR 01-01 00:00:00 [core.py:1] ValueError: {HOSTILE}\n"
    )


def test_text_has_no_control_characters() -> None:
    text = hostile().to_text()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold red]x" in text, "rich markup of a log is shown, not followed"


def test_markdown_places_no_markup_of_the_log() -> None:
    text = hostile().to_markdown()
    outside_code = "\n".join(
        line for i, part in enumerate(text.split("```")) if i % 2 == 0 for line in part.split("\n")
    )
    assert "<script>" not in outside_code.replace("\\<script\\>", "")
    assert "\x1b" not in text


def test_color_only_when_asked_for() -> None:
    report = made(SGLANG)
    assert "\x1b[" not in report.to_text()
    assert "\x1b[" in report.to_text(color=True)


def test_every_number_of_the_ledger_is_gib_and_no_gb_is_printed() -> None:
    text = made(SGLANG).to_text()
    assert " GB" not in text


def test_lines_are_named() -> None:
    text = made(SGLANG).to_text()
    weights = next(line for line in text.splitlines() if line.strip().startswith("weights"))
    assert "[3]" in weights


def test_markdown_tables_have_even_columns() -> None:
    lines = made(SGLANG).to_markdown().splitlines()
    for above, below in pairwise(lines):
        if above.startswith("|") and below.startswith("|"):
            assert above.replace("\\|", "").count("|") == below.replace("\\|", "").count("|"), (above, below)
