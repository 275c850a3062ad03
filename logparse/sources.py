"""Where logs come from: files, folders, standard input, the clipboard; compressed or not; UTF-8 or UTF-16.

A source is read in blocks of whole lines, so memory stays bounded whatever its size. Lines are counted by line
feeds only, from 1, as `sed -n Np` counts them.
"""

from __future__ import annotations

import bz2
import codecs
import io
import lzma
import os
import re
import shutil
import subprocess
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from logparse.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCK = 1 << 20
LONGEST_LINE = 8 << 20
"""A longer line is cut into pieces of this size, all with the same number."""
COMPRESSED_PIECE = 1 << 12
"""Compressed bytes are fed in pieces of this size, so that no piece unfolds without bound."""
CLIPBOARD_SECONDS = 30

# What a compressed file begins with.
_MAGIC: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x1f\x8b\x08"), "gzip"),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), "bzip2"),
    (re.compile(rb"\xfd7zXZ\x00"), "xz"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "zstd"),
)
_ARCHIVE = re.compile(rb"PK\x03\x04|7z\xbc\xaf|Rar!|.{257}ustar", re.S)
_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HOLE = bytes(64)
"""A log that was truncated while its writer went on begins with a hole of zeros."""
_UNPRINTABLE = bytes(set(range(32)) - set(b"\0\1\2\t\n\r\b\f\x1b"))
UNPRINTABLE_SHARE, ZERO_SHARE = 0.02, 0.25

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
            InputError: it cannot be read, is truncated, empty or not text, or was read already.
        """
        if self.stream.closed:
            raise InputError(f"{self.name} was read already; give it only once")
        with self.stream:
            yield from _blocks(self.name, _bytes(self.name, self.stream))


def from_text(text: str, name: str = "<text>") -> Source:
    """A source that holds `text`."""
    return Source(name, io.BytesIO(text.encode("utf-8", "surrogatepass")))


def from_path(path: str | Path) -> Source:
    """A source that reads one file.

    Raises:
        InputError: the file is missing, a folder, or not readable.
    """
    name = _printable(path)
    try:
        if Path(path).is_dir():
            raise InputError(f"{name} is a folder, not a log; give the logs in it, or the folder to the command line")
        return Source(name, Path(path).open("rb"))
    except FileNotFoundError:
        raise InputError(f"{name} does not exist; check the path, or pipe the log in") from None
    except OSError as error:
        raise InputError(f"{name} cannot be opened: {error.strerror or error}; check the path and its rights") from None
    except ValueError:
        raise InputError(f"{name!r} is not a path; check it for stray characters") from None


def _printable(path: str | Path) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def from_stdin() -> Source:
    """A source that reads standard input.

    Raises:
        InputError: standard input is closed.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("standard input is closed; give a file, or pipe the log in")
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
    try:
        run = subprocess.run(command, capture_output=True, check=True, timeout=CLIPBOARD_SECONDS)
    except (OSError, subprocess.SubprocessError):
        raise InputError(f"the clipboard cannot be read: {command[0]} failed; pipe the log in instead") from None
    return Source("<clipboard>", io.BytesIO(run.stdout))


def logs_in(folder: str | Path) -> list[Path]:
    """Files under `folder` that may be logs, in order of their names; hidden and empty ones and links are left out.

    Raises:
        InputError: there are none.
    """
    folder = Path(folder)
    found = [path for path in sorted(folder.rglob("*")) if _may_be_log(path, folder)]
    if not found:
        suffixes = " ".join(sorted(_LOG_SUFFIXES - {""}))
        raise InputError(f"{_printable(folder)} holds no log (looked for {suffixes}, also compressed); name the file")
    return found


