from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from logparse import patterns

if TYPE_CHECKING:
    from logparse.patterns import PatternSet

settings.register_profile(
    "logparse", deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck)
)
settings.load_profile("logparse")


@pytest.fixture(scope="session")
def known() -> PatternSet:
    """The pattern sets that ship with the package."""
    return patterns.default()
