"""Which release a log is of, from the `file.py:line` that vLLM puts before each message.

`patterns/vllm/linenos.json` lists, for every file and line at which a release logs something, the releases that do.
Each place in a log votes for its releases; those with the most votes remain. Excerpts that lost their banner still
tell their release this way.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from logparse import resources
from logparse.versions import Releases

if TYPE_CHECKING:
    from collections.abc import Iterable

FEWEST_VOTES = 2
"""One place may be a coincidence: two releases log different things on the same line."""


def releases_at(engine: str, places: Iterable[tuple[str, int]]) -> Releases | None:
    """Releases that most of the places agree on, or None where too few places are known.

    Args:
        engine: whose log it is.
        places: file and line of each message; a file may carry its folders.
    """
    table = _table(engine)
    if table is None:
        return None
    votes: Counter[int] = Counter()
    for file, line in set(places):
        found = table["files"].get(file.rpartition("/")[2], {}).get(str(line))
        votes.update(_numbers(found) if found else ())
    most = max(votes.values(), default=0)
    if most < FEWEST_VOTES:
        return None
    best = sorted(number for number, count in votes.items() if count == most)
    return Releases.parse([f"{low}..{high}" for low, high in _spans(best, table["releases"])])


@cache
def _table(engine: str) -> dict[str, Any] | None:
    file = resources.root("patterns") / engine / "linenos.json"
    return json.loads(file.read_text("utf-8")) if file.is_file() else None


def _numbers(spans: str) -> Iterable[int]:
    for span in spans.split(","):
        low, _, high = span.partition("-")
        yield from range(int(low), int(high or low) + 1)


def _spans(numbers: list[int], releases: list[str]) -> Iterable[tuple[str, str]]:
    first = last = numbers[0]
    for number in [*numbers[1:], -1]:
        if number != last + 1:
            yield releases[first], releases[last]
            first = number
        last = number
