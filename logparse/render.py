"""Reports as text and Markdown. Nothing else knows jinja2 or rich.

Text is a template with rich's markup, so that colours and layout stay in the template; every value that comes
from a log is escaped for the output at hand before it is placed.
"""

from __future__ import annotations

import re
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound

from logparse import phrases, resources
from logparse.phrases import Phrases

if TYPE_CHECKING:
    from collections.abc import Callable

    from logparse.report import Report

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_STYLES = {
    "ready": "green", "ready-then-failed": "bold red", "failed": "bold red", "killed": "bold red", "excerpt": "yellow",
    "agrees": "green", "higher": "yellow", "lower": "yellow", "conflict": "red", "impossible": "red",
}  # fmt: skip


class Safe(str):
    """Text that is already escaped for the output."""

    __slots__ = ()


class _Loader(BaseLoader):
    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        file = resources.root("templates") / template
        if not file.is_file():
            raise TemplateNotFound(template)
        return file.read_text("utf-8"), template, lambda: True


def to_text(report: Report, *, color: bool = False, width: int = 100, verbose: bool = False) -> str:
    """A report for a terminal; with `color` it carries terminal colours."""
    from rich.console import Console

    markup = _render("report.txt", report, _escape_rich, verbose)
    out = StringIO()
    console = Console(
        file=out, force_terminal=color, no_color=not color, width=max(width, 40), highlight=False, soft_wrap=True,
        color_system="standard" if color else None, emoji=False, legacy_windows=False,
    )  # fmt: skip
    console.print(markup, end="")
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def to_markdown(report: Report) -> str:
    """A report for a ticket, as Markdown that GitHub, GitLab and others show alike."""
    text = _render("report.md", report, _escape_markdown, verbose=True)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def _render(name: str, report: Report, escape: Callable[[Any], Any], verbose: bool) -> str:
    said = Phrases(report)
    environment = _environment(escape).overlay()
    environment.filters = environment.filters | {
        name: getattr(said, name) for name in vars(Phrases) if not name.startswith("_")
    }
    return environment.get_template(name).render(report=report, words=phrases.words(), verbose=verbose)


@cache
def _environment(escape: Callable[[Any], Any]) -> Environment:
    environment = Environment(
        loader=_Loader(), finalize=escape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=False, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters.update(
        size=phrases.size, gib=phrases.size, percent=phrases.percent, plain=phrases.plain, taken=phrases.taken,
        account_title=phrases.account_title, pad=_pad, right=_right, middle=lambda step, _: phrases.middle(step),
        code=_code, cell_code=_cell_code, fence=_fence, outcome_style=lambda run: Safe(_STYLES[run.outcome]),
        verdict_style=lambda verdict: Safe(_STYLES.get(verdict, "dim")),
    )  # fmt: skip
    return environment


def _pad(text: str, width: int) -> str:
    return f"{text:<{width}}"


def _right(text: str, width: int) -> str:
    return f"{text:>{width}}"


def _escape_rich(value: Any) -> Any:
    if isinstance(value, Safe) or not isinstance(value, str):
        return value
    from rich.markup import escape

    return escape(_CONTROL.sub("�", value))


def _escape_markdown(value: Any) -> Any:
    if isinstance(value, Safe) or not isinstance(value, str):
        return value
    text = _CONTROL.sub("�", value).replace("\n", " ")
    return re.sub(r"([\\`*_{}|<>#~!]|\[(?=[^\]]*\]\())", r"\\\1", text).replace("@", "@\u200b")


def _code(text: str) -> Safe:
    """A code span that no backtick inside can end."""
    clean = _CONTROL.sub("�", text).replace("\n", " ")
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", clean)), default=0) + 1)
    gap = " " if "`" in clean else ""
    return Safe(f"{ticks}{gap}{clean}{gap}{ticks}")


def _cell_code(text: str) -> Safe:
    """A code span inside a table, where a pipe would end the cell."""
    return _code(text.replace("|", "¦"))


def _fence(text: str) -> Safe:
    """A code block that no backtick inside can end."""
    clean = "\n".join(_CONTROL.sub("�", line) for line in text.split("\n"))
    ticks = "`" * max(3, max((len(run) for run in re.findall(r"`+", clean)), default=0) + 1)
    return Safe(f"{ticks}text\n{clean}\n{ticks}")
