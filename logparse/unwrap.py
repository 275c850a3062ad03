"""From raw lines to passages that patterns can be run on, and from a match to the `Line` it stands on.

Unwrapping is decode, then locate. What is encoded is decoded (JSON strings, HTML, terminal colours); what a
terminal or Markdown broke over several lines is joined. A pattern then finds the message wherever it stands,
and the engine's own prefix is read immediately to the left of it. What stands further left is somebody's
wrapper and opaque, but for the name of the stream (a container, a pod) that some wrappers put there.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from logparse.patterns import PatternSet, Prefix

# Colours, with the escape character or with what is left of it after copying.
_ANSI = re.compile(
    r"(?:\x1b|\\x1b|\\u001b|\\033|\\e|␛|\^\[)"
    r"(?:\[[0-9;?]{0,40}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,300}(?:\x07|\x1b\\))"
    r"|\[\d{1,3}(?:;\d{1,3}){0,8}m(?!\])"
)
_INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u2060\ufeff]")
_ESCAPES = re.compile(r'\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["\\/bfnrt]))')
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": "", '"': '"', "\\": "\\", "/": "/"}
_QUOTE = re.compile(r"(?<!\\)(?:\\\\)*+([\"'])")
_APOSTROPHE = re.compile(r"\w'\w")
_TAG = re.compile(r"</?(?:span|pre|code|div|br|p|b|i|em|font|td|tr|li|strong|samp|a)\b[^<>]{0,99}>", re.I)
_ENTITY = re.compile(r"&(?:[a-z]{2,6}|#\d{1,5}|#x[0-9a-f]{1,5});", re.I)
# What Markdown, a mail or a terminal puts at the start of a continued line.
_CONTINUATION = re.compile(r"(?:[ \t]*+(?:>|\||│|\*(?= ))[ \t]?)*+")
# A state of a progress bar; the next one overwrites it.
_BAR = re.compile(r"\d{1,3}%[^|\d]{0,20}\|")
_EXCEPTION = re.compile(
    r"(?:^|[\s|>\"'`(\]])"
    r"(?P<name>(?:[A-Za-z_][\w.]*\.)?(?:[A-Z]\w*)?(?:Error|Exception|Exit|Interrupt|Warning)): $"
)
MAX_PREFIX = 400
MAX_DECODES = 3
MAX_WRAPPERS = 6
MAX_DIGITS = 12
NARROWEST_TERMINAL = 40
RAGGED = 8


@dataclass(frozen=True, slots=True)
class RawLine:
    """One physical line without its line feed; `number` counts line feeds only, from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """Where a message was said: the physical line, and what the engine's own prefix tells."""

    number: int
    text: str
    time: str | None = None
    level: str | None = None
    process: str | None = None
    pid: int | None = None
    rank: str | None = None
    file: str | None = None
    lineno: int | None = None
    stream: str | None = None
    node: str | None = None
    """The machine's address, where the prefix has it (Ray)."""
    exception: str | None = None
    """The exception whose message it is, where its name stands directly before."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Decoded text, with the physical line that each part came from."""

    text: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]
    marks: tuple[int, ...] = (0,)
    """Characters that were taken off the start of each part."""
    stream: str | None = None
    """Whose line it is, where a wrapper says so: a container, a pod, a service."""

    def number_at(self, offset: int) -> int:
        """Physical line that holds the character at `offset`."""
        return self.numbers[bisect_right(self.starts, offset) - 1]

    def place_of(self, end: int) -> tuple[int, int]:
        """Physical line of the last character before `end`, and where it ends there."""
        part = bisect_right(self.starts, max(end - 1, 0)) - 1
        return self.numbers[part], end - self.starts[part] + self.marks[part]


def decode(text: str, anchors: Iterable[str] = (), depth: int = MAX_DECODES) -> list[str]:
    """Decode one physical line into the logical lines that are inside it, without colours.

    A JSON string with `\\n` in it, or a line with carriage returns, holds several. A string is decoded only where
    the first of `anchors` stands in it: the engines' own messages may hold quotes and escapes as well.
    """
    text = _without_html(_without_colours(text))
    if depth and (found := _quoted(text, anchors)):
        outside, inside, rest = found
        inner = decode(_ESCAPES.sub(_unescape, inside), anchors, depth - 1)
        return [*_lines(outside), *inner, *(decode(rest, anchors, depth - 1) if rest else ())]
    return _lines(text)


def _lines(text: str) -> list[str]:
    parts = re.split(r"[\r\n]+", text) if "\r" in text or "\n" in text else [text]
    return [_INVISIBLE.sub("", part).replace("\u00a0", " ") for part in _last_states(parts) if part]


