"""The finished report: plain values that templates print and JSON carries.

Sizes are in bytes as floats; every number has a basis (`read`, `derived`, `told`, `default`) and, where it was
read, the lines it stands on. `to_dict` and `from_dict` are inverse to each other (`logparse/report/1`,
described in docs/schema.md).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from logparse.errors import InputError
from logparse.unread import Unread

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "logparse/report/1"
Verdict = Literal["agrees", "higher", "lower", "unobserved", "unestimated", "conflict", "impossible"]
Plane = Literal["plan", "ready"]


@dataclass(frozen=True, slots=True)
class Ref:
    """A line of a log that a number stands on."""

    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Row:
    """One account of a ledger. Sizes in bytes; `share` is of the plane's base."""

    plane: Plane
    rank: str | None
    account: str
    kind: Literal["base", "part", "remainder", "outside", "child"]
    observed: float | None = None
    observed_low: float | None = None
    observed_high: float | None = None
    expected: float | None = None
    expected_low: float | None = None
    expected_high: float | None = None
    difference: float | None = None
    share: float | None = None
    verdict: Verdict = "unestimated"
    basis: str | None = None
    evidence: tuple[Ref, ...] = ()
    formula: str | None = None
    reason: str | None = None
    """Why there is no number, no estimate, or what the account must hold."""


@dataclass(frozen=True, slots=True)
class Check:
    """One relation between numbers. `unit` is `bytes` or that of the quantity."""

    name: str
    rank: str | None
    unit: str
    observed_low: float
    observed_high: float
    expected_low: float
    expected_high: float
    verdict: Verdict
    formula: str
    evidence: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One reading of free memory in the chain of SGLang, in bytes, and what was taken since the one before."""

    rank: str | None
    name: str
    role: str | None
    label: str | None
    free_low: float
    free_high: float
    taken_low: float | None
    taken_high: float | None
    evidence: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the cache holds. `name` says of what; `at` is in tokens."""

    name: str
    low: float
    high: float
    unit: str
    at: int | None = None
    basis: str = "read"
    evidence: tuple[Ref, ...] = ()
    formula: str | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that the log does not say, and how to make it say so."""

    what: str
    closes: str
    command: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The first error after which the run got no further."""

    error: str
    is_memory: bool | None
    is_wrapper: bool
    evidence: Ref


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about the run, such as its version, with where it comes from."""

    name: str
    value: str
    origin: str
    evidence: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Spread:
    """How an account of the plan differs over the ranks that have it, in bytes."""

    account: str
    ranks: int
    low: float
    high: float
    low_rank: str
    high_rank: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number as the log prints it, for the list at the end."""

    quantity: str
    value: float
    unit: str
    rank: str | None
    role: str | None
    label: str | None
    at: float | None
    source: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Load:
    """Peaks of the periodic statistics; they are peaks of samples, `interval` seconds apart.

    `sums` adds up what is counted anew in each line: preemptions and retractions.
    """

    samples: int
    interval: float | None
    peaks: dict[str, float]
    sums: dict[str, float]


@dataclass(frozen=True, slots=True)
class RunReport:
    """All about one run."""

    index: int
    engine: str
    outcome: str
    last_phase: str | None
    main_rank: str | None
    first_line: int
    facts: tuple[Fact, ...] = ()
    failure: Failure | None = None
    ledger: tuple[Row, ...] = ()
    chain: tuple[Step, ...] = ()
    checks: tuple[Check, ...] = ()
    capacity: tuple[Capacity, ...] = ()
    missing: tuple[Missing, ...] = ()
    spreads: tuple[Spread, ...] = ()
    numbers: tuple[Number, ...] = ()
    load: Load | None = None

    def rows(self, plane: Plane, rank: str | None) -> list[Row]:
        """Rows of one ledger, in order."""
        return [row for row in self.ledger if row.plane == plane and row.rank == rank]

    def fact(self, name: str) -> str | None:
        """Value of a fact."""
        return next((fact.value for fact in self.facts if fact.name == name), None)

    def count(self, *verdicts: Verdict) -> int:
        """How many checks ended in one of these verdicts."""
        return sum(check.verdict in verdicts for check in self.checks)


@dataclass(frozen=True)
class Report:
    """One report on one or several logs."""

    version: str
    patterns: str
    sources: tuple[str, ...]
    runs: tuple[RunReport, ...]
    command: str | None = None
    unread: tuple[Unread, ...] = ()
    """Lines that look like memory and were not read."""
    schema: str = field(default=SCHEMA)

    @property
    def ledger(self) -> pd.DataFrame:
        """All ledgers as one table: run, then the columns of `Row`."""
        return _table([(run.index, row) for run in self.runs for row in run.ledger], Row)

    @property
    def checks(self) -> pd.DataFrame:
        """All checks as one table: run, then the columns of `Check`."""
        return _table([(run.index, check) for run in self.runs for check in run.checks], Check)

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {"schema": self.schema} | {k: v for k, v in asdict(self).items() if k != "schema"}

    def to_json(self) -> str:
        """As JSON text, in the schema of docs/schema.md."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    def to_text(self, *, color: bool = False, width: int = 100) -> str:
        """As text for a terminal."""
        from logparse import render

        return render.to_text(self, color=color, width=width)

    def to_markdown(self) -> str:
        """As Markdown for a ticket."""
        from logparse import render

        return render.to_markdown(self)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read what `to_json` wrote.

        Raises:
            InputError: it is not such a report.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise InputError(f"this is not a report in JSON: {error}") from None
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Report:
        """Read what `to_dict` gave.

        Raises:
            InputError: it is not such a report.
        """
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise InputError(f"this is not a report of schema {SCHEMA}")
        try:
            runs = tuple(_run(run) for run in data["runs"])
            unread = tuple(_unread(item) for item in data.get("unread", ()))
            return cls(data["version"], data["patterns"], tuple(data["sources"]), runs, data.get("command"), unread)
        except (KeyError, TypeError) as error:
            raise InputError(f"this report of schema {SCHEMA} is damaged: {error}") from None


_PARTS: dict[str, type] = {
    "facts": Fact, "ledger": Row, "chain": Step, "checks": Check, "capacity": Capacity, "missing": Missing,
    "spreads": Spread, "numbers": Number,
}  # fmt: skip


def _run(data: dict[str, Any]) -> RunReport:
    parts: dict[str, Any] = {name: tuple(_part(kind, item) for item in data[name]) for name, kind in _PARTS.items()}
    failure = _part(Failure, data["failure"]) if data["failure"] else None
    load = Load(**data["load"]) if data["load"] else None
    plain = {k: data[k] for k in ("index", "engine", "outcome", "last_phase", "main_rank", "first_line")}
    return RunReport(**plain, **parts, failure=failure, load=load)


def _unread(data: dict[str, Any]) -> Unread:
    return Unread(**data | {"near": tuple(data["near"])})


def _part(kind: type, item: dict[str, Any]) -> Any:
    values = dict(item)
    if isinstance(refs := values.get("evidence"), dict):
        values["evidence"] = Ref(**refs)
    elif refs is not None:
        values["evidence"] = tuple(Ref(**ref) for ref in refs)
    return kind(**values)


def _table(rows: list[tuple[int, Any]], kind: type) -> pd.DataFrame:
    import pandas as pd

    names = [f.name for f in fields(kind)]
    data = [[index, *(getattr(row, name) for name in names)] for index, row in rows]
    return pd.DataFrame(data, columns=["run", *names]).convert_dtypes()
