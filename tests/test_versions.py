from __future__ import annotations

import itertools

import pytest

from logparse.errors import PatternError
from logparse.versions import Releases, Version

ORDER = [
    "0.4.6", "0.4.6.post1", "0.5.3rc0", "0.5.3rc2", "0.5.3", "0.5.3.post1", "0.8.5.dev3+g1a2b3c", "0.8.5rc1.dev2+gab",
    "0.8.5rc1", "0.8.5", "0.8.5.post1", "0.10.0", "0.10.1", "0.10.1.1", "0.27.0",
]  # fmt: skip


def _version(text: str) -> Version:
    found = Version.parse(text)
    assert found is not None
    return found


def test_order() -> None:
    for earlier, later in itertools.pairwise(_version(text) for text in ORDER):
        assert earlier < later


def test_the_local_part_does_not_matter() -> None:
    assert _version("0.11.0+cu128") == _version("v0.11.0")
    assert hash(_version("0.11.0+cu128")) == hash(_version("0.11.0"))


@pytest.mark.parametrize("text", ["", "main", "0", "a.b", "0.1.2.3.4", "0.9.1 x", "9" * 5000, "1." + "9" * 5000])
def test_no_versions(text: str) -> None:
    assert Version.parse(text) is None


def test_ranges() -> None:
    ranges = Releases.parse(["..0.7.3", "0.14.0..", "0.9.1"])
    for text, inside in (("0.4.0", True), ("0.7.3", True), ("0.8.0", False), ("0.9.1", True), ("0.33.0", True)):
        assert (_version(text) in ranges) is inside
    assert str(ranges) == "..0.7.3, 0.14.0.., 0.9.1"


def test_intersections() -> None:
    one, two = Releases.parse(["0.4.0..0.9.0"]), Releases.parse(["0.8.0.."])
    assert str(one.intersect(two)) == "0.8.0..0.9.0"
    assert one.meets(two)
    assert not one.meets(Releases.parse(["0.10.0.."]))


@pytest.mark.parametrize("text", ["x..0.1.0", "0.9.0..0.8.0", "0.9.x"])
def test_bad_ranges(text: str) -> None:
    with pytest.raises(PatternError):
        Releases.parse([text])


@pytest.mark.parametrize(
    ("text", "released"),
    [
        ("0.19.0", True),
        ("0.5.3.post1", True),
        ("0.23.1rc1", False),
        ("0.19.2rc1.dev134+gfe9c3d6c5", False),
        ("0.1.dev9", False),
    ],
)
def test_candidates_and_nightlies_are_no_releases(text: str, *, released: bool) -> None:
    assert _version(text).is_release is released
