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
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logparse import __version__
from logparse.errors import InputError, LogparseError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from logparse.patterns import Field, Pattern
    from logparse.report import Report
    from logparse.settings import Setting
    from logparse.sources import Source
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

Sources = Annotated[
    list[str] | None, typer.Argument(metavar="[SOURCE]...", help="Logs or folders; - or nothing is standard input.")
]
Clipboard = Annotated[bool, typer.Option("--clipboard", help="Read the clipboard.")]
Output = Annotated[
    list[Path] | None,
    typer.Option("-o", "--output", help="Write here instead; the suffix chooses the format. Repeatable."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Engine = Annotated[str | None, typer.Option("--engine", help="Only runs of this engine: vllm or sglang.")]
EngineVersion = Annotated[
    str | None, typer.Option("--engine-version", help="The release, where the log has no banner.")
]
RunOption = Annotated[int | None, typer.Option("--run", help="Only this run (engine start), counted from 0.")]
RankOption = Annotated[str | None, typer.Option("--rank", help="Only this rank, such as TP0.")]
Device = Annotated[
    str | None, typer.Option("--device", help="The card, such as A10 or H100, where the log has no total.")
]
NoRedact = Annotated[bool, typer.Option("--no-redact", help="Keep keys, paths, users and addresses in quoted lines.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No hints on standard error.")]


def main() -> None:
    """Run the command line and end the process with the right exit code."""
    try:
        app()
    except LogparseError as error:
        _say(str(error))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)


def _say(text: str) -> None:
    sys.stderr.write(f"logparse: {' '.join(text.split())}\n")


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


def _open(names: Sequence[str] | None, clipboard: bool, quiet: bool) -> list[Source]:
    from logparse import sources

    if clipboard:
        return [sources.from_clipboard()]
    opened: list[Source] = []
    for name in names or ["-"]:
        if name == "-":
            if not quiet and sys.stdin is not None and sys.stdin.isatty():
                _say("reading from the terminal; paste a log and end with Ctrl-D (or give a file)")
            opened.append(sources.from_stdin())
        elif Path(name).is_dir():
            opened += [sources.from_path(path) for path in sources.logs_in(name)]
        else:
            opened.append(sources.from_path(name))
    return opened


def _told(engine_version: str | None, **settings: float | None) -> list[Setting]:
    from logparse.settings import Setting
    from logparse.versions import Version

    told = [Setting(name, str(value), "told") for name, value in settings.items() if value is not None]
    if engine_version is not None:
        if Version.parse(engine_version) is None:
            raise UsageError(f"--engine-version {engine_version!r} is not a release; write it as 0.27.0")
        told.append(Setting("version", engine_version, "told"))
    return told


def _write(text: str, output: Path | None, force: bool) -> None:
    if output is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
        return
    if output.exists() and not force:
        raise UsageError(f"{output} exists; give --force to overwrite it")
    try:
        temporary = output.with_name(f".{output.name}.{os.getpid()}.part")
        temporary.write_text(text, "utf-8")
        temporary.replace(output)
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror or error}") from None


# -- report -------------------------------------------------------------------------------------------------

TotalMemory = Annotated[
    str | None, typer.Option("--total-memory", help="Memory of one card as CUDA reports it, such as 22.06GiB.")
]
Utilization = Annotated[
    float | None, typer.Option("--gpu-memory-utilization", min=0, max=1, help="vLLM's flag, where the log lacks it.")
]
Fraction = Annotated[
    float | None, typer.Option("--mem-fraction-static", min=0, max=1, help="SGLang's flag, where the log lacks it.")
]
Color = Annotated[str, typer.Option("--color", help="auto, always or never.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Also list every number with its line.")]
Format = Annotated[str | None, typer.Option("-f", "--format", help="text, md or json.")]
Json = Annotated[bool, typer.Option("--json", help="The same as -f json.")]
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
    from logparse.reconcile import reconcile

    outputs = _targets(output, "json" if as_json else format_)
    total = _total(total_memory, device)
    told = _told(engine_version, gpu_memory_utilization=gpu_memory_utilization, mem_fraction_static=mem_fraction_static)
    parsed = log.read(_open(source, clipboard, quiet), told=told, redact=not no_redact)
    made = _narrowed(reconcile(parsed, total_memory=total), engine, run, rank)
    _write_report(made, outputs, force, color, verbose)


def _total(total_memory: str | None, device: str | None) -> Interval | None:
    from logparse.units import size_interval

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
    runs = [r for r in made.runs if engine in (None, r.engine) and run in (None, r.index)]
    if not runs:
        had = ", ".join(f"{r.index} ({r.engine})" for r in made.runs)
        raise UsageError(f"no run fits --engine and --run; this log has {had}")
    if rank is not None:
        known = sorted({row.rank for r in runs for row in r.ledger if row.rank})
        if rank not in known:
            raise UsageError(f"no rank {rank}; this log has {', '.join(known) or 'no rank tags'}")
        runs = [replace(r, main_rank=rank) for r in runs]
    return replace(made, runs=tuple(runs))


def _targets(outputs: list[Path] | None, format_: str | None) -> list[tuple[Path | None, str]]:
    """Where to write, and what: the format asked for, else the one that the suffix names, else text."""
    targets: list[Path | None] = [*outputs] if outputs else [None]
    found = []
    for target in targets:
        kind = (format_ or (target.suffix.lstrip(".") if target else "") or "text").lower()
        if kind not in _FORMATS:
            raise UsageError(f"format {kind!r} is not known; choose {', '.join(sorted(set(_FORMATS.values())))}")
        found.append((target, _FORMATS[kind]))
    return found


