"""The source of an engine's release: a folder, a wheel or an sdist, read file by file and never run."""

from __future__ import annotations

import ast
import re
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from logparse.errors import InputError, UsageError
from logparse.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST_FILE = 1 << 22
"""Bytes; a larger file is generated, or no source."""
MOST_FILES = 50_000
_LEFT_OUT = frozenset({"test", "tests", "testing", "bench", "benchmark", "benchmarks", "examples", "third_party"})
_METADATA = frozenset({"PKG-INFO", "METADATA"})
_VERSION_FILES = ("_version.py", "version.py", "__init__.py")
_VERSION_LINE = re.compile(r"^Version: (\S+)", re.M)


@dataclass(frozen=True)
class Tree:
    """The modules of one engine's package, by their path from the package on, and what names the release."""

    engine: str
    files: dict[str, str]
    release: Version


def read(path: Path, engine: str | None, release: str | None, engines: Iterable[str]) -> Tree:
    """Read the source of a release.

    Args:
        path: a folder, a wheel, or an sdist.
        engine: whose source it is; None where the tree itself should say.
        release: which release it is; None where the tree itself should say.
        engines: names of the packages to look for.

    Raises:
        InputError: it cannot be read, or is no engine's source.
        UsageError: the tree does not say which release it is, or `release` is none.
    """
    packages, metadata = _gather(path, [engine] if engine else list(engines))
    found = max(packages, key=lambda name: len(packages[name]), default=None)
    if found is None:
        wanted = engine or " or ".join(engines)
        raise InputError(f"{path} holds no package {wanted}; give the unpacked source, the wheel or the sdist")
    return Tree(found, packages[found], _release(path, release, packages[found], metadata))


def _release(path: Path, told: str | None, files: dict[str, str], metadata: list[str]) -> Version:
    if told is not None:
        version = Version.parse(told)
        if version is None:
            raise UsageError(f"--release {told!r} is not a release; write it as 0.27.0")
        return version
    said = [_assigned_version(text) for name in _VERSION_FILES if (text := _top_module(files, name))]
    said += [found[1] for text in metadata if (found := _VERSION_LINE.search(text))]
    known = (version for text in said if text and (version := Version.parse(text)))
    if (version := next(known, None)) is None:
        raise UsageError(f"{path} does not say which release it is; give --release")
    return version


def _top_module(files: dict[str, str], name: str) -> str | None:
    return next((text for path, text in files.items() if path.count("/") == 1 and path.endswith(f"/{name}")), None)


def _assigned_version(text: str) -> str | None:
    """What a module assigns to `__version__` as a plain string."""
    for node in _parsed(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if "__version__" in names and isinstance(node.value.value, str):
                return node.value.value
    return None


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def _gather(path: Path, engines: list[str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Modules of each engine's package, and the metadata of the distribution."""
    packages: dict[str, dict[str, str]] = {}
    metadata: list[str] = []
    for name, raw in _entries(path, engines):
        if PurePosixPath(name).name in _METADATA:
            metadata.append(raw.decode("utf-8", "replace"))
        elif place := _place(name, engines):
            packages.setdefault(place.partition("/")[0], {})[place] = raw.decode("utf-8", "replace")
    return packages, metadata


def _place(name: str, engines: list[str]) -> str | None:
    """The path of a module from its engine's package on, or None where it is no part of a server."""
    parts = PurePosixPath(name).parts
    start = next((i for i, part in enumerate(parts[:-1]) if part in engines and i <= 3), None)
    stem = PurePosixPath(name).stem
    if start is None or not name.endswith(".py") or _LEFT_OUT.intersection((*parts[:-1], stem)):
        return None
    return "/".join(parts[start:])


def _entries(path: Path, engines: list[str]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files that may matter."""
    try:
        if path.is_dir():
            yield from _of_folder(path, engines)
        elif zipfile.is_zipfile(path):
            yield from _of_zip(path, engines)
        elif tarfile.is_tarfile(path):
            yield from _of_tar(path, engines)
        else:
            raise InputError(f"{path} is neither a folder nor a zip, wheel or tar archive")
    except (OSError, EOFError, RuntimeError, tarfile.TarError, zipfile.BadZipFile) as error:
        reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip()
        raise InputError(f"{path} cannot be read: {reason}") from None


def _matters(name: str, size: int, engines: list[str]) -> bool:
    wanted = PurePosixPath(name).name in _METADATA or _place(name, engines) is not None
    return wanted and size <= LARGEST_FILE


def _of_folder(path: Path, engines: list[str]) -> Iterator[tuple[str, bytes]]:
    base = path.resolve().name
    for count, file in enumerate(sorted(path.rglob("*"))):
        if count > MOST_FILES:
            raise InputError(f"{path} holds more than {MOST_FILES} files; give the source of one release")
        name = PurePosixPath(base, *file.relative_to(path).parts).as_posix()
        if file.suffix in (".py", "") and file.is_file() and _matters(name, file.stat().st_size, engines):
            yield name, file.read_bytes()


def _of_zip(path: Path, engines: list[str]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist()[:MOST_FILES]:
            if _matters(entry.filename, entry.file_size, engines):
                yield entry.filename, archive.read(entry)


def _of_tar(path: Path, engines: list[str]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for count, entry in enumerate(archive):
            if count > MOST_FILES:
                return
            if entry.isfile() and _matters(entry.name, entry.size, engines) and (file := archive.extractfile(entry)):
                yield entry.name, file.read()