def _may_be_log(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    suffix = path.suffix.lower()
    if suffix in _COMPRESSED:
        suffix = Path(path.stem).suffix.lower()
    return not hidden and suffix in _LOG_SUFFIXES and _is_filled(path)


def _is_filled(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and path.stat().st_size > 0


# -- bytes to lines -------------------------------------------------------------------------------------------


def _blocks(name: str, chunks: Iterator[bytes]) -> Iterator[Block]:
    number, rest = 1, ""
    for text in _decoded(name, chunks):
        rest += text
        end = rest.rfind("\n") + 1
        if not end and len(rest) < LONGEST_LINE:
            continue
        end = end or len(rest)
        yield Block(number, rest[:end])
        number += rest.count("\n", 0, end)
        rest = rest[end:]
    if rest:
        yield Block(number, rest)


def _decoded(name: str, chunks: Iterator[bytes]) -> Iterator[str]:
    decoder: codecs.IncrementalDecoder | None = None
    said = False
    for data in chunks:
        if decoder is None:
            if data.startswith(_HOLE):
                data = data.lstrip(b"\0")
            if not data:
                continue
            decoder, data = _decoder(name, data)
        text = decoder.decode(data)
        said = said or bool(text.strip("\0\ufeff \t\r\n"))
        yield text
    text = decoder.decode(b"", final=True) if decoder else ""
    if not (said or text):
        raise InputError(f"{name} is empty; check what should have written it")
    yield text


def _bytes(name: str, stream: BinaryIO) -> Iterator[bytes]:
    try:
        start = stream.read(BLOCK)
        kind = next((kind for magic, kind in _MAGIC if magic.match(start)), None)
        raw = _chunks(start, stream)
        yield from raw if kind is None else _unpacked(_codec(name, kind), raw)
    except (EOFError, lzma.LZMAError, zlib.error, _DamagedError) as error:
        raise InputError(f"{name} is compressed but cut short or damaged ({error}); copy it again") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}; check the file") from None


def _chunks(start: bytes, stream: BinaryIO) -> Iterator[bytes]:
    while start:
        yield start
        start = stream.read(BLOCK)


class _DamagedError(Exception):
    """A compressed stream breaks its format."""


class _Codec(Protocol):
    """What all decompressors of the standard library, and that of zstandard, have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _unpacked(new: Callable[[], _Codec], chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress one frame after the other; zeros between and after frames are padding."""
    codec = new()
    for chunk in chunks:
        for at in range(0, len(chunk), COMPRESSED_PIECE):
            data = chunk[at : at + COMPRESSED_PIECE]
            while data:
                if codec.eof:
                    data = data.lstrip(b"\0")
                    codec = new() if data else codec
                    continue
                if out := _decompress(codec, data):
                    yield out
                data = codec.unused_data if codec.eof else b""
    if not codec.eof:
        raise EOFError("its end is missing")


def _decompress(codec: _Codec, data: bytes) -> bytes:
    try:
        return codec.decompress(data)
    except (EOFError, lzma.LZMAError, zlib.error):
        raise
    except Exception as error:  # bz2 raises OSError, zstandard an error of its own
        raise _DamagedError(str(error)) from None


def _codec(name: str, kind: str) -> Callable[[], _Codec]:
    if kind == "gzip":
        return lambda: zlib.decompressobj(wbits=31)
    if kind == "bzip2":
        return bz2.BZ2Decompressor
    if kind == "xz":
        return lzma.LZMADecompressor
    try:
        import zstandard
    except ImportError:
        cure = 'pip install "logparse[zstd]", or: zstd -dc FILE | logparse report'
        raise InputError(f"{name} is compressed with zstd, which this installation cannot read; {cure}") from None
    return zstandard.ZstdDecompressor().decompressobj


def _decoder(name: str, data: bytes) -> tuple[codecs.IncrementalDecoder, bytes]:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return codecs.getincrementaldecoder(encoding)("replace"), data[len(bom) :]
    if _ARCHIVE.match(data):
        raise InputError(f"{name} is an archive; unpack it and give the log inside")
    head = data[:4096]
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if len(head) >= 8 and zeros.count(0) > 0.8 * len(zeros) and head.count(0) < 0.6 * len(head):
            return codecs.getincrementaldecoder(encoding)("replace"), data
    strange = len(head) - len(head.translate(None, _UNPRINTABLE))
    if strange > UNPRINTABLE_SHARE * len(head) or head.count(0) > ZERO_SHARE * len(head):
        raise InputError(f"{name} is not text; give the log as the engine printed it")
    return codecs.getincrementaldecoder("utf-8")("replace"), data
