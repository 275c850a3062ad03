"""Files appear whole or not at all, and nothing but a plain file is ever replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from logparse import outputs
from logparse.errors import InputError, UsageError


def test_dash_is_standard_output() -> None:
    assert outputs.target(Path("-")) is None
    assert outputs.target(None) is None
    with pytest.raises(UsageError, match="name of a file"):
        outputs.target(Path())


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    there = tmp_path / "a.md"
    there.write_text("old", "utf-8")
    with pytest.raises(UsageError, match="--force"):
        outputs.check([there], force=False)
    outputs.check([there], force=True)
    outputs.write("new\n", there)
    assert there.read_text("utf-8") == "new\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.md"], "no part is left behind"


def test_nothing_is_written_where_one_target_is_refused(tmp_path: Path) -> None:
    there = tmp_path / "b.md"
    there.write_text("old", "utf-8")
    with pytest.raises(UsageError):
        outputs.check([tmp_path / "a.md", there], force=False)
    assert not (tmp_path / "a.md").exists()


def test_links_folders_and_devices_are_never_replaced(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept", "utf-8")
    link = tmp_path / "link.md"
    link.symlink_to(target)
    for path in (link, tmp_path):
        with pytest.raises(UsageError, match="plain file"):
            outputs.check([path], force=True)
    assert target.read_text("utf-8") == "kept"


def test_the_log_itself_is_never_overwritten(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("kept", "utf-8")
    with pytest.raises(UsageError, match="the log that is read"):
        outputs.check([log], force=True, sources=["-", str(log)])


def test_a_folder_that_is_missing_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        outputs.write("x", tmp_path / "no" / "a.md")


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails(part: Path) -> None:
        part.write_text("half", "utf-8")
        raise OSError("disk full")

    with pytest.raises(InputError, match="cannot be written"):
        outputs.save(tmp_path / "a.md", fails)
    assert not list(tmp_path.iterdir())
