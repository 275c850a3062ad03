"""Turns the values of a report into the phrases that templates place.

All words come from `templates/words.toml`; here numbers are formatted and phrases put together. Sizes are
printed in GiB with two decimals; a size that is known less well than that says so.
"""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logparse import resources
from logparse.facts import IMPOSSIBLE_BYTES
from logparse.quantities import QUANTITIES
from logparse.units import BYTES, GIB, KIB, MIB, gib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logparse.report import Capacity, Check, Number, Plane, Ref, Report, Row, RunReport, Spread, Step
    from logparse.unread import Unread

_EIGHTHS = " ▏▎▍▌▋▊▉█"
BAR = 20
ESTIMATES = frozenset({"graph-estimate"})
"""Checks of what the engine guessed: a miss is worth knowing and says nothing about the sums."""
_HEAD_SETTINGS = {
    "max_model_len": "len",
    "context_length": "len",
    "gpu_memory_utilization": "utilization",
    "mem_fraction_static": "mem-fraction-static",
}
_AXES = {
    "TP": ("tensor_parallel_size", "tp_size"),
    "PP": ("pipeline_parallel_size", "pp_size"),
    "DP": ("data_parallel_size", "dp_size"),
}
SHOWN = 140
"""Characters that are shown of a line that was not read."""
WIDE = 0.1 * GIB
"""An interval wider than this is printed with its half-width."""


@cache
def words() -> dict[str, Any]:
    """Every word that a report prints."""
    file = resources.root("templates") / "words.toml"
    return tomllib.loads(file.read_text("utf-8"))


def size(value: float | None) -> str:
    """Bytes as GiB, or a dash where there is no number."""
    return "—" if value is None else gib(Fraction(value))


def percent(share: float | None) -> str:
    """A share of one as percent."""
    return "" if share is None else f"{share:.1%}".replace("-0.0%", "0.0%")