def _without_colours(text: str) -> str:
    return _ANSI.sub("", text) if "\x1b" in text or "[" in text or "\\" in text or "␛" in text else text


def _without_html(text: str) -> str:
    for _ in range(MAX_DECODES):
        before = text
        if "<" in text and ("</" in text or "<br" in text or "<span" in text):
            text = _TAG.sub("", text)
        text = html.unescape(text) if "&" in text and _ENTITY.search(text) else text
        if text == before:
            break
    return text


def _quoted(text: str, anchors: Iterable[str]) -> tuple[str, str, str] | None:
    """What stands before, in and behind the quoted string that holds the first anchor; None where none does."""
    if '"' not in text and "'" not in text and "`" not in text:
        return None
    first = min((at for anchor in anchors if (at := text.find(anchor)) >= 0), default=None)
    if first is None:
        return None
    quotes = [found.end() - 1 for found in _QUOTE.finditer(text) if not _APOSTROPHE.match(text, found.end() - 2)]
    for mark in "\"'":
        before = [at for at in quotes if at < first and text[at] == mark]
        if len(before) % 2 and not text[before[-1] - 1 : before[-1]].isalnum():
            start = before[-1] + 1
            end = next((at for at in quotes if at >= first and text[at] == mark), len(text))
            return text[:start], text[start:end], text[end + 1 :]
    start, end = text.rfind("`", 0, first) + 1, len(text.rstrip())
    if start and text.count("`", 0, first) % 2 and text[first:end].endswith("`"):
        return text[:start], text[start : end - 1], ""
    return None


def _unescape(found: re.Match[str]) -> str:
    code, byte, simple = found.groups()
    return _SIMPLE[simple] if simple else chr(int(code or byte, 16))


def _last_states(parts: list[str]) -> list[str]:
    """Leave out the states of a progress bar that a later one overwrote."""
    if len(parts) < 2:
        return parts
    bars = [bool(_BAR.search(part)) for part in parts]
    return [part for part, bar, next_bar in zip(parts, bars, [*bars[1:], False], strict=True) if not (bar and next_bar)]


def passages(raw: RawLine, patterns: PatternSet) -> list[Passage]:
    """Decode a physical line into passages, and take off what other programs put before the engine's own prefix."""
    found = []
    outer = None
    for part in decode(raw.text, patterns.by_anchor):
        stream, at = _peeled(part, patterns)
        outer = outer or stream
        found.append(Passage(part[at:], (0,), (raw.number,), (at,), stream or outer))
    return found


def joined(lines: Sequence[RawLine], glue: str, patterns: PatternSet, width: int | None = None) -> Passage:
    """Join consecutive physical lines that were one before somebody wrapped them.

    `glue` is what a break stands for: a space (Markdown breaks at spaces) or nothing (a terminal breaks anywhere;
    where its `width` is known, a shorter line lost a space at its end).
    """
    texts: list[str] = []
    starts: list[int] = []
    marks: list[int] = []
    stream = None
    for index, line in enumerate(lines):
        part = _continued(line, patterns) if index else (passages(line, patterns) or [_nothing(line)])[-1]
        text = part.text
        stream = stream or part.stream
        if index:
            between = glue if glue or width is None or visible_width(lines[index - 1].text) >= width else " "
            texts[-1] = f"{texts[-1].rstrip()} " if between else texts[-1]
            text = text.lstrip() if between else text
        marks.append(part.marks[0] + len(part.text) - len(text))
        starts.append(starts[-1] + len(texts[-1]) if index else 0)
        texts.append(text)
    numbers = tuple(line.number for line in lines)
    return Passage("".join(texts), tuple(starts), numbers, tuple(marks), stream)


def _continued(line: RawLine, patterns: PatternSet) -> Passage:
    """The text of a continued line: behind what other programs, Markdown or a mail put before it; its blanks stay."""
    whole = next(iter(decode(line.text)), "")
    stream, at = _peeled(whole, patterns)
    text = strip_continuation(whole if whole[:at].isspace() else whole[at:])
    return Passage(text, (0,), (line.number,), (len(whole) - len(text),), stream)


def _nothing(line: RawLine) -> Passage:
    return Passage("", (0,), (line.number,))


def strip_continuation(text: str) -> str:
    """Take off what Markdown or a mail puts before a continued line; blanks of the text itself stay."""
    found = _CONTINUATION.match(text)
    return text[found.end() :] if found else text


def visible_width(text: str) -> int:
    """Length of a physical line as it was copied, without its line end."""
    return len(text.rstrip("\r\n"))


