"""Cards by name, with their memory as CUDA reports it."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from importlib.resources import files

from logparse.errors import UsageError
from logparse.units import GIB, Interval

_HUNDREDTH = Fraction(1, 200)


def total_memory(name: str) -> Interval:
    """Memory of one card in bytes, as the range over drivers and boards that was seen.

    Raises:
        UsageError: no such card is known.
    """
    known = _devices()
    found = known.get(name.lower().replace(" ", "-").replace("_", "-").removeprefix("nvidia-"))
    if found is None:
        close = get_close_matches(name.lower(), known, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(close)}, or " if close else ""
        raise UsageError(f"--device {name!r} is not known; {hint}give --total-memory, such as 22.06GiB")
    return found


@cache
def _devices() -> dict[str, Interval]:
    text = (files("logparse") / "data" / "devices.toml").read_text("utf-8")
    table: dict[str, Interval] = {}
    for device in tomllib.loads(text)["device"]:
        low, high = Fraction(device["low"]) - _HUNDREDTH, Fraction(device["high"]) + _HUNDREDTH
        interval = Interval(low * GIB, high * GIB)
        table |= {alias.lower(): interval for alias in (device["name"], *device["names"])}
    return table
