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
    from collections.abc import Sequence

    from logparse.patterns import PatternSet, Prefix

# Colours, with the escape character or with what is left of it after copying.
_ANSI = re.compile(
    r"(?:\x1b|\\x1b|\\u001b|\\033|\\e|␛|\^\[)(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))|(?<![\w\]])\[\d{1,3}(?:;\d{1,3})*m"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ESCAPES = re.compile(r'\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["\\/bfnrt]))')
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": "", '"': '"', "\\": "\\", "/": "/"}
_ESCAPED_NEWLINE = re.compile(r'\\+[nr](?![a-z])|\\+"|\\+u[0-9a-fA-F]{4}|\\+t')
_TAG = re.compile(r"</?(?:span|pre|code|div|br|p|b|i|em|font|td|tr|li|strong|samp|a)\b[^<>]*>", re.I)
_ENTITY = re.compile(r"&(?:[a-z]{2,6}|#\d{1,5}|#x[0-9a-f]{1,5});", re.I)
# What Markdown, a mail or a terminal puts at the start of a continued line.
_CONTINUATION = re.compile(r"^(?:[ \t]*(?:>|\||│|#(?= )|\*(?= ))[ \t]?)*[ \t]*")
_EXCEPTION = re.compile(r"(?:^|[\s|>\"'`(\]])(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning): $")
MAX_PREFIX = 400
MAX_DECODES = 3


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


@dataclass(frozen=True, slots=True)
class Passage:
    """Decoded text, with the physical line that each part came from."""

    text: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    def number_at(self, offset: int) -> int:
        """Physical line that holds the character at `offset`."""
        return self.numbers[bisect_right(self.starts, offset) - 1]


def decode(text: str) -> list[str]:
    """Decode one physical line into the logical lines that are inside it, without colours.

    A JSON string with `\\n` in it, or a line with carriage returns, holds several.
    """
    for _ in range(MAX_DECODES):
        if "\\" not in text or not _ESCAPED_NEWLINE.search(text):
            break
        text = _ESCAPES.sub(_unescape, _ANSI.sub("", text))
    if "<" in text or "&" in text:
        text = _TAG.sub("", text) if "</" in text or "<br" in text or "<span" in text else text
        text = html.unescape(text) if _ENTITY.search(text) else text
    if "\x1b" in text or "[" in text or "\\" in text or "␛" in text:
        text = _ANSI.sub("", text)
    parts = re.split(r"[\r\n]+", text) if "\r" in text or "\n" in text else [text]
    return [_CONTROL.sub("", part).replace("\u00a0", " ") for part in parts if part]


def _unescape(found: re.Match[str]) -> str:
    code, byte, simple = found.groups()
    if simple:
        return _SIMPLE[simple]
    return chr(int(code or byte, 16))


def passages(raw: RawLine) -> list[Passage]:
    """Decode a physical line into passages."""
    return [Passage(part, (0,), (raw.number,)) for part in decode(raw.text)]


def joined(lines: Sequence[RawLine], glue: str) -> Passage:
    """Join consecutive physical lines that were one before somebody wrapped them.

    `glue` is what the break stands for: a space (Markdown breaks at spaces) or nothing (a terminal breaks anywhere).
    """
    texts, starts, numbers, length = [], [], [], 0
    for index, line in enumerate(lines):
        parts = decode(line.text) or [""]
        part = parts[-1] if index == 0 else parts[0]
        if index:
            part = strip_continuation(part)
            if glue:
                texts.append(glue)
                length += len(glue)
        if index < len(lines) - 1 and glue:
            part = part.rstrip()
        starts.append(length)
        numbers.append(line.number)
        texts.append(part)
        length += len(part)
    return Passage("".join(texts), tuple(starts), tuple(numbers))


def strip_continuation(text: str) -> str:
    """Take off what Markdown, a mail or a terminal puts before a continued line."""
    found = _CONTINUATION.match(text)
    return text[found.end():] if found else text


def begins_message(passage: Passage, patterns: PatternSet) -> bool:
    """True where an engine's own prefix stands near the start of the passage, so that it continues nothing."""
    head = passage.text[:MAX_PREFIX]
    return any(_search(prefix, head[:cut]) for prefix in patterns.prefixes for cut in _cuts(head))


def _cuts(head: str) -> list[int]:
    return [found.end() for found in re.finditer(r"[\])] +", head)][:4]


def _search(prefix: Prefix, left: str) -> dict[str, str] | None:
    found = prefix.regex.search(left, timeout=1.0)
    return None if found is None else {"": found[0], **{k: v for k, v in found.groupdict().items() if v}}


def locate(passage: Passage, start: int, end: int, engine: str, patterns: PatternSet, *, anywhere: bool) -> Line | None:
    """Describe the line of a match, or return None where no message can begin at `start`.

    A message begins behind an engine's prefix, behind an exception's name, at the start of a line, or behind a
    wrapper's mark; not in the middle of a sentence.
    """
    left = passage.text[max(0, start - MAX_PREFIX):start]
    if named := _EXCEPTION.search(left):
        left = left[: named.start() + 1] if left[named.start()] in " |>]" else left[: named.start()]
    groups = _prefix_groups(left, engine, patterns)
    if groups is None and not anywhere and not _boundary(left):
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
        pid=int(groups["pid"]) if "pid" in groups else None,
        rank=_rank(tags, engine, patterns) or _rank(outer[-120:] if "pid=" in outer else "", engine, patterns),
        file=groups.get("file"),
        lineno=int(groups["lineno"]) if "lineno" in groups else None,
        stream=_stream(passage.text, patterns),
    )


def _prefix_groups(left: str, engine: str, patterns: PatternSet) -> dict[str, str] | None:
    for prefix in patterns.prefixes:
        if engine in (prefix.engine, "common") and (groups := _search(prefix, left)):
            return groups
    return None


def _boundary(left: str) -> bool:
    bare = left.rstrip()
    return not bare or not (bare[-1].isalnum() or bare[-1] in ",;%")


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


def _stream(text: str, patterns: PatternSet) -> str | None:
    for wrapping in patterns.wrappings:
        if wrapping.regex and (found := wrapping.regex.match(text, timeout=1.0)):
            return found.groupdict().get("stream")
    return None
