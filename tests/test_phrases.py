"""Words: every account, check, reason and outcome that the code uses has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import logparse
from logparse.patterns import PHASES
from logparse.phrases import explain, percent, plain, size, words
from logparse.quantities import LOAD_COLUMNS, QUANTITIES
from logparse.units import GIB

CODE = "\n".join(p.read_text("utf-8") for p in Path(logparse.__file__).parent.glob("*.py"))


@pytest.mark.parametrize(("group", "pattern"), [
    ("account", r'row\(\s*"(?:plan|ready)",\s*\w+,\s*"(\w+)"'),
    ("check", r'check\(\s*"([\w-]+)"'),
])  # fmt: skip
def test_names_in_the_code_have_words(group: str, pattern: str) -> None:
    used = set(re.findall(pattern, CODE))
    assert used
    assert used <= set(words()[group])


def test_phases_load_columns_and_outcomes_have_words() -> None:
    assert set(PHASES) <= set(words()["phase"])
    assert set(LOAD_COLUMNS) <= set(words()["load"])
    assert {"ready", "ready-then-failed", "failed", "killed", "excerpt"} <= set(words()["outcome"])


def test_explain_knows_accounts_quantities_checks_and_outcomes() -> None:
    for name in ("weights", "budget-identity", "failed", "kv_cache_available", *QUANTITIES):
        assert explain(name)
    assert explain("nonsense") is None


@pytest.mark.parametrize(("value", "text"), [
    (None, "—"), (0, "0.00"), (GIB, "1.00"), (8.61 * GIB, "8.61"), (-3.86 * GIB, "-3.86"), (1234.5 * GIB, "1,234.50"),
    (-0.001 * GIB, "0.00"), (0.005 * GIB, "0.01"),
])  # fmt: skip
def test_size(value: float | None, text: str) -> None:
    assert size(value) == text


def test_percent_and_plain() -> None:
    assert percent(0.4025) == "40.2%"
    assert percent(-0.0001) == "0.0%"
    assert percent(None) == ""
    assert plain(1415.66) == "1,415.66"
    assert plain(2.0) == "2"
