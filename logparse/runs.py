"""From events to runs: engine starts, ranks, roles, version, settings and outcome.

A run is one start of one engine. A log may hold several: restarts, several services, several engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from logparse import linenos, outcome
from logparse.attribution import attributed
from logparse.outcome import COMMON, ORDER
from logparse.rules import Rules, rules_for
from logparse.settings import Setting, is_whole, parse_dump
from logparse.units import unit_bytes
from logparse.versions import Releases, Version

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logparse.match import Event, Reading

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
        """Releases that the run can be: by its wordings and, where no banner names one, by its line numbers."""
        places = None if self.version and self.version.is_release else self._places
        narrowed = places if self._wordings is None or places is None else self._wordings.intersect(places)
        return narrowed if narrowed is not None and narrowed.spans else self._wordings

    @cached_property
    def era_source(self) -> str:
        """What the era rests on: `wording`, or `places` where line numbers narrowed it."""
        return "wording" if self.era == self._wordings else "places"

    @cached_property
    def _places(self) -> Releases | None:
        lines = [e.line for e in self.events if e.pattern.engine == self.engine]
        found = [(line.file, line.lineno) for line in lines if line.file is not None and line.lineno is not None]
        return linenos.releases_at(self.engine, found)

    @cached_property
    def _wordings(self) -> Releases | None:
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
        """True where the log dumps all arguments as given, so that what is not among them has its default."""
        return any(key == "settings:requested" and is_whole(text) for e in self.events for key, text, _ in e.texts)

    @cached_property
    def outcome(self) -> str:
        """`ready`, `ready-then-failed`, `failed`, `killed` or `excerpt` (the log ends before any of these)."""
        return outcome.outcome(self.events, self.rules)

    @cached_property
    def failure(self) -> Event | None:
        """The first error that ended the run."""
        return outcome.failure(self.events)

    @cached_property
    def last_phase(self) -> str | None:
        """The furthest phase that the run reached."""
        return outcome.last_phase(self.events)

    @cached_property
    def readings(self) -> dict[str, list[tuple[Reading, Event]]]:
        """All readings by quantity, each with its event, in the order of the log."""
        found: dict[str, list[tuple[Reading, Event]]] = {}
        for event in self.events:
            for reading in event.readings:
                found.setdefault(reading.quantity, []).append((reading, event))
        return found

    def reached(self, phase: str) -> bool:
        """True where the run came to `phase`, or past it."""
        return self.last_phase is not None and ORDER[self.last_phase] >= ORDER[phase]

    @cached_property
    def ranks(self) -> tuple[str, ...]:
        """Ranks that speak for themselves, in order; empty where no line names one."""
        return tuple(sorted({e.line.rank for e in self.events if e.line.rank}, key=_rank_key))

    def identity(self, name: str) -> str | None:
        """What the run says about itself: `version`, `model`, `architecture`, …"""
        return next((text for e in self.events if (text := e.text(f"identity:{name}"))), None)

    def _told(self, name: str) -> str | None:
        return next((s.value for s in self.told if s.name == name), None)


def assemble(events: Iterable[Event], told: tuple[Setting, ...] = ()) -> list[Run]:
    """Group events into runs, and give each event its rank and role.

    Args:
        events: in the order in which they stand in the log or logs.
        told: what the user says about all runs.
    """
    splitter = _Splitter()
    for event in events:
        splitter.put(event)
    drafts = splitter.finish()
    return [Run(index, d.engine, tuple(attributed(d.events)), told) for index, d in enumerate(drafts)]


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
            order = ORDER.get(event.pattern.phase, 0)
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
            return order >= ORDER["ready"] or (self.loads.get(who, 0) >= 2 and order > ORDER["load"])
        return mark == "load_end" and not self.loads and order >= ORDER["kv_cache"]


def _who(event: Event) -> str | None:
    return event.line.rank or event.line.process


class _Splitter:
    """Puts each event into the run that it belongs to."""

    def __init__(self) -> None:
        self.runs: list[_Draft] = []
        self._current: dict[tuple[str, str | None, str], _Draft] = {}
        self._latest: dict[tuple[str, str | None], _Draft] = {}
        self._waiting: list[Event] = []

    def put(self, event: Event) -> None:
        home = self._home(event)
        if event.pattern.engine == COMMON or (home and home.engine != event.pattern.engine and _is_shared(event)):
            if home:
                home.add(event)
            else:
                self._waiting.append(event)
            return
        key = (event.source, event.line.stream, event.pattern.engine)
        draft = self._current.get(key)
        if draft is None or draft.is_ended_by(event):
            draft = self._current[key] = self._begin(event)
        draft.add(event)
        self._latest[event.source, event.line.stream] = self._latest[event.source, None] = draft

    def _home(self, event: Event) -> _Draft | None:
        """The run that spoke last where the event stands."""
        return self._latest.get((event.source, event.line.stream)) or self._latest.get((event.source, None))

    def _begin(self, event: Event) -> _Draft:
        draft = _Draft(event.pattern.engine)
        for early in [waiting for waiting in self._waiting if waiting.source == event.source]:
            draft.add(early)
            self._waiting.remove(early)
        self.runs.append(draft)
        return draft

    def finish(self) -> list[_Draft]:
        """All runs; what no engine stands beside goes to the only run, or is a run of its own if it tells sizes."""
        if not self._waiting:
            return self.runs
        home = self.runs[0] if len(self.runs) == 1 else _Draft(COMMON)
        for event in self._waiting:
            home.add(event)
        tells = any(unit_bytes(r.unit) is not None for e in home.events for r in e.readings)
        return [*self.runs, home] if home not in self.runs and tells else self.runs


def _is_shared(event: Event) -> bool:
    """True for a line that another engine may have printed too: it starts nothing, and no prefix of its own says whose.

    SGLang uses vLLM's loader and compiler, whose messages then stand behind SGLang's prefix, or none.
    """
    sizes = any(unit_bytes(r.unit) is not None for r in event.readings)
    return event.pattern.marks not in _STARTS and event.line.time is None and not sizes


# -- settings, ranks ----------------------------------------------------------------------------------------


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


def _rank_key(rank: str) -> list[tuple[str, int]]:
    parts = []
    for part in rank.split("_"):
        digits = "".join(c for c in part if c.isdigit())
        parts.append((part.rstrip("0123456789"), int(digits or 0)))
    return parts
