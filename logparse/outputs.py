"""Where results go: standard output, or files that appear whole or not at all.

All targets are checked before the first is written. An existing file is replaced only where that was asked for;
what is no plain file (a device, a link, a folder) never is.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from logparse.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def target(path: Path | None) -> Path | None:
    """The file to write, or None for standard output, which `-` names too.

    Raises:
        UsageError: the name is empty.
    """
    if path is None or str(path) == "-":
        return None
    if path == Path():
        raise UsageError("-o needs the name of a file; leave it out for standard output")
    return path


def check(targets: Iterable[Path | None], *, force: bool, sources: Sequence[str] = ()) -> None:
    """See that every target can be written.

    Raises:
        UsageError: one exists and `force` is not given, is no plain file, or is a log that is read.
        InputError: one cannot be reached.
    """
    for path in targets:
        if path is not None:
            try:
                _check(path, force, sources)
            except OSError as error:
                raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def _check(path: Path, force: bool, sources: Sequence[str]) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(f"{path} is a link, a folder or a device; give the name of a plain file")
    if not path.exists():
        return
    if not force:
        raise UsageError(f"{path} exists; give --force to overwrite it")
    if any(Path(name).exists() and path.samefile(name) for name in sources):
        raise UsageError(f"{path} is the log that is read; give another name")


def write(text: str, path: Path | None) -> None:
    """Write text to a file, or to standard output.

    Raises:
        InputError: it cannot be written.
        BrokenPipeError: nobody reads standard output any more.
    """
    if path is None:
        _print(text if text.endswith("\n") else text + "\n")
    else:
        save(path, lambda part: part.write_text(text, "utf-8"))


def save(path: Path, fill: Callable[[Path], object]) -> None:
    """Let `fill` write a file beside the target, then put it in place.

    Raises:
        InputError: it cannot be written.
    """
    part = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        fill(part)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def _print(text: str) -> None:
    if sys.stdout is None or sys.stdout.closed:
        raise InputError("standard output is closed; write to a file with -o")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard()
        raise InputError(f"standard output cannot be written: {error.strerror or error}") from None


def discard() -> None:
    """Send what is still to be printed nowhere, so that nothing fails again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def survive_any_encoding() -> None:
    """Let a terminal that lacks a character print a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
