"""SGLang's plan: how the memory that was free before loading is divided, from the chain of its readings.

    free_before_load = weights + pools (KV, sliding window, states, draft) + unallocated + reserve
    reserve          = free_before_load × (1 − mem_fraction_static)

Source: `profile_max_num_token` in sglang/srt/model_executor/model_runner.py (0.1.13 to 0.5.10) and
`_profile_available_bytes` after it; every reading is `get_available_gpu_memory`, device-wide free memory in GiB.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from logparse.facts import Facts, Figure, evidence_of, interval_of, is_impossible, sum_of
from logparse.ledger import check, refs, row
from logparse.report import Step
from logparse.settings import is_none
from logparse.units import Interval

if TYPE_CHECKING:
    from logparse.report import Check, Row

ONE = Figure(Interval.exactly(1), "derived")
STATES = ("conv_state", "ssm_state", "intermediate_ssm_state", "intermediate_conv_window")
_CHAIN = frozenset(
    {
        "free_before_load", "free_after_load", "free_after_pool", "free_before_capture", "free_after_capture",
        "free_at_ready",
    }
)  # fmt: skip
UNNAMED = "unnamed"
"""Reason of a row that no line of the log names."""


class SglangPlan:
    """Figures of one rank's plan; each is None where the log does not tell."""

    def __init__(self, facts: Facts, total: Figure | None) -> None:
        self.facts = facts
        self.total = facts.get("device_total") or total
        self.fraction = facts.setting("mem_fraction_static") or facts.get("memory_fraction")
        self.draft_before_pools = facts.run.rules.get("draft_in_budget") == "yes"
        self.free_after_load = self._last("free_after_load")
        self.free_after_pool = self._last("free_after_pool")
        self.weights = facts.get("weights") or self._taken_by_load()
        self.draft_weights = facts.get("weights", role="draft")
        self.free_before_load = facts.get("free_before_load") or self._before_load()
        self.steps = free_readings(facts)

    def _taken_by_load(self) -> Figure | None:
        """Weights of a release that prints only free memory before and after loading (up to 0.4.3.post2)."""
        before, after = self.facts.get("free_before_load"), self.facts.get("free_after_load")
        if before is None or after is None:
            return None
        return (before - after).by("free before − after loading")

    def _before_load(self) -> Figure | None:
        after = self.facts.get("free_after_load")
        if after is None or self.weights is None:
            return None
        return (after + self.weights).by("free after load + weights")

    def _last(self, quantity: str) -> Figure | None:
        """The reading that stands when the pools are done: the draft's where it comes before the target's graphs."""
        drafts = self.facts.get(quantity, role="draft") if self.draft_before_pools else None
        return drafts or self.facts.get(quantity)

    @property
    def reserve(self) -> Figure | None:
        """Memory that the fraction keeps back."""
        if self.fraction is None or self.free_before_load is None:
            return None
        return (self.free_before_load * (ONE - self.fraction)).by("free before load × (1 − mem_fraction_static)")

    def loaded(self) -> list[tuple[str, Figure | None]]:
        """Weights that were there before the pools were sized."""
        draft = [("draft_weights", self.draft_weights)] if self.draft_weights and self.draft_before_pools else []
        return [("weights", self.weights), *draft]

    def pools(self) -> list[tuple[str, Figure]]:
        """Pools as allocated, each with its account."""
        found = [("kv_cache", kv) for kv in [_kv(self.facts, "target", swa=False)] if kv]
        found += [("swa_kv_cache", kv) for kv in [_kv(self.facts, "target", swa=True)] if kv]
        if not found and (total := self.facts.get("kv_cache_total")):
            found.append(("kv_cache", total))
        found += [(name, state) for name in STATES if (state := self.facts.get(name))]
        if self.draft_before_pools:
            found += [("draft_kv_cache", kv) for kv in [_kv(self.facts, "draft", swa=None)] if kv]
        return found


def _kv(facts: Facts, role: str, *, swa: bool | None) -> Figure | None:
    """KV cache of a role: keys and values together; with `swa` the sliding-window pool or the others."""
    labels: list[str | None] = facts.labels("kv_cache_k", role=role) + facts.labels("kv_cache", role=role)
    sizes = []
    for label in dict.fromkeys(labels):
        if swa is not None and (label == "swa") != swa:
            continue
        keys = [facts.get(q, role=role, label=label) if label else _unlabelled(facts, q, role) for q in
                ("kv_cache_k", "kv_cache_v", "kv_cache")]  # fmt: skip
        sizes += [k for k in keys if k is not None]
    return sum_of(sizes)


