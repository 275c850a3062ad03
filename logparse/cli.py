"""The command line: reads options, calls the library, writes results. Nothing else knows typer.

Results go to standard output, everything else to standard error. Heavy imports stay inside the commands, so
that `--help` is quick.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logparse import __version__, outputs
from logparse.cli_options import (
    Clipboard,
    Color,
    Device,
    Engine,
    EngineVersion,
    Force,
    Format,
    Fraction,
    Json,
    NoRedact,
    Output,
    Quiet,
    RankOption,
    RunOption,
    Sources,
    TotalMemory,
    Utilization,
    Verbose,
    known_engine,
    open_sources,
    say,
    told_settings,
)
from logparse.cli_patterns import patterns_app
from logparse.errors import LogparseError, UsageError

if TYPE_CHECKING:
    from logparse.report import Report
    from logparse.units import Interval

app = typer.Typer(
    name="logparse",
    help="Read a vLLM or SGLang start-up log and say where the GPU memory went.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(patterns_app, name="patterns")


def main() -> None:
    """Run the command line and end the process with the right exit code."""
    outputs.survive_any_encoding()
    try:
        sys.exit(app(standalone_mode=False))
    except LogparseError as error:
        say(str(error))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        outputs.discard()
        sys.exit(0)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except Exception as error:
        _usage(error)


def _usage(error: Exception) -> None:
    """Say in one line what typer found wrong with the command; anything else is a fault of ours and goes on."""
    message = getattr(error, "format_message", None)
    if message is None:
        raise error
    context = getattr(error, "ctx", None)
    if not str(message()).strip() or type(error).__name__ == "NoArgsIsHelpError":
        outputs.write(context.get_help() if context else "", None)
        sys.exit(0)
    command = context.command_path if context else "logparse"
    say(f"{message()} See `{command} --help`.")
    sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"logparse {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Read a vLLM or SGLang start-up log and say where the GPU memory went."""


# -- report -------------------------------------------------------------------------------------------------

SMALLEST_CARD = 1 << 30
"""Bytes; no card that serves a model has less."""
_FORMATS = {"text": "text", "txt": "text", "md": "md", "markdown": "md", "json": "json"}


