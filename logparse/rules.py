"""Named rules and defaults of an engine release, from `patterns/<engine>/rules.toml`.

A `Rules` answers for one run. Where the release is known only as a range, a rule answers if all releases of
the range agree, and says nothing otherwise.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from logparse import resources
from logparse.errors import PatternError
from logparse.versions import Releases, Version


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of one engine, narrowed to the releases that a run can be."""

    engine: str
    era: Releases | None = None
    """Releases that the run can be; None: nothing is known."""
    version: Version | None = None
    seen: frozenset[str] = frozenset()
    """Names of the patterns that matched."""
    _entries: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    _defaults: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    _wordings: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    _asks: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    aliases: dict[str, str] = field(default_factory=dict, repr=False)

    def get(self, name: str) -> str | None:
        """Value of a rule, or None where it cannot be told.

        What a wording in the log itself says about it comes before what the release says.
        """
        said = [
            str(entry["value"]) for entry in self._wordings
            if entry["rule"] == name and entry["pattern"] in self.seen and self._holds(entry.get("releases", [".."]))
        ]  # fmt: skip
        return said[-1] if said else self._agreed([entry for entry in self._entries if entry["name"] == name])

    def default(self, setting: str) -> str | None:
        """Default of a setting, or None where it cannot be told."""
        return self._agreed([entry for entry in self._defaults if entry["setting"] == setting])

    def ask(self, need: str) -> dict[str, str] | None:
        """The command that makes this release say what is missing; None where nothing would.

        Where the release is not known for certain the last entry counts: it works for all.
        """
        found = [entry for entry in self._asks if entry["need"] == need and self._holds(entry["releases"])]
        return found[-1] if found else None

    def _agreed(self, entries: list[dict[str, Any]]) -> str | None:
        values = {str(entry["value"]) for entry in entries if self._holds(entry["releases"])}
        return values.pop() if len(values) == 1 else None

    def _holds(self, ranges: list[str]) -> bool:
        releases = Releases.parse(ranges)
        if self.version is not None:
            return self.version in releases
        return self.era is None or self.era.meets(releases)


@cache
def _read(engine: str) -> dict[str, Any]:
    file = resources.root("patterns") / engine / "rules.toml"
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise PatternError(f"{engine}/rules.toml is not valid TOML: {error}") from None


def rules_for(
    engine: str, version: Version | None = None, era: Releases | None = None, seen: frozenset[str] = frozenset()
) -> Rules:
    """Rules of an engine for a release, or for the releases that its wordings leave."""
    data = _read(engine)
    return Rules(
        engine,
        era,
        version,
        seen,
        tuple(data.get("rule", ())),
        tuple(data.get("default", ())),
        tuple(data.get("wording", ())),
        tuple(data.get("ask", ())),
        dict(data.get("aliases", {})),
    )
