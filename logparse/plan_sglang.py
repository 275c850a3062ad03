"""SGLang's plan: how the memory that was free before loading is divided, from the chain of its readings.

    free_before_load = weights + pools (KV, sliding window, states, draft) + unallocated + reserve
    reserve          = free_before_load × (1 − mem_fraction_static)

Source: `profile_max_num_token` in sglang/srt/model_executor/model_runner.py (0.1.13 to 0.5.10) and
`_profile_available_bytes` after it; every reading is `get_available_gpu_memory`, device-wide free memory in GiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logparse.facts import Facts, Figure, sum_of
from logparse.ledger import check, refs, row
from logparse.report import Step
from logparse.units import Interval

if TYPE_CHECKING:
    from logparse.report import Check, Row

ONE = Figure(Interval.exactly(1), "derived")
STATES = ("conv_state", "ssm_state", "intermediate_ssm_state", "intermediate_conv_window")
_CHAIN = ("free_before_load", "free_after_load", "free_after_pool", "free_after_capture", "free_at_ready")


class SglangPlan:
    """Figures of one rank's plan; each is None where the log does not tell."""

    def __init__(self, facts: Facts, total: Figure | None) -> None:
        self.facts = facts
        self.total = facts.get("device_total") or total
        self.fraction = facts.setting("mem_fraction_static") or facts.get("memory_fraction")
        self.free_after_load = self._last("free_after_load")
        self.free_after_pool = self._last("free_after_pool")
        self.draft_before_pools = facts.run.rules.get("draft_in_budget") == "yes"
        self.weights = facts.get("weights")
        self.draft_weights = facts.get("weights", role="draft")
        self.free_before_load = facts.get("free_before_load") or self._before_load()

    def _before_load(self) -> Figure | None:
        after = self.facts.get("free_after_load")
        if after is None or self.weights is None:
            return None
        return (after + self.weights).by("free after load + weights")

    def _last(self, quantity: str) -> Figure | None:
        """The reading that stands when the pools are done: the draft's where it comes before the target's graphs."""
        if self.facts.run.rules.get("draft_in_budget") == "yes":
            return self.facts.get(quantity, role="draft") or self.facts.get(quantity)
        return self.facts.get(quantity)

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


def plan_rows(plan: SglangPlan) -> list[Row]:
    """The plan ledger of one rank."""
    rank = plan.facts.rank
    parts = plan.loaded() + plan.pools()
    rows = [row("plan", rank, account, "part", figure) for account, figure in parts]
    if not plan.pools():
        rows.append(row("plan", rank, "kv_cache", "part", None, reason="pool-not-printed"))
    known = [figure for _, figure in parts if figure is not None]
    base, reserve, spent = plan.free_before_load, plan.reserve, sum_of(known)
    taken = _taken_by_pools(plan)
    if taken is not None and (pools := sum_of([figure for _, figure in plan.pools()])) is not None:
        other = (taken - pools).by("free after load − free after pools − pools")
        rows.append(row("plan", rank, "pool_overhead", "part", other, reason="request tables, rounding of the readings"))
        spent = None if spent is None else spent + other
    if reserve is not None:
        rows.append(row("plan", rank, "reserve", "part", reserve, reason=plan.facts.run.rules.get("remainder")))
    if base is not None and spent is not None and reserve is not None:
        rows.append(row("plan", rank, "unallocated", "remainder", _unallocated(plan, base, spent, reserve)))
    rows.append(row("plan", rank, "free_before_load", "base", base, reason=None if base else "free-unknown"))
    return rows + _outside(plan)


def _unallocated(plan: SglangPlan, base: Figure, spent: Figure, reserve: Figure) -> Figure:
    """What neither the pools nor the reserve hold: from the reading after the pools, if there is one."""
    if plan.free_after_pool is not None:
        return (plan.free_after_pool - reserve).by("free after pools − reserve")
    return (base - spent - reserve).by("free before load − weights − pools − reserve")


