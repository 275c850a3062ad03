"""What the cache holds: tokens, requests, bytes per request and per token; the spread over ranks; the load seen."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from logparse.attribution import replica_of
from logparse.facts import ASIDE, Facts, Figure, sum_of
from logparse.ledger import check, refs
from logparse.quantities import COUNTED_ANEW, LOAD_COLUMNS
from logparse.report import Capacity, Load, Spread
from logparse.times import seconds
from logparse.units import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logparse.report import Check, Row
    from logparse.runs import Run

LARGEST_BLOCK = 256
"""Tokens in the largest KV block of a model without state layers."""
_COUNTS = (
    "gpu_blocks", "cpu_blocks", "kv_cache_tokens", "max_total_num_tokens", "max_running_requests", "state_slots",
    "attention_block_size", "mamba_page_padding", "context_length", "estimated_max_model_len",
)  # fmt: skip


def rows(run: Run, rank: str | None) -> tuple[Capacity, ...]:
    """Capacity of the replica that `rank` is part of, as the log prints it and as it follows from that."""
    engine = Facts(run, replica_of(rank))
    made = []
    for name in _COUNTS:
        for label in engine.labels(name):
            figure = engine.least(name, label=label, prefer=rank)
            if figure is not None and label not in ASIDE:
                made.append(_row(f"{name}:{label}" if label else name, figure, _unit(name)))
    at = engine.at("max_concurrency")
    concurrency = engine.least("max_concurrency", at=at, prefer=rank)
    if concurrency is not None and at is not None:
        made.append(_row("max_concurrency", concurrency, "x", int(Fraction(at))))
        pool = _pool(engine)
        if pool is not None and concurrency.interval.low > 0:
            each = (pool / concurrency).by("KV cache ÷ concurrency")
            made.append(_row("bytes_per_request", each, "bytes", int(Fraction(at))))
    return (*made, *_tokens_of_blocks(engine), *_bytes_per_token(engine, rank))


def _tokens_of_blocks(engine: Facts) -> list[Capacity]:
    """Tokens of a release that prints blocks only, where the block size is in the log."""
    blocks, size = engine.least("gpu_blocks"), engine.setting("block_size")
    if blocks is None or size is None or engine.least("kv_cache_tokens") is not None:
        return []
    return [_row("kv_cache_tokens", (blocks * size).by("blocks × block size"), "tokens")]


def _pool(engine: Facts) -> Figure | None:
    """KV cache of the smallest rank, or None where that rank may have printed nothing.

    From vLLM 0.11.1 on only the first rank of a node prints it; pipeline stages may differ much.
    """
    stages = engine.setting("pipeline_parallel_size")
    if stages is not None and stages.interval.high > 1 and len(engine.run.ranks) > 0:
        speaking = {e.line.rank for e in engine.run.events for r in e.readings if r.quantity == "kv_cache_available"}
        if len(speaking) < len(engine.run.ranks):
            return None
    return engine.least("kv_cache_available")


def _row(name: str, figure: Figure, unit: str, at: int | None = None) -> Capacity:
    low, high = float(figure.interval.low), float(figure.interval.high)
    return Capacity(name, low, high, unit, at, figure.basis, refs(figure), figure.formula)


def _unit(name: str) -> str:
    if name == "mamba_page_padding":
        return "%"
    if name.endswith("_blocks"):
        return "blocks"
    return {"max_running_requests": "requests", "state_slots": "slots"}.get(name, "tokens")


def _bytes_per_token(facts: Facts, rank: str | None) -> list[Capacity]:
    """Pool ÷ tokens, where the release counts tokens as blocks × block size (not for hybrid models)."""
    tokens = facts.least("kv_cache_tokens", prefer=rank)
    if tokens is None or tokens.interval.low <= 0 or len(facts.labels("kv_cache_tokens")) > 1:
        return []
    if facts.run.engine == "sglang":
        pools = [facts.least(q, prefer=rank) for q in ("kv_cache_k", "kv_cache_v", "kv_cache")]
        pool = sum_of([p for p in pools if p is not None])
    else:
        pool = _pool(facts) if _counts_blocks(facts, tokens) else None
    if pool is None or pool.interval.low <= 0:
        return []
    return [_row("bytes_per_token", (pool / tokens).by("KV cache ÷ tokens, per rank"), "bytes")]


def _counts_blocks(facts: Facts, tokens: Figure) -> bool:
    """True where tokens = blocks × block size: not in later releases, and not for hybrid models.

    The tokens of a hybrid model are no multiple of its concurrency: then its layers do not all hold all tokens.
    """
    if facts.run.rules.get("tokens_formula") != "blocks" or facts.get("attention_block_size") is not None:
        return False
    at = facts.at("max_concurrency")
    concurrency = facts.least("max_concurrency", at=at)
    if at is None or concurrency is None:
        return True
    # A request takes whole blocks: concurrency × length is less than the tokens by at most a block per request.
    length = Fraction(at)
    whole = tokens.interval / Interval(length, length + LARGEST_BLOCK)
    return whole.overlaps(concurrency.interval)


def checks(facts: Facts) -> list[Check]:
    """Tokens against concurrency, where the release prints tokens = concurrency × length."""
    facts = Facts(facts.run, replica_of(facts.rank))
    at = facts.at("max_concurrency")
    tokens, concurrency = facts.least("kv_cache_tokens"), facts.least("max_concurrency", at=at)
    if tokens is None or concurrency is None or at is None:
        return []
    if facts.run.rules.get("tokens_formula") != "concurrency":
        return []
    product = Figure(concurrency.interval * Interval.exactly(Fraction(at)), "derived", concurrency.evidence)
    # The release cuts the product down to a whole number.
    expected = Figure(product.interval - Interval(Fraction(0), Fraction(1)), "derived", product.evidence)
    return [check("tokens-concurrency", facts.rank, "tokens", tokens, expected, "tokens = concurrency × length")]


def spreads(ledger: Sequence[Row]) -> tuple[Spread, ...]:
    """How much each account of the plan differs over the ranks that have it."""
    by_account: dict[str, dict[str, float]] = {}
    for row in ledger:
        if row.plane == "plan" and row.rank and row.observed is not None and row.verdict != "conflict":
            by_account.setdefault(row.account, {})[row.rank] = row.observed
    found = []
    for account, sizes in by_account.items():
        if len(sizes) > 1:
            least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
            found.append(Spread(account, len(sizes), sizes[least], sizes[most], least, most))
    return tuple(found)


def load(run: Run) -> Load | None:
    """Peaks of the periodic statistics, and how far apart the samples are."""
    peaks: dict[str, Fraction] = {}
    sums: dict[str, Fraction] = {}
    times: list[float] = []
    samples = 0
    for event in run.events:
        readings = [r for r in event.readings if r.quantity in LOAD_COLUMNS and event.pattern.phase == "serving"]
        for reading in readings:
            name, value = reading.quantity, Fraction(reading.value)
            if name in COUNTED_ANEW:
                sums[name] = sums.get(name, Fraction(0)) + value
            else:
                peaks[name] = max(value, peaks.get(name, value))
        if readings:
            samples += 1
            times += [now for now in [seconds(event.line.time)] if now is not None]
    if not samples:
        return None
    steps = [b - a for a, b in pairwise(times) if b > a]
    return Load(samples, median(steps) if steps else None, _floats(peaks), _floats(sums))


def _floats(values: dict[str, Fraction]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}
