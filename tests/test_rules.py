"""Rules answer by wording, then by release, and say nothing where releases disagree."""

from __future__ import annotations

import pytest

from logparse.rules import rules_for
from logparse.versions import Releases, Version


def test_a_release_decides() -> None:
    assert rules_for("vllm", Version.parse("0.17.1")).get("graph_estimate") == "none"
    assert rules_for("vllm", Version.parse("0.19.0")).get("graph_estimate") == "opt-in"
    assert rules_for("vllm", Version.parse("0.27.0")).get("graph_estimate") == "applied"


def test_a_range_decides_only_where_its_releases_agree() -> None:
    agreed = rules_for("vllm", era=Releases.parse(["0.21.0..0.25.1"]))
    assert agreed.get("graph_estimate") == "applied"
    assert agreed.default("gpu_memory_utilization") == "0.92"
    split = rules_for("vllm", era=Releases.parse(["0.19.0..0.21.0"]))
    assert split.get("graph_estimate") is None
    assert split.default("gpu_memory_utilization") is None


def test_a_wording_in_the_log_comes_before_the_release() -> None:
    rules = rules_for("vllm", Version.parse("0.19.0"), seen=frozenset({"graph_profiling_on"}))
    assert rules.get("graph_estimate") == "applied"


@pytest.mark.parametrize(
    ("version", "default"), [("0.0.1", "0.9"), ("0.19.1", "0.9"), ("0.20.0", "0.92"), ("0.33.0", "0.92")]
)
def test_default_utilization(version: str, default: str) -> None:
    assert rules_for("vllm", Version.parse(version)).default("gpu_memory_utilization") == default


def test_what_would_say_it_depends_on_the_release() -> None:
    old = rules_for("vllm", Version.parse("0.19.0")).ask("terms")
    new = rules_for("vllm", Version.parse("0.27.0")).ask("terms")
    assert old is not None
    assert "DEBUG" in old["command"]
    assert new is not None
    assert "DEBUG" not in new["command"]


def test_an_unknown_engine_has_no_rules() -> None:
    assert rules_for("other").get("graph_estimate") is None
