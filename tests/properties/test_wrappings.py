"""What a message says does not depend on who wrapped it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logparse import match, patterns, unwrap
from logparse.unwrap import RawLine
from tests.wrap import stacked

if TYPE_CHECKING:
    from logparse.match import Event
    from logparse.patterns import Pattern, Wrapping

KNOWN = patterns.default()
PREFIXES = {
    "vllm": ["", *(p.samples[0].line for p in KNOWN.prefixes if p.engine == "vllm")],
    "sglang": ["", *(p.samples[0].line for p in KNOWN.prefixes if p.engine == "sglang")],
    "common": [""],
}
SAMPLES = [(pattern, sample.line) for pattern in KNOWN.patterns for sample in pattern.samples]


def _facts(events: list[Event]) -> list[tuple[Any, ...]]:
    return [(e.pattern.id, e.readings, e.texts, e.line.level, e.line.time, e.line.rank) for e in events]


def _read(text: str) -> list[Event]:
    return match.match_lines([RawLine(1, line) for line in text.split("\n")], 0, KNOWN)


def _told_apart(stack: list[Wrapping], line: str) -> bool:
    """Ray's tag looks like vLLM's own: behind it, only what begins with a prefix, or is vLLM's, is surely a message."""
    if all(wrapping.name != "ray" for wrapping in stack):
        return True
    mine = stack[-1].name == "ray" and all(event.pattern.engine == "vllm" for event in _read(line))
    return (mine or unwrap.begins_message(line, KNOWN)) and not any(event.pattern.anywhere for event in _read(line))


def _differ(stack: list[Wrapping], line: str) -> str | None:
    if not _told_apart(stack, line):
        return None
    plain, wrapped = _facts(_read(line)), _facts(_read(stacked(stack, line)))
    if plain == wrapped:
        return None
    return f"{' in '.join(w.name for w in reversed(stack))}: {stacked(stack, line)!r}\n  {plain}\n  {wrapped}"


def _lines() -> list[str]:
    """Every sample, alone and behind one of the engine's own prefixes."""
    found = []
    for number, (pattern, line) in enumerate(SAMPLES):
        prefixes = PREFIXES[pattern.engine]
        found.append(line)
        if not unwrap.begins_message(line, KNOWN):
            found.append(prefixes[number % len(prefixes)] + line)
    return [line for line in found if _read(line)]


LINES = _lines()


@pytest.mark.parametrize("wrapping", KNOWN.wrappings, ids=lambda w: w.name)
def test_every_sample_in_every_wrapping(wrapping: Wrapping) -> None:
    faults = [fault for line in LINES if (fault := _differ([wrapping], line))]
    assert not faults, f"{len(faults)} of {len(LINES)}: " + "\n".join(faults[:3])


@pytest.mark.parametrize("outer", KNOWN.wrappings, ids=lambda w: w.name)
def test_stacks_of_two(outer: Wrapping) -> None:
    faults = []
    for number, inner in enumerate(KNOWN.wrappings):
        if inner is outer:
            continue
        some = LINES[number :: len(KNOWN.wrappings)]
        faults += [fault for line in some if (fault := _differ([outer, inner], line))]
    assert not faults, f"{len(faults)}: " + "\n".join(faults[:3])


@given(st.sampled_from(SAMPLES), st.lists(st.sampled_from(KNOWN.wrappings), min_size=2, max_size=2))
def test_the_line_is_found_wherever_it_stands(sample: tuple[Pattern, str], stack: list[Wrapping]) -> None:
    line = sample[1]
    found = _read(stacked(stack, line))
    whole = "\n".join(unwrap.decode(stacked(stack, line), KNOWN.by_anchor))
    assert all(event.line.text in whole for event in found)
