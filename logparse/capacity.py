"""What the cache holds: tokens, requests, bytes per request and per token; the spread over ranks; the load seen."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from logparse.facts import Facts, Figure, interval_of, is_impossible, sum_of
from logparse.ledger import check, refs
from logparse.quantities import LOAD_COLUMNS
from logparse.report import Capacity, Load, Spread
from logparse.times import seconds
from logparse.units import Interval, unit_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logparse.report import Check
    from logparse.runs import Run

_COUNTS = (
    "gpu_blocks", "cpu_blocks", "kv_cache_tokens", "max_total_num_tokens", "max_running_requests", "state_slots",
    "attention_block_size", "mamba_page_padding", "context_length", "estimated_max_model_len",
)  # fmt: skip
_SPREAD = (
    "weights", "free_at_start", "free_before_load", "free_after_load", "kv_cache_available", "free_after_pool",
    "cuda_graphs", "non_torch", "activations", "free_at_ready",
)  # fmt: skip


def rows(facts: Facts) -> tuple[Capacity, ...]:
    """Capacity as the log prints it and as it follows from what it prints."""
    made = []
    for name in _COUNTS:
        for label in facts.labels(name):
            figure = facts.get(name, label=label)
            if figure is not None:
                made.append(_row(f"{name}:{label}" if label else name, figure, _unit(name)))
    concurrency, at = facts.get("max_concurrency"), facts.at("max_concurrency")
    if concurrency is not None and at is not None:
        made.append(_row("max_concurrency", concurrency, "x", int(Fraction(at))))
        pool = facts.get("kv_cache_available")
        if pool is not None and concurrency.interval.low > 0:
            each = Figure(pool.interval / concurrency.interval, "derived", pool.evidence + concurrency.evidence)
            made.append(_row("bytes_per_request", each.by("KV cache ÷ concurrency"), "bytes", int(Fraction(at))))
    return (*made, *_bytes_per_token(facts))


def _row(name: str, figure: Figure, unit: str, at: int | None = None) -> Capacity:
    low, high = float(figure.interval.low), float(figure.interval.high)
    return Capacity(name, low, high, unit, at, figure.basis, refs(figure), figure.formula)


def _unit(name: str) -> str:
    if name == "mamba_page_padding":
        return "%"
    if name.endswith("_blocks"):
        return "blocks"
    return {"max_running_requests": "requests", "state_slots": "slots"}.get(name, "tokens")


def _bytes_per_token(facts: Facts) -> list[Capacity]:
    """Pool ÷ tokens, where the release counts tokens as blocks × block size (not for hybrid models)."""
    tokens = facts.get("kv_cache_tokens")
    if tokens is None or tokens.verdict or tokens.interval.low <= 0:
        return []
    if facts.run.engine == "sglang":
        if len(facts.labels("kv_cache_tokens")) > 1:
            return []
        pools = [facts.get(q) for q in ("kv_cache_k", "kv_cache_v", "kv_cache")]
        pool = sum_of([p for p in pools if p is not None])
    else:
        plain = facts.run.rules.get("tokens_formula") == "blocks" and facts.get("attention_block_size") is None
        pool = facts.get("kv_cache_available") if plain else None
    if pool is None or pool.interval.low <= 0:
        return []
    each = Figure(pool.interval / tokens.interval, "derived", pool.evidence + tokens.evidence)
    return [_row("bytes_per_token", each.by("KV cache ÷ tokens, per rank"), "bytes")]


def checks(facts: Facts) -> list[Check]:
    """Tokens against concurrency, where the release prints tokens = concurrency × length."""
    tokens, concurrency, at = facts.get("kv_cache_tokens"), facts.get("max_concurrency"), facts.at("max_concurrency")
    if tokens is None or concurrency is None or at is None:
        return []
    if facts.run.rules.get("tokens_formula") != "concurrency":
        return []
    product = Figure(concurrency.interval * Interval.exactly(Fraction(at)), "derived", concurrency.evidence)
    # The release cuts the product down to a whole number.
    expected = Figure(product.interval - Interval(Fraction(0), Fraction(1)), "derived", product.evidence)
    return [check("tokens-concurrency", facts.rank, "tokens", tokens, expected, "tokens = concurrency × length")]


def spreads(run: Run, ranks: Sequence[str | None]) -> tuple[Spread, ...]:
    """How much each size differs over the ranks that print it."""
    found = []
    for name in _SPREAD:
        figures = [figure for rank in ranks if (figure := Facts(run, rank).get(name)) and not figure.verdict]
        if len(figures) > 1:
            low = min(figure.interval.middle for figure in figures)
            high = max(figure.interval.middle for figure in figures)
            found.append(Spread(name, len(figures), float(low), float(high)))
    return tuple(found)


def load(run: Run) -> Load | None:
    """Peaks of the periodic statistics, and how far apart the samples are."""
    peaks: dict[str, Fraction] = {}
    times: list[float] = []
    samples = 0
    for event in run.events:
        readings = [r for r in event.readings if r.quantity in LOAD_COLUMNS and event.pattern.phase == "serving"]
        for reading in readings:
            value = Fraction(reading.value)
            peaks[reading.quantity] = max(value, peaks.get(reading.quantity, value))
        if readings:
            samples += 1
            times += [now for now in [seconds(event.line.time)] if now is not None]
    if not samples:
        return None
    steps = [b - a for a, b in pairwise(times) if b > a]
    return Load(samples, median(steps) if steps else None, {name: float(value) for name, value in peaks.items()})


def odd_readings(run: Run) -> list[tuple[str, Interval]]:
    """Sizes that cannot be, such as a graph capture that gave memory back because a neighbour did."""
    return [
        (r.quantity, interval_of(r))
        for e in run.events
        for r in e.readings
        if unit_bytes(r.unit) is not None and is_impossible(r.quantity, r)
    ]
