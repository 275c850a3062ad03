"""Which rank and which role (target or draft) each event of a run speaks for, and which pool.

What a line says itself is kept; the rest follows from the order in which engines do things.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import regex

from logparse.quantities import QUANTITIES
from logparse.rules import rules_for
from logparse.settings import is_none, parse_dump
from logparse.times import seconds

if TYPE_CHECKING:
    from logparse.match import Event

PROFILING = "profiling"
LONE_REPLICA = "DP0"


def attributed(events: list[Event]) -> list[Event]:
    """Give each event its role and its labels; what the line says itself is kept."""
    pools: dict[str | None, _Pools] = {}
    has_draft = _speculates(events)
    swa = _swa_tokens(events)
    out = []
    for event in _without_lone_replica(events):
        state = pools.setdefault(event.line.rank, _Pools())
        by_order = state.role(event, has_draft)
        role = event.role or ("draft" if _loads_draft(event) else by_order)
        out.append(_labelled(replace(event, role=role), swa))
    return _ranked(_profiling_captures(out))


def _without_lone_replica(events: list[Event]) -> list[Event]:
    """Take the tag off an engine that calls itself the first of its replicas where there is no other."""
    tags = {event.line.rank for event in events if event.line.rank}
    if any(tag.startswith("DP") and tag != LONE_REPLICA for tag in tags):
        return events
    return [replace(e, line=replace(e.line, rank=None)) if e.line.rank == LONE_REPLICA else e for e in events]


def _profiling_captures(events: list[Event]) -> list[Event]:
    """Mark what a vLLM replica allocated or captured before it sized its KV cache: it was part of profiling."""
    sized: dict[str | None, tuple[int, float | None]] = {}
    last: dict[tuple[str, str | None, int | None], int] = {}
    for index, event in enumerate(events):
        if any(r.quantity == "kv_cache_available" for r in event.readings) and event.pattern.phase == "profile":
            sized.setdefault(replica_of(event.line.rank), (index, seconds(event.line.time)))
        last[event.pattern.name, event.line.process, event.line.pid] = index
    return [
        _relabel(event, PROFILING)
        if event.pattern.engine == "vllm"
        and event.pattern.phase in ("kv_cache", "capture")
        and _is_before(index, event, sized.get(replica_of(event.line.rank)))
        and _is_certain(index, event, sized[replica_of(event.line.rank)], last)
        else event
        for index, event in enumerate(events)
    ]


def _is_before(index: int, event: Event, mark: tuple[int, float | None] | None) -> bool:
    """Compare by order and by time: Ray and others print what workers said later than it was said."""
    if mark is None or index > mark[0]:
        return False
    now = seconds(event.line.time)
    return now is None or mark[1] is None or now <= mark[1]


def _is_certain(
    index: int, event: Event, mark: tuple[int, float | None], last: dict[tuple[str, str | None, int | None], int]
) -> bool:
    """Within one second order is all there is, and it may mislead: then the same line must come again later."""
    now = seconds(event.line.time)
    earlier = now is not None and mark[1] is not None and now < mark[1]
    return earlier or last[event.pattern.name, event.line.process, event.line.pid] > index


def replica_of(rank: str | None) -> str | None:
    """The data-parallel part of a rank; None where there is one engine only."""
    first = (rank or "").split("_")[0]
    return first if first.startswith("DP") else None


def _relabel(event: Event, label: str) -> Event:
    return replace(event, readings=tuple(replace(r, label=label) for r in event.readings))


def _ranked(events: list[Event]) -> list[Event]:
    """Number the workers that print the same figures of one rank without saying which: `#0`, `#1`, by order."""
    speaking = [e for e in events if _speaks_for_rank(e)]
    if any(e.line.rank for e in speaking):
        return events
    by_pattern: dict[str, dict[tuple[str | None, int | None, str | None], None]] = {}
    for event in speaking:
        by_pattern.setdefault(event.pattern.name, {})[_worker(event)] = None
    workers = max(by_pattern.values(), key=len, default={})
    if len(workers) < 2:
        return events
    numbers = {worker: f"#{index}" for index, worker in enumerate(workers)}
    return [
        replace(e, line=replace(e.line, rank=numbers[who])) if (who := _worker(e)) in numbers and _is_of_rank(e) else e
        for e in events
    ]


def _worker(event: Event) -> tuple[str | None, int | None, str | None]:
    return event.line.process, event.line.pid, event.line.node


def _is_of_rank(event: Event) -> bool:
    """True for a line that prints figures of one rank; the driver also prints those of the whole engine."""
    return any(QUANTITIES[r.quantity].scope == "rank" for r in event.readings)


def _speaks_for_rank(event: Event) -> bool:
    names = {r.quantity for r in event.readings}
    return event.pattern.phase != "error" and bool(names & {"weights", "kv_cache_available", "cuda_graphs"})


def _loads_draft(event: Event) -> bool:
    """True where the line names an architecture that is a draft's."""
    drafts = rules_for(event.pattern.engine).get("draft_architecture")
    named = event.text("identity:architecture")
    return drafts is not None and named is not None and regex.search(drafts, named) is not None


