"""Pattern sets: the TOML files under `patterns/`, read and checked.

A `Pattern` is one wording. Its regex is compiled when it is first needed: most logs use a tenth of them.
The format is described in docs/patterns.md.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import regex as rx

from logparse import resources
from logparse.errors import PatternError, UsageError
from logparse.prefilter import Prefilter
from logparse.quantities import QUANTITIES
from logparse.units import unit_bytes
from logparse.versions import Releases

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable

PHASES = ("init", "load", "profile", "kv_cache", "capture", "ready", "serving", "error")
MARKS = frozenset(
    {
        "start", "server_start", "load_begin", "load_end", "pool_end", "capture_begin", "capture_end", "ready",
        "listening", "failed", "wrapper_error", "killed", "environment", "exit",
    }
)  # fmt: skip
IDENTITIES = frozenset(
    {
        "version", "model", "dtype", "quantization", "device", "architecture", "runner", "kv_cache_dtype",
        "error", "exception", "backend", "draft_model",
    }
)  # fmt: skip
SEARCH_SECONDS = 2.0
REMEMBERED = 1 << 13
_PREFIX_END = re.compile(r"[\])] +|: ")
MOST_CUTS = 8
_ANCHOR = re.compile(r"[A-Za-z0-9 .,:#_=()-]{5,}")


@dataclass(frozen=True, slots=True)
class Field:
    """One named group of a pattern and what it means; exactly one of the last four is set."""

    group: str
    unit: str = "1"
    step: str = "0"
    at: str | None = None
    label: str | None = None
    """`unit` and `label` may be `@name`: what the group of that name matched."""
    quantity: str | None = None
    identity: str | None = None
    setting: str | None = None
    settings: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A line that a pattern must match, with the text of each field."""

    line: str
    expect: dict[str, str]


@dataclass(frozen=True)
class Pattern:
    """One wording of one engine."""

    engine: str
    name: str
    topic: str
    releases: Releases
    phase: str
    anchor: str
    source: str
    fields: tuple[Field, ...]
    samples: tuple[Sample, ...]
    rejects: tuple[str, ...]
    anywhere: bool = False
    is_fallback: bool = False
    """True where any pattern that matches overlapping text wins over this one, however short."""
    marks: str | None = None
    role: str | None = None
    label: str | None = None

    @property
    def id(self) -> str:
        """`engine/name`, as `logparse patterns show` takes it."""
        return f"{self.engine}/{self.name}"

    @cached_property
    def helpers(self) -> set[str]:
        """Groups of the regex that say something about a field: what it is for, its label, its unit."""
        named = {f.at for f in self.fields if f.at}
        marked = [self.label, *(f.label for f in self.fields), *(f.unit for f in self.fields)]
        return named | {name[1:] for name in marked if name and name.startswith("@")}

    @cached_property
    def regex(self) -> rx.Pattern[str]:
        """The compiled expression."""
        try:
            return rx.compile(self.source)
        except rx.error as error:
            raise PatternError(f"{self.id}: the regex does not compile: {error}") from None


@dataclass(frozen=True)
class Prefix:
    """One way in which an engine begins its lines."""

    engine: str
    name: str
    source: str
    samples: tuple[Sample, ...]

    @cached_property
    def regex(self) -> rx.Pattern[str]:
        """The compiled expression; it ends where the message begins."""
        return rx.compile(f"(?:{self.source})\\Z")

    @cached_property
    def inside(self) -> rx.Pattern[str]:
        """The same, wherever it stands."""
        return rx.compile(self.source)


@dataclass(frozen=True)
class Wrapping:
    """What some other program puts around an engine's line."""

    name: str
    wrap: str
    line: str | None
    """A regex for what it puts at the start of a line; its group `stream` tells whose line it is."""
    escape: str | None = None
    """How the message is encoded inside: `json`, `html` or not at all."""

    @cached_property
    def regex(self) -> rx.Pattern[str] | None:
        """The compiled expression, if any."""
        return rx.compile(self.line) if self.line else None