def _unlabelled(facts: Facts, quantity: str, role: str) -> Figure | None:
    return facts.get(quantity, role=role) if facts.labels(quantity, role=role) == [None] else None


@dataclass(frozen=True, slots=True)
class FreeReading:
    """One reading of free memory, in the order of the log."""

    name: str
    role: str | None
    label: str | None
    figure: Figure


def free_readings(facts: Facts) -> list[FreeReading]:
    """All readings of free memory of a rank, target and draft, in order; a repeated one counts once."""
    found: list[FreeReading] = []
    for event in facts.run.events:
        if event.pattern.engine != "sglang" or not facts.is_mine(event.line.rank):
            continue
        for reading in event.readings:
            if reading.quantity not in _CHAIN or is_impossible(reading.quantity, reading):
                continue
            figure = Figure(interval_of(reading), "read", (evidence_of(event, reading.line),))
            step = FreeReading(reading.quantity, event.role, reading.label, figure)
            if not found or (step.name, step.role, step.label) != (found[-1].name, found[-1].role, found[-1].label):
                found.append(step)
    return found


def plan_rows(plan: SglangPlan) -> list[Row]:
    """The plan ledger of one rank."""
    rank, base, reserve = plan.facts.rank, plan.free_before_load, plan.reserve
    parts = [*plan.loaded(), *_pool_parts(plan)]
    rows = [row("plan", rank, account, "part", figure, reason=_unnamed(account)) for account, figure in parts]
    if reserve is not None:
        rows.append(row("plan", rank, "reserve", "part", reserve, reason=plan.facts.run.rules.get("reserve")))
    known = [figure for _, figure in parts if figure is not None]
    spent = sum_of([*known, reserve] if reserve is not None else known)
    if base is not None and spent is not None and all(figure is not None for _, figure in parts):
        account = "unallocated" if reserve is not None else "left"
        left = (base - spent).by("free before load − the rows above")
        rows.append(row("plan", rank, account, "remainder", left, reason=_cap(plan)))
    rows.append(row("plan", rank, "free_before_load", "base", base, reason=None if base else "free-unknown"))
    return rows + _outside(plan)


def _pool_parts(plan: SglangPlan) -> list[tuple[str, Figure | None]]:
    """The pools as printed and what went beside them, or what the readings say that all of them took."""
    taken = None
    if plan.free_after_load is not None and plan.free_after_pool is not None:
        taken = (plan.free_after_load - plan.free_after_pool).by("free after load − free after the pools")
    printed = plan.pools()
    pools = sum_of([figure for _, figure in printed])
    if pools is None:
        return [("pools" if taken is not None else "kv_cache", taken)]
    beside = [] if taken is None else [("pool_overhead", (taken - pools).by("taken while allocating − the pools"))]
    return [*printed, *beside]


def _unnamed(account: str) -> str | None:
    return {"pool_overhead": UNNAMED, "pools": "pools-together"}.get(account)


def _cap(plan: SglangPlan) -> str | None:
    """The flag that sets the size of the pool, where memory does not."""
    flag = plan.facts.run.settings.get("max_total_tokens")
    return None if flag is None or is_none(flag.value) else f"capped by max_total_tokens = {flag.value}"


def _outside(plan: SglangPlan) -> list[Row]:
    rank, total, base = plan.facts.rank, plan.total, plan.free_before_load
    if total is None:
        return [row("plan", rank, "total", "base", None, reason="total-unknown")]
    rows = []
    if base is not None:
        used = (total - base).by("total − free before load")
        rows.append(row("plan", rank, "outside", "outside", used, reason="outside-sglang"))
    return [*rows, row("plan", rank, "total", "base", total)]


