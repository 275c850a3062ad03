"""The command line as its users meet it: in a process of its own."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readings import FOLDERS

COMMAND = shutil.which("logparse", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
LOG = next(folder for folder in FOLDERS if folder.name == "0.27.0-qwen3.5-4b-a10") / "run.log"

pytestmark = pytest.mark.skipif(COMMAND is None, reason="the logparse command is not installed")


def _run(*arguments: str | Path, data: bytes | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        input=data,
        stdin=None if data is not None else subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env={**os.environ, "COLUMNS": "120", **environment},
    )
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def test_version() -> None:
    assert _run("--version").stdout.startswith("logparse ")


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, logparse.cli as c\ntry: c.app(['--help'])\nexcept SystemExit: pass\n"
    code += "assert 'pandas' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["text", "md", "json"])
def test_report(kind: str) -> None:
    done = _run("report", LOG, "-f", kind, "--total-memory", "22.06GiB")
    assert done.returncode == 0, done.stderr
    assert "8.61" in done.stdout or kind == "json"
    assert not done.stderr


def test_report_from_standard_input_and_by_file_are_the_same() -> None:
    piped = _run("report", "-f", "json", data=LOG.read_bytes())
    named = _run("report", "-f", "json", LOG)
    assert piped.returncode == named.returncode == 0
    assert piped.stdout.replace("<stdin>", str(LOG)) == named.stdout


def test_observe() -> None:
    found = [json.loads(line) for line in _run("observe", LOG).stdout.splitlines()]
    assert {"weights": 8.61, "cuda_graphs": 0.54}.items() <= {row["quantity"]: row["value"] for row in found}.items()


def test_observe_into_files(tmp_path: Path) -> None:
    targets = [tmp_path / f"x.{suffix}" for suffix in ("jsonl", "csv", "parquet")]
    outputs = [part for target in targets for part in ("-o", str(target))]
    assert _run("observe", LOG, *outputs).returncode == 0
    assert all(target.stat().st_size for target in targets)
    again = _run("observe", LOG, *outputs)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert _run("observe", LOG, *outputs, "--force").returncode == 0


def test_the_environment_changes_nothing() -> None:
    plain = _run("report", LOG).stdout
    for environment in ({"LC_ALL": "C"}, {"TZ": "Asia/Kathmandu"}, {"PYTHONUTF8": "0"}, {"LANG": "de_DE.UTF-8"}):
        assert _run("report", LOG, **environment).stdout == plain


BAD = {
    "empty": (b"", 4),
    "zeros": (bytes(100), 4),
    "binary": (bytes(range(256)) * 20, 4),
    "archive": (b"PK\x03\x04" + bytes(range(32, 127)), 4),
    "cut gzip": (gzip.compress(os.urandom(5000))[:-20], 4),
    "hello world": (b"hello world\n", 3),
    "another program": (b"2025-01-01 00:00:00 nginx[1]: GET / 200\n" * 9, 3),
}


@pytest.mark.parametrize("command", ["report", "observe"])
@pytest.mark.parametrize("name", BAD)
def test_bad_input(tmp_path: Path, name: str, command: str) -> None:
    data, code = BAD[name]
    (tmp_path / "x.log").write_bytes(data)
    for done in (_run(command, tmp_path / "x.log"), _run(command, data=data)):
        assert done.returncode == code, done.stderr
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("logparse: ")
        assert ";" in done.stderr, "no cure"
        assert not done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["report", "no/such/file.log"], 4),
        (["report", "."], 4),
        (["observe", str(LOG), "-f", "xml"], 2),
        (["observe", str(LOG), "-f", "parquet"], 2),
        (["report", str(LOG), "--engine-version", "new"], 2),
        (["report", str(LOG), "--run", "7"], 2),
        (["report", str(LOG), "--total-memory", "much"], 2),
        (["patterns", "show", "no/such"], 2),
    ],
)
def test_bad_use(tmp_path: Path, arguments: list[str], code: int) -> None:
    done = subprocess.run(
        [str(COMMAND), *arguments], capture_output=True, text=True, check=False, cwd=tmp_path, stdin=subprocess.DEVNULL
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr


def test_standard_input_that_is_closed() -> None:
    done = subprocess.run(f"'{COMMAND}' report <&-", shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert "standard input is closed" in done.stderr


def test_a_reader_that_goes_away() -> None:
    done = subprocess.run(
        f"'{COMMAND}' observe '{LOG}' | head -n 1", shell=True, capture_output=True, text=True, check=False
    )
    assert not done.stderr


def test_a_log_that_is_cut_off_still_gives_a_report(tmp_path: Path) -> None:
    lines = LOG.read_bytes().split(b"\n")
    (tmp_path / "x.log").write_bytes(b"\n".join(lines[8:10]))
    assert _run("report", tmp_path / "x.log").returncode == 0


def test_patterns() -> None:
    assert "no fault" in _run("patterns", "check").stdout
    assert "vllm/weights_loaded" in _run("patterns", "list").stdout
    assert "weights" in _run("patterns", "show", "vllm/weights_loaded").stdout
    assert "vllm/weights_loaded" in _run("patterns", "try", LOG).stdout
