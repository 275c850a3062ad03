"""Settings of an engine: what was asked for, what it became, and who says so.

Engines dump their arguments as a Python dict, as the repr of a dataclass or namespace, or as `key=value` pairs;
dumps are often cut short. `parse_dump` reads what is whole and leaves the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Origin = Literal["flag", "log", "default", "told"]

_OPEN, _CLOSE, _QUOTES = "([{<", ")]}>", "'\""
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

    Strings lose their quotes; nested values stay as printed. A last value that is cut short is left out.
    """
    body, closed = _body(text.strip())
    parts = _split(body)
    if not closed and parts and _is_cut(parts[-1]):
        parts = parts[:-1]
    found: dict[str, str] = {}
    for part in parts:
        name, value = _pair(part)
        if name and name not in found:
            found[name] = value
    return found


def _body(text: str) -> tuple[str, bool]:
    for opener in _OUTER:
        if text.startswith(opener):
            inner = text[len(opener):]
            end = _matching_end(inner)
            return (inner, False) if end is None else (inner[:end], True)
    return text, False


def _matching_end(text: str) -> int | None:
    """Offset of the bracket that closes what was opened before `text`."""
    for offset, _, depth in _walk(text):
        if depth < 0:
            return offset
    return None


def _walk(text: str) -> list[tuple[int, str, int]]:
    """Characters outside quotes, with the depth of brackets after each."""
    depth, quote, steps = 0, "", []
    escaped = False
    for offset, char in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == quote:
                quote = ""
            continue
        if char in _QUOTES:
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE and not (char == ">" and text[offset - 1 : offset] == "-"):
            depth -= 1
        steps.append((offset, char, depth))
    return steps


def _split(text: str) -> list[str]:
    cuts = [offset for offset, char, depth in _walk(text) if char == "," and depth == 0]
    edges = [-1, *cuts, len(text)]
    return [text[a + 1 : b].strip() for a, b in zip(edges, edges[1:], strict=False)]


def _is_cut(part: str) -> bool:
    """True where a bracket or a quote is still open."""
    steps = _walk(part)
    closed = not steps or steps[-1][2] == 0
    _, value = _pair(part)
    return not closed or (value[:1] in _QUOTES and value[:1] != value[-1:])


def _pair(part: str) -> tuple[str, str]:
    if part[:1] in _QUOTES:
        quote = part[0]
        name, found, value = part[1:].partition(f"{quote}:")
    else:
        name, found, value = part.partition("=")
    name = name.strip()
    if not found or not name.replace("_", "").replace(".", "").replace("-", "").isalnum():
        return "", ""
    return name, _unquote(value.strip())


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] in _QUOTES and value[-1] == value[0]:
        return value[1:-1]
    return value


def is_none(value: str | None) -> bool:
    """True for what engines print where a setting is not set."""
    return value is None or value in ("None", "null", "")
