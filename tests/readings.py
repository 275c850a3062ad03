"""Fixture logs, and what tests compare of what was read from a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from logparse import frames, log
from logparse.errors import NothingRecognised

if TYPE_CHECKING:
    from collections.abc import Iterable

FIXTURES = Path(__file__).parent.parent / "fixtures"
FOLDERS = sorted(path.parent for path in FIXTURES.glob("*/*/run.log"))
IDS = [f"{folder.parent.name}/{folder.name}" for folder in FOLDERS]


def text(folder: Path) -> str:
    """The log of a fixture, with its line ends as they are."""
    return (folder / "run.log").read_bytes().decode()


def rows(content: str, *, without: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Rows of `observations`, as plain dicts; none where nothing is recognised."""
    try:
        parsed = log.parse_text(content).parsed
    except NothingRecognised:
        return []
    dropped = set(without)
    return [{k: v for k, v in row.items() if k not in dropped} for row in frames.observation_rows(parsed)]


def unordered(found: list[dict[str, Any]]) -> list[str]:
    """Rows in an order that does not depend on where they stood."""
    return sorted(repr(row) for row in found)
