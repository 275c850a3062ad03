"""A pattern set is checked against itself: every sample must be read, by its own pattern, and as it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logparse import match
from logparse.errors import PatternError
from logparse.patterns import SEARCH_SECONDS, Pattern, PatternSet
from logparse.unwrap import Passage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logparse.match import Event


def check(patterns: PatternSet) -> list[str]:
    """Check every pattern against its samples; return what is wrong, one sentence each."""
    faults: list[str] = []
    for pattern in patterns.patterns:
        try:
            faults += [f"{pattern.id}: {fault}" for fault in _faults(pattern, patterns)]
        except PatternError as error:
            faults.append(str(error))
    for prefix in patterns.prefixes:
        for sample in prefix.samples:
            found = prefix.regex.search(sample.line)
            got = {k: v for k, v in found.groupdict().items() if v} if found else {}
            if not found or sample.expect.items() - got.items():
                faults.append(f"{prefix.engine}/{prefix.name}: {sample.line!r} gives {got}, not {sample.expect}")
    return faults


def _faults(pattern: Pattern, patterns: PatternSet) -> Iterable[str]:
    groups = set(pattern.regex.groupindex)
    used = {f.group for f in pattern.fields} | pattern.helpers
    if groups != used:
        yield f"groups {sorted(groups ^ used)} are in the regex or in the fields, but not in both"
        return
    if not pattern.samples:
        yield "has no sample"
    shown: set[str] = set()
    for sample in pattern.samples:
        shown |= sample.expect.keys()
        yield from _sample_faults(pattern, sample.line, sample.expect, patterns)
    if missing := {f.group for f in pattern.fields} - shown:
        yield f"fields {sorted(missing)} appear in no sample"
    for line in pattern.rejects:
        if pattern.regex.search(line):
            yield f"matches its reject {line!r}"


def _sample_faults(pattern: Pattern, line: str, expect: dict[str, str], patterns: PatternSet) -> Iterable[str]:
    if pattern.anchor not in line:
        yield f"the anchor {pattern.anchor!r} is not in the sample {line!r}"
    found = pattern.regex.search(line, timeout=SEARCH_SECONDS)
    if not found:
        yield f"does not match its sample {line!r}"
        return
    numbers = {f.group for f in pattern.fields if f.quantity}
    got = {k: match.plain(v) if k in numbers else v.strip() for k, v in found.groupdict().items() if v is not None}
    for group, text in expect.items():
        if got.get(group) != text:
            yield f"reads {group} = {got.get(group)!r} in {line!r}, expected {text!r}"
    passage = Passage(line, (0,), (1,))
    winners = match.match_passage(passage, patterns)
    if not any(event.pattern.id == pattern.id for event in winners):
        rivals = ", ".join(event.pattern.id for event in winners) or "nothing"
        yield f"does not win its sample {line!r}: {rivals} does"
    for rival in match.candidates(line, patterns):
        for event in match.matches(rival, passage, patterns) if _rivals(rival, pattern) else ():
            same_span = (event.start, event.end) == found.span()
            if same_span and not _equal_facts(event, match.event_of(pattern, found, event.line, passage)):
                yield f"ties with {rival.id} on {line!r} but says something else"


def _rivals(one: Pattern, two: Pattern) -> bool:
    return one is not two and one.is_fallback == two.is_fallback


def _equal_facts(one: Event, two: Event) -> bool:
    return set(one.readings) == set(two.readings) and set(one.texts) == set(two.texts)
