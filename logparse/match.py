"""From passages to events: which pattern says what on which line.

Every wording is tried. Where matches overlap the longest span wins; a line may hold several messages, because
processes write over each other. A line on which an anchor stands but no pattern matches is tried again
together with the lines that follow it, in case somebody wrapped it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from logparse import unwrap
from logparse.errors import PatternError
from logparse.patterns import SEARCH_SECONDS, Field, Pattern, PatternSet
from logparse.prefilter import open_end
from logparse.settings import is_open
from logparse.units import BYTES
from logparse.unwrap import Line, Passage, RawLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import regex

    from logparse.sources import Block, Source

MAX_JOIN = 4
"""Lines that are joined to the one on which a message begins; the settings of an engine fill more."""
MAX_DUMP = 400
TAIL = 1 << 15
_NUMBER = re.compile(r"[-+]?\d{1,25}(?:\.\d{0,25})?(?:[eE][-+]?\d{1,3})?|[-+]?\.\d{1,25}")
_REST_OF_NUMBER = re.compile(r"\s*(?!\d{1,4}[-:/]\d)(?!\d+\.\d+\.\d)[.,]?\d")
PRINTED_UNITS = {unit.lower(): unit for unit in BYTES} | {"bytes": "B", "byte": "B"}


@dataclass(frozen=True, slots=True)
class Reading:
    """One number that a line prints. `value` is as printed, without thousands separators."""

    quantity: str
    value: str
    unit: str
    step: str
    line: int
    at: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One message of an engine: its line, its numbers and its texts."""

    pattern: Pattern
    line: Line
    readings: tuple[Reading, ...]
    texts: tuple[tuple[str, str, int], ...]
    """(`identity:model`, `setting:dtype`, `settings:requested` …, text, line)"""
    start: int = 0
    end: int = 0
    role: str | None = None
    source: str = ""

    def text(self, name: str) -> str | None:
        """The text recorded under `name`, such as `identity:version`."""
        return next((value for key, value, _ in self.texts if key == name), None)


def match_line(
    raw: RawLine, following: Sequence[RawLine], patterns: PatternSet, source: str = "", width: int | None = None
) -> list[Event]:
    """Find the events that begin on a physical line.

    Args:
        raw: the line.
        following: the lines after it, for messages that were wrapped.
        patterns: what to look for.
        source: name of the file, kept in each event.
        width: the column at which a terminal wrapped the log, where that is known.
    """
    events: list[Event] = []
    for passage in unwrap.passages(raw, patterns.by_anchor):
        events += match_passage(passage, patterns)
    if following and (loose := _open_anchors(raw, following, events, patterns, width)):
        more = _match_joined(raw, following, loose, patterns, width)
        events = [event for event in _merge(events, more) if not _cut_in_two(event, raw, following, width)]
    return [replace(event, source=source) for event in events]


def match_passage(passage: Passage, patterns: PatternSet, only: Iterable[Pattern] | None = None) -> list[Event]:
    """Find the events in decoded text, in the order in which they stand."""
    candidates = only if only is not None else _by_anchor(passage.text, patterns)
    found = [event for pattern in candidates for event in _matches(pattern, passage, patterns)]
    found.sort(key=lambda event: (event.start - event.end, event.start, event.pattern.id))
    kept: list[Event] = []
    for event in found:
        if all(event.end <= other.start or other.end <= event.start for other in kept):
            kept.append(event)
    return sorted(kept, key=lambda event: event.start)


def _by_anchor(text: str, patterns: PatternSet) -> list[Pattern]:
    return [p for anchor, group in patterns.by_anchor.items() if anchor in text for p in group]


def _matches(pattern: Pattern, passage: Passage, patterns: PatternSet) -> list[Event]:
    events = []
    try:
        for found in pattern.regex.finditer(passage.text, timeout=SEARCH_SECONDS):
            line = unwrap.locate(
                passage, found.start(), found.end(), pattern.engine, patterns, anywhere=pattern.anywhere
            )
            if line is not None:
                events.append(_event(pattern, found, line, passage))
    except TimeoutError:
        return events
    return events


def _event(pattern: Pattern, found: regex.Match[str], line: Line, passage: Passage) -> Event:
    readings, texts = [], []
    for field in pattern.fields:
        text = found[field.group]
        if text is None or (field.quantity and not _NUMBER.fullmatch(plain(text))):
            continue
        number = passage.number_at(found.start(field.group))
        if field.quantity:
            readings.append(_reading(field, pattern, found, number))
        else:
            texts.append((_text_key(field), text.strip(), number))
    return Event(pattern, line, tuple(readings), tuple(texts), found.start(), found.end(), pattern.role)


