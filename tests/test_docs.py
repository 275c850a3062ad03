"""The documentation says what the code does: schema, options, format keys, links."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

import logparse
from logparse import frames, patterns, report, unread
from logparse.cli import app
from logparse.quantities import LOAD_COLUMNS
from logparse.units import size_interval

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "patterns" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGE_IDS = [str(page.relative_to(ROOT)) for page in PAGES]
DATACLASSES = [
    report.Row, report.Check, report.Step, report.Capacity, report.Missing, report.Failure, report.Fact,
    report.Spread, report.Number, report.Load, report.RunReport, report.Report, unread.Unread,
]  # fmt: skip
COMMANDS = ("report", "observe", "demo", "explain", "patterns list", "patterns show", "patterns try", "patterns check")
HEADING = re.compile(r"^#+ (.+)$", re.M)
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def doc(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def section(text: str, heading: str) -> str:
    """What stands between a heading and the next."""
    start = text.index(f"\n{heading}\n") + len(heading) + 2
    end = HEADING.search(text, start)
    return text[start : end.start() if end else len(text)]


def table(text: str) -> list[list[str]]:
    """Rows of the first table, without its head; a pipe that is escaped does not end a cell."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]
    return [[re.sub(r"^`([^`]*)`$", r"\1", cell) for cell in row] for row in cells]


def names(text: str) -> list[str]:
    return [row[0] for row in table(text)]


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def slugs(text: str) -> set[str]:
    found: dict[str, int] = {}
    for heading in HEADING.findall(FENCE.sub("", text)):
        name = slug(heading)
        found[name] = found.get(name, -1) + 1
    return {f"{name}-{n}" if n else name for name, count in found.items() for n in range(count + 1)}


def options_of(*command: str) -> set[str]:
    shown = CliRunner().invoke(app, [*command, "--help"])
    assert shown.exit_code == 0
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", shown.output))


# -- schema -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DATACLASSES, ids=lambda kind: kind.__name__)
def test_schema_names_the_fields(kind: type) -> None:
    assert sorted(names(section(doc("schema.md"), f"### {kind.__name__}"))) == sorted(f.name for f in fields(kind))


def test_schema_names_the_observations() -> None:
    rows = table(section(doc("schema.md"), "## observations"))
    assert {row[0]: row[1] for row in rows} == frames.OBSERVATIONS
    assert [row[0] for row in rows] == list(frames.OBSERVATIONS)


def test_schema_names_the_load() -> None:
    assert names(section(doc("schema.md"), "## load"))[-len(LOAD_COLUMNS) :] == list(LOAD_COLUMNS)


def test_schema_names_the_tables_of_an_empty_log() -> None:
    observations = frames.observations([])
    assert names(section(doc("schema.md"), "## runs")) == list(frames.runs_table([]).columns)
    assert names(section(doc("schema.md"), "## load")) == list(frames.load(observations).columns)


# -- format of patterns -------------------------------------------------------------------------------------


def test_patterns_page_names_the_keys() -> None:
    text = doc("patterns.md")
    keys = [f.name for f in fields(patterns.Pattern) if f.name not in ("engine", "topic")]
    renamed = {
        "source": "regex",
        "fields": "field",
        "samples": "sample",
        "rejects": "reject",
        "is_fallback": "fallback",
    }
    assert sorted(names(section(text, "## Keys of a pattern"))) == sorted(renamed.get(key, key) for key in keys)
    of_field = {f.name for f in fields(patterns.Field)} - {"group"}
    assert set(names(section(text, "## Keys of a field"))) == of_field
    assert names(section(text, "## Wrappings")) == [f.name for f in fields(patterns.Wrapping)]


@pytest.mark.parametrize(("key", "known"), [("marks", patterns.MARKS), ("identity", patterns.IDENTITIES)])
def test_patterns_page_names_the_values(key: str, known: frozenset[str]) -> None:
    rows = table(doc("patterns.md").partition("## Keys of a pattern")[2].partition("## Rules")[0])
    said = next(row[1] for row in rows if row[0] == key)
    assert set(re.findall(r"`(\w+)`", said)) - {"quantity"} == known


def test_dependencies_page_names_all() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    bare = {re.split(r"[\[<>=!~ ;]", name)[0] for name in wanted} - {"logparse"}
    said = set(re.findall(r"^\| `([\w-]+)` \|", doc("dependencies.md"), re.M))
    assert bare == said


# -- options and links --------------------------------------------------------------------------------------


def commands(text: str) -> list[str]:
    """What the page gives as input to logparse: code that names it, and code that begins with an option."""
    spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    lines = [line.partition("#")[0] for line in text.splitlines() if line.startswith("    ")]
    parts = [part for code in spans + lines for part in re.split(r"\\?\||&&|[<>]\(", code)]
    bare = [code for code in spans if code.startswith("-")]
    return bare + [part.partition("logparse ")[2] for part in parts if re.match(r"\s*logparse ", part)]


def test_options_in_readme_exist() -> None:
    known = options_of("report")
    said = {o for code in commands(PAGES[0].read_text("utf-8")) for o in re.findall(r"(?<![\w-])--?[a-z][\w-]*", code)}
    assert "--total-memory" in said
    assert said - known == set()


def test_options_in_docs_exist() -> None:
    """Of commands that are written out; options of the engines stand alone in the text, so those are not looked at."""
    known = options_of().union(*(options_of(*name.split()) for name in COMMANDS))
    for page in PAGES[1:]:
        for code in commands(page.read_text("utf-8")):
            if not code.startswith("-"):
                assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", code)) <= known, (page.name, code)


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_links_resolve(page: Path) -> None:
    text = page.read_text("utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in slugs(target.read_text("utf-8")), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_pages_name_no_machine(page: Path) -> None:
    assert not re.search(r"/(?:home|Users|work|root)/", page.read_text("utf-8"))


def test_readme_shows_what_the_demo_prints() -> None:
    path = Path(logparse.__file__).parent / "data" / "demo.log"
    made = logparse.reconcile(logparse.parse(path), total_memory=size_interval("22.06GiB"))
    shown = (ROOT / "README.md").read_text("utf-8").partition("## What a report says")[2].partition("`[9]`")[0]
    printed = made.to_text().splitlines()
    assert "weights" in shown
    for line in shown.splitlines():
        assert not line.strip() or line.removeprefix("    ") in printed
