from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from logparse import log
from logparse.settings import Setting
from tests.readings import FOLDERS, text

if TYPE_CHECKING:
    from logparse.runs import Run

PREFIX = "(EngineCore pid=2) INFO 01-01 00:00:00 [x.py:1] "
CONFIG = "model='m', dtype=torch.bfloat16, max_seq_len=4096"
START = f"{PREFIX}Initializing a V1 LLM engine (v0.19.0) with config: {CONFIG}\n"
WEIGHTS = PREFIX + "Model loading took 5.0 GiB memory and 4.512331 seconds\n"
READY = "(APIServer pid=1) INFO:     Application startup complete.\n"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.48 GiB. GPU 0 has a total capacity of 79.10 GiB "
    "of which 1.17 GiB is free.\n"
)


def _runs(content: str) -> tuple[Run, ...]:
    return log.parse_text(content).parsed


def _fixture(name: str) -> str:
    return text(next(folder for folder in FOLDERS if folder.name == name))


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        (START, "excerpt"),
        (START + WEIGHTS, "excerpt"),
        (START + WEIGHTS + READY, "ready"),
        (START + WEIGHTS + OOM, "failed"),
        (START + WEIGHTS + READY + OOM, "ready-then-failed"),
    ],
)
def test_outcomes(content: str, outcome: str) -> None:
    assert [run.outcome for run in _runs(content)] == [outcome]


def test_two_starts_are_two_runs() -> None:
    runs = _runs(START + WEIGHTS + OOM + START + WEIGHTS + READY)
    assert [run.outcome for run in runs] == ["failed", "ready"]
    assert [run.index for run in runs] == [0, 1]


def test_two_services_in_one_log_are_two_runs() -> None:
    lines = []
    for line in (START + WEIGHTS + READY).splitlines(keepends=True):
        lines += [f"a-1  | {line}", f"b-1  | {line}"]
    runs = _runs("".join(lines))
    assert [run.outcome for run in runs] == ["ready", "ready"]
    assert [len(run.events) for run in runs] == [len(_runs(START + WEIGHTS + READY)[0].events)] * 2


def test_an_excerpt_without_a_start_is_a_run() -> None:
    (run,) = _runs(WEIGHTS)
    assert (run.engine, run.version, run.outcome) == ("vllm", None, "excerpt")


def test_the_version_comes_from_the_banner_or_is_told() -> None:
    (run,) = _runs(START)
    assert (str(run.version), run.version_source) == ("0.19.0", "banner")
    (run,) = log.parse_text(WEIGHTS, told=[Setting("version", "0.27.0", "told")]).parsed
    assert (str(run.version), run.version_source) == ("0.27.0", "told")


def test_wordings_narrow_the_release() -> None:
    (run,) = _runs(WEIGHTS)
    assert run.era is not None
    assert str(run.era).startswith("0.14.0")


def test_settings_requested_and_resolved() -> None:
    (run,) = _runs(_fixture("0.9.1-llama3.1-8b-l40s"))
    assert (run.settings["max_model_len"].value, run.settings["max_model_len"].origin) == ("131072", "log")
    assert run.settings["enforce_eager"].value == "False"
    (run,) = _runs(_fixture("0.13.0-qwen3-8b-kv-bytes"))
    assert run.settings["kv_cache_memory_bytes"].value == "21474836480"
    assert run.settings["kv_cache_memory_bytes"].origin == "flag"


def test_sglang_settings_of_both_shapes() -> None:
    for name, fraction in (("0.4.6-qwen3-32b-tp2", "0.87"), ("0.5.20-gpt-oss-20b-swa", "0.861")):
        (run,) = _runs(_fixture(name))
        assert run.settings["mem_fraction_static"].value == fraction


def test_ranks() -> None:
    (run,) = _runs(_fixture("0.5.4-qwen3-next-80b-tp4"))
    assert run.ranks == ("TP0", "TP1", "TP2", "TP3")


def test_the_failure_is_the_cause() -> None:
    (run,) = _runs(_fixture("0.4.9-qwen2.5-32b-oom-at-capture"))
    assert run.failure is not None
    assert "out of memory" in run.failure.line.text
    (run,) = _runs(_fixture("0.16.0-llama3.1-8b-l4-too-long"))
    assert run.failure is not None
    assert "To serve at least one" in run.failure.line.text
