"""From runs to tables: `observations` (long), `runs` (wide) and `load` (time series).

Rows are made as plain dicts first (`observation_rows`), so that JSON lines need no pandas.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from logparse.quantities import LOAD_COLUMNS, QUANTITIES
from logparse.redact import redact as redacted
from logparse.units import unit_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from logparse.match import Event, Reading
    from logparse.runs import Run

OBSERVATIONS: dict[str, str] = {
    "source": "string", "line": "Int64", "run": "Int64", "rank": "string", "role": "string", "process": "string",
    "pid": "Int64", "time": "string", "elapsed": "Float64", "phase": "string", "quantity": "string",
    "value": "Float64", "unit": "string", "step": "Float64", "bytes": "Float64", "at": "Float64",
    "label": "string", "pattern": "string", "text": "string",
}  # fmt: skip
"""Columns and dtypes. `bytes` is value × unit for sizes and null otherwise; `elapsed` is in seconds since the
first time that the run's source prints; `at` is in tokens."""

_TIME = re.compile(r"(?:(?:(\d{4})-)?(\d\d)-(\d\d) )?(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
_DAYS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
DAY = 86_400
LONGEST_TEXT = 600


def observation_rows(runs: Sequence[Run], *, redact: bool = True) -> Iterator[dict[str, Any]]:
    """One dict per number, in the order of runs and lines; keys are those of `OBSERVATIONS`."""
    for run in runs:
        began = next((s for e in run.events if (s := seconds(e.line.time)) is not None), None)
        for event in run.events:
            for reading in event.readings:
                yield _row(run, event, reading, began, redact)


def _row(run: Run, event: Event, reading: Reading, began: float | None, redact: bool) -> dict[str, Any]:
    line, size, now = event.line, unit_bytes(reading.unit), seconds(event.line.time)
    text = line.text[:LONGEST_TEXT]
    return {
        "source": event.source,
        "line": reading.line,
        "run": run.index,
        "rank": line.rank,
        "role": event.role,
        "process": line.process,
        "pid": line.pid,
        "time": line.time,
        "elapsed": None if now is None or began is None else (now - began) % (365 * DAY if now >= DAY else DAY),
        "phase": event.pattern.phase,
        "quantity": reading.quantity,
        "value": number(reading.value),
        "unit": reading.unit,
        "step": float(reading.step),
        "bytes": None if size is None else float(reading.value) * size,
        "at": None if reading.at is None else number(reading.at),
        "label": reading.label,
        "pattern": event.pattern.id,
        "text": redacted(text) if redact else text,
    }


def number(text: str) -> int | float:
    """A printed number: whole ones stay whole."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def seconds(time: str | None) -> float | None:
    """Seconds since the start of the year (or of the day, where no date is printed)."""
    found = _TIME.search(time) if time else None
    if not found:
        return None
    _, month, day, hour, minute, second, fraction = found.groups()
    days = _DAYS[(int(month) - 1) % 12] + int(day) if month else 0
    return days * DAY + int(hour) * 3600 + int(minute) * 60 + int(second) + float(f"0.{fraction or 0}")


def observations(runs: Sequence[Run], *, redact: bool = True) -> pd.DataFrame:
    """The long table. Shape: (numbers read, 19)."""
    import pandas as pd

    rows = list(observation_rows(runs, redact=redact))
    return pd.DataFrame(rows, columns=list(OBSERVATIONS)).astype(OBSERVATIONS)


def load(table: pd.DataFrame) -> pd.DataFrame:
    """The periodic statistics as a time series: one row per line that prints them.

    Columns: source, line, run, rank, time, elapsed, then those of `LOAD_COLUMNS`.
    """
    keys = ["source", "line", "run", "rank", "time", "elapsed"]
    serving = table[(table["phase"] == "serving") & table["quantity"].isin(LOAD_COLUMNS)]
    wide = serving.pivot_table(
        index=keys, columns="quantity", values="value", aggfunc="first", dropna=False, observed=True, sort=False
    ) if len(serving) else serving.set_index(keys)[[]]
    wide = wide.reset_index().reindex(columns=[*keys, *LOAD_COLUMNS])
    wide = wide.dropna(subset=list(LOAD_COLUMNS), how="all").sort_values(["run", "line"], ignore_index=True)
    return wide.astype({c: "Float64" for c in LOAD_COLUMNS})


def runs_table(runs: Sequence[Run], table: pd.DataFrame) -> pd.DataFrame:
    """The wide table: one row per run and rank, one column per quantity that any run has.

    A cell is the last value that the rank printed for the target model, in bytes for sizes. What the whole
    engine printed stands in the rows of all its ranks.
    """
    import pandas as pd

    rows = [
        _identity(run, rank) | _values(table, run.index, rank)
        for run in runs
        for rank in (run.ranks or (None,))
    ]
    columns = [name for name in QUANTITIES if any(name in row for row in rows)]
    identity = list(_identity_columns())
    return pd.DataFrame(rows, columns=[*identity, *columns]).astype(
        _identity_columns() | {name: "Float64" for name in columns}
    )


def _identity_columns() -> dict[str, str]:
    texts = ("rank", "engine", "version", "version_source", "model", "dtype", "quantization", "device", "outcome")
    return {"run": "Int64"} | {name: "string" for name in texts}


def _identity(run: Run, rank: str | None) -> dict[str, Any]:
    return {
        "run": run.index,
        "rank": rank,
        "engine": run.engine,
        "version": run.version.text if run.version else None,
        "version_source": run.version_source,
        "model": model_name(run),
        "dtype": setting_text(run, "dtype") or run.identity("dtype"),
        "quantization": setting_text(run, "quantization") or run.identity("quantization"),
        "device": run.identity("device"),
        "outcome": run.outcome,
    }


def model_name(run: Run) -> str | None:
    """The model as the run names it."""
    return run.identity("model") or setting_text(run, "model") or setting_text(run, "model_path")


def setting_text(run: Run, name: str) -> str | None:
    """Value of a setting, None where it is not set or not said."""
    found = run.settings.get(name)
    return None if found is None or found.value in ("None", "null", "") else found.value


def _values(table: pd.DataFrame, run: int, rank: str | None) -> dict[str, float]:
    mine = table[(table["run"] == run) & (table["role"].fillna("target") != "draft") & (table["phase"] != "serving")]
    wanted = {rank, None}
    rows = mine[[r in wanted for r in mine["rank"].astype(object).where(mine["rank"].notna(), None)]]
    return {
        row.quantity: float(row.value if row.bytes is None or row.bytes != row.bytes else row.bytes)
        for row in rows.astype(object).where(rows.notna(), None).itertuples()
    }