def _text_key(field: Field) -> str:
    if field.identity:
        return f"identity:{field.identity}"
    return f"setting:{field.setting}" if field.setting else f"settings:{field.settings}"


def _reading(field: Field, pattern: Pattern, found: regex.Match[str], number: int) -> Reading:
    value = plain(found[field.group])
    label = _named(field.label or pattern.label, found)
    unit = _named(field.unit, found) or "B"
    at = found[field.at] if field.at else None
    return Reading(
        quantity=field.quantity or "",
        value=value,
        unit=PRINTED_UNITS.get(unit.lower(), unit),
        step=last_digit(value) if field.step == "printed" else field.step,
        line=number,
        at=plain(at) if at else None,
        label=label.lower() if label else None,
    )


def _named(name: str | None, found: regex.Match[str]) -> str | None:
    """`name` itself, or what the group matched where it is `@group`."""
    if not name or not name.startswith("@"):
        return name
    return (found[name[1:]] or "").strip() or None


def plain(text: str) -> str:
    """A printed number without thousands separators."""
    return text.replace(",", "").replace("_", "").strip()


def last_digit(value: str) -> str:
    """The weight of the last printed digit: `0.01` for `12.34`, `1` for `12`."""
    mantissa, _, exponent = value.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    step = Fraction(1, 10**decimals) * Fraction(10) ** int(exponent or 0)
    return str(float(step)) if step.denominator != 1 else str(step.numerator)


def events(source: Source, patterns: PatternSet) -> Iterator[Event]:
    """Read a source and find its events, in the order in which they stand."""
    held: Block | None = None
    for block in source.blocks():
        if held is not None:
            yield from _block_events(held, block.text[:TAIL], patterns, source.name)
        held = block
    if held is not None:
        yield from _block_events(held, "", patterns, source.name)


def _block_events(block: Block, tail: str, patterns: PatternSet, source: str) -> Iterator[Event]:
    text = block.text + tail
    number, counted = block.first, 0
    width = unwrap.wrap_width(block.text, patterns)
    for start in patterns.prefilter.line_starts(block.text, tail):
        number += text.count("\n", counted, start)
        counted = start
        lines = following_lines(text, start, number, patterns)
        yield from match_line(lines[0], lines[1:], patterns, source, width)


def following_lines(text: str, start: int, number: int, patterns: PatternSet) -> list[RawLine]:
    """The line that begins at `start`, and those after it that may belong to it."""
    lines: list[RawLine] = []
    more = MAX_JOIN + 1
    while len(lines) < more:
        end = text.find("\n", start)
        lines.append(RawLine(number + len(lines), text[start : end if end >= 0 else len(text)]))
        if len(lines) == 1 and any(anchor in lines[0].text for anchor in patterns.dump_anchors):
            more = MAX_DUMP
        if end < 0:
            break
        start = end + 1
    return lines


# -- messages that were wrapped -----------------------------------------------------------------------------


def _open_anchors(
    raw: RawLine, following: Sequence[RawLine], events: list[Event], patterns: PatternSet, width: int | None
) -> list[Pattern]:
    """Patterns whose anchor stands on the line, or across its end, but whose message is not complete there."""
    parts = unwrap.decode(raw.text, patterns.by_anchor)
    last = parts[-1] if parts else ""
    broken = width is not None and unwrap.visible_width(raw.text) == width
    open_text = last.rstrip(" `\"'\\")
    done = [e.line.text for e in events if not _goes_on(e, open_text, broken=broken)]
    split = set(patterns.prefilter.split(open_end(last), _head(following[0])))
    loose: list[Pattern] = []
    for anchor, group in patterns.by_anchor.items():
        if anchor in split or (anchor in last and not any(anchor in text for text in done)):
            loose += group
    return loose


def _goes_on(event: Event, line: str, *, broken: bool) -> bool:
    """True where the message reaches the end of its line, so that it may go on; a dump does only while it is open."""
    if not line.endswith(event.line.text.rstrip(" `\"'\\")):
        return False
    dumps = [text for key, text, _ in event.texts if key.startswith("settings:")]
    return broken or not dumps or is_open(dumps[-1])


