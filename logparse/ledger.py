"""Building blocks of ledgers: rows from figures, remainders, verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from logparse.report import Check, Ref, Row, Verdict

if TYPE_CHECKING:
    from logparse.facts import Figure
    from logparse.report import Plane
    from logparse.units import Interval

Kind = Literal["base", "part", "remainder", "outside", "child"]


def refs(figure: Figure | None) -> tuple[Ref, ...]:
    """Lines that a figure stands on."""
    return () if figure is None else tuple(Ref(e.source, e.line) for e in figure.evidence)


def verdict_of(observed: Interval, expected: Interval) -> Verdict:
    """`agrees` where the intervals overlap, else which side the observation lies on."""
    if observed.overlaps(expected):
        return "agrees"
    return "higher" if observed.low > expected.high else "lower"


def row(
    plane: Plane,
    rank: str | None,
    account: str,
    kind: Kind,
    figure: Figure | None,
    *,
    expected: Figure | None = None,
    reason: str | None = None,
) -> Row:
    """A row from what was observed and, where there is one, what was expected."""
    if figure is None:
        return Row(plane, rank, account, kind, verdict="unobserved", reason=reason)
    if figure.verdict == "impossible":
        return Row(plane, rank, account, kind, verdict="impossible", evidence=refs(figure), reason=reason)
    interval = figure.interval
    made = Row(
        plane,
        rank,
        account,
        kind,
        observed=float(interval.middle),
        observed_low=float(interval.low),
        observed_high=float(interval.high),
        verdict=figure.verdict or "unestimated",
        basis=figure.basis,
        evidence=refs(figure),
        formula=figure.formula,
        reason=reason,
    )
    return made if expected is None else with_expected(made, figure, expected)


def with_expected(made: Row, figure: Figure, expected: Figure) -> Row:
    """The row with an estimate and the verdict that follows."""
    return replace(
        made,
        expected=float(expected.interval.middle),
        expected_low=float(expected.interval.low),
        expected_high=float(expected.interval.high),
        difference=float(figure.interval.middle - expected.interval.middle),
        verdict=figure.verdict or verdict_of(figure.interval, expected.interval),
    )


def with_shares(rows: list[Row]) -> list[Row]:
    """Rows with their share of the whole: of the card where it is known, else of what the plane divides."""
    bases = [r.observed for r in rows if r.kind == "base" and r.observed]
    if not bases:
        return rows
    free = sum(r.observed or 0.0 for r in rows if r.plane == "ready" and r.kind == "outside")
    whole = max(bases) + free
    return [replace(r, share=r.observed / whole) if r.observed is not None else r for r in rows]


def check(name: str, rank: str | None, unit: str, observed: Figure, expected: Figure, formula: str) -> Check:
    """A check: do two figures that must be the same overlap?"""
    doubt = observed.verdict or expected.verdict
    return Check(
        name,
        rank,
        unit,
        float(observed.interval.low),
        float(observed.interval.high),
        float(expected.interval.low),
        float(expected.interval.high),
        doubt or verdict_of(observed.interval, expected.interval),
        formula,
        tuple(dict.fromkeys(refs(observed) + refs(expected))),
    )
