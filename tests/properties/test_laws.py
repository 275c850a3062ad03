"""Laws of reading: what does not matter changes nothing."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logparse import log, match, patterns, sources
from logparse.errors import LogparseError
from logparse.quantities import LOAD_COLUMNS
from tests.readings import FOLDERS, IDS, rows, text, unordered

if TYPE_CHECKING:
    import random
    from pathlib import Path

PLACES = ("line", "elapsed", "run")
STARTS = {"start", "server_start"}


def _events(folder: Path) -> list[match.Event]:
    return list(match.events(sources.from_text(text(folder)), patterns.default()))


def _starts(folder: Path) -> bool:
    """True where the first that is recognised is the start of a server."""
    return next(iter(_events(folder))).pattern.marks in STARTS


STARTING = [folder for folder in FOLDERS if _starts(folder)]
pairs = st.tuples(st.sampled_from(FOLDERS), st.sampled_from(STARTING))


def test_most_fixtures_begin_with_a_start() -> None:
    assert len(STARTING) >= 10


@settings(max_examples=25)
@given(pairs)
def test_two_logs_in_one_file_are_the_runs_of_both(pair: tuple[Path, Path]) -> None:
    first, second = text(pair[0]), text(pair[1])
    first += "" if first.endswith("\n") else "\n"
    both = log.parse_text(first + second).parsed
    apart = [*log.parse_text(first).parsed, *log.parse_text(second).parsed]
    assert [(run.engine, run.outcome, len(run.events)) for run in both] == [
        (run.engine, run.outcome, len(run.events)) for run in apart
    ]
    together = rows(first + second, without=PLACES)
    assert together == rows(first, without=PLACES) + rows(second, without=PLACES)


@settings(max_examples=25)
@given(st.sampled_from(FOLDERS), st.randoms(use_true_random=False))
def test_lines_that_say_nothing_do_not_matter(folder: Path, chance: random.Random) -> None:
    lines = text(folder).split("\n")
    told = {number for event in _events(folder) for number in range(event.line.number, event.until[0] + 1)}
    kept = [line for number, line in enumerate(lines, 1) if number in told or chance.random() < 0.5]
    assert rows("\n".join(kept), without=("line",)) == rows("\n".join(lines), without=("line",))


@settings(max_examples=25)
@given(st.sampled_from(FOLDERS), st.randoms(use_true_random=False))
def test_foreign_lines_do_not_matter(folder: Path, chance: random.Random) -> None:
    foreign = ["...", "2025-01-01 00:00:00,000 - app - INFO - hello", '127.0.0.1 - "GET / HTTP/1.1" 200']
    lines: list[str] = []
    for line in text(folder).split("\n"):
        lines.append(line)
        if line.endswith("\r") or not line:
            continue
        lines += [chance.choice(foreign)] * (chance.random() < 0.3)
    assert rows("\n".join(lines), without=("line",)) == rows(text(folder), without=("line",))


def _by_rank(content: str) -> tuple[list[str], dict[str, list[str]]]:
    """Lines before the first rank speaks, and the lines of each rank."""
    ranks: dict[str, list[str]] = {}
    for line in content.split("\n"):
        tag = next((tag for tag in ("TP0", "TP1", "TP2", "TP3") if tag in line[:60]), "")
        ranks.setdefault(tag, []).append(line)
    return ranks.pop("", []), ranks


@pytest.mark.parametrize("name", ["0.11.0-qwen3-32b-tp2", "0.5.4-qwen3-next-80b-tp4"])
@settings(max_examples=15)
@given(chance=st.randoms(use_true_random=False))
def test_the_order_in_which_ranks_speak_does_not_matter(name: str, chance: random.Random) -> None:
    content = text(next(folder for folder in FOLDERS if folder.name == name))
    first, ranks = _by_rank(content)
    assert len(ranks) >= 2
    mixed = list(first[:3])
    queues = [list(lines) for lines in ranks.values()]
    while queues:
        queue = chance.choice(queues)
        mixed.append(queue.pop(0))
        queues = [q for q in queues if q]
    ordered = first[:3] + [line for lines in ranks.values() for line in lines]
    assert unordered(rows("\n".join(mixed), without=PLACES)) == unordered(rows("\n".join(ordered), without=PLACES))


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_line_ends_do_not_matter(folder: Path) -> None:
    plain = text(folder).replace("\r\n", "\n")
    assert rows(plain.replace("\n", "\r\n")) == rows(plain)


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_every_number_stands_on_its_line(folder: Path) -> None:
    lines = text(folder).split("\n")
    for event in _events(folder):
        for reading in event.readings:
            assert reading.value in lines[reading.line - 1].replace(",", "").replace("_", "")


pieces = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            b"\n", b"\r", b"\r\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b\x08", b"PK\x03\x04",
            b"BZh91AY&SY",
            b"INFO 07-22 10:11:12 llm_engine.py:161] ", b"(EngineCore pid=165) ", b"[2025-02-04 05:29:17 TP0] ",
            b"# GPU blocks: ", b", # CPU blocks: ", b"9" * 60, b"Model loading took ", b" GiB memory and ", b" seconds",
            b"Available KV cache memory: ", b"-", b".", b"e", b"1e999", b"nan", b"inf", b'{"log":"', b'\\n","x":1}',
            b"non-default args: {", b"server_args=ServerArgs(", b"\\u0000", b"\x1b[", b"<span>", b"&lt;", b"`", b"'",
            b'"',
            "█ ▄ é".encode(), b"| ", b"> ", b"max_total_num_tokens=",
        ]
    ),
)  # fmt: skip


@given(st.lists(pieces, max_size=30).map(b"".join))
def test_any_bytes(data: bytes) -> None:
    parsed: Any = None
    said = ""
    try:
        parsed = log.read([sources.Source("x", io.BytesIO(data))])
    except LogparseError as error:
        said = str(error)
    assert (parsed is None) == bool(said)
    assert "\n" not in said
    if parsed:
        assert len(parsed.runs) >= 1
        assert set(parsed.observations) >= set(parsed.load) - set(LOAD_COLUMNS)