def _write_report(made: Report, outputs: list[tuple[Path | None, str]], force: bool, color: str, verbose: bool) -> None:
    if color not in ("auto", "always", "never"):
        raise UsageError(f"--color {color!r} is not known; choose auto, always or never")
    for target, kind in outputs:
        _write(_rendered(made, kind, target is None, color, verbose), target, force)


def _rendered(made: Report, kind: str, to_terminal: bool, color: str, verbose: bool) -> str:
    if kind == "json":
        return made.to_json()
    from logparse import render

    if kind == "md":
        return render.to_markdown(made)
    automatic = to_terminal and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    colored = color == "always" or (color == "auto" and automatic)
    return render.to_text(made, color=colored, width=width, verbose=verbose)


@app.command()
def demo(format_: Format = None, as_json: Json = False, color: Color = "auto", verbose: Verbose = False) -> None:
    """Report on a log that ships with logparse: Qwen3.5-4B on one A10, vLLM 0.27.0."""
    from importlib.resources import as_file, files

    from logparse import log, sources
    from logparse.reconcile import reconcile
    from logparse.units import size_interval

    card = "22.06GiB"
    with as_file(files("logparse") / "data" / "demo.log") as path:
        parsed = log.read([replace(sources.from_path(path), name="demo.log")])
        command = f"logparse report --total-memory {card} {path}"
    made = reconcile(parsed, total_memory=size_interval(card), command=command)
    _write_report(made, _targets(None, "json" if as_json else format_), False, color, verbose)


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
    _write(text, None, False)


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

    parsed = log.read(_open(source, clipboard, quiet), told=_told(engine_version), redact=not no_redact)
    rows = (
        row
        for row in frames.observation_rows(
            [r for r in parsed.parsed if engine in (None, r.engine)], redact=not no_redact
        )
        if run in (None, row["run"]) and rank in (None, row["rank"])
    )
    targets: list[Path | None] = [*output] if output else [None]
    kept = list(rows)
    for target in targets:
        kind = (target.suffix.lstrip(".") if target and target.suffix else format_).lower()
        _write_table(kept, kind, target, force)


def _write_table(rows: Iterable[dict[str, Any]], kind: str, output: Path | None, force: bool) -> None:
    from logparse import frames

    if kind in ("jsonl", "json"):
        import json

        _write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows) or "\n", output, force)
        return
    if kind == "csv":
        _write(frames.csv_text(rows), output, force)
    elif kind == "parquet":
        if output is None:
            raise UsageError("parquet is a binary format; give a file with -o")
        if output.exists() and not force:
            raise UsageError(f"{output} exists; give --force to overwrite it")
        frames.write_parquet(rows, output)
    else:
        raise UsageError(f"format {kind!r} is not known; choose jsonl, csv or parquet")


# -- patterns -----------------------------------------------------------------------------------------------

patterns_app = typer.Typer(help="Look at, try and check the pattern sets.", no_args_is_help=True)
app.add_typer(patterns_app, name="patterns")
Folder = Annotated[Path | None, typer.Option("--patterns", help="A folder of pattern sets, instead of those shipped.")]


def _pattern_set(folder: Path | None) -> Any:
    from logparse import patterns

    if folder is not None and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder of pattern sets")
    return patterns.load(folder) if folder else patterns.default()


@patterns_app.command("list")
def patterns_list(engine: Engine = None, folder: Folder = None) -> None:
    """List all patterns: name, phase, releases."""
    chosen = [p for p in _pattern_set(folder).patterns if engine in (None, p.engine)]
    width = max((len(p.id) for p in chosen), default=0)
    _write("\n".join(f"{p.id:{width}}  {p.phase:8}  {p.releases}" for p in chosen), None, False)


@patterns_app.command("show")
def patterns_show(name: str, folder: Folder = None) -> None:
    """Show one pattern: its regex, its fields and its samples."""
    pattern = _pattern_set(folder).get(name)
    lines = [f"{pattern.id}  ({pattern.topic}.toml)"]
    keys = {"releases": "releases", "phase": "phase", "anchor": "anchor", "source": "regex", "marks": "marks", "role": "role",
            "label": "label"}  # fmt: skip
    said = ((title, getattr(pattern, key)) for key, title in keys.items())
    lines += [f"{title:8}  {value}" for title, value in said if value is not None]
    lines += [f"{key:8}  true" for key, set_ in _switches(pattern) if set_]
    lines += [f"field     {field.group}: {_meaning(field)}" for field in pattern.fields]
    lines += [f"reject    {line}" for line in pattern.rejects]
    lines += [f"sample    {sample.line}" for sample in pattern.samples]
    _write("\n".join(lines), None, False)


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
            _say(fault)
        raise PatternError(f"{len(faults)} faults in {len(known.patterns)} patterns; see above")
    _write(
        f"{len(known.patterns)} patterns, {len(known.prefixes)} prefixes: no fault (set {known.digest})", None, False
    )


@patterns_app.command("try")
def patterns_try(
    source: Sources = None, clipboard: Clipboard = False, quiet: Quiet = False, folder: Folder = None
) -> None:
    """Say which pattern read which line, and what it read."""
    from logparse import match

    known = _pattern_set(folder)
    lines = []
    for log in _open(source, clipboard, quiet):
        for event in match.events(log, known):
            facts = [f"{r.quantity}={r.value} {r.unit}" + (f" @{r.at}" if r.at else "") for r in event.readings]
            facts += [f"{key}={text[:60]!r}" for key, text, _ in event.texts]
            lines.append(f"{log.name}:{event.line.number}  {event.pattern.id}  {', '.join(facts)}")
    _write("\n".join(lines) or "no pattern matched", None, False)
