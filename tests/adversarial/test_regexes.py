"""No expression of a pattern set runs away, whatever a log holds.

Every pattern is run over text made of its own samples, repeated and cut so that it nearly matches again and
again. The time may grow with the length of the text, not with its square.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from logparse import patterns, redact, settings, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import regex

    from logparse.patterns import Pattern

KNOWN = patterns.default()
LENGTH = 20_000
SECONDS = 2.0
"""Of this process, whatever else the machine does. A linear search takes a few milliseconds, a quadratic one many
seconds."""


def _seeds(line: str) -> Iterator[str]:
    yield line[: len(line) // 2]
    yield line[:-1]
    yield line[len(line) // 2 :]
    for word in sorted({*line.split()}, key=len)[-2:]:
        yield f"{word} "
    yield "".join(char for char in line if char.isdigit()) or "1"
    yield "".join(char for char in line if not char.isalnum()) or " "


def _texts(line: str) -> Iterator[str]:
    for seed in _seeds(line):
        yield (seed * (LENGTH // max(1, len(seed)) + 1))[:LENGTH]
    middle = line[len(line) // 2 : len(line) // 2 + 1]
    yield line[: len(line) // 2] + middle * LENGTH
    yield line[:-3] + "9" * LENGTH
    yield line[:-3] + " " * LENGTH


def _slow(expression: regex.Pattern[str], texts: Iterator[str]) -> list[str]:
    slow = []
    for text in texts:
        start = time.process_time()
        try:
            for found in expression.finditer(text, timeout=20 * SECONDS):
                del found
        except TimeoutError:
            slow.append(text[:80])
            continue
        if time.process_time() - start > SECONDS:
            slow.append(text[:80])
    return slow


@pytest.mark.parametrize("topic", sorted({(p.engine, p.topic) for p in KNOWN.patterns}), ids="/".join)
def test_patterns(topic: tuple[str, str]) -> None:
    mine: list[Pattern] = [p for p in KNOWN.patterns if (p.engine, p.topic) == topic]
    slow = {p.id: found for p in mine if (found := _slow(p.regex, _texts(p.samples[0].line)))}
    assert not slow


def test_prefixes() -> None:
    for prefix in KNOWN.prefixes:
        for text in _texts(prefix.samples[0].line):
            start = time.process_time()
            prefix.regex.search(text[: unwrap.MAX_PREFIX], timeout=SECONDS)
            assert time.process_time() - start < SECONDS


def test_wrappings() -> None:
    for wrapping in KNOWN.wrappings:
        if wrapping.regex:
            for text in _texts(wrapping.wrap):
                start = time.process_time()
                wrapping.regex.match(text, timeout=SECONDS)
                assert time.process_time() - start < SECONDS


HOSTILE = [
    "\\", '\\"', '"', "'", "`", "\x1b[", "\x1b]", "^[]", "\\x1b]", "[1;", "<span ", "<span><", "&#", "&amp;", "\\u0000",
    '{"a":"', "> ", "| ", "(", ")", "[", "a@", "a.", "1.", "1:", ":", "api_key=", "api_key='", "--api-key ", "Bearer ",
    "eyJ", "/home/",
    "a=1, ", "a=(", "<", "100%|", "\r", "a_", "-", "=", "A", "0: ", "x | ",
]  # fmt: skip


@pytest.mark.parametrize(
    "reads",
    [
        lambda text: unwrap.decode(text),
        lambda text: unwrap.decode(f"{text}took ", ["took "]),
        lambda text: unwrap.passages(unwrap.RawLine(1, text), KNOWN),
        lambda text: unwrap.begins_message(text, KNOWN),
        settings.parse_dump,
        settings.is_open,
        lambda text: redact.redact(text[:4000]),
    ],
    ids=["decode", "decode a string", "passages", "begins_message", "parse_dump", "is_open", "redact"],
)
def test_code(reads: Callable[[str], object]) -> None:
    for seed in HOSTILE:
        text = (seed * 100_000)[:100_000]
        start = time.process_time()
        reads(text)
        assert time.process_time() - start < SECONDS, repr(seed)
