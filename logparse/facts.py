"""What one rank of a run says, as figures: intervals with the lines they stand on.

Several lines may speak of one thing. Where their intervals overlap they say the same and the narrower one
counts; where they do not, the figure is a conflict and keeps the whole span.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from logparse.units import Interval, unit_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logparse.match import Event, Reading
    from logparse.runs import Run

Basis = Literal["read", "derived", "told", "default"]
IMPOSSIBLE_BYTES = 2**44
"""No device has 16 TiB; a larger reading is an underflow, such as 17,179,869,184 GiB."""
ASIDE = frozenset({"profiling", "with_graph_estimate", "nvidia-smi", "after_multimodal", "derived", "requested"})
"""Labels of readings that count only where they are asked for by name."""
SIGNED = frozenset({"kv_cache_available", "kv_cache_to_budget", "kv_cache_to_device", "cuda_graphs_difference"})
"""Sizes that may be negative; any other negative size is a reading that something else disturbed."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line of a log."""

    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with what it rests on. Unit: bytes for sizes, else that of the quantity."""

    interval: Interval
    basis: Basis
    evidence: tuple[Evidence, ...] = ()
    formula: str | None = None
    """How it was derived."""
    verdict: Literal["conflict", "impossible"] | None = None

    def __add__(self, other: Figure) -> Figure:
        return _derived(self.interval + other.interval, self, other)

    def __sub__(self, other: Figure) -> Figure:
        return _derived(self.interval - other.interval, self, other)

    def __mul__(self, other: Figure) -> Figure:
        return _derived(self.interval * other.interval, self, other)

    def __truediv__(self, other: Figure) -> Figure:
        return _derived(self.interval / other.interval, self, other)

    def by(self, formula: str) -> Figure:
        """The same figure, with a word on how it was derived."""
        return replace(self, formula=formula)


def _derived(interval: Interval, one: Figure, two: Figure) -> Figure:
    evidence = tuple(dict.fromkeys(one.evidence + two.evidence))
    doubt = one.verdict or two.verdict
    return Figure(interval, "derived", evidence, None, doubt)


def told(interval: Interval) -> Figure:
    """A figure that the user gave."""
    return Figure(interval, "told")


def sum_of(figures: Iterable[Figure]) -> Figure | None:
    """Sum of figures, or None where there are none."""
    total: Figure | None = None
    for figure in figures:
        total = figure if total is None else total + figure
    return total


@dataclass(frozen=True)
class Facts:
    """Lookup of what one rank (or the whole engine, where `rank` is None) says during start-up."""

    run: Run
    rank: str | None = None

    def get(self, quantity: str, *, role: str | None = None, label: str | None = None) -> Figure | None:
        """The figure of a quantity, or None where no line says it.

        Args:
            quantity: its name.
            role: `target` (also what has no role) or `draft`; None: the target.
            label: only readings with this label; None: those without a label, or where there are none those
                whose label does not stand for something else (`ASIDE`).
        """
        return _figure(quantity, _labelled(self._readings(quantity, role), label))

    def least(
        self, quantity: str, *, label: str | None = None, at: str | None = None, prefer: str | None = None
    ) -> Figure | None:
        """The smallest reading: what counts for a figure of the whole engine that every worker prints.

        vLLM 0.8.2 to 0.11.0 prints capacity per worker, before the engine settles for the smallest. Of equal ones the
        line of the rank `prefer` is named.
        """
        readings = [(r, e) for r, e in self._readings(quantity, None) if at in (None, r.at)]
        found = [(r, e) for r, e in _labelled(readings, label) if not is_impossible(quantity, r)]
        if not found:
            return None
        reading, event = min(found, key=lambda pair: (interval_of(pair[0]).middle, pair[1].line.rank != prefer))
        different = len({r.value for r, _ in found})
        formula = f"smallest of {different}" if different > 1 else None
        return Figure(interval_of(reading), "read", (evidence_of(event, reading.line),), formula)

    def labels(self, quantity: str, *, role: str | None = None) -> list[str | None]:
        """Labels under which a quantity is given, in order of appearance."""
        return list(dict.fromkeys(r.label for r, _ in self._readings(quantity, role)))

    def at(self, quantity: str) -> str | None:
        """What the last reading of a quantity is for."""
        found = [r.at for r, _ in self._readings(quantity, None) if r.at]
        return found[-1] if found else None

    def setting(self, name: str) -> Figure | None:
        """A numeric setting, or its default in this release, or None.

        A default counts only where the log dumps the arguments: an excerpt without them may have any value.
        """
        setting = self.run.settings.get(name)
        if setting is not None and (number := _number(setting.value)) is not None:
            evidence = (Evidence(setting.source, setting.line),) if setting.line else ()
            return Figure(Interval.exactly(number), "told" if setting.origin == "told" else "read", evidence)
        if setting is not None and setting.value not in ("None", "null"):
            return None
        default = _number(self.run.rules.default(name) or "") if self.run.has_arguments else None
        return None if default is None else Figure(Interval.exactly(default), "default")

    def any_phase(self, quantity: str, *, label: str | None = None) -> Figure | None:
        """The figure of a quantity, also where an error line says it."""
        found = self._readings(quantity, None, ("serving",))
        return _figure(quantity, [(r, e) for r, e in found if label in (None, r.label)])

    def _readings(
        self, quantity: str, role: str | None, left_out: tuple[str, ...] = ("error", "serving")
    ) -> list[tuple[Reading, Event]]:
        wanted = role or "target"
        return [
            (reading, event)
            for reading, event in self.run.readings.get(quantity, ())
            if event.pattern.phase not in left_out and (event.role or "target") == wanted
            if self.is_mine(event.line.rank)
        ]

    def is_mine(self, rank: str | None) -> bool:
        """True for lines of this rank, of the engine as a whole, or of the replica that the rank is part of."""
        if rank is None or self.rank is None or rank == self.rank:
            return True
        return self.rank.startswith(f"{rank}_") or rank.startswith(f"{self.rank}_")


def _labelled(readings: list[tuple[Reading, Event]], label: str | None) -> list[tuple[Reading, Event]]:
    """Those with this label; for None those without one, else those whose label does not set them aside."""
    found = [(r, e) for r, e in readings if r.label == label]
    return found if found or label is not None else [(r, e) for r, e in readings if r.label not in ASIDE]


def evidence_of(event: Event, line: int | None = None) -> Evidence:
    """Where an event stands."""
    return Evidence(event.source, line or event.line.number)


def interval_of(reading: Reading) -> Interval:
    """All values that would have been printed like this reading, in bytes for sizes."""
    return Interval.printed(reading.value, reading.step, unit_bytes(reading.unit) or 1)


def _figure(quantity: str, found: list[tuple[Reading, Event]]) -> Figure | None:
    possible = [(r, e) for r, e in found if not is_impossible(quantity, r)]
    if not possible:
        if not found:
            return None
        reading, event = found[-1]
        return Figure(interval_of(reading), "read", (evidence_of(event, reading.line),), None, "impossible")
    interval = interval_of(possible[0][0])
    verdict: Literal["conflict"] | None = None
    evidence = []
    for reading, event in possible:
        evidence.append(evidence_of(event, reading.line))
        other = interval_of(reading)
        if interval.overlaps(other):
            interval = Interval(max(interval.low, other.low), min(interval.high, other.high))
        else:
            verdict = "conflict"
            interval = Interval(min(interval.low, other.low), max(interval.high, other.high))
    return Figure(interval, "read", tuple(dict.fromkeys(evidence)), None, verdict)


def is_impossible(quantity: str, reading: Reading) -> bool:
    """True for a size that no device can have: below zero where that has no meaning, or beyond any memory."""
    size = unit_bytes(reading.unit)
    if size is None:
        return False
    value = Fraction(reading.value) * size
    return abs(value) > IMPOSSIBLE_BYTES or (value < 0 and quantity not in SIGNED)


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text.replace("_", ""))
    except (ValueError, ZeroDivisionError):
        return None