def plain(value: float) -> str:
    """A number without needless decimals, with thousands separators."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}".rstrip("0").rstrip(".")


def account_title(name: str) -> str:
    """What a report calls an account or a quantity."""
    account = words()["account"].get(words()["quantity"].get(name, name))
    chain: dict[str, str] = words()["chain"]
    return account["title"] if account else f"free {chain[name]}" if name in chain else name.replace("_", " ")


def middle(step: Step) -> float:
    """Middle of a reading of free memory."""
    return (step.free_low + step.free_high) / 2


def taken(step: Step) -> str:
    """What was taken since the reading before, in GiB."""
    if step.taken_low is None or step.taken_high is None:
        return ""
    return size((step.taken_low + step.taken_high) / 2)


class Phrases:
    """Phrases of one report."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.short = {name: _short(name) if len(report.sources) > 1 else "" for name in report.sources}

    def refs(self, evidence: Iterable[Ref]) -> str:
        """`[12]`, or `[node1.log:12]` where the report has several sources; at most four."""
        places = [f"{short}:{ref.line}" if (short := self.short.get(ref.source)) else f"{ref.line}" for ref in evidence]
        found = list(dict.fromkeys(places))
        more = f" +{len(found) - 4}" if len(found) > 4 else ""
        return f"[{', '.join(found[:4])}{more}]" if found else ""

    # -- the run ------------------------------------------------------------------------------------------

    def identity_line(self, run: RunReport) -> str:
        """Engine, release, model and the settings that decide where memory goes."""
        facts = {fact.name: fact for fact in run.facts}
        engine = words()["engine"][run.engine]
        parts = [f"{engine} {self._release(run)}".strip(), run.fact("model") or run.fact("architecture") or ""]
        parts += [value for name in ("dtype", "quantization") if (value := run.fact(name)) and value != "auto"]
        if (kv := run.fact("kv_cache_dtype")) and kv != "auto":
            parts.append(f"KV {kv}")
        parts.append(_ranks(run))
        for name, label in _HEAD_SETTINGS.items():
            if fact := facts.get(name):
                value = f"{int(fact.value):,}" if fact.value.isdigit() else fact.value
                default = " (default)" if fact.origin == "default" else ""
                parts.append(f"{label} {value}{default}")
        total = next((r for r in run.rows("plan", run.main_rank) if r.account == "total" and r.observed), None)
        if total is not None:
            device = words()["device"].get(run.fact("device_kind") or "", "GPU")
            parts.append(
                f"{device} {size(total.observed)} GiB" + ("" if total.basis == "read" else f" ({total.basis})")
            )
        return " · ".join(part for part in parts if part)

    def _release(self, run: RunReport) -> str:
        facts, origins = {fact.name: fact for fact in run.facts}, words()["origin"]
        if inferred := facts.get("version_range"):
            place = f"(release {inferred.value}, {origins[inferred.origin]})"
        elif "version" in facts or run.engine == "common":
            place = ""
        else:
            place = "(release unknown)"
        if not (version := facts.get("version")):
            return place
        where = self.refs(version.evidence) or f"({origins.get(version.origin, version.origin)})"
        return f"{version.value} {where} {place}".strip()

    def outcome_rest(self, run: RunReport) -> str:
        """How far the run came, where it did not come up."""
        if run.outcome in ("ready", "ready-then-failed") or run.last_phase is None:
            return ""
        verb = "it ends while" if run.outcome == "excerpt" else "last seen:"
        return f" ({verb} {words()['phase'][run.last_phase]})"

    def plane_title(self, run: RunReport, plane: Plane) -> str:
        """What the figures of a ledger are."""
        name: str = plane
        if plane == "ready" and run.outcome != "ready":
            name = "failed" if run.engine == "common" else "last"
        rank = f" · rank {run.main_rank}" if run.main_rank else ""
        return f"{words()['plane'][name]['title']}{rank}"

    def sum_line(self, run: RunReport) -> str:
        """Does the memory add up, and what could not be checked?"""
        checks = [check for check in run.checks if check.name not in ESTIMATES]
        said = []
        identity = next((c for c in checks if c.name == "budget-identity" and c.rank == run.main_rank), None)
        if identity is not None:
            said.append("The budget adds up" if identity.verdict == "agrees" else "The budget does NOT add up")
        if checks:
            agree = sum(check.verdict == "agrees" for check in checks)
            said.append(f"{agree} of {len(checks)} checks agree{self._differing(checks)}")
        said += [self._estimate(c) for c in run.checks if c.name in ESTIMATES and c.rank == run.main_rank]
        said += self._open_ends(run)
        if not said and not run.ledger and not run.chain:
            said.append("No memory was planned yet" if run.failure else "Nothing here can be checked")
        return " ".join(f"{text}." for text in said) or "Nothing here can be checked."

    def _estimate(self, check: Check) -> str:
        if check.verdict == "agrees":
            return "CUDA graphs took what was estimated"
        off = (check.observed_low + check.observed_high - check.expected_low - check.expected_high) / 2
        return f"CUDA graphs took {size(abs(off))} GiB {'more' if off > 0 else 'less'} than estimated"

    def _differing(self, checks: list[Check]) -> str:
        names = dict.fromkeys(words()["check"][c.name]["title"] for c in checks if c.verdict in ("higher", "lower"))
        return f"; not: {', '.join(names)}" if names else ""

    def _open_ends(self, run: RunReport) -> list[str]:
        rows = run.rows("plan", run.main_rank)
        if not any(row.observed is not None for row in rows):
            return ["No memory was planned yet"] if run.failure else []
        said = [
            f"{size(row.observed)} GiB is not itemised"
            for row in rows
            if row.kind == "remainder" and row.verdict == "unestimated" and row.account == "remainder"
        ]
        unknown = [account_title(r.account) for r in rows if r.kind == "base" and r.observed is None]
        said += [f"Not known: {', '.join(unknown)}"] if unknown else []
        odd = dict.fromkeys((r.verdict, r.account) for r in run.ledger if r.verdict in ("conflict", "impossible"))
        return said + [
            f"{words()['verdict'][verdict]} ({account_title(account)})" for verdict, account in list(odd)[:3]
        ]

    def rank_count(self, run: RunReport) -> int:
        """How many ranks speak of memory."""
        return len({row.rank for row in run.ledger if row.rank})

    def smallest(self, run: RunReport) -> str:
        """Says that the main rank has the smallest cache, where all ranks print theirs."""
        has_cache = {r.rank for r in run.ledger if r.account == "kv_cache" and r.observed is not None and r.rank}
        if run.main_rank is None or len(has_cache) < self.rank_count(run):
            return ""
        return f"; {run.main_rank} is shown: the smallest cache counts"

    def spread_line(self, spread: Spread) -> str:
        """Least and most of an account over the ranks, with the ranks that have them."""
        if size(spread.low) == size(spread.high):
            return f"{size(spread.low)} on each of {spread.ranks}"
        return f"{size(spread.low)} ({spread.low_rank}) … {size(spread.high)} ({spread.high_rank})"

    def also(self, run: RunReport) -> list[Number]:
        """Sizes that stand in no ledger, without repeats."""
        titles = words()["also"]
        found = {
            (n.quantity, n.value, n.label, n.role): n for n in run.numbers if n.quantity in titles and _is_possible(n)
        }
        return list(found.values())[:12]

    def also_title(self, number: Number) -> str:
        """What such a size is."""
        extra = [x for x in (number.label, number.role if number.role == "draft" else None) if x]
        return str(words()["also"][number.quantity]) + (f" ({', '.join(extra)})" if extra else "")

    def load_value(self, value: float, name: str) -> str:
        """A peak of the statistics, with its unit."""
        kind = QUANTITIES[name].kind
        return percent(value) if kind == "ratio" else f"{plain(value)}%" if kind == "percent" else plain(value)

    def step_title(self, step: Step) -> str:
        """After what free memory was read."""
        extra = [x for x in (step.label, step.role if step.role == "draft" else None) if x]
        return str(words()["chain"][step.name]) + (f" ({', '.join(extra)})" if extra else "")

    # -- ledgers ------------------------------------------------------------------------------------------

    def ledger_rows(self, run: RunReport, plane: Plane) -> list[Row]:
        """Rows of the main rank that are worth a line."""
        rows = run.rows(plane, run.main_rank)
        has_rest = any(r.reason and r.reason.startswith("holds:") for r in rows)
        wanted = () if has_rest else ("weights", "kv_cache")
        kept = [r for r in rows if r.observed is not None or r.verdict == "impossible" or r.account in wanted]
        if not any(r.observed is not None for r in kept):
            return []
        return [r for r in kept if not (r.kind == "remainder" and r.verdict == "agrees")]

    def row_title(self, row: Row) -> str:
        """The account, set off by what kind of row it is."""
        title = account_title(row.account)
        return {"base": f"── {title}", "child": f"    {title}"}.get(row.kind, f"  {title}")

    def row_gib(self, row: Row) -> str:
        """The observed size."""
        if row.verdict == "impossible":
            return "—"
        if row.verdict == "conflict":
            return f"{size(row.observed_low)} … {size(row.observed_high)}"
        wide = (
            row.observed_low is not None
            and row.observed_high is not None
            and row.observed_high - row.observed_low > WIDE
        )
        half = (row.observed_high - row.observed_low) / 2 if wide else 0  # type: ignore[operator]
        return size(row.observed) + (f" ±{size(half)}" if wide else "")

    def row_bar(self, row: Row) -> str:
        """A bar for the share; `BAR` characters are the whole."""
        if row.share is None or row.kind in ("base", "child"):
            return ""
        eighths = max(0, min(BAR * 8, round(row.share * BAR * 8)))
        return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()

    def row_note(self, row: Row) -> str:
        """Verdict, what the row holds or how it was derived, and its lines."""
        said = []
        if row.expected is not None:
            said.append(f"must be {size(row.expected)}: {row.verdict}")
        elif row.verdict in ("conflict", "impossible", "unobserved"):
            said.append(words()["verdict"][row.verdict])
        if row.reason and row.reason.startswith("holds:"):
            held = [words()["holds"][name] for name in row.reason.removeprefix("holds:").split(",") if name]
            said.append("holds " + ", ".join(held))
        elif row.reason:
            said.append(words()["reason"].get(row.reason, row.reason))
        elif row.formula:
            said.append(row.formula)
        if row.basis in ("told", "default"):
            said.append(words()["origin"][row.basis])
        lines = self.refs(row.evidence) if row.formula is None else ""
        return " ".join([*[s for s in said if s], lines]).strip()

    # -- checks, capacity, numbers ------------------------------------------------------------------------

    def main_checks(self, run: RunReport) -> list[Check]:
        """Checks of the main rank, and those of others that do not agree."""
        return [c for c in run.checks if c.rank == run.main_rank or c.verdict != "agrees"]

    def check_line(self, check: Check) -> str:
        """The two figures that were compared."""
        title = words()["check"][check.name]["title"]
        rank = f" ({check.rank})" if check.rank else ""
        left = self._span(check.observed_low, check.observed_high, check.unit)
        right = self._span(check.expected_low, check.expected_high, check.unit)
        unit = "GiB" if check.unit == "bytes" else check.unit
        return f"{title}{rank}: {left} against {right} {unit} {self.refs(check.evidence)}"

    def _span(self, low: float, high: float, unit: str) -> str:
        if unit != "bytes":
            low, high = math.floor(low), math.ceil(high)
            return f"{low:,}" if low == high else f"{low:,} … {high:,}"
        return size((low + high) / 2)

    def capacity_title(self, item: Capacity) -> str:
        """What is held."""
        name, _, label = item.name.partition(":")
        title = words()["capacity"].get(name, name.replace("_", " "))
        at = f" at {item.at:,} tokens" if item.at else ""
        return f"{title}{f' ({label})' if label else ''}{at}"

    def capacity_value(self, item: Capacity) -> str:
        """How much of it."""
        if item.unit == "bytes":
            return _memory(item.low, item.high)
        if item.unit in ("x", "%"):
            return f"{(item.low + item.high) / 2:,.2f}{item.unit}"
        return f"{plain((item.low + item.high) / 2)} {item.unit}"

    def capacity_note(self, item: Capacity) -> str:
        """Where it is from."""
        return f"{item.formula or ''} {self.refs(item.evidence)}".strip()

    def number_place(self, number: Number | Unread) -> str:
        """Its line."""
        short = self.short.get(number.source)
        return f"{short}:{number.line}" if short else str(number.line)

    def number_value(self, number: Number) -> str:
        """The number with its unit, as printed."""
        unit = "" if number.unit == "1" else number.unit
        at = f" at {number.at:,.0f}" if number.at else ""
        return f"{number.value:,} {unit}{at}".replace(" %", "%").replace(" x", "x").strip()

    def number_line(self, number: Number) -> str:
        """One line of the list of all numbers."""
        extra = " ".join(x for x in (number.rank, number.role, number.label) if x)
        return f"[{self.number_place(number)}] {number.quantity} = {self.number_value(number)}  {extra}".rstrip()

    def unread_count(self, report: Report) -> str:
        """How many lines were not read that look like memory."""
        count = sum(line.times for line in report.unread)
        kinds = len(report.unread)
        return f"{count} {'line' if count == 1 else 'lines'}" + (f" of {kinds} kinds" if 1 < kinds < count else "")

    def unread_line(self, line: Unread) -> str:
        """Its place, how many others are like it, its text."""
        others = f" ×{line.times}" if line.times > 1 else ""
        text = line.text if len(line.text) <= SHOWN else f"{line.text[: SHOWN - 1]}…"
        return f"[{self.number_place(line)}]{others}  {text}"

    def foot(self, report: Report) -> str:
        """What made the report, and how much it read."""
        count = sum(len(run.numbers) for run in report.runs)
        lines = len({(n.source, n.line) for run in report.runs for n in run.numbers})
        what, many = ("number" if count == 1 else "numbers"), ("line" if lines == 1 else "lines")
        command = f" · {report.command}" if report.command else ""
        return (
            f"{count} {what} read on {lines} {many} · logparse {report.version} · patterns {report.patterns}{command}"
        )


