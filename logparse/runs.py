"""From events to runs: engine starts, ranks, roles, version, settings and outcome.

A run is one start of one engine. A log may hold several: restarts, several services, several engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import regex

from logparse.rules import Rules, rules_for
from logparse.settings import Setting, is_none, parse_dump
from logparse.times import seconds
from logparse.versions import Releases, Version

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logparse.match import Event

COMMON = "common"
PROFILING = "profiling"
_ORDER = {"init": 0, "load": 1, "profile": 2, "kv_cache": 3, "capture": 4, "ready": 5, "serving": 6}
_STARTS = ("start", "server_start")


@dataclass(frozen=True)
class Run:
    """One start of one engine, with everything it said."""

    index: int
    engine: str
    events: tuple[Event, ...]
    told: tuple[Setting, ...] = field(default=())
    """Settings that the user told logparse, such as the engine version."""

    @cached_property
    def version(self) -> Version | None:
        """The release that the run says it is, or that the user told."""
        text = self._told("version") or self.identity("version")
        return Version.parse(text) if text else None

    @cached_property
    def version_source(self) -> str | None:
        """`told`, `banner` or None."""
        if self._told("version"):
            return "told"
        return "banner" if self.version else None

    @cached_property
    def era(self) -> Releases | None:
        """Releases that print all wordings seen, as far as they go together; None where there are none."""
        era: Releases | None = None
        for releases in dict.fromkeys(e.pattern.releases for e in self.events if e.pattern.engine == self.engine):
            narrowed = releases if era is None else era.intersect(releases)
            era = narrowed if narrowed.spans else era
        return era

    @cached_property
    def rules(self) -> Rules:
        """Rules that hold for this run: by the banner where the wordings bear it out, else by the wordings."""
        version = self.version
        if version and self.version_source == "banner" and self.era and version not in self.era:
            version = None
        seen = frozenset(e.pattern.name for e in self.events if e.pattern.engine == self.engine)
        return rules_for(self.engine, version, self.era, seen)

    @cached_property
    def settings(self) -> dict[str, Setting]:
        """Settings by name: what the engine says it uses, else what was asked for."""
        return _settings(self)

    @cached_property
    def has_arguments(self) -> bool:
        """True where the log dumps the arguments, so that what is not among them has its default."""
        return any(key.startswith("settings:") for e in self.events for key, _, _ in e.texts)

    @cached_property
    def outcome(self) -> str:
        """`ready`, `ready-then-failed`, `failed`, `killed` or `excerpt` (the log ends before any of these)."""
        ready = self._first("ready")
        if self.failure is None:
            killed = self._first("killed")
            if killed:
                return "killed"
            return "ready" if ready or any(e.pattern.phase == "serving" for e in self.events) else "excerpt"
        return "ready-then-failed" if ready and _before(ready, self.failure) else "failed"

    @cached_property
    def failure(self) -> Event | None:
        """The first error after which the run got no further; wrapper errors count only where nothing else is."""
        last = max((i for i, e in enumerate(self.events) if _is_progress(e)), default=-1)
        after = [e for e in self.events[last + 1 :] if e.pattern.marks in ("failed", "wrapper_error", "killed")]
        served = any(e.pattern.marks == "ready" for e in self.events[: last + 1])
        if served and all(e.pattern.is_fallback for e in after):
            return None  # an exception while serving may be one request's
        for mark in ("failed", "wrapper_error"):
            if found := next((e for e in after if e.pattern.marks == mark), None):
                return found
        return None

    @cached_property
    def last_phase(self) -> str | None:
        """The furthest phase that the run reached."""
        reached = [e.pattern.phase for e in self.events if e.pattern.phase in _ORDER]
        return max(reached, key=_ORDER.__getitem__, default=None)

    def reached(self, phase: str) -> bool:
        """True where the run came to `phase`, or past it."""
        return self.last_phase is not None and _ORDER[self.last_phase] >= _ORDER[phase]

    @cached_property
    def ranks(self) -> tuple[str, ...]:
        """Ranks that speak for themselves, in order; empty where no line names one."""
        return tuple(sorted({e.line.rank for e in self.events if e.line.rank}, key=_rank_key))

    def identity(self, name: str) -> str | None:
        """What the run says about itself: `version`, `model`, `architecture`, …"""
        return next((text for e in self.events if (text := e.text(f"identity:{name}"))), None)

    def _told(self, name: str) -> str | None:
        return next((s.value for s in self.told if s.name == name), None)

    def _first(self, mark: str) -> Event | None:
        return next((e for e in self.events if e.pattern.marks == mark), None)


def assemble(events: Iterable[Event], told: tuple[Setting, ...] = ()) -> list[Run]:
    """Group events into runs, and give each event its rank and role.

    Args:
        events: in the order in which they stand in the log or logs.
        told: what the user says about all runs.
    """
    drafts = _split(events)
    return [Run(index, d.engine, tuple(_attributed(d.events)), told) for index, d in enumerate(drafts)]


# -- which run ----------------------------------------------------------------------------------------------


@dataclass
class _Draft:
    """A run that still grows."""

    engine: str
    events: list[Event] = field(default_factory=list)
    starts: set[tuple[str, str | None]] = field(default_factory=set)
    furthest: dict[str | None, int] = field(default_factory=dict)
    loads: dict[str | None, int] = field(default_factory=dict)
    failed: bool = False

    def add(self, event: Event) -> None:
        self.events.append(event)
        who = _who(event)
        if event.pattern.marks in _STARTS:
            self.starts.add((event.pattern.name, who))
        if event.pattern.marks == "load_begin":
            self.loads[who] = self.loads.get(who, 0) + 1
        if event.pattern.engine != COMMON:
            order = _ORDER.get(event.pattern.phase, 0)
            self.furthest[who] = max(order, self.furthest.get(who, 0))
        self.failed |= event.pattern.marks in ("failed", "wrapper_error", "killed")

    def is_ended_by(self, event: Event) -> bool:
        """True where `event` can only belong to another start of the engine."""
        who, mark = _who(event), event.pattern.marks
        progressed = self.failed or any(order > 0 for order in self.furthest.values())
        if mark in _STARTS and progressed:
            return mark == "server_start" or (event.pattern.name, who) in self.starts or who in self.furthest
        order = self.furthest.get(who, 0)
        if mark == "load_begin":
            return order >= _ORDER["ready"] or (self.loads.get(who, 0) >= 2 and order > _ORDER["load"])
        return mark == "load_end" and not self.loads and order >= _ORDER["kv_cache"]


def _who(event: Event) -> str | None:
    return event.line.rank or event.line.process


def _split(events: Iterable[Event]) -> list[_Draft]:
    runs: list[_Draft] = []
    current: dict[tuple[str, str | None, str], _Draft] = {}
    latest: dict[str, _Draft] = {}
    waiting: list[Event] = []
    for event in events:
        engine = event.pattern.engine
        if engine == COMMON:
            home = latest.get(event.source)
            if home:
                home.add(event)
            else:
                waiting.append(event)
            continue
        key = (event.source, event.line.stream, engine)
        draft = current.get(key)
        if draft is None or draft.is_ended_by(event):
            draft = _Draft(engine)
            for early in [w for w in waiting if w.source == event.source]:
                draft.add(early)
                waiting.remove(early)
            runs.append(draft)
            current[key] = draft
        draft.add(event)
        latest[event.source] = draft
    for event in waiting:
        if not runs or runs[-1].engine != COMMON:
            runs.append(_Draft(COMMON))
        runs[-1].add(event)
    return runs


# -- which rank, which role ---------------------------------------------------------------------------------


def _attributed(events: list[Event]) -> list[Event]:
    """Give each event its role and its labels; what the line says itself is kept."""
    pools: dict[str | None, _Pools] = {}
    has_draft = _speculates(events)
    swa = _swa_tokens(events)
    out = []
    for event in events:
        state = pools.setdefault(event.line.rank, _Pools())
        by_order = state.role(event, has_draft)
        role = event.role or ("draft" if _loads_draft(event) else by_order)
        out.append(_labelled(replace(event, role=role), swa))
    return _ranked(_profiling_captures(out))


def _profiling_captures(events: list[Event]) -> list[Event]:
    """Mark what a vLLM replica allocated or captured before it sized its KV cache: it was part of profiling."""
    sized: dict[str | None, tuple[int, float | None]] = {}
    for index, event in enumerate(events):
        if any(r.quantity == "kv_cache_available" for r in event.readings) and event.pattern.phase == "profile":
            sized[_replica(event)] = index, seconds(event.line.time)
    return [
        _relabel(event, PROFILING)
        if event.pattern.engine == "vllm"
        and event.pattern.phase in ("kv_cache", "capture")
        and _is_before(index, event, sized.get(_replica(event)))
        else event
        for index, event in enumerate(events)
    ]


def _is_before(index: int, event: Event, mark: tuple[int, float | None] | None) -> bool:
    """Compare by order and by time: Ray and others print what workers said later than it was said."""
    if mark is None or index > mark[0]:
        return False
    now = seconds(event.line.time)
    return now is None or mark[1] is None or now <= mark[1]


def _replica(event: Event) -> str | None:
    """The data-parallel replica that an event belongs to."""
    first = (event.line.rank or "").split("_")[0]
    return first if first.startswith("DP") else None


def _relabel(event: Event, label: str) -> Event:
    return replace(event, readings=tuple(replace(r, label=label) for r in event.readings))


def _ranked(events: list[Event]) -> list[Event]:
    """Number the workers that print the same figures of one rank without saying which: `#0`, `#1`, by order."""
    speaking = [e for e in events if _speaks_for_rank(e)]
    if any(e.line.rank for e in speaking):
        return events
    by_pattern: dict[str, dict[tuple[str | None, int | None], None]] = {}
    for event in speaking:
        by_pattern.setdefault(event.pattern.name, {})[event.line.process, event.line.pid] = None
    workers = max(by_pattern.values(), key=len, default={})
    if len(workers) < 2:
        return events
    numbers = {worker: f"#{index}" for index, worker in enumerate(workers)}
    return [
        replace(e, line=replace(e.line, rank=numbers[who])) if (who := (e.line.process, e.line.pid)) in numbers else e
        for e in events
    ]


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
    checkpoints: int = 0

    def role(self, event: Event, has_draft: bool) -> str | None:
        mark = event.pattern.marks
        names = {r.quantity for r in event.readings}
        nth = None
        if mark == "load_begin":
            self.loads_begun, nth = self.loads_begun + 1, self.loads_begun
        elif mark == "load_end" and event.pattern.engine == "sglang":
            nth, self.loads_ended = max(self.loads_ended, self.loads_begun - 1), self.loads_ended + 1
        elif mark == "pool_end":
            self.pools_ended, nth = self.pools_ended + 1, self.pools_ended
        elif names & {"kv_cache_k", "kv_cache", "kv_cache_tokens"} and event.pattern.engine == "sglang":
            nth = self.pools_ended
        elif "checkpoint" in names and has_draft:
            self.checkpoints, nth = self.checkpoints + 1, self.checkpoints
        elif event.pattern.engine == "sglang" and names:
            nth = 0
        return None if nth is None else ("target" if nth == 0 else "draft")


def _speculates(events: list[Event]) -> bool:
    for event in events:
        for key, text, _ in event.texts:
            if key.startswith("settings:"):
                value = parse_dump(text).get("speculative_config", parse_dump(text).get("speculative_algorithm"))
                if not is_none(value):
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


# -- settings, outcome --------------------------------------------------------------------------------------


def _settings(run: Run) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for event in run.events:
        for key, text, line in event.texts:
            kind, _, name = key.partition(":")
            if kind == "settings":
                origin = "flag" if name == "requested" else "log"
                pairs = parse_dump(text)
            elif kind == "setting":
                origin, pairs = "log", {name: text}
            else:
                continue
            for setting, value in pairs.items():
                setting = run.rules.aliases.get(setting, setting)
                if setting not in found or (origin == "log" and found[setting].origin == "flag"):
                    found[setting] = Setting(setting, value, origin, event.source, line)  # type: ignore[arg-type]
    for told in run.told:
        found[told.name] = told
    return found


def _is_progress(event: Event) -> bool:
    return event.pattern.engine != COMMON and _ORDER.get(event.pattern.phase, 0) > 0


def _before(one: Event, two: Event) -> bool:
    return (one.line.number, one.start) < (two.line.number, two.start)


def _rank_key(rank: str) -> list[tuple[str, int]]:
    parts = []
    for part in rank.split("_"):
        digits = "".join(c for c in part if c.isdigit())
        parts.append((part.rstrip("0123456789"), int(digits or 0)))
    return parts
