from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import random
import sys
from typing import TYPE_CHECKING

import pytest
import zstandard

from logparse import sources
from logparse.errors import InputError
from logparse.sources import BLOCK, LONGEST_LINE, Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = "".join(f"line {n} äöü █\n" for n in range(1, 60_000))
COMPRESSIONS = {
    "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstandard.compress,
}  # fmt: skip


def _read(data: bytes) -> list[sources.Block]:
    return list(Source("x.log", io.BytesIO(data)).blocks())


def _text(data: bytes) -> str:
    return "".join(block.text for block in _read(data))


def test_lines_are_counted_across_blocks() -> None:
    blocks = _read(TEXT.encode())
    assert len(blocks) > 1
    assert "".join(block.text for block in blocks) == TEXT
    for block in blocks:
        assert block.text.startswith(f"line {block.first} ")


@pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)
class TestCompressed:
    def test_is_read(self, compress: Callable[[bytes], bytes]) -> None:
        assert _text(compress(TEXT.encode())) == TEXT

    def test_in_several_parts(self, compress: Callable[[bytes], bytes]) -> None:
        assert _text(compress(b"a\n") + compress(b"b\n") + bytes(64)) == "a\nb\n"

    def test_cut_short(self, compress: Callable[[bytes], bytes]) -> None:
        with pytest.raises(InputError, match=r"x\.log is compressed but cut short or damaged .*; copy it again"):
            _read(compress(TEXT.encode())[:-6])

    def test_followed_by_something_else(self, compress: Callable[[bytes], bytes]) -> None:
        with pytest.raises(InputError, match="cut short or damaged"):
            _read(compress(b"a\n") + b"something else")

    def test_nothing_in_it(self, compress: Callable[[bytes], bytes]) -> None:
        with pytest.raises(InputError, match="is empty"):
            _read(compress(b""))


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + "é\n".encode(),
        "é = 12 GiB\n".encode("utf-16"),
        "é = 12 GiB\n".encode("utf-16-le"),
        "é = 12 GiB\n".encode("utf-16-be"),
        codecs.BOM_UTF16_BE + "é = 12 GiB\n".encode("utf-16-be"),
        "é = 12 GiB\n".encode("utf-32"),
        bytes(4096) + "é = 12 GiB\n".encode(),
    ],
    ids=["utf-8 mark", "utf-16 mark", "utf-16-le", "utf-16-be", "utf-16-be mark", "utf-32", "after a hole"],
)
def test_encodings(data: bytes) -> None:
    assert _text(data).startswith("é")


def test_bad_bytes_are_replaced() -> None:
    assert _text(b"ok \xff\xfe\n") == "ok \ufffd\ufffd\n"


def test_line_ends_are_kept() -> None:
    assert _text(b"a\r\nb\rc\n") == "a\r\nb\rc\n"
    assert [block.first for block in _read(b"a\rb\rc")] == [1]


def test_very_long_lines_are_cut_and_keep_their_number() -> None:
    blocks = _read(b"first\n" + b"x" * (LONGEST_LINE + BLOCK) + b"\nlast\n")
    assert max(len(block.text) for block in blocks) <= LONGEST_LINE + BLOCK
    assert {block.first for block in blocks[1:]} == {2}
    assert blocks[-1].text.endswith("last\n")


@pytest.mark.parametrize("data", [b"", b"\n\r\n ", bytes(5000), codecs.BOM_UTF8, codecs.BOM_UTF16_LE])
def test_empty(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^x\.log is empty; "):
        _read(data)


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (random.Random(1).randbytes(5000), "is not text"),
        (b"\x7fELF\x02\x01\x01" + bytes(200) + b"code", "is not text"),
        (b"PK\x03\x04" + b"x" * 100, "is an archive; unpack it"),
        (b"name".ljust(257, b"\0") + b"ustar" + bytes(250) + b"INFO\n", "is an archive; unpack it"),
    ],
)
def test_not_text(data: bytes, trouble: str) -> None:
    with pytest.raises(InputError, match=trouble):
        _read(data)


def test_a_source_is_read_once() -> None:
    source = sources.from_text("a\n")
    assert [block.text for block in source.blocks()] == ["a\n"]
    with pytest.raises(InputError, match="was read already"):
        list(source.blocks())


def test_text_that_looks_compressed_is_text() -> None:
    assert "".join(b.text for b in sources.from_text("BZh is how bzip2 begins\n").blocks()).startswith("BZh")


class TestPaths:
    def test_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.log").write_bytes(b"a\n")
        source = sources.from_path(tmp_path / "a.log")
        assert source.name == str(tmp_path / "a.log")
        assert list(source.blocks()) == [sources.Block(1, "a\n")]

    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="does not exist; check the path"):
            sources.from_path(tmp_path / "no.log")

    def test_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is a folder"):
            sources.from_path(tmp_path)

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_not_readable(self, tmp_path: Path) -> None:
        (tmp_path / "a.log").write_bytes(b"a\n")
        (tmp_path / "a.log").chmod(0)
        with pytest.raises(InputError, match="cannot be opened"):
            sources.from_path(tmp_path / "a.log")

    @pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
    def test_impossible_names(self, name: str) -> None:
        with pytest.raises(InputError):
            sources.from_path(name)

    def test_names_that_are_not_text_can_be_printed(self, tmp_path: Path) -> None:
        path = os.fsencode(tmp_path) + b"/caf\xe9.log"
        try:
            with open(path, "wb") as file:  # noqa: PTH123 - a path of bytes
                file.write(b"a\n")
        except OSError:
            pytest.skip("this file system takes no such names")
        source = sources.from_path(os.fsdecode(path))
        source.name.encode("utf-8")
        source.stream.close()


class TestFolders:
    def test_what_may_be_a_log(self, tmp_path: Path) -> None:
        for name in ("b.log", "a.log.gz", "sub/c.txt", "weights.bin", ".hidden/d.log", "plain"):
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"x\n")
        (tmp_path / "empty.log").touch()
        (tmp_path / "link.log").symlink_to(tmp_path / "b.log")
        found = [path.relative_to(tmp_path).as_posix() for path in sources.logs_in(tmp_path)]
        assert found == ["a.log.gz", "b.log", "plain", "sub/c.txt"]

    def test_without_logs(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="holds no log"):
            sources.logs_in(tmp_path)


def test_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed; give a file"):
        sources.from_stdin()


def test_no_clipboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.shutil, "which", lambda _: None)
    with pytest.raises(InputError, match="no clipboard program found"):
        sources.from_clipboard()


def test_clipboard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "xclip"
    tool.write_text("#!/bin/sh\nprintf 'copied\\n'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    monkeypatch.setattr(sources, "_CLIPBOARDS", (("xclip",),))
    assert [block.text for block in sources.from_clipboard().blocks()] == ["copied\n"]
    tool.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(InputError, match="the clipboard cannot be read"):
        sources.from_clipboard()