@dataclass(frozen=True)
class Looks:
    """What a line looks like that speaks of memory; see `patterns/unread.toml`."""

    figure: rx.Pattern[str]
    topic: rx.Pattern[str]
    logged: rx.Pattern[str]
    set: rx.Pattern[str]
    ignore: rx.Pattern[str]

    def apply_to(self, line: str, near: str) -> bool:
        """True where a line with a figure speaks of memory; `near` is the text around the figure."""
        if not self.topic.search(near) or self.ignore.search(line):
            return False
        return self.logged.search(line) is not None or self.set.search(near) is not None


@dataclass(frozen=True)
class PatternSet:
    """All patterns, prefixes and wrappings in use, and the hash that names them."""

    patterns: tuple[Pattern, ...]
    prefixes: tuple[Prefix, ...]
    wrappings: tuple[Wrapping, ...]
    rank_tags: dict[str, str]
    unread: Looks
    digest: str

    @cached_property
    def by_anchor(self) -> dict[str, tuple[Pattern, ...]]:
        """Patterns by their anchor."""
        table: dict[str, list[Pattern]] = {}
        for pattern in self.patterns:
            table.setdefault(pattern.anchor, []).append(pattern)
        return {anchor: tuple(patterns) for anchor, patterns in table.items()}

    @cached_property
    def prefilter(self) -> Prefilter:
        """The scan for all anchors."""
        return Prefilter(self.by_anchor)

    @cached_property
    def dump_anchors(self) -> tuple[str, ...]:
        """Anchors of the lines that dump all settings; wrapped, they fill many lines."""
        return tuple({p.anchor for p in self.patterns if any(f.settings for f in p.fields)})

    @cached_property
    def begins(self) -> Callable[[str], bool]:
        """Tells whether an engine's prefix ends early in the start of a line; remembers its last answers."""
        expressions = [prefix.regex for prefix in self.prefixes]

        @lru_cache(maxsize=REMEMBERED)
        def begins(head: str) -> bool:
            cuts = [found.end() for found in _PREFIX_END.finditer(head)][:MOST_CUTS]
            return any(e.search(head[:cut], timeout=SEARCH_SECONDS) for cut in cuts for e in expressions)

        return begins

    @cached_property
    def rank_regexes(self) -> dict[str, rx.Pattern[str]]:
        """Per engine, the expression that finds each part of a rank tag."""
        return {engine: rx.compile(source) for engine, source in self.rank_tags.items()}

    def get(self, name: str) -> Pattern:
        """Return the pattern called `engine/name`, or `name` where only one engine has it.

        Raises:
            UsageError: no such pattern, or several.
        """
        found = [p for p in self.patterns if name in (p.id, p.name)]
        if len(found) != 1:
            known = ", ".join(p.id for p in found) or "none; see `logparse patterns list`"
            raise UsageError(f"no single pattern is called {name!r}: {known}")
        return found[0]


@cache
def default() -> PatternSet:
    """The sets that ship with the package."""
    return load(resources.root("patterns"))


def load(folder: Traversable) -> PatternSet:
    """Read all sets under `folder`.

    Raises:
        PatternError: a file is not TOML or breaks the format.
    """
    patterns: list[Pattern] = []
    prefixes: list[Prefix] = []
    wrappings: list[Wrapping] = []
    rank_tags: dict[str, str] = {}
    unread = _looks({})
    digest = sha256()
    for file in _toml_files(folder):
        raw = file.read_bytes()
        digest.update(raw)
        data = _parse(file.name, raw)
        engine, topic = str(data.get("engine", "")), file.name.removesuffix(".toml")
        where = f"{engine}/{file.name}"
        patterns += [_pattern(entry, engine, topic, where) for entry in data.get("pattern", [])]
        prefixes += [_prefix(entry, engine, where) for entry in data.get("prefix", [])]
        wrappings += [_wrapping(entry, where) for entry in data.get("wrapping", [])]
        if "rank" in data:
            rank_tags[engine] = data["rank"]["regex"]
        if "unread" in data:
            unread = _looks(data["unread"])
    _no_duplicates(patterns)
    return PatternSet(tuple(patterns), tuple(prefixes), tuple(wrappings), rank_tags, unread, digest.hexdigest()[:6])


def _toml_files(folder: Traversable) -> list[Traversable]:
    found: list[Traversable] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _toml_files(entry)
        elif entry.name.endswith(".toml") and entry.name != "rules.toml":
            found.append(entry)
    return found


