"""Settings of an engine: what was asked for, what it became, and who says so.

Engines dump their arguments as a Python dict, as the repr of a dataclass or namespace, or as `key=value` pairs;
dumps are often cut short. `parse_dump` reads what is whole and leaves the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Origin = Literal["flag", "log", "default", "told"]

LONGEST_DUMP = 1 << 17
_OPEN, _CLOSE, _QUOTES = "([{<", ")]}>", "'\""
_WORDS = ("True", "False", "None")
_NAME = re.compile(r"[\w.-]+")
_OUTER = ("ServerArgs(", "Namespace(", "EngineArgs(", "AsyncEngineArgs(", "{", "(")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    `origin`: `flag` = the arguments as given, `log` = the engine says what it uses, `default` = the default of
    that release, `told` = given to logparse.
    """

    name: str
    value: str
    origin: Origin
    source: str = ""
    line: int | None = None


def parse_dump(text: str) -> dict[str, str]:
    """Read `{'a': 1, 'b': 'x'}`, `ServerArgs(a=1, b='x')` or `a=1, b='x'` into texts by name.

    Strings lose their quotes; nested values stay as printed. A last value that is cut short, or may be, is left out.
    """
    body, whole = _body(text[:LONGEST_DUMP].strip())
    parts = _split(body)
    if not whole or _is_cut(parts[-1]):
        parts = parts[:-1]
    found: dict[str, str] = {}
    for part in parts:
        name, value = _pair(part)
        if name:
            found.setdefault(name, value)
    return found


def is_open(text: str) -> bool:
    """True where a dump goes on behind `text`: a bracket or a quote is open, or a comma or a sign stands last."""
    text = text[-LONGEST_DUMP:].strip()
    body, whole = _body(text)
    return not whole or body.endswith((",", "=", ":")) or _depth(body) != 0


def is_whole(text: str) -> bool:
    """True for a dump that closes what it opens: nothing of it was cut off."""
    return _body(text.strip())[1]


def _body(text: str) -> tuple[str, bool]:
    """What stands inside the outer brackets, and whether they are closed; without brackets, all of it."""
    opener = next((opener for opener in _OUTER if text.startswith(opener)), None)
    if opener is None:
        return text, True
    inner = text[len(opener) :]
    end = next((offset for offset, _, depth in _walk(inner) if depth < 0), None)
    return (inner, False) if end is None else (inner[:end], True)


def _walk(text: str) -> Iterator[tuple[int, str, int]]:
    """Characters outside quotes, with the depth of brackets after each; a quote that stays open is at the end."""
    depth, quote, escaped = 0, "", False
    for offset, char in enumerate(text):
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
            continue
        if char in _QUOTES:
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE and text[offset - 1 : offset + 1] != "->":
            depth -= 1
        yield offset, char, depth
    if quote:
        yield len(text), quote, depth + 1


def _depth(text: str) -> int:
    """Brackets and quotes that are still open at the end."""
    return next((depth for _, _, depth in reversed([*_walk(text)])), 0)


def _split(text: str) -> list[str]:
    cuts = [offset for offset, char, depth in _walk(text) if char == "," and depth == 0]
    return [text[a + 1 : b].strip() for a, b in pairwise([-1, *cuts, len(text)])]


def _is_cut(part: str) -> bool:
    """True where a bracket or a quote is still open, or a word is not finished."""
    value = _pair(part)[1]
    return _depth(part) != 0 or any(word.startswith(value) and word != value for word in _WORDS)


def _pair(part: str) -> tuple[str, str]:
    if part[:1] in _QUOTES and part:
        name, found, value = part[1:].partition(f"{part[0]}:")
    else:
        name, found, value = part.partition("=")
    name = name.strip()
    if not found or not _NAME.fullmatch(name):
        return "", ""
    return name, _unquote(value.strip())


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] in _QUOTES and value[-1] == value[0]:
        return value[1:-1]
    return value


def is_none(value: str | None) -> bool:
    """True for what engines print where a setting is not set."""
    return value is None or value in ("None", "null", "")