def _head(raw: RawLine) -> str:
    parts = unwrap.decode(raw.text)
    return unwrap.strip_continuation(parts[0]).lstrip()[:80] if parts else ""


def _match_joined(
    raw: RawLine, following: Sequence[RawLine], loose: list[Pattern], patterns: PatternSet, width: int | None
) -> list[Event]:
    lines = [raw, *_continuation(following, patterns)]
    counts = [*range(2, min(len(lines), MAX_JOIN + 1) + 1)]
    counts += [len(lines)] if len(lines) > MAX_JOIN + 1 else []
    best: list[Event] = []
    for count in counts:
        for glue in (" ", ""):
            passage = unwrap.joined(lines[:count], glue, patterns.by_anchor, width)
            found = match_passage(passage, patterns, loose)
            wanted = [e for e in found if e.line.number == raw.number and e.end > passage.starts[-1]]
            best = _merge(best, [e for e in wanted if _plausible(e, passage, lines, width)])
    return best


def _continuation(following: Sequence[RawLine], patterns: PatternSet) -> Iterator[RawLine]:
    """The lines up to the next that begins a message, or is empty."""
    for line in following:
        parts = unwrap.passages(line)
        if not parts or not parts[0].text.strip() or unwrap.begins_message(parts[0], patterns):
            return
        yield line


def _plausible(event: Event, passage: Passage, lines: Sequence[RawLine], width: int | None) -> bool:
    """Joining two lines may make one number of two: allow it only where a terminal is known to have broken the line."""
    for index, start in enumerate(passage.starts[1:]):
        digits = passage.text[start - 1 : start].isdigit() and passage.text[start : start + 1].isdigit()
        if event.start < start < event.end and digits and unwrap.visible_width(lines[index].text) != width:
            return False
    return True


def _cut_in_two(event: Event, raw: RawLine, following: Sequence[RawLine], width: int | None) -> bool:
    """True where the last figure of a message may go on in the next line, which nothing decides: better not read."""
    length = unwrap.visible_width(raw.text)
    if width is not None or length < max(unwrap.NARROWEST_TERMINAL, unwrap.visible_width(following[0].text)):
        return False
    if event.line.number != raw.number or not raw.text.rstrip("\r\n").endswith(event.line.text):
        return False
    values = [r.value for r in event.readings] + [text for _, text, _ in event.texts]
    digit = event.line.text[-1:].isdigit() and any(plain(event.line.text).endswith(value) for value in values)
    return digit and _REST_OF_NUMBER.match(following[0].text) is not None


def _merge(events: list[Event], more: list[Event]) -> list[Event]:
    """Take the longer of two readings of the same message; of equally long ones the first."""
    merged = list(events)
    for event in more:
        rivals = [old for old in merged if _same_message(old, event)]
        if all(len(old.line.text) < len(event.line.text) and _covers(event, old) for old in rivals):
            merged = [old for old in merged if old not in rivals] + [event]
    return merged


def _same_message(old: Event, new: Event) -> bool:
    return old.line.number == new.line.number and (
        new.line.text.startswith(old.line.text[:20]) or old.line.text.startswith(new.line.text[:20])
    )


def _covers(new: Event, old: Event) -> bool:
    return {r.quantity for r in old.readings} <= {r.quantity for r in new.readings}


# -- checks of a pattern set --------------------------------------------------------------------------------


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
    got = {k: plain(v) if k in numbers else v.strip() for k, v in found.groupdict().items() if v is not None}
    for group, text in expect.items():
        if got.get(group) != text:
            yield f"reads {group} = {got.get(group)!r} in {line!r}, expected {text!r}"
    passage = Passage(line, (0,), (1,))
    winners = match_passage(passage, patterns)
    if not any(event.pattern.id == pattern.id for event in winners):
        rivals = ", ".join(event.pattern.id for event in winners) or "nothing"
        yield f"does not win its sample {line!r}: {rivals} does"
    for rival in _by_anchor(line, patterns):
        for event in _matches(rival, passage, patterns) if rival is not pattern else ():
            same_span = (event.start, event.end) == found.span()
            if same_span and not _equal_facts(event, _event(pattern, found, event.line, passage)):
                yield f"ties with {rival.id} on {line!r} but says something else"


def _equal_facts(one: Event, two: Event) -> bool:
    return set(one.readings) == set(two.readings) and set(one.texts) == set(two.texts)
