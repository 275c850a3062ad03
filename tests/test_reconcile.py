"""Ledgers and checks: what must hold for every log, and figures that a person worked out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import logparse
from logparse.report import Report, RunReport
from logparse.units import GIB, size_interval
from tests.logs import SGLANG, itemised, vllm

CASE_A = (
    "Model loading took 8.61 GiB memory and 1.703832 seconds",
    "Available KV cache memory: 8.88 GiB",
    "GPU KV cache size: 273,563 tokens",
    "Maximum concurrency for 32,768 tokens per request: 8.35x",
    "Graph capturing finished in 5 secs, took 0.54 GiB",
)


def report(text: str, **options: object) -> Report:
    return logparse.reconcile(logparse.parse_text(text), **options)  # type: ignore[arg-type]


def account(run: RunReport, name: str, plane: str = "plan") -> float:
    rows = [r for r in run.ledger if r.account == name and r.plane == plane]
    assert len(rows) == 1, f"{name}: {rows}"
    assert rows[0].observed is not None
    return rows[0].observed / GIB


def verdict(run: RunReport, name: str) -> str:
    return next(check.verdict for check in run.checks if check.name == name)


def test_case_a_leaves_236_not_itemised_and_221_outside() -> None:
    made = report(vllm(*CASE_A, release="0.27.0"), total_memory=size_interval("22.06GiB"))
    run = made.runs[0]
    assert account(run, "budget") == pytest.approx(19.854, abs=0.001)
    assert account(run, "remainder") == pytest.approx(2.364, abs=0.001)
    assert account(run, "outside") == pytest.approx(2.206, abs=0.001)
    assert account(run, "cuda_graphs") == pytest.approx(0.54)
    assert verdict(run, "tokens-concurrency") == "agrees"


def test_an_itemised_budget_adds_up() -> None:
    run = report(itemised(12.56, 0.77, 0.25, 61.66, 79.19, 75.23)).runs[0]
    assert verdict(run, "budget-identity") == "agrees"


def test_a_budget_that_does_not_add_up_is_said_so() -> None:
    made = report(itemised(12.56, 0.77, 0.25, 60.66, 79.19, 75.23))
    assert verdict(made.runs[0], "budget-identity") == "lower"
    assert "does NOT add up" in made.to_text()


@settings(max_examples=60, deadline=None)
@given(
    weights=st.integers(100, 4000),
    activations=st.integers(0, 500),
    non_torch=st.integers(0, 300),
    kv=st.integers(1, 3000),
)
def test_plan_rows_and_remainder_make_their_base(weights: int, activations: int, non_torch: int, kv: int) -> None:
    budget = weights + activations + non_torch + kv
    total = budget + 500
    sizes = [x / 100 for x in (weights, activations, non_torch, kv, total, budget)]
    run = report(itemised(*sizes)).runs[0]
    parts = sum(r.observed or 0 for r in run.ledger if r.plane == "plan" and r.kind in ("part", "remainder"))
    assert parts / GIB == pytest.approx(budget / 100, abs=1e-9)
    assert verdict(run, "budget-identity") == "agrees"


def test_rounding_alone_never_breaks_the_sum() -> None:
    # Four terms each printed 0.004 low: the printed sum is 0.02 short and still agrees.
    run = report(itemised(10.0, 1.0, 0.2, 5.0, 20.0, 16.22)).runs[0]
    assert verdict(run, "budget-identity") == "agrees"


def test_a_default_counts_only_where_the_arguments_are_in_the_log() -> None:
    text = "\n".join(vllm(*CASE_A, release="0.27.0").splitlines()[2:])
    made = report(text, total_memory=size_interval("22.06GiB"))
    assert all(row.account != "budget" or row.observed is None for row in made.runs[0].ledger)
    assert "budget" in made.to_text().split("Not known:")[1].splitlines()[0]


def test_total_from_the_slope_of_two_runs() -> None:
    low = vllm(
        *CASE_A[:1], "Available KV cache memory: 4.47 GiB", arguments="'model': 'm', 'gpu_memory_utilization': 0.7"
    )
    high = vllm(*CASE_A[:1], "Available KV cache memory: 8.88 GiB")
    made = report(low + high)
    total = next(r for r in made.runs[0].ledger if r.account == "total")
    assert total.basis == "derived"
    assert total.observed_low is not None
    assert total.observed_high is not None
    assert total.observed_low / GIB == pytest.approx(22.00)
    assert total.observed_high / GIB == pytest.approx(22.10)


def test_no_slope_where_something_else_differs() -> None:
    low = vllm("Model loading took 9.61 GiB memory and 1.0 seconds", "Available KV cache memory: 4.47 GiB",
               arguments="'model': 'm', 'gpu_memory_utilization': 0.7")  # fmt: skip
    made = report(low + vllm(*CASE_A[:1], "Available KV cache memory: 8.88 GiB"))
    assert all(r.account != "total" or r.observed is None for r in made.runs[0].ledger)


def test_sglang_chain() -> None:
    run = report(SGLANG).runs[0]
    assert account(run, "weights") == pytest.approx(20.0)
    assert account(run, "kv_cache") == pytest.approx(35.8)
    assert account(run, "reserve") == pytest.approx(14.0)
    assert account(run, "unallocated") == pytest.approx(0.0, abs=1e-9)
    assert account(run, "pool_overhead") == pytest.approx(0.2)
    assert account(run, "in_use", "ready") == pytest.approx(57.6)
    assert [step.name for step in run.chain] == [
        "free_before_load", "free_after_load", "free_after_pool", "free_after_capture", "free_at_ready",
    ]  # fmt: skip
    assert run.outcome == "ready"


def test_sglang_plan_rows_make_what_was_free() -> None:
    run = report(SGLANG).runs[0]
    parts = sum(r.observed or 0 for r in run.ledger if r.plane == "plan" and r.kind in ("part", "remainder"))
    assert parts / GIB == pytest.approx(70.0)


def test_nvidia_smi_below_the_log_makes_the_ready_plane() -> None:
    smi = "|  0%   45C    P0    60W / 150W |  19814MiB / 23028MiB |      0%      Default |\n"
    made = report(vllm(*CASE_A, release="0.27.0") + smi, total_memory=size_interval("22.06GiB"))
    run = made.runs[0]
    assert account(run, "in_use", "ready") == pytest.approx(19814 / 1024)
    assert account(run, "other", "ready") == pytest.approx(19814 / 1024 - 8.61 - 8.88 - 0.54)
    assert account(run, "total") == pytest.approx(22.06), "nvidia-smi's total is not what CUDA reports"


def test_impossible_readings_enter_no_sum() -> None:
    run = report(SGLANG.replace("mem usage=1.50 GB", "mem usage=-5.29 GB")).runs[0]
    row = next(row for row in run.ledger if row.account == "cuda_graphs")
    assert row.verdict == "impossible"
    assert row.observed is None


def test_two_lines_that_disagree_are_a_conflict() -> None:
    made = report(
        itemised(12.56, 0.77, 0.25, 61.66, 79.19, 75.23).replace("weights memory: 12.56GiB", "weights memory: 9.0GiB")
    )
    row = next(r for r in made.runs[0].ledger if r.account == "weights")
    assert row.verdict == "conflict"
    assert "CONFLICT" in made.to_text()


def test_missing_is_never_zero() -> None:
    made = report(vllm("Available KV cache memory: 8.88 GiB"))
    row = next(r for r in made.runs[0].ledger if r.account == "weights")
    assert row.observed is None
    assert row.verdict == "unobserved"
    assert " 0.00" not in made.to_text()


def test_the_smallest_cache_is_the_main_rank() -> None:
    lines = [
        f"(Worker_TP{rank} pid={rank + 9}) INFO 01-01 00:00:00 [gpu_worker.py:1] Available KV cache memory: {size} GiB"
        for rank, size in enumerate(("35.74", "35.65", "36.12"))
    ]
    run = report(vllm() + "\n".join(lines)).runs[0]
    assert run.main_rank == "TP1"
    spread = next(s for s in run.spreads if s.account == "kv_cache")
    assert (spread.ranks, spread.low / GIB, spread.high / GIB) == (3, pytest.approx(35.65), pytest.approx(36.12))


def test_a_failed_start_names_its_first_error() -> None:
    text = vllm() + (
        "(EngineCore pid=2) ERROR 01-01 00:00:00 [core.py:1] ValueError: bad thing happened\n"
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. "
        "Failed core proc(s): {}\n"
    )
    run = report(text).runs[0]
    assert run.outcome == "failed"
    assert run.failure is not None
    assert run.failure.error == "ValueError: bad thing happened"
    assert not run.failure.is_wrapper


def test_report_json_round_trip() -> None:
    for text in (SGLANG, itemised(12.56, 0.77, 0.25, 61.66, 79.19, 75.23)):
        made = report(text)
        assert Report.from_json(made.to_json()) == made


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "logparse/report/1"}', "not json"])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(logparse.LogparseError):
        Report.from_json(text)


def test_frames_have_one_row_per_account_and_check() -> None:
    made = report(SGLANG)
    assert len(made.ledger) == len(made.runs[0].ledger)
    assert set(made.ledger["verdict"]) <= {
        "agrees",
        "higher",
        "lower",
        "unobserved",
        "unestimated",
        "conflict",
        "impossible",
    }
    assert made.checks["name"].iloc[0] == "load-step"


def test_several_lines_on_one_checkpoint_are_no_draft() -> None:
    said = "Filesystem type for checkpoints: EXT4. Checkpoint size: {} GiB. Available RAM: 90.00 GiB."
    again = "the checkpoint size (66.97 GiB) exceeds 90% of available RAM (47.15 GiB)"
    log = logparse.parse_text(
        vllm(
            said.format("66.97"),
            again,
            said.format("2.08"),
            arguments="'model': 'm', 'speculative_config': {'model': 'd'}",
        )
    )
    table = log.observations
    roles = table[table["quantity"] == "checkpoint"].set_index("value")["role"]
    assert set(roles[66.97]) == {"target"}
    assert roles[2.08] == "draft"
