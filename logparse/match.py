"""From passages to events: which pattern says what on which line.

Every wording is tried. Where matches overlap the longest span wins; a line may hold several messages, because
processes write over each other.

Logs are pasted from terminals and Markdown, which break lines. Where a terminal broke all long lines at one column,
they are put together again before they are matched. Elsewhere a line on which an anchor stands, but no complete
message, is tried together with its neighbours. A number that may have been cut in two is not read.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

from logparse import unwrap
from logparse.patterns import SEARCH_SECONDS, Field, Pattern, PatternSet
from logparse.prefilter import open_end
from logparse.settings import is_open
from logparse.units import BYTES
from logparse.unwrap import Line, Passage, RawLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import regex

    from logparse.sources import Block, Source

MAX_JOIN = 12
"""Lines that are joined to one before and behind; the settings of an engine fill more."""
MAX_DUMP = 400
SEEN = 64
"""Events that are remembered, so that none is found again from another line."""
AROUND = 1 << 15
"""Characters before and behind a block that may hold the rest of a message."""
_NUMBER = re.compile(r"[-+]?\d{1,25}(?:\.\d{0,25})?(?:[eE][-+]?\d{1,3})?|[-+]?\.\d{1,25}")
_REST_OF_NUMBER = re.compile(r"(?!\d{1,4}[-:/]\d|\d+\.\d+\.\d|\d+[:|)]|\d+\. )[.,]?\d")
"""What may go on with a number at the start of a line: no time, no address, no item of a list."""
RUN_ON = " \N{PILCROW SIGN} \N{PILCROW SIGN}"
"""Is put behind joined lines, to find out which texts would run on through whatever follows."""
CLOSING = " `\"'\\"
"""What may stand behind a message at the end of its line."""
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
    until: tuple[int, int] = (0, 0)
    """Physical line on which it ends, and where on that."""
    role: str | None = None
    source: str = ""

    def text(self, name: str) -> str | None:
        """The text recorded under `name`, such as `identity:version`."""
        return next((value for key, value, _ in self.texts if key == name), None)


def match_passage(passage: Passage, patterns: PatternSet, only: Iterable[Pattern] | None = None) -> list[Event]:
    """Find the events in decoded text, in the order in which they stand."""
    tried = only if only is not None else candidates(passage.text, patterns)
    return _longest([event for pattern in tried for event in matches(pattern, passage, patterns)])


def _longest(found: list[Event]) -> list[Event]:
    """Of events that overlap, the longest."""
    found.sort(key=lambda e: (e.pattern.is_fallback, e.start - e.end, e.start, e.pattern.id))
    kept: list[Event] = []
    for event in found:
        if all(event.end <= other.start or other.end <= event.start for other in kept):
            kept.append(event)
    return sorted(kept, key=lambda event: event.start)


def candidates(text: str, patterns: PatternSet) -> list[Pattern]:
    """Patterns whose anchor stands in `text`."""
    return [p for anchor, group in patterns.by_anchor.items() if anchor in text for p in group]


def matches(pattern: Pattern, passage: Passage, patterns: PatternSet) -> list[Event]:
    """Events of one pattern, wherever a message can begin."""
    events = []
    try:
        for found in pattern.regex.finditer(passage.text, timeout=SEARCH_SECONDS):
            line = unwrap.locate(
                passage, found.start(), found.end(), pattern.engine, patterns, anywhere=pattern.anywhere
            )
            if line is not None:
                events.append(event_of(pattern, found, line, passage))
    except TimeoutError:
        return events
    return events


def event_of(pattern: Pattern, found: regex.Match[str], line: Line, passage: Passage) -> Event:
    """What a match says: the numbers and texts of the pattern's fields."""
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
    if line.exception:
        texts.append(("identity:exception", line.exception, line.number))
    until = passage.place_of(found.end())
    return Event(pattern, line, tuple(readings), tuple(texts), found.start(), found.end(), until, pattern.role)


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
        at=plain(at) if at and _NUMBER.fullmatch(plain(at)) else None,
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


# -- from a source to events --------------------------------------------------------------------------------


def _overlook(block: Block) -> None:
    """See nothing."""


def events(source: Source, patterns: PatternSet, see: Callable[[Block], None] = _overlook) -> Iterator[Event]:
    """Read a source and find its events, in the order in which they stand; `see` is shown each block before."""
    before, held = "", None
    seen: deque[Event] = deque(maxlen=SEEN)
    for block in chain(source.blocks(), (None,)):
        if block is not None:
            see(block)
        if held is not None:
            behind = block.text[:AROUND] if block else ""
            for event in _block_events(held, before, behind, patterns, seen):
                yield replace(event, source=source.name)
            before = held.text[held.text.rfind("\n", 0, max(0, len(held.text) - AROUND)) + 1 :]
        held = block


