"""Laws of the architecture: who may import whom, and what stands only in data."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import logparse
from logparse import patterns

PACKAGE = Path(logparse.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)
NAMES = [".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in MODULES]

FLOOR = {"errors", "resources", "units", "quantities", "times", "linenos", "versions", "settings", "rules"}
LOG_SIDE = [
    "sources", "prefilter", "unwrap", "patterns", "match", "unread", "attribution", "outcome", "runs", "frames", "log",
]  # fmt: skip
FACADE = {"__init__", "__main__", "cli"}
# Modules that an earlier one may import: the prefilter is part of a pattern set, and unwrapping reads its prefixes.
ONLY_FOR = {
    "typer": {"cli", "cli_options", "cli_patterns"},
    "jinja2": {"render"},
    "rich": {"render"},
    "pandas": {"frames", "report", "compare"},
}
VERSION = re.compile(r"(?<![\d.])\d+\.\d+\.\d+(?![\d.])")


def _imports(path: Path, *, runtime: bool = False) -> set[str]:
    """Names of modules that a file imports; with `runtime`, without those for type checkers only."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped: set[ast.AST] = set()
    if runtime:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                skipped.update(child for statement in node.body for child in ast.walk(statement))
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "logparse" or node.module.startswith("logparse."):
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _own(imports: set[str]) -> set[str]:
    return {parts[1] for name in imports if (parts := name.split("."))[0] == "logparse" and len(parts) > 1}


def _strings(path: Path) -> list[str]:
    """String constants of a file that are not docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
    ]


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_imports_run_one_way(path: Path) -> None:
    name = path.relative_to(PACKAGE).with_suffix("").parts[0]
    modules = {n.split(".")[0] for n in NAMES}
    imported = _own(_imports(path)) & modules - {name}
    if name in FLOOR:
        assert imported <= FLOOR | {"redact"}
    elif name in LOG_SIDE:
        # A pattern set holds its prefilter, and unwrapping is told the prefixes: types only.
        earlier = set(LOG_SIDE[: LOG_SIDE.index(name)])
        types_only = imported - _own(_imports(path, runtime=True))
        assert imported - types_only <= FLOOR | earlier | {"redact"}
        assert types_only <= FLOOR | set(LOG_SIDE)
    elif name == "estimate":
        assert not imported & (set(LOG_SIDE) | FACADE)
    elif name not in FACADE:
        assert not imported & FACADE


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_heavy_libraries_have_one_home(path: Path) -> None:
    name = path.relative_to(PACKAGE).with_suffix("").parts[0]
    for library, homes in ONLY_FOR.items():
        used = any(imported.split(".")[0] == library for imported in _imports(path, runtime=True))
        assert not used or name in homes, f"{name} imports {library}"


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_code_holds_no_engine_version(path: Path) -> None:
    for text in _strings(path):
        assert not VERSION.search(text) or text == logparse.__version__ or "write it as" in text


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_code_holds_no_log_wording(path: Path) -> None:
    anchors = [pattern.anchor for pattern in patterns.default().patterns if " " in pattern.anchor.strip()]
    for text in _strings(path):
        assert not [anchor for anchor in anchors if anchor in text]


def test_estimates_never_read_a_log() -> None:
    for path in PACKAGE.glob("estimate/*.py"):
        assert not _own(_imports(path)) & set(LOG_SIDE)
