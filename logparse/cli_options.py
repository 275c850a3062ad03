"""Options that several commands share, and how they are followed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logparse.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logparse.settings import Setting
    from logparse.sources import Source

ENGINES = ("vllm", "sglang")
LONGEST_MESSAGE = 500

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
Folder = Annotated[Path | None, typer.Option("--patterns", help="A folder of pattern sets, instead of those shipped.")]


def say(text: str) -> None:
    """Print one line on standard error; line breaks and control characters become spaces."""
    if sys.stderr is not None:
        words = "".join(char if char.isprintable() else " " for char in text[:LONGEST_MESSAGE]).split()
        sys.stderr.write(f"logparse: {' '.join(words)}\n")


def open_sources(names: Sequence[str] | None, clipboard: bool, quiet: bool) -> list[Source]:
    """Open what was named: files, folders, `-`, nothing (standard input), or the clipboard.

    Raises:
        InputError: something cannot be opened.
    """
    from logparse import sources

    if clipboard:
        return [sources.from_clipboard()]
    opened: list[Source] = []
    for name in names or ["-"]:
        if name == "-":
            if not quiet and sys.stdin is not None and sys.stdin.isatty():
                say("reading from the terminal; paste a log and end with Ctrl-D (or give a file)")
            opened.append(sources.from_stdin())
        elif Path(name).is_dir():
            opened += _readable(sources.logs_in(name))
        else:
            opened.append(sources.from_path(name))
    return opened


def _readable(paths: list[Path]) -> list[Source]:
    """The logs of a folder that can be read; the others are named, and are no reason to stop."""
    from logparse import sources

    opened, refused = [], InputError("")
    for path in paths:
        try:
            next(sources.from_path(path).blocks(), None)
            opened.append(sources.from_path(path))
        except InputError as error:
            refused = error
            say(f"left out: {error}")
    if not opened:
        raise refused
    return opened


def told_settings(engine_version: str | None, **settings: float | None) -> list[Setting]:
    """What the user says about the runs.

    Raises:
        UsageError: the release is none.
    """
    from logparse.settings import Setting
    from logparse.versions import Version

    told = [Setting(name, str(value), "told") for name, value in settings.items() if value is not None]
    if engine_version is not None:
        if Version.parse(engine_version) is None:
            raise UsageError(f"--engine-version {engine_version!r} is not a release; write it as 0.27.0")
        told.append(Setting("version", engine_version, "told"))
    return told


def known_engine(engine: str | None) -> None:
    """See that `--engine` names one.

    Raises:
        UsageError: it does not.
    """
    if engine not in (None, *ENGINES):
        raise UsageError(f"--engine {engine!r} is not known; choose {' or '.join(ENGINES)}")