@dataclass
class _Pools:
    """How far one rank is in loading models and allocating their pools, target first."""

    loads_begun: int = 0
    loads_ended: int = 0
    pools_ended: int = 0
    checkpoints: list[str] = field(default_factory=list)

    def role(self, event: Event, has_draft: bool) -> str | None:
        """`target` for the first model of a rank, `draft` for what comes after it; None where it has no meaning."""
        names = {r.quantity for r in event.readings}
        nth = None
        if event.pattern.engine == "sglang":
            nth = self._sglang(event.pattern.marks, names)
        elif "checkpoint" in names and has_draft:
            nth = self._checkpoint(next(r.value for r in event.readings if r.quantity == "checkpoint"))
        return None if nth is None else ("target" if nth == 0 else "draft")

    def _checkpoint(self, size: str) -> int:
        """Which checkpoint has this size, in order of appearance: several lines speak of one."""
        if size not in self.checkpoints:
            self.checkpoints.append(size)
        return self.checkpoints.index(size)

    def _sglang(self, mark: str | None, names: set[str]) -> int | None:
        if mark == "load_begin":
            self.loads_begun, nth = self.loads_begun + 1, self.loads_begun
        elif mark == "load_end":
            nth, self.loads_ended = max(self.loads_ended, self.loads_begun - 1), self.loads_ended + 1
        elif mark == "pool_end":
            self.pools_ended, nth = self.pools_ended + 1, self.pools_ended
        elif names & {"kv_cache_k", "kv_cache", "kv_cache_tokens"}:
            nth = self.pools_ended
        else:
            return 0 if names else None
        return nth


def _speculates(events: list[Event]) -> bool:
    for event in events:
        for key, text, _ in event.texts:
            if key.startswith("settings:"):
                dump = parse_dump(text)
                if not is_none(dump.get("speculative_config", dump.get("speculative_algorithm"))):
                    return True
    return False


def _swa_tokens(events: list[Event]) -> tuple[set[str], set[str]]:
    tokens = [r for e in events for r in e.readings if r.quantity == "kv_cache_tokens"]
    return {r.value for r in tokens if r.label == "full"}, {r.value for r in tokens if r.label == "swa"}


def _labelled(event: Event, tokens: tuple[set[str], set[str]]) -> Event:
    """Say which pool a KV cache line of a sliding-window model speaks of: its tokens tell."""
    full, swa = tokens
    size = next((r.value for r in event.readings if r.quantity == "kv_cache_tokens" and r.label is None), None)
    label = {(True, False): "full", (False, True): "swa"}.get((size in full, size in swa))
    if size is None or label is None:
        return event
    return replace(event, readings=tuple(r if r.label else replace(r, label=label) for r in event.readings))
