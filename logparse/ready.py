"""The ready plane: what is in use once the engine serves, where something read the device then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logparse.facts import Facts, Figure, evidence_of, interval_of, sum_of
from logparse.ledger import row

if TYPE_CHECKING:
    from logparse.plan_vllm import VllmPlan
    from logparse.report import Row

SMI = "nvidia-smi"
_SIZED = frozenset({"kv_cache_available", "kv_cache_tokens", "gpu_blocks", "free_after_pool", "max_total_num_tokens"})


def device_total(facts: Facts) -> Figure | None:
    """Memory of the device as the engine itself prints it."""
    return facts.get("device_total") or facts.any_phase("oom_total")


def device_used(facts: Facts) -> Figure | None:
    """Memory in use on the device, read after the engine had allocated its pools; None where nobody looked.

    With readings of several devices it cannot be told whose they are, and after a failure nothing is in use: None.
    """
    if facts.run.failure is not None:
        return None
    sized = max(
        (i for i, e in enumerate(facts.run.events) if any(r.quantity in _SIZED for r in e.readings)), default=None
    )
    if sized is None:
        return None
    found = [
        (reading, event)
        for event in facts.run.events[sized + 1 :]
        for reading in event.readings
        if reading.quantity == "device_used"
    ]
    if len({reading.value for reading, _ in found}) != 1:
        return None
    reading, event = found[0]
    return Figure(interval_of(reading), "read", (evidence_of(event, reading.line),))


def vllm_rows(plan: VllmPlan) -> list[Row]:
    """What of the memory in use is what; the KV cache is held from the start, filling it moves nothing."""
    used = device_used(plan.facts)
    if used is None:
        return []
    rank, graphs = plan.facts.rank, plan.captured()
    parts = [("weights", plan.weights), ("kv_cache", plan.kv_cache), ("cuda_graphs", graphs)]
    rows = [row("ready", rank, account, "part", figure) for account, figure in parts if figure is not None]
    spent = sum_of([figure for _, figure in parts if figure is not None])
    if spent is not None:
        rest = (used - spent).by("in use − what is itemised")
        rows.append(row("ready", rank, "other", "remainder", rest, reason="context, workspaces, other processes"))
    rows.append(row("ready", rank, "in_use", "base", used))
    if plan.total is not None:
        rows.append(row("ready", rank, "free", "outside", (plan.total - used).by("total − in use")))
    return rows


def device_rows(facts: Facts) -> list[Row]:
    """What nvidia-smi or an allocation failure says about a device where no engine speaks."""
    rows = []
    names = ("oom_process_used", "oom_pytorch_allocated", "oom_reserved_unallocated", "oom_graph_pools", "oom_free")
    for name in names:
        figure = facts.any_phase(name)
        if figure is not None:
            rows.append(row("ready", facts.rank, name, "child", figure))
    for name, label in (("device_used", SMI), ("oom_total", None), ("device_total", SMI)):
        figure = facts.any_phase(name, label=label)
        if figure is not None:
            rows.append(row("ready", facts.rank, name, "base", figure))
    return rows
