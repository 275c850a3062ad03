"""A log without a banner still tells its release by the places that its messages come from."""

from __future__ import annotations

import pytest

import logparse
from logparse.linenos import releases_at
from logparse.versions import Version
from tests.logs import vllm


def _version(text: str) -> Version:
    found = Version.parse(text)
    assert found is not None
    return found


# Where vLLM 0.27.0 logs the end of loading, the KV cache that it found and its size.
PLACES = [("gpu_model_runner.py", 5406), ("gpu_worker.py", 564), ("kv_cache_utils.py", 2235), ("interface.py", 912)]


def test_places_agree_on_their_release() -> None:
    found = releases_at("vllm", PLACES)
    assert found is not None
    assert _version("0.27.0") in found
    assert _version("0.25.0") not in found
    assert _version("0.29.0") not in found


def test_folders_before_a_file_do_not_matter() -> None:
    assert releases_at("vllm", [(f"v1/worker/{file}", line) for file, line in PLACES]) == releases_at("vllm", PLACES)


def test_one_place_or_unknown_places_say_nothing() -> None:
    assert releases_at("vllm", PLACES[:1]) is None
    assert releases_at("vllm", [("mine.py", 1), ("yours.py", 2)]) is None
    assert releases_at("sglang", PLACES) is None


def test_a_paste_without_banner_is_placed() -> None:
    text = "\n".join(
        f"(EngineCore pid=2) INFO 01-01 00:00:00 [{file}:{line}] {message}"
        for (file, line), message in zip(
            PLACES,
            (
                "Model loading took 8.61 GiB memory and 1.703832 seconds",
                "Available KV cache memory: 8.88 GiB",
                "GPU KV cache size: 273,563 tokens",
                "Setting attention block size to 528 tokens to ensure that attention page size is >= mamba page size.",
            ),
            strict=True,
        )
    )
    run = logparse.parse_text(text).parsed[0]
    assert run.version is None
    assert run.era is not None
    assert _version("0.27.0") in run.era
    assert run.era_source == "places"
    assert "inferred from the line numbers" in logparse.reconcile(logparse.parse_text(text)).to_text()


@pytest.mark.parametrize("build", ["0.1.dev18496+gd4e0675a7", "0.19.2rc1.dev134+gfe9c3d6c5"])
def test_a_development_build_is_placed_between_releases_and_it_says_so(build: str) -> None:
    said = ("Available KV cache memory: 8.0 GiB", "Model loading took 5.0 GiB memory and 1.500000 seconds")
    report = logparse.reconcile(logparse.parse_text(vllm(*said, release=build)))
    head = report.to_text().splitlines()[0]
    assert build in head
    assert "inferred from the wording" in head
    assert report.runs[0].fact("version") == build
    released = logparse.reconcile(logparse.parse_text(vllm(*said, release="0.19.0"))).to_text().splitlines()[0]
    assert "inferred" not in released