def _parse(name: str, raw: bytes) -> dict[str, Any]:
    try:
        data = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PatternError(f"{name} is not valid TOML: {error}") from None
    if data.get("schema") != 1:
        raise PatternError(f"{name}: schema = 1 is missing; this version of logparse reads only that")
    return data


def _no_duplicates(patterns: list[Pattern]) -> None:
    seen: set[str] = set()
    for pattern in patterns:
        if pattern.id in seen:
            raise PatternError(f"two patterns are called {pattern.id}; rename one")
        seen.add(pattern.id)


_PATTERN_KEYS = {
    "name", "releases", "phase", "anchor", "regex", "field", "sample", "reject", "anywhere", "fallback", "marks",
    "role", "label",
}  # fmt: skip


def _pattern(entry: dict[str, Any], engine: str, topic: str, where: str) -> Pattern:
    who = f"{where}: pattern {entry.get('name', '?')}"
    if missing := {"name", "releases", "phase", "anchor", "regex", "sample"} - entry.keys():
        raise PatternError(f"{who} lacks {', '.join(sorted(missing))}")
    if unknown := entry.keys() - _PATTERN_KEYS:
        raise PatternError(f"{who} has unknown keys {', '.join(sorted(unknown))}")
    if entry["phase"] not in PHASES:
        raise PatternError(f"{who}: phase is {entry['phase']!r}, must be one of {', '.join(PHASES)}")
    if entry.get("marks") not in (None, *MARKS):
        raise PatternError(f"{who}: marks is {entry['marks']!r}, must be one of {', '.join(sorted(MARKS))}")
    if not _ANCHOR.fullmatch(entry["anchor"]):
        raise PatternError(f"{who}: the anchor {entry['anchor']!r} is too short or has characters that wraps change")
    return Pattern(
        engine=engine,
        name=entry["name"],
        topic=topic,
        releases=Releases.parse(entry["releases"]),
        phase=entry["phase"],
        anchor=entry["anchor"],
        source=entry["regex"],
        fields=tuple(_field(group, spec, who) for group, spec in entry.get("field", {}).items()),
        samples=tuple(Sample(s["line"], dict(s.get("expect", {}))) for s in entry["sample"]),
        rejects=tuple(r["line"] for r in entry.get("reject", [])),
        anywhere=bool(entry.get("anywhere", False)),
        is_fallback=bool(entry.get("fallback", False)),
        marks=entry.get("marks"),
        role=entry.get("role"),
        label=entry.get("label"),
    )


def _field(group: str, spec: dict[str, Any], who: str) -> Field:
    field = Field(group=group, **spec)
    meanings = [m for m in (field.quantity, field.identity, field.setting, field.settings) if m]
    if len(meanings) != 1:
        raise PatternError(f"{who}: field {group} must have one of quantity, identity, setting, settings")
    if field.quantity and field.quantity not in QUANTITIES:
        raise PatternError(f"{who}: field {group} names the unknown quantity {field.quantity!r}")
    if field.identity and field.identity not in IDENTITIES:
        raise PatternError(f"{who}: field {group} names the unknown identity {field.identity!r}")
    if field.quantity and not field.unit.startswith("@"):
        is_size = unit_bytes(field.unit) is not None
        if is_size != (QUANTITIES[field.quantity].kind == "memory"):
            raise PatternError(f"{who}: field {group}: unit {field.unit!r} does not fit {field.quantity}")
    return field


def _prefix(entry: dict[str, Any], engine: str, where: str) -> Prefix:
    if missing := {"name", "regex", "sample"} - entry.keys():
        raise PatternError(f"{where}: prefix lacks {', '.join(sorted(missing))}")
    samples = tuple(Sample(s["line"], dict(s.get("expect", {}))) for s in entry["sample"])
    return Prefix(engine, entry["name"], entry["regex"], samples)


def _wrapping(entry: dict[str, Any], where: str) -> Wrapping:
    if missing := {"name", "wrap"} - entry.keys():
        raise PatternError(f"{where}: wrapping lacks {', '.join(sorted(missing))}")
    return Wrapping(entry["name"], entry["wrap"], entry.get("line"), entry.get("escape"))


def _looks(entry: dict[str, str]) -> Looks:
    never = "(?!)"
    return Looks(*(rx.compile(entry.get(f.name, never), rx.IGNORECASE) for f in fields(Looks)))
