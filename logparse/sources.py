"""Where logs come from: files, folders, standard input, the clipboard; compressed or not; UTF-8 or UTF-16.

A source is read in blocks of whole lines, so memory stays bounded whatever its size. Lines are counted by line
feeds only, from 1, as `sed -n Np` counts them.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import shutil
import subprocess
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from logparse.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 20
LONGEST_LINE = 8 << 20
"""A longer line is cut into pieces of this size, all with the same number."""
BINARY_SHARE = 0.02

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CLIPBOARDS = (
    ("pbpaste",),
    ("wl-paste", "--no-newline"),
    ("xclip", "-selection", "clipboard", "-out"),
    ("xsel", "--clipboard", "--output"),
    ("powershell.exe", "-NoProfile", "-Command", "Get-Clipboard -Raw"),
)
_LOG_SUFFIXES = {"", ".log", ".txt", ".out", ".err", ".json", ".jsonl", ".md", ".html", ".ipynb"}
_COMPRESSED = {".gz", ".bz2", ".xz", ".zst"}


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of text; the first is line number `first`."""

    first: int
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """A log that can be read once. `name` is what reports call it."""

    name: str
    stream: BinaryIO = field(repr=False)

    def blocks(self) -> Iterator[Block]:
        """Read the log, block by block.

        Raises:
            InputError: it cannot be read, is truncated, or is not text.
        """
        with self.stream:
            yield from _blocks(self.name, self.stream)


def from_text(text: str, name: str = "<text>") -> Source:
    """A source that holds `text`."""
    return Source(name, io.BytesIO(text.encode("utf-8", "surrogatepass")))


def from_path(path: str | Path) -> Source:
    """A source that reads one file.

    Raises:
        InputError: the file is missing, a folder, or not readable.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a log; logparse report {path} reads every log in it")
    try:
        return Source(str(path), path.open("rb"))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path, or pipe the log in") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def from_stdin() -> Source:
    """A source that reads standard input."""
    return Source("<stdin>", sys.stdin.buffer)


def from_clipboard() -> Source:
    """A source that holds what the clipboard holds.

    Raises:
        InputError: no clipboard program is there, or it failed.
    """
    command = next((c for c in _CLIPBOARDS if shutil.which(c[0])), None)
    if command is None:
        tools = ", ".join(c[0] for c in _CLIPBOARDS)
        raise InputError(f"no clipboard program found (looked for {tools}); paste into `logparse report -` instead")
    run = subprocess.run(command, capture_output=True, check=False, timeout=30)
    if run.returncode:
        raise InputError(f"the clipboard cannot be read: {command[0]} ended with {run.returncode}; pipe the log in")
    return Source("<clipboard>", io.BytesIO(run.stdout))


def logs_in(folder: str | Path) -> list[Path]:
    """Files under `folder` that may be logs, in order of their names; hidden ones and links are left out.

    Raises:
        InputError: there are none.
    """
    folder = Path(folder)
    found = [path for path in sorted(folder.rglob("*")) if _may_be_log(path, folder)]
    if not found:
        raise InputError(f"{folder} holds no log (looked for {' '.join(sorted(_LOG_SUFFIXES - {''}))}, also compressed)")
    return found


def _may_be_log(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    suffix = path.suffix.lower()
    if suffix in _COMPRESSED:
        suffix = Path(path.stem).suffix.lower()
    return not hidden and not path.is_symlink() and path.is_file() and suffix in _LOG_SUFFIXES


# -- bytes to lines -------------------------------------------------------------------------------------------


def _blocks(name: str, stream: BinaryIO) -> Iterator[Block]:
    number, rest = 1, ""
    decoder: codecs.IncrementalDecoder | None = None
    for data in _chunks(name, stream):
        if decoder is None:
            decoder, data = _decoder(name, data)
        text = rest + decoder.decode(data)
        end = text.rfind("\n") + 1
        if not end and len(text) < LONGEST_LINE:
            rest = text
            continue
        end = end or len(text)
        yield Block(number, text[:end])
        number += text.count("\n", 0, end)
        rest = text[end:]
    if decoder is not None:
        rest += decoder.decode(b"", final=True)
    if rest:
        yield Block(number, rest)


def _chunks(name: str, stream: BinaryIO) -> Iterator[bytes]:
    try:
        start = stream.read(BLOCK)
        opened = _decompressed(name, start, stream)
        if opened is None:
            data: bytes = start
            while data:
                yield data
                data = stream.read(BLOCK)
            return
        while data := opened.read(BLOCK):
            yield data
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{name} is compressed but cut short or damaged ({error}); copy it again") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from None


class _Rejoined(io.RawIOBase):
    """A stream from which the first bytes were read already."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        data = self._start[: len(view)] or self._rest.read(len(view)) or b""
        self._start = self._start[len(data):] if self._start else b""
        view[: len(data)] = data
        return len(data)


def _decompressed(name: str, start: bytes, stream: BinaryIO) -> BinaryIO | None:
    kind = next((kind for magic, kind in _MAGIC if start.startswith(magic)), None)
    if kind is None:
        return None
    whole = cast("BinaryIO", io.BufferedReader(_Rejoined(start, stream)))
    if kind == "gzip":
        return cast("BinaryIO", gzip.GzipFile(fileobj=whole))
    if kind == "bzip2":
        return cast("BinaryIO", bz2.BZ2File(whole))
    if kind == "xz":
        return cast("BinaryIO", lzma.LZMAFile(whole))
    return _zstd(name, whole)


def _zstd(name: str, stream: BinaryIO) -> BinaryIO:
    try:
        import zstandard
    except ImportError:
        cure = 'pip install "logparse[zstd]", or: zstd -dc FILE | logparse report'
        raise InputError(f"{name} is compressed with zstd, which this installation cannot read; {cure}") from None
    return cast("BinaryIO", zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True))


def _decoder(name: str, data: bytes) -> tuple[codecs.IncrementalDecoder, bytes]:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return codecs.getincrementaldecoder(encoding)("replace"), data[len(bom):]
    head = data[:4096]
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if len(head) >= 8 and zeros.count(0) > 0.8 * len(zeros) and head.count(0) < 0.6 * len(head):
            return codecs.getincrementaldecoder(encoding)("replace"), data
    if head.count(0) > BINARY_SHARE * len(head):
        raise InputError(f"{name} is not text; give a log file, or unpack the archive first")
    return codecs.getincrementaldecoder("utf-8")("replace"), data