def _block_events(block: Block, before: str, behind: str, patterns: PatternSet, seen: deque[Event]) -> Iterator[Event]:
    before = before if before.endswith("\n") else ""
    index = before.count("\n")
    first = block.first - index
    lines = [RawLine(first + i, text) for i, text in enumerate((before + block.text + behind).split("\n"))]
    width = unwrap.wrap_width(block.text, patterns)
    counted = 0
    for start in patterns.prefilter.line_starts(block.text, behind):
        index += block.text.count("\n", counted, start)
        counted = start
        new = [e for e in match_lines(lines, index, patterns, width) if not any(_same(e, old) for old in seen)]
        seen.extend(new)
        yield from new


def _same(event: Event, old: Event) -> bool:
    """True where an event was found already, or is a part of one that goes over several lines."""
    if event.line == old.line and event.until == old.until:
        return event.pattern.id == old.pattern.id
    over = old.line.number < old.until[0]
    return over and old.line.number < event.line.number and event.until <= old.until


def match_lines(lines: Sequence[RawLine], index: int, patterns: PatternSet, width: int | None = None) -> list[Event]:
    """Find the events on `lines[index]`; a message may begin before that line, or end behind it.

    Args:
        lines: consecutive lines of a log.
        index: the line in question.
        patterns: what to look for.
        width: the column at which a terminal wrapped the log, where that is known.
    """
    if width is not None and len(parts := _unbroken(lines, index, patterns, width)) > 1:
        return match_passage(unwrap.joined(parts, "", patterns, width), patterns)
    raw = lines[index]
    events = [e for p in unwrap.passages(raw, patterns) for e in match_passage(p, patterns)]
    behind = _continuation(lines, index, patterns)
    if behind and (loose := _open_anchors(raw, behind, events, patterns)):
        events = _merge(events, _crossing([raw, *behind], 1, loose, patterns))
    if ahead := _beginning(lines, index, patterns):
        earlier = _from_ahead(ahead, raw, behind, patterns)
        ends = max((e.until[1] if e.until[0] == raw.number else len(raw.text) for e in earlier), default=0)
        events = earlier + [e for e in events if e.start >= ends]
    return [e for e in events if not _cut_in_two(e, lines, patterns)]


# -- messages that were wrapped: by a terminal of known width -------------------------------------------------


def _unbroken(lines: Sequence[RawLine], index: int, patterns: PatternSet, width: int) -> list[RawLine]:
    """The lines that a terminal made of one."""
    first = last = index
    while first > max(0, index - MAX_DUMP) and _goes_over(lines, first - 1, patterns, width):
        first -= 1
    while last < min(len(lines) - 1, index + MAX_DUMP) and _goes_over(lines, last, patterns, width):
        last += 1
    return list(lines[first : last + 1])


def _goes_over(lines: Sequence[RawLine], index: int, patterns: PatternSet, width: int) -> bool:
    """True where a line fills the terminal, but for a blank that was lost, and the next begins no message."""
    if unwrap.visible_width(lines[index].text) < width - 1 or not lines[index + 1].text.strip():
        return False
    return not unwrap.begins_message(lines[index + 1].text, patterns)


# -- messages that were wrapped: somehow ----------------------------------------------------------------------


def _continuation(lines: Sequence[RawLine], index: int, patterns: PatternSet) -> list[RawLine]:
    """The lines behind one, up to the next that begins a message or is empty."""
    found: list[RawLine] = []
    most = MAX_DUMP if any(anchor in lines[index].text for anchor in patterns.dump_anchors) else MAX_JOIN
    for line in lines[index + 1 : index + 1 + most]:
        if _stands_alone(line, patterns):
            break
        found.append(line)
    return found


def _beginning(lines: Sequence[RawLine], index: int, patterns: PatternSet) -> list[RawLine]:
    """The lines before one, from that on which a message begins; none where the line itself begins one."""
    if _stands_alone(lines[index], patterns):
        return []
    for first in range(index - 1, max(-1, index - 1 - MAX_JOIN), -1):
        if not lines[first].text.strip():
            return []
        if unwrap.begins_message(_first_part(lines[first]), patterns):
            return list(lines[first:index])
    return []


def _stands_alone(line: RawLine, patterns: PatternSet) -> bool:
    text = _first_part(line)
    return not text.strip() or unwrap.begins_message(text, patterns)


def _first_part(line: RawLine) -> str:
    parts = unwrap.decode(line.text)
    return unwrap.strip_continuation(parts[0]).lstrip() if parts else ""


