"""Cards by name."""

from __future__ import annotations

from fractions import Fraction

import pytest

from logparse.errors import UsageError
from logparse.estimate.devices import total_memory
from logparse.units import GIB


@pytest.mark.parametrize("name", ["A10", "a10", "NVIDIA A10", "nvidia_a10"])
def test_names_are_forgiving(name: str) -> None:
    assert Fraction("22.06") * GIB in total_memory(name)


def test_an_unknown_card_is_said_so_with_the_cure() -> None:
    with pytest.raises(UsageError, match="--total-memory"):
        total_memory("H1000")
