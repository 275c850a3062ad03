from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from logparse import frames, log
from tests.readings import FOLDERS, rows, text

if TYPE_CHECKING:
    from pathlib import Path

VLLM = "(EngineCore pid=2) INFO {time} [gpu_worker.py:1] "


def _fixture(name: str) -> log.Log:
    return log.parse(next(folder for folder in FOLDERS if folder.name == name) / "run.log")


def test_every_column_has_its_dtype() -> None:
    for folder in FOLDERS:
        table = log.parse(folder / "run.log").observations
        assert {name: str(dtype) for name, dtype in table.dtypes.items()} == {
            name: dtype.replace("string", str(pd.StringDtype())) for name, dtype in frames.OBSERVATIONS.items()
        }


def test_a_table_without_rows_has_the_same_dtypes() -> None:
    assert list(frames.table_of([]).dtypes) == list(_fixture("0.27.0-qwen3.5-4b-a10").observations.dtypes)


def test_rows_are_json() -> None:
    for folder in FOLDERS:
        for row in rows(text(folder)):
            assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_bytes_are_value_times_unit() -> None:
    table = _fixture("0.27.0-qwen3.5-4b-a10").observations
    weights = table[table["quantity"] == "weights"].iloc[0]
    assert weights["bytes"] == 8.61 * 2**30
    assert table.loc[table["quantity"] == "kv_cache_tokens", "bytes"].isna().all()


@pytest.mark.parametrize(
    ("times", "elapsed"),
    [
        (("11-20 10:00:00", "11-20 10:01:30"), 90),
        (("11-20 10:00:05", "11-20 10:00:04"), -1),
        (("12-31 23:59:59", "01-01 00:00:01"), 2),
        (("02-28 23:59:59", "03-01 00:00:01"), 2),
    ],
)
def test_elapsed(times: tuple[str, str], elapsed: float) -> None:
    first, second = (VLLM.format(time=time) for time in times)
    messages = "Available KV cache memory: 1.0 GiB", "Graph capturing finished in 5 secs, took 0.54 GiB"
    found = rows(f"{first}{messages[0]}\n{second}{messages[1]}")
    assert found[-1]["elapsed"] == elapsed


def test_elapsed_over_midnight() -> None:
    first = "[23:59:59 TP0] Load weight begin. avail mem=78.59 GB"
    found = rows(f"{first}\n[00:00:01 TP0] Memory pool end. avail mem=7.43 GB")
    assert [row["elapsed"] for row in found] == [0, 2]


def test_load_is_a_time_series() -> None:
    load = _fixture("0.32.0-tiny-qwen3_5-kv2-ssmfp32").load
    assert len(load) >= 2
    assert load["line"].is_monotonic_increasing
    assert load["running"].max() == 3
    assert load["prompt_throughput"].iloc[0] == 518.5


def test_load_of_a_log_without_statistics() -> None:
    load = _fixture("0.27.0-qwen3.5-4b-a10").load
    assert load.empty
    assert "kv_cache_usage" in load.columns


def test_runs_has_a_row_for_each_rank() -> None:
    runs = _fixture("0.11.0-qwen3-32b-tp2").runs
    assert list(runs["rank"]) == ["TP0", "TP1"]
    assert list(runs["kv_cache_available"]) == [38.11 * 2**30, 38.24 * 2**30]
    assert set(runs["version"]) == {"0.11.0"}
    assert set(runs["model"]) == {"Qwen/Qwen3-32B"}


def test_runs_leaves_the_draft_out() -> None:
    runs = _fixture("0.5.10-llama3.1-8b-eagle3").runs
    assert list(runs["weights"]) == [15.09 * 2**30]


def test_text_is_redacted() -> None:
    line = VLLM.format(time="11-20 10:00:00") + "Available KV cache memory: 1.0 GiB"
    parsed = log.parse_text(line).parsed
    kept, gone = (next(frames.observation_rows(parsed, redact=redact))["text"] for redact in (False, True))
    assert kept == gone == "Available KV cache memory: 1.0 GiB"


def test_parquet(tmp_path: Path) -> None:
    found = rows(text(FOLDERS[0]))
    frames.write_parquet(found, tmp_path / "x.parquet")
    again = pd.read_parquet(tmp_path / "x.parquet")
    assert list(again["line"]) == [row["line"] for row in found]


def test_csv() -> None:
    header, first = frames.csv_text(rows(text(FOLDERS[0]))).split("\n")[:2]
    assert header == ",".join(frames.OBSERVATIONS)
    assert first.startswith("<text>,")
