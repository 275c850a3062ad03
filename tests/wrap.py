"""Wraps lines as other programs do, by the `wrap` and `escape` of `patterns/wrappings.toml`."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from logparse.patterns import Wrapping


def wrap(wrapping: Wrapping, line: str, number: int = 12) -> str:
    """`line` as it looks inside `wrapping`."""
    return wrapping.wrap.replace("{number}", str(number)).replace("{line}", _escaped(wrapping.escape, line))


def stacked(wrappings: Sequence[Wrapping], line: str, number: int = 12) -> str:
    """`line` inside the last of `wrappings`, that inside the one before, and so on."""
    for wrapping in reversed(wrappings):
        line = wrap(wrapping, line, number)
    return line


def _escaped(how: str | None, line: str) -> str:
    if how == "json":
        return json.dumps(line)[1:-1]
    return html.escape(line, quote=False) if how == "html" else line


def hard(lines: Iterable[str], width: int) -> list[str]:
    """Lines as a terminal of `width` columns shows them."""
    return [line[at : at + width] for line in lines for at in range(0, max(len(line), 1), width)]


def soft(lines: Iterable[str], width: int, mark: str = "") -> list[str]:
    """Lines broken at spaces, as Markdown editors and mail programs do; each part begins with `mark`."""
    out = []
    for line in lines:
        part = ""
        for word in line.split(" "):
            if part and len(part) + 1 + len(word) > width:
                out.append(mark + part)
                part = word
            else:
                part = f"{part} {word}" if part else word
        out.append(mark + part)
    return out
