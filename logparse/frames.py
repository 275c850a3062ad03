"""From runs to tables: `observations` (long), `runs` (wide) and `load` (time series).

Rows are made as plain dicts first (`observation_rows`), so that JSON lines need no pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logparse.errors import UsageError
from logparse.quantities import LOAD_COLUMNS, QUANTITIES
from logparse.redact import redact as redacted
from logparse.settings import is_none
from logparse.times import DAY, seconds
from logparse.units import unit_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from logparse.match import Event, Reading
    from logparse.runs import Run
    from logparse.unread import Unread

OBSERVATIONS: dict[str, str] = {
    "source": "string", "line": "Int64", "run": "Int64", "rank": "string", "role": "string", "process": "string",
    "pid": "Int64", "time": "string", "elapsed": "Float64", "phase": "string", "quantity": "string",
    "value": "Float64", "unit": "string", "step": "Float64", "bytes": "Float64", "at": "Float64",
    "label": "string", "pattern": "string", "text": "string",
}  # fmt: skip
"""Columns and dtypes. `bytes` is value × unit for sizes and null otherwise; `elapsed` is in seconds since the
first time that the run's source prints; `at` is in tokens."""

UNREAD = {"source": "string", "line": "Int64", "text": "string", "times": "Int64", "near": "object"}
"""Columns of the lines that were not read: the first of its shape, how many there are, and the patterns that it
resembles (a tuple of their ids)."""

LONGEST_TEXT = 600


def observation_rows(runs: Sequence[Run], *, redact: bool = True) -> Iterator[dict[str, Any]]:
    """One dict per number, in the order of runs and lines; keys are those of `OBSERVATIONS`."""
    for run in runs:
        began = next((s for e in run.events if (s := seconds(e.line.time)) is not None), None)
        for event in run.events:
            for reading in event.readings:
                yield _row(run, event, reading, began, redact)


def _row(run: Run, event: Event, reading: Reading, began: float | None, redact: bool) -> dict[str, Any]:
    line, size = event.line, unit_bytes(reading.unit)
    text = line.text[: 4 * LONGEST_TEXT]
    return {
        "source": event.source,
        "line": reading.line,
        "run": run.index,
        "rank": line.rank,
        "role": event.role,
        "process": line.process,
        "pid": line.pid,
        "time": line.time,
        "elapsed": _elapsed(began, seconds(line.time)),
        "phase": event.pattern.phase,
        "quantity": reading.quantity,
        "value": number(reading.value),
        "unit": reading.unit,
        "step": float(reading.step),
        "bytes": None if size is None else float(reading.value) * size,
        "at": None if reading.at is None else number(reading.at),
        "label": reading.label,
        "pattern": event.pattern.id,
        "text": (redacted(text) if redact else text)[:LONGEST_TEXT],
    }


def _elapsed(began: float | None, now: float | None) -> float | None:
    """Seconds from `began` to `now`, over midnight or New Year if need be; processes' clocks may run a little back."""
    if began is None or now is None or (began < DAY) != (now < DAY):
        return None
    period = DAY if now < DAY else 365 * DAY
    elapsed = now - began
    return elapsed + period if elapsed < -period / 2 else elapsed


def number(text: str) -> int | float:
    """A printed number: whole ones stay whole, as far as tables hold them exactly."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 and "." not in text else value


def observations(runs: Sequence[Run], *, redact: bool = True) -> pd.DataFrame:
    """The long table. Shape: (numbers read, 19)."""
    return table_of(observation_rows(runs, redact=redact))


def table_of(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Rows of `observation_rows` as a table."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(OBSERVATIONS)).astype(OBSERVATIONS)


def csv_text(rows: Iterable[dict[str, Any]]) -> str:
    """Rows of `observation_rows` as CSV with a header."""
    return table_of(rows).to_csv(index=False, lineterminator="\n")


def write_parquet(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write rows of `observation_rows` as Parquet.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        table_of(rows).to_parquet(path, index=False)
    except ImportError:
        raise UsageError('writing parquet needs pyarrow: pip install "logparse[parquet]"') from None


def unread_table(lines: Iterable[Unread], *, redact: bool = True) -> pd.DataFrame:
    """Lines that look like memory and were not read, as a table."""
    import pandas as pd

    rows = [(u.source, u.line, redacted(u.text) if redact else u.text, u.times, u.near) for u in lines]
    return pd.DataFrame(rows, columns=list(UNREAD)).astype(UNREAD)


def load(table: pd.DataFrame) -> pd.DataFrame:
    """The periodic statistics as a time series: one row per line that prints them.

    Columns: source, line, run, rank, time, elapsed, then those of `LOAD_COLUMNS`.
    """
    keys = ["source", "line", "run", "rank", "time", "elapsed"]
    serving = table[(table["phase"] == "serving") & table["quantity"].isin(LOAD_COLUMNS)]
    wide = (
        serving.pivot_table(
            index=keys, columns="quantity", values="value", aggfunc="first", dropna=False, observed=True, sort=False
        )
        if len(serving)
        else serving.set_index(keys)[[]]
    )
    wide = wide.reset_index().reindex(columns=[*keys, *LOAD_COLUMNS])
    wide = wide.dropna(subset=list(LOAD_COLUMNS), how="all").sort_values(["run", "line"], ignore_index=True)
    return wide.astype(dict.fromkeys(LOAD_COLUMNS, "Float64"))


def runs_table(runs: Sequence[Run]) -> pd.DataFrame:
    """The wide table: one row per run and rank, one column per quantity that any run has.

    A cell is the last value that the rank printed for the target model, in bytes for sizes. What the whole
    engine printed stands in the rows of all its ranks.
    """
    import pandas as pd

    rows = [_identity(run, rank) | _values(run, rank) for run in runs for rank in (run.ranks or (None,))]
    columns = [name for name in QUANTITIES if any(name in row for row in rows)]
    identity = list(_identity_columns())
    return pd.DataFrame(rows, columns=[*identity, *columns]).astype(
        _identity_columns() | dict.fromkeys(columns, "Float64")
    )


def _identity_columns() -> dict[str, str]:
    texts = ("rank", "engine", "version", "version_source", "model", "dtype", "quantization", "device", "outcome")
    return {"run": "Int64"} | dict.fromkeys(texts, "string")


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
    return setting_text(run, "model") or setting_text(run, "model_path") or run.identity("model")


def setting_text(run: Run, name: str) -> str | None:
    """Value of a setting, None where it is not set or not said."""
    found = run.settings.get(name)
    return None if found is None or is_none(found.value) else found.value


_LEFT_OUT = {"swa", "profiling", "with_graph_estimate"}
"""Labels of readings that stand for something beside the main figure."""


def _values(run: Run, rank: str | None) -> dict[str, float]:
    """Last value of each quantity that the rank, or the engine as a whole, printed for the target model."""
    found: dict[str, float] = {}
    for event in run.events:
        spoken = event.line.rank
        mine = spoken is None or rank is None or rank == spoken or rank.startswith(f"{spoken}_")
        if not mine or event.role == "draft" or event.pattern.phase in ("serving", "error"):
            continue
        for reading in event.readings:
            if reading.label not in _LEFT_OUT:
                found[reading.quantity] = float(reading.value) * (unit_bytes(reading.unit) or 1)
    return found
