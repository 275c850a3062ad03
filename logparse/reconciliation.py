"""From a `Log` to a `Report`: ledgers, checks, capacity, and what the log does not say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from logparse import __version__ as _tool_version
from logparse import capacity, identity, plan_sglang, plan_vllm, ready
from logparse.facts import Facts, Figure, told
from logparse.ledger import with_shares
from logparse.redact import redact as redacted
from logparse.report import Report, RunReport
from logparse.units import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logparse.log import Log
    from logparse.report import Check, Row, Step
    from logparse.runs import Run


def reconcile(log: Log, *, total_memory: Interval | None = None, command: str | None = None) -> Report:
    """Reconcile what a log says.

    Args:
        log: what was read.
        total_memory: memory of one device in bytes, where the user knows it.
        command: the command line to name in the report.
    """
    total = told(total_memory) if total_memory is not None else None
    solved = solve_total(log.parsed) if total is None else None
    runs = tuple(_run_report(run, total or solved, redact=log.redact) for run in log.parsed)
    left = tuple(replace(u, text=redacted(u.text) if log.redact else u.text) for u in log.lines_unread)
    return Report(_tool_version, log.digest, log.sources, runs, command, left)


def _run_report(run: Run, total: Figure | None, *, redact: bool) -> RunReport:
    ranks: tuple[str | None, ...] = _memory_ranks(run) or (None,)
    ledger: list[Row] = []
    checks: list[Check] = []
    chain: list[Step] = []
    for rank in ranks:
        rows, made, steps = _rank_report(run, rank, total)
        ledger += rows
        checks += made
        chain += steps
    main = _main_rank(run, ranks)
    return RunReport(
        index=run.index,
        engine=run.engine,
        outcome=run.outcome,
        last_phase=run.last_phase,
        main_rank=main,
        first_line=run.events[0].line.number,
        facts=identity.facts(run),
        failure=identity.failure(run, redact=redact),
        ledger=tuple(ledger),
        chain=tuple(chain),
        checks=tuple(checks + capacity.checks(Facts(run, main))),
        capacity=capacity.rows(run, main),
        missing=identity.missing(run, [row for row in ledger if row.rank == main]),
        spreads=capacity.spreads(ledger),
        numbers=identity.numbers(run, redact=redact),
        load=capacity.load(run),
    )


def _rank_report(run: Run, rank: str | None, total: Figure | None) -> tuple[list[Row], list[Check], list[Step]]:
    facts = Facts(run, rank)
    total = total or ready.device_total(facts)
    if run.engine == "sglang":
        sglang = plan_sglang.SglangPlan(facts, total)
        rows = with_shares(plan_sglang.plan_rows(sglang)) + with_shares(plan_sglang.ready_rows(sglang))
        return rows, plan_sglang.plan_checks(sglang), plan_sglang.chain(sglang)
    if run.engine == "vllm":
        vllm = plan_vllm.VllmPlan(facts, total)
        rows = with_shares(plan_vllm.plan_rows(vllm)) + with_shares(ready.vllm_rows(vllm))
        return rows, plan_vllm.plan_checks(vllm), []
    return with_shares(ready.device_rows(facts)), [], []


def _memory_ranks(run: Run) -> tuple[str, ...]:
    """Ranks that print memory of their own; the front end of a data-parallel engine is none."""
    speaking = {e.line.rank for e in run.events if e.line.rank and e.readings and e.pattern.phase != "serving"}
    ranks = tuple(rank for rank in run.ranks if rank in speaking)
    return tuple(r for r in ranks if not any(other.startswith(f"{r}_") for other in ranks))


def _main_rank(run: Run, ranks: Sequence[str | None]) -> str | None:
    """The rank that a short report shows: the one with the smallest cache, since that one counts; else the first."""

    def size(rank: str | None) -> tuple[bool, Fraction, int]:
        facts = Facts(run, rank)
        figure = next(
            (f for q in ("kv_cache_available", "kv_cache_k", "kv_cache", "free_after_pool") if (f := facts.get(q))),
            None,
        )
        return figure is None, figure.interval.low if figure else Fraction(0), list(ranks).index(rank)

    return min(ranks, key=size)


def solve_total(runs: Sequence[Run]) -> Figure | None:
    """Total memory from two runs that differ in their fraction and in nothing else that takes memory.

    KV cache = total × fraction − the rest, so total = Δ KV cache ÷ Δ fraction. None where no two such runs are
    there, or where they contradict each other.
    """
    points = [point for run in runs if run.engine == "vllm" and (point := _point(run))]
    solved: Interval | None = None
    for index, (one_fraction, one_kv, one_rest) in enumerate(points):
        for two_fraction, two_kv, two_rest in points[index + 1 :]:
            if one_fraction == two_fraction or one_rest != two_rest:
                continue
            slope = (two_kv - one_kv) / Interval.exactly(two_fraction - one_fraction)
            if solved is not None and not solved.overlaps(slope):
                return None
            solved = slope if solved is None else Interval(max(solved.low, slope.low), min(solved.high, slope.high))
    if solved is None or solved.low <= 0:
        return None
    return replace(told(solved), basis="derived").by("Δ available KV cache ÷ Δ gpu_memory_utilization between runs")


def _point(run: Run) -> tuple[Fraction, Interval, tuple[str | None, ...]] | None:
    facts = Facts(run, _main_rank(run, _memory_ranks(run) or (None,)))
    kv, weights = facts.get("kv_cache_available"), facts.get("weights")
    fraction = facts.setting("gpu_memory_utilization")
    if kv is None or fraction is None or fraction.basis == "default" or weights is None:
        return None
    same = tuple(
        setting.value if (setting := run.settings.get(name)) else None
        for name in ("model", "max_model_len", "max_num_batched_tokens", "max_num_seqs", "tensor_parallel_size")
    )
    rest = (*same, str(weights.interval.middle), str(run.version))
    return fraction.interval.middle, kv.interval, rest