def ready_rows(plan: SglangPlan) -> list[Row]:
    """What is in use at the last reading of free memory; the base is the card where it is known."""
    rank = plan.facts.rank
    start = plan.total or plan.free_before_load
    last = plan.steps[-1] if plan.steps else None
    if start is None or last is None or last.name in ("free_before_load", "free_after_load"):
        return []
    used = (start - last.figure).by("card − free" if plan.total else "free before load − free")
    parts = [*_before(plan), *_in_use(plan)]
    rows = [row("ready", rank, account, "part", figure) for account, figure in parts]
    rows += [row("ready", rank, "cuda_graphs", "part", figure) for figure in _odd_graphs(plan.facts)]
    spent = sum_of([figure for _, figure in parts])
    if spent is not None:
        rest = (used - spent).by("in use − the rows above")
        rows.append(row("ready", rank, "other", "remainder", rest, reason=UNNAMED))
    rows.append(row("ready", rank, "in_use", "base", used))
    return [*rows, row("ready", rank, "free", "outside", last.figure)]


def _before(plan: SglangPlan) -> list[tuple[str, Figure]]:
    if plan.total is None or plan.free_before_load is None:
        return []
    return [("used_before_load", (plan.total - plan.free_before_load).by("total − free before load"))]


def _in_use(plan: SglangPlan) -> list[tuple[str, Figure]]:
    parts: list[tuple[str, Figure | None]] = [("weights", plan.weights), ("draft_weights", plan.draft_weights)]
    parts += [(account, figure) for account, figure in plan.pools() if account != "draft_kv_cache"]
    parts += [("draft_kv_cache", _kv(plan.facts, "draft", swa=None)), ("cuda_graphs", graphs(plan.facts))]
    parts.append(("given_back", _given_back(plan.steps)))
    return [(account, figure) for account, figure in parts if figure is not None]


def _given_back(steps: list[FreeReading]) -> Figure | None:
    """What became free again between two readings, such as a draft's own copy of what it shares; negative."""
    rises = [
        before.figure - after.figure
        for before, after in pairwise(steps)
        if after.figure.interval.low > before.figure.interval.high
    ]
    found = sum_of(rises)
    return None if found is None else found.by("rises of free memory")


def graphs(facts: Facts) -> Figure | None:
    """Memory of all captures of this rank, target and draft."""
    return sum_of([figure for figure in _captures(facts) if figure.verdict is None])


def _odd_graphs(facts: Facts) -> list[Figure]:
    return [figure for figure in _captures(facts) if figure.verdict is not None]


def _captures(facts: Facts) -> list[Figure]:
    found = [
        facts.get("cuda_graphs", role=role, label=label)
        for role in ("target", "draft")
        for label in facts.labels("cuda_graphs", role=role)
    ]
    return [figure for figure in found if figure is not None]


def chain(plan: SglangPlan) -> list[Step]:
    """The readings of free memory in order, and what was taken between each two (negative: given back)."""
    made = []
    before: Figure | None = None
    for step in plan.steps:
        taken = None if before is None else before - step.figure
        before = step.figure
        made.append(
            Step(
                plan.facts.rank,
                step.name,
                step.role,
                step.label,
                float(step.figure.interval.low),
                float(step.figure.interval.high),
                None if taken is None else float(taken.interval.low),
                None if taken is None else float(taken.interval.high),
                refs(step.figure),
            )
        )
    return made


def plan_checks(plan: SglangPlan) -> list[Check]:
    """Relations that must hold among the figures of one rank."""
    rank, facts, made = plan.facts.rank, plan.facts, []
    before, after = facts.get("free_before_load"), facts.get("free_after_load")
    if before is not None and after is not None and plan.weights is not None:
        made.append(
            check("load-step", rank, "bytes", plan.weights, before - after, "weights = free before − after load")
        )
    tokens, scheduler = facts.get("kv_cache_tokens"), facts.get("max_total_num_tokens")
    if tokens is not None and scheduler is not None and "swa" not in facts.labels("kv_cache_tokens"):
        made.append(check("tokens", rank, "tokens", scheduler, tokens, "max_total_num_tokens = #tokens of the KV pool"))
    parts = [_kv(facts, "target", swa=False), _kv(facts, "target", swa=True)]
    whole = facts.get("kv_cache_total")
    if whole is not None and all(part is not None for part in parts):
        pools = sum_of([part for part in parts if part is not None])
        if pools is not None:
            made.append(check("swa-sum", rank, "bytes", whole, pools, "pool = full + sliding window"))
    return made
