"""The `patterns` commands: look at, try and check the pattern sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from logparse import outputs
from logparse.cli_options import Clipboard, Engine, Folder, Quiet, Sources, known_engine, open_sources, say
from logparse.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from logparse.patterns import Field, Pattern

patterns_app = typer.Typer(help="Look at, try and check the pattern sets.", no_args_is_help=True)


def _pattern_set(folder: Path | None) -> Any:
    from logparse import patterns

    if folder is not None and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder of pattern sets")
    return patterns.load(folder) if folder else patterns.default()


@patterns_app.command("list")
def patterns_list(engine: Engine = None, folder: Folder = None) -> None:
    """List all patterns: name, phase, releases."""
    if engine != "common":
        known_engine(engine)
    chosen = [p for p in _pattern_set(folder).patterns if engine in (None, p.engine)]
    width = max((len(p.id) for p in chosen), default=0)
    outputs.write("\n".join(f"{p.id:{width}}  {p.phase:8}  {p.releases}" for p in chosen), None)


@patterns_app.command("show")
def patterns_show(name: str, folder: Folder = None) -> None:
    """Show one pattern: its regex, its fields and its samples."""
    pattern = _pattern_set(folder).get(name)
    lines = [f"{pattern.id}  ({pattern.topic}.toml)"]
    said = {"releases": pattern.releases, "phase": pattern.phase, "anchor": pattern.anchor, "regex": pattern.source}
    said |= {"marks": pattern.marks, "role": pattern.role, "label": pattern.label}
    lines += [f"{key:8}  {value}" for key, value in said.items() if value is not None]
    lines += [f"{key:8}  true" for key, set_ in _switches(pattern) if set_]
    lines += [f"field     {field.group}: {_meaning(field)}" for field in pattern.fields]
    lines += [f"reject    {line}" for line in pattern.rejects]
    lines += [f"sample    {sample.line}" for sample in pattern.samples]
    outputs.write("\n".join(lines), None)


def _switches(pattern: Pattern) -> list[tuple[str, bool]]:
    return [("anywhere", pattern.anywhere), ("fallback", pattern.is_fallback)]


def _meaning(field: Field) -> str:
    meaning = field.quantity or field.identity or field.setting or field.settings
    if not field.quantity:
        return f"{meaning}"
    steps = {"printed": "to its last digit", "0": "exactly"}
    return f"{meaning} in {field.unit}, {steps.get(field.step, f'to {field.step}')}"


@patterns_app.command("check")
def patterns_check(folder: Folder = None) -> None:
    """Check every pattern against its own samples and against the others."""
    from logparse import selfcheck
    from logparse.errors import PatternError

    known = _pattern_set(folder)
    faults = selfcheck.check(known)
    if faults:
        for fault in faults:
            say(fault)
        raise PatternError(f"{len(faults)} faults in {len(known.patterns)} patterns; see above")
    outputs.write(
        f"{len(known.patterns)} patterns, {len(known.prefixes)} prefixes: no fault (set {known.digest})", None
    )


@patterns_app.command("try")
def patterns_try(
    source: Sources = None, clipboard: Clipboard = False, quiet: Quiet = False, folder: Folder = None
) -> None:
    """Say which pattern read which line, and what it read."""
    from logparse import match

    known = _pattern_set(folder)
    lines = []
    for log in open_sources(source, clipboard, quiet):
        for event in match.events(log, known):
            facts = [f"{r.quantity}={r.value} {r.unit}" + (f" @{r.at}" if r.at else "") for r in event.readings]
            facts += [f"{key}={text[:60]!r}" for key, text, _ in event.texts]
            lines.append(f"{log.name}:{event.line.number}  {event.pattern.id}  {', '.join(facts)}")
    outputs.write("\n".join(lines) or "no pattern matched", None)