@app.command()
def report(
    source: Sources = None,
    format_: Format = None,
    as_json: Json = False,
    output: Output = None,
    force: Force = False,
    clipboard: Clipboard = False,
    total_memory: TotalMemory = None,
    device: Device = None,
    gpu_memory_utilization: Utilization = None,
    mem_fraction_static: Fraction = None,
    engine: Engine = None,
    engine_version: EngineVersion = None,
    run: RunOption = None,
    rank: RankOption = None,
    no_redact: NoRedact = False,
    color: Color = "auto",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Report where the GPU memory went, whether it adds up, and what the log does not say."""
    from logparse import log
    from logparse.reconciliation import reconcile

    targets = _targets(output, _format(format_, as_json))
    outputs.check([path for path, _ in targets], force=force, sources=source or [])
    total = _total(total_memory, device)
    fractions = {"gpu_memory_utilization": gpu_memory_utilization, "mem_fraction_static": mem_fraction_static}
    told = told_settings(engine_version, **fractions)
    parsed = log.read(open_sources(source, clipboard, quiet), told=told, redact=not no_redact)
    made = _narrowed(reconcile(parsed, total_memory=total), engine, run, rank)
    _write_report(made, targets, color, verbose)


def _total(total_memory: str | None, device: str | None) -> Interval | None:
    from logparse.units import size_interval

    if total_memory is not None and device is not None:
        raise UsageError("--total-memory and --device contradict each other; give one")
    if total_memory is not None:
        try:
            size = size_interval(total_memory)
        except ValueError as error:
            raise UsageError(f"--total-memory: {error}") from None
        if size.high < SMALLEST_CARD:
            raise UsageError(f"--total-memory {total_memory} is too small for a card; give the unit, as in 22.06GiB")
        return size
    if device is not None:
        from logparse.estimate import devices

        return devices.total_memory(device)
    return None


def _narrowed(made: Report, engine: str | None, run: int | None, rank: str | None) -> Report:
    """The report on the runs and the rank that were asked for."""
    known_engine(engine)
    runs = [r for r in made.runs if engine in (None, r.engine) and run in (None, r.index)]
    if not runs:
        had = ", ".join(f"{r.index} ({r.engine})" for r in made.runs)
        raise UsageError(f"no run fits --engine and --run; the runs of this log are {had}")
    if rank is not None:
        known = sorted({row.rank for r in runs for row in r.ledger if row.rank})
        if rank not in known:
            raise UsageError(f"no rank {rank}; this log has {', '.join(known) or 'no rank tags'}")
        runs = [replace(r, main_rank=rank) for r in runs]
    return replace(made, runs=tuple(runs))


def _format(format_: str | None, as_json: bool) -> str | None:
    if as_json and format_ not in (None, "json"):
        raise UsageError(f"--json and --format {format_} contradict each other; give one")
    return "json" if as_json else format_


def _targets(paths: list[Path] | None, format_: str | None) -> list[tuple[Path | None, str]]:
    """Where to write, and what: the format asked for, else the one that the suffix names, else text."""
    found = []
    for path in paths or [Path("-")]:
        target = outputs.target(path)
        kind = (target.suffix.lstrip(".") if target else "") or "text"
        kind = (kind if format_ is None else format_).lower()
        if kind not in _FORMATS:
            raise UsageError(f"format {kind!r} is not known; choose {', '.join(sorted(set(_FORMATS.values())))}")
        found.append((target, _FORMATS[kind]))
    return found


def _write_report(made: Report, targets: list[tuple[Path | None, str]], color: str, verbose: bool) -> None:
    if color not in ("auto", "always", "never"):
        raise UsageError(f"--color {color!r} is not known; choose auto, always or never")
    for target, kind in targets:
        outputs.write(_rendered(made, kind, target is None, color, verbose), target)


def _rendered(made: Report, kind: str, to_terminal: bool, color: str, verbose: bool) -> str:
    if kind == "json":
        return made.to_json()
    from logparse import render

    if kind == "md":
        return render.to_markdown(made)
    automatic = to_terminal and sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    colored = color == "always" or (color == "auto" and automatic)
    return render.to_text(made, color=colored, width=width, verbose=verbose)


@app.command()
def demo(format_: Format = None, as_json: Json = False, color: Color = "auto", verbose: Verbose = False) -> None:
    """Report on a log that ships with logparse: Qwen3.5-4B on one A10, vLLM 0.27.0."""
    from importlib.resources import as_file, files

    from logparse import log, sources
    from logparse.reconciliation import reconcile
    from logparse.units import size_interval

    card = "22.06GiB"
    with as_file(files("logparse") / "data" / "demo.log") as path:
        parsed = log.read([replace(sources.from_path(path), name="demo.log")])
        command = f"logparse report --total-memory {card} {path}"
    made = reconcile(parsed, total_memory=size_interval(card), command=command)
    _write_report(made, _targets(None, _format(format_, as_json)), color, verbose)


@app.command()
def explain(name: Annotated[str, typer.Argument(help="A quantity, an account, a check or an outcome.")]) -> None:
    """Explain a name that a report uses."""
    from logparse.phrases import explain as explained

    text = explained(name)
    if text is None:
        from logparse.phrases import words
        from logparse.quantities import QUANTITIES

        known = sorted({*QUANTITIES, *words()["account"], *words()["check"], *words()["outcome"]})
        close = get_close_matches(name, known, n=3, cutoff=0.5)
        raise UsageError(
            f"nothing is called {name!r}; did you mean {', '.join(close) or 'one of: logparse explain weights'}"
        )
    outputs.write(text, None)


# -- observe ------------------------------------------------------------------------------------------------


@app.command()
def observe(
    source: Sources = None,
    format_: Annotated[str, typer.Option("-f", "--format", help="jsonl, csv or parquet.")] = "jsonl",
    output: Output = None,
    force: Force = False,
    clipboard: Clipboard = False,
    engine: Engine = None,
    engine_version: EngineVersion = None,
    run: RunOption = None,
    rank: RankOption = None,
    no_redact: NoRedact = False,
    quiet: Quiet = False,
) -> None:
    """Print every number that the log tells, one row each."""
    from logparse import frames, log

    known_engine(engine)
    targets = _table_targets(output, format_)
    outputs.check([path for path, _ in targets], force=force, sources=source or [])
    parsed = log.read(open_sources(source, clipboard, quiet), told=told_settings(engine_version), redact=not no_redact)
    runs = [r for r in parsed.parsed if engine in (None, r.engine)]
    rows = [
        row
        for row in frames.observation_rows(runs, redact=not no_redact)
        if run in (None, row["run"]) and rank in (None, row["rank"])
    ]
    for path, kind in targets:
        _write_table(rows, kind, path)


def _table_targets(paths: list[Path] | None, format_: str) -> list[tuple[Path | None, str]]:
    found = []
    for path in paths or [Path("-")]:
        target = outputs.target(path)
        kind = (target.suffix.lstrip(".") if target and target.suffix else format_).lower()
        if kind not in ("jsonl", "json", "csv", "parquet"):
            raise UsageError(f"format {kind!r} is not known; choose jsonl, csv or parquet")
        if kind == "parquet" and target is None:
            raise UsageError("parquet is a binary format; give a file with -o")
        if kind == "parquet" and find_spec("pyarrow") is None:
            raise UsageError('writing parquet needs pyarrow: pip install "logparse[parquet]"')
        found.append((target, kind))
    return found


def _write_table(rows: list[dict[str, Any]], kind: str, path: Path | None) -> None:
    from logparse import frames

    if kind == "csv":
        outputs.write(frames.csv_text(rows), path)
    elif kind == "parquet" and path is not None:
        outputs.save(path, lambda part: frames.write_parquet(rows, part))
    else:
        import json

        outputs.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows) or "\n", path)
