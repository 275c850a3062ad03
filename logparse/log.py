"""Read logs: from a path, from text, from several sources at once, to a `Log`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from logparse import frames, match, patterns, runs, sources, unread
from logparse.errors import NothingRecognised

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from logparse.match import Event
    from logparse.patterns import PatternSet
    from logparse.runs import Run
    from logparse.settings import Setting
    from logparse.sources import Source
    from logparse.unread import Unread


@dataclass(frozen=True)
class Log:
    """What one or several logs say."""

    sources: tuple[str, ...]
    parsed: tuple[Run, ...]
    digest: str
    """Names the pattern sets that read it."""
    redact: bool = field(default=True)
    lines_unread: tuple[Unread, ...] = field(default=())
    """Lines that look like memory and were not read."""

    @cached_property
    def observations(self) -> pd.DataFrame:
        """One row per number; see `frames.OBSERVATIONS`."""
        return frames.observations(self.parsed, redact=self.redact)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run and rank."""
        return frames.runs_table(self.parsed)

    @cached_property
    def load(self) -> pd.DataFrame:
        """The periodic statistics as a time series."""
        return frames.load(self.observations)

    @cached_property
    def unread(self) -> pd.DataFrame:
        """Lines that look like memory and were not read, one row per shape of line; see `frames.UNREAD`."""
        return frames.unread_table(self.lines_unread, redact=self.redact)


def parse(path: str | Path, *, told: Sequence[Setting] = (), pattern_set: PatternSet | None = None) -> Log:
    """Read one log file, or every log in a folder.

    Raises:
        InputError: it cannot be read.
        NothingRecognised: no line of a known engine is in it.
    """
    path = Path(path)
    files = sources.logs_in(path) if path.is_dir() else [path]
    return read([sources.from_path(file) for file in files], told=told, pattern_set=pattern_set)


def parse_text(text: str, *, told: Sequence[Setting] = (), pattern_set: PatternSet | None = None) -> Log:
    """Read a log that is in memory.

    Raises:
        NothingRecognised: no line of a known engine is in it.
    """
    return read([sources.from_text(text)], told=told, pattern_set=pattern_set)


def read(
    logs: Sequence[Source],
    *,
    told: Sequence[Setting] = (),
    pattern_set: PatternSet | None = None,
    redact: bool = True,
) -> Log:
    """Read several sources into one `Log`.

    Raises:
        InputError: one cannot be read.
        NothingRecognised: no line of a known engine is in any of them.
    """
    known = pattern_set or patterns.default()
    found: list[Event] = []
    left: list[Unread] = []
    for log in logs:
        gatherer = unread.Gatherer(log.name, known)
        for event in match.events(log, known, gatherer.see):
            gatherer.cover(event)
            found.append(event)
        left += gatherer.found()
    parsed = runs.assemble(found, tuple(told))
    if not parsed:
        names = ", ".join(log.name for log in logs)
        raise NothingRecognised(
            f"{names}: no line of vLLM or SGLang recognised; give the engine's own start-up output "
            "(for example `kubectl logs --previous POD`), or see `logparse patterns try FILE`"
        )
    return Log(tuple(log.name for log in logs), tuple(parsed), known.digest, redact, tuple(left))
