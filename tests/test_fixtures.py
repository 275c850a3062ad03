"""Every fixture: the facts that a person read in it, and the table that we read from it.

`about.toml` says where a log comes from and what a person read in it; regenerating goldens (`pytest --regen-all`)
cannot touch that. `observations.csv` is the golden table.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from logparse import frames, log
from tests.readings import FOLDERS, IDS, rows, text

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_regressions.file_regression import FileRegressionFixture


@pytest.fixture(params=FOLDERS, ids=IDS)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def about(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "about.toml").read_text("utf-8"))


@pytest.fixture
def original_datadir(folder: Path) -> Path:
    """Where pytest-regressions keeps goldens: beside the log."""
    return folder


def test_there_are_fixtures() -> None:
    assert len(FOLDERS) >= 24


def test_about_says_where_it_comes_from(about: dict[str, Any]) -> None:
    assert about["origin"] in ("real", "rendered")
    assert about["from"]


def test_facts(folder: Path, about: dict[str, Any]) -> None:
    found = rows(text(folder))
    for fact in about["facts"].get("fact", []):
        mine = [row for row in found if all(row[key] == value for key, value in fact.items())]
        assert mine, f"not read: {fact}; on that line: {[row for row in found if row['line'] == fact['line']]}"


def test_outcome(folder: Path, about: dict[str, Any]) -> None:
    runs = log.parse(folder / "run.log").parsed
    assert [(run.engine, run.outcome) for run in runs] == [(about["facts"]["engine"], about["facts"]["outcome"])]


def test_golden(folder: Path, file_regression: FileRegressionFixture) -> None:
    table = frames.csv_text(rows(text(folder)))
    file_regression.check(table, basename="observations", extension=".csv", encoding="utf-8", newline="")