def _open_anchors(raw: RawLine, behind: Sequence[RawLine], events: list[Event], patterns: PatternSet) -> list[Pattern]:
    """Patterns whose anchor stands on the line, or across its end, and whose message may go on behind it."""
    parts = unwrap.passages(raw, patterns)
    last = parts[-1].text if parts else ""
    done = [e.line.text for e in events if _ends_in_text(e) and not is_open(e.texts[-1][1])]
    split = set(patterns.prefilter.split(open_end(last), _first_part(behind[0])[:80]))
    loose: list[Pattern] = []
    for anchor, group in patterns.by_anchor.items():
        if anchor in split or (anchor in last and not any(anchor in text for text in done)):
            loose += group
    return loose


def _ends_in_text(event: Event) -> bool:
    """True where the last that a message says is a text, which has no end of its own."""
    end = event.line.text.rstrip(CLOSING)
    return any(text and end.endswith(text.rstrip(CLOSING)) for _, text, _ in event.texts)


def _from_ahead(ahead: list[RawLine], raw: RawLine, behind: list[RawLine], patterns: PatternSet) -> list[Event]:
    """Events that begin on a line before `raw`, whose anchor stands on `raw` or across its start."""
    known = [unwrap.joined([line], "", patterns).text for line in ahead]
    text = "\n".join(unwrap.joined([*ahead, raw, *behind[:1]], glue, patterns).text for glue in (" ", ""))
    here = [p for p in candidates(text, patterns) if not any(p.anchor in line for line in known)]
    found = _crossing([*ahead, raw], len(ahead), here, patterns)
    return _merge(found, _crossing([*ahead, raw, *behind], len(ahead), here, patterns)) if behind else found


def _crossing(lines: Sequence[RawLine], over: int, tried: list[Pattern], patterns: PatternSet) -> list[Event]:
    """Events that begin before `lines[over]` and end on it or behind it; but no text that runs on and on."""
    best: list[Event] = []
    for glue in (" ", ""):
        passage = unwrap.joined(lines, glue, patterns)
        length, border = len(passage.text), passage.starts[over]
        longer = replace(passage, text=passage.text + RUN_ON)
        found = [e for p in tried for e in matches(p, passage if _dumps(p) else longer, patterns)]
        found = [e for e in found if e.start < border < e.end <= length and not _glues_number(e, passage)]
        best = _merge(best, _longest(found))
    return best


def _dumps(pattern: Pattern) -> bool:
    return any(field.settings for field in pattern.fields)


def _glues_number(event: Event, passage: Passage) -> bool:
    """True where joining lines may have made one number of two."""
    return any(
        event.start < start < event.end and passage.text[start - 1 : start].isdigit() and passage.text[start].isdigit()
        for start in passage.starts[1:]
    )


def _cut_in_two(event: Event, lines: Sequence[RawLine], patterns: PatternSet) -> bool:
    """True where a message's first or last figure may go on in a neighbouring line: better not read."""
    text, last = event.line.text, event.until[0] - lines[0].number
    if text[-1:].isdigit() and last + 1 < len(lines):
        ends_there = lines[last].text.rstrip("\r").endswith(text[-12:])
        if ends_there and _may_be_cut(lines[last], lines[last + 1], patterns):
            return True
    first = event.line.number - lines[0].number
    return text[:1].isdigit() and event.start == 0 < first and _may_be_cut(lines[first - 1], lines[first], patterns)


def _may_be_cut(line: RawLine, following: RawLine, patterns: PatternSet) -> bool:
    text = line.text.rstrip("\r")
    if len(text) < max(unwrap.NARROWEST_TERMINAL, unwrap.visible_width(following.text)) or not text[-1:].isdigit():
        return False
    return _REST_OF_NUMBER.match(following.text) is not None and not _stands_alone(following, patterns)


def _merge(events: list[Event], more: list[Event]) -> list[Event]:
    """Take the longer of two readings of the same message; of equally long ones the first."""
    merged = list(events)
    for event in more:
        rivals = [old for old in merged if _same_message(old, event)]
        if all(_says_more(event, old) for old in rivals):
            merged = [old for old in merged if old not in rivals] + [event]
    return merged


def _same_message(old: Event, new: Event) -> bool:
    return old.line.number == new.line.number and (
        new.line.text.startswith(old.line.text[:20]) or old.line.text.startswith(new.line.text[:20])
    )


def _says_more(new: Event, old: Event) -> bool:
    """True where a longer reading holds all quantities of a shorter one, and something that this does not say."""
    values = {(r.quantity, r.value) for r in new.readings} - {(r.quantity, r.value) for r in old.readings}
    texts = {(key, text) for key, text, _ in new.texts} - {(key, text) for key, text, _ in old.texts}
    covers = {r.quantity for r in old.readings} <= {r.quantity for r in new.readings}
    return covers and bool(values or texts) and len(old.line.text) < len(new.line.text)