def _taken_by_pools(plan: SglangPlan) -> Figure | None:
    if plan.free_after_load is None or plan.free_after_pool is None:
        return None
    return plan.free_after_load - plan.free_after_pool


def _outside(plan: SglangPlan) -> list[Row]:
    rank, total, base = plan.facts.rank, plan.total, plan.free_before_load
    if total is None:
        return [row("plan", rank, "total", "base", None, reason="total-unknown")]
    rows = []
    if base is not None:
        used = (total - base).by("total − free before load")
        rows.append(row("plan", rank, "outside", "outside", used, reason="CUDA context, NCCL, other processes"))
    return [*rows, row("plan", rank, "total", "base", total)]


def ready_rows(plan: SglangPlan) -> list[Row]:
    """What is in use once serving, from the readings of free memory before loading and when ready."""
    rank, facts = plan.facts.rank, plan.facts
    last = facts.get("free_at_ready") or _after_capture(facts)
    if plan.free_before_load is None or last is None:
        return []
    used = (plan.free_before_load - last).by("free before load − free when ready")
    parts: list[tuple[str, Figure | None]] = [*plan.loaded(), *plan.pools(), ("cuda_graphs", graphs(facts))]
    if not plan.draft_before_pools and plan.draft_weights:
        parts += [("draft_weights", plan.draft_weights), ("draft_kv_cache", _kv(facts, "draft", swa=None))]
    known = [figure for _, figure in parts if figure is not None]
    rows = [row("ready", rank, account, "part", figure) for account, figure in parts if figure is not None]
    spent = sum_of(known)
    if spent is not None:
        rest = (used - spent).by("in use − what is itemised")
        rows.append(row("ready", rank, "other", "remainder", rest, reason="workspaces, request tables, fragments"))
    rows.append(row("ready", rank, "in_use", "base", used))
    return [*rows, row("ready", rank, "free", "outside", last)]


def _after_capture(facts: Facts) -> Figure | None:
    labels = facts.labels("free_after_capture")
    return facts.get("free_after_capture", label=labels[-1]) if labels and labels[-1] else facts.get("free_after_capture")


def graphs(facts: Facts) -> Figure | None:
    """Memory of all captures of this rank, target and draft."""
    found = []
    for role in ("target", "draft"):
        for label in facts.labels("cuda_graphs", role=role):
            figure = facts.get("cuda_graphs", role=role, label=label)
            if figure is not None and figure.verdict is None:
                found.append(figure)
    return sum_of(found)


def chain(plan: SglangPlan) -> list[Step]:
    """The readings of free memory in order, and what was taken between each two."""
    steps: list[Step] = []
    before: Figure | None = None
    for name in _CHAIN:
        now = _after_capture(plan.facts) if name == "free_after_capture" else plan.facts.get(name)
        if now is None:
            continue
        taken = None if before is None else before - now
        steps.append(
            Step(
                plan.facts.rank,
                name,
                float(now.interval.low),
                float(now.interval.high),
                None if taken is None else float(taken.interval.low),
                None if taken is None else float(taken.interval.high),
                refs(now),
            )
        )
        before = now
    return steps


def plan_checks(plan: SglangPlan) -> list[Check]:
    """Relations that must hold among the figures of one rank."""
    rank, facts, made = plan.facts.rank, plan.facts, []
    before, after = facts.get("free_before_load"), facts.get("free_after_load")
    if before is not None and after is not None and plan.weights is not None:
        made.append(check("load-step", rank, "bytes", plan.weights, before - after, "weights = free before − after load"))
    tokens, scheduler = facts.get("kv_cache_tokens"), facts.get("max_total_num_tokens")
    if tokens is not None and scheduler is not None and "swa" not in facts.labels("kv_cache_tokens"):
        made.append(check("tokens", rank, "tokens", scheduler, tokens, "max_total_num_tokens = #tokens of the KV pool"))
    return made