def wrap_width(text: str, patterns: PatternSet) -> int | None:
    """The column at which a terminal broke the lines of `text`, or None where none did.

    Lines that it broke are all of one length, nothing is longer, hardly any is a little shorter (Markdown breaks at
    spaces), and what follows most of them begins no message.
    """
    lines = text.split("\n")
    widths = [visible_width(line) for line in lines]
    widest = max(widths)
    broken = [index for index, width in enumerate(widths[:-1]) if width == widest]
    nearly = sum(widest - RAGGED <= width < widest for width in widths)
    if widest < NARROWEST_TERMINAL or len(broken) < max(3, nearly):
        return None
    some = broken[:: len(broken) // 50 + 1]
    continued = [index for index in some if not begins_message(lines[index + 1], patterns)]
    return widest if 2 * len(continued) > len(some) else None


def begins_message(text: str, patterns: PatternSet) -> bool:
    """True where an engine's own prefix stands near the start of the decoded line, so that it continues nothing."""
    return patterns.begins(text[:MAX_PREFIX])


def _search(prefix: Prefix, left: str) -> dict[str, str] | None:
    found = prefix.regex.search(left, timeout=1.0)
    return None if found is None else {"": found[0], **{k: v for k, v in found.groupdict().items() if v}}


def locate(passage: Passage, start: int, end: int, engine: str, patterns: PatternSet, *, anywhere: bool) -> Line | None:
    """Describe the line of a match, or return None where no message can begin at `start`.

    A message begins behind an engine's prefix, behind an exception's name, at the start of a line, or behind a
    wrapper's mark; not in the middle of a sentence.
    """
    left = passage.text[max(0, start - MAX_PREFIX) : start]
    if named := _EXCEPTION.search(left):
        left = left[: named.start() + 1] if left[named.start()] in " |>]" else left[: named.start()]
    groups = _prefix_groups(left, engine, patterns)
    if groups is None and not anywhere and not _boundary(left, engine, patterns):
        return None
    groups = groups or {}
    tags = groups.get("process", "") + groups.get("ranks", "")
    outer = left[: len(left) - len(groups.get("", ""))]
    return Line(
        number=passage.number_at(start),
        text=passage.text[start:end],
        time=groups.get("time"),
        level=groups.get("level"),
        process=groups.get("process"),
        pid=_number(groups.get("pid")),
        rank=_rank(tags, engine, patterns) or _rank(outer[-120:] if "pid=" in outer else "", engine, patterns),
        file=groups.get("file"),
        lineno=_number(groups.get("lineno")),
        stream=passage.stream,
        node=groups.get("node"),
        exception=named["name"] if named else None,
    )


def _prefix_groups(left: str, engine: str, patterns: PatternSet) -> dict[str, str] | None:
    for prefix in patterns.prefixes:
        if engine in (prefix.engine, "common") and (groups := _search(prefix, left)):
            return groups
    return None


def _number(text: str | None) -> int | None:
    return int(text) if text and len(text) <= MAX_DIGITS else None


def _boundary(left: str, engine: str, patterns: PatternSet) -> bool:
    """True where a message can begin behind `left`: at a line's start or behind a wrapper's mark.

    Behind an engine's own prefix a message has begun already; what stands in its middle is quoted.
    """
    bare = left.rstrip()
    if not bare:
        return True
    if bare[-1].isalnum() or bare[-1] in ",%":
        return False
    return not any(
        prefix.inside.search(left, timeout=1.0) for prefix in patterns.prefixes if engine in (prefix.engine, "common")
    )


def _rank(tags: str, engine: str, patterns: PatternSet) -> str | None:
    """Rank tag in the form `DP0_TP1`; expert ranks are left out, they follow from the others."""
    expressions = patterns.rank_regexes
    chosen = [expressions[engine]] if engine in expressions else list(expressions.values())
    for expression in chosen:
        parts = []
        for found in expression.finditer(tags):
            axis = found["axis"].rstrip("= ").upper()
            if axis != "EP":
                parts.append(f"{'RANK' if axis in ('RANK', 'GPU', 'GPU_ID') else axis}{found['index']}")
        if parts:
            return "_".join(parts)
    return None


def _peeled(line: str, patterns: PatternSet) -> tuple[str | None, int]:
    """Take wrappers off the start of a line: the stream that they name, and where they end."""
    stream, at = None, 0
    for _ in range(MAX_WRAPPERS):
        found = next((m for w in patterns.wrappings if w.regex and (m := w.regex.match(line, at, timeout=1.0))), None)
        if found is None or found.end() == at:
            break
        at = found.end()
        stream = found.groupdict().get("stream") or stream
    return stream, at