def explain(name: str) -> str | None:
    """One paragraph on a quantity, an account, an outcome or a check; None where nothing is called so.

    `name` may also be the title under which a report prints it, such as "beside the pools".
    """
    said = []
    for group in ("account", "outcome", "check", "word"):
        for key, entry in words()[group].items():
            if name.casefold().strip("─ ") in (key, entry["title"].casefold()):
                said.append(f"{key} ({group}): {entry['title']}. {entry.get('gist', '')}".rstrip())
    if quantity := QUANTITIES.get(name):
        said.append(f"{name} (quantity; {quantity.kind}, of one {quantity.scope}): {quantity.gist}")
    return "\n".join(said) or None


def _is_possible(number: Number) -> bool:
    return abs(number.value) * BYTES.get(number.unit, 1) <= IMPOSSIBLE_BYTES


def _short(source: str) -> str:
    return " ".join(Path(source).name.split())


def _ranks(run: RunReport) -> str:
    named = len({row.rank for row in run.ledger if row.rank})
    sizes = [
        f"{axis} {value}"
        for axis, names in _AXES.items()
        if (value := next((v for name in names if (v := run.fact(name))), None)) and value.isdigit() and int(value) > 1
    ]
    if sizes:
        return " ".join(sizes)
    return f"{named} ranks" if named > 1 else ""


def _memory(low: float, high: float) -> str:
    """A size that may be small, with what is open about it."""
    unit, name, digits = next(
        (u, n, d) for u, n, d in ((GIB, "GiB", 2), (MIB, "MiB", 1), (KIB, "KiB", 2), (1, "B", 0)) if high >= u or u == 1
    )
    left, right = f"{low / unit:,.{digits}f}", f"{high / unit:,.{digits}f}"
    return f"{left} {name}" if left == right else f"{left} … {right} {name}"
