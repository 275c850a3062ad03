from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logparse.settings import is_none, is_open, parse_dump


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{'a': 1, 'b': 'x'}", {"a": "1", "b": "x"}),
        ("ServerArgs(a=1, b='x, y', c={'q': [1, 2]})", {"a": "1", "b": "x, y", "c": "{'q': [1, 2]}"}),
        ("Namespace(a=None, f=<function f at 0x7f>)", {"a": "None", "f": "<function f at 0x7f>"}),
        ("a=1, b='x', c=Cfg(d=1, e=2)", {"a": "1", "b": "x", "c": "Cfg(d=1, e=2)"}),
        ("model='m', use_cached_outputs=True, ", {"model": "m", "use_cached_outputs": "True"}),
        ("{'t': '{% if x %}, }', 'n': 3} and more", {"t": "{% if x %}, }", "n": "3"}),
        (r"{'t': 'it\'s', 'n': 3}", {"t": r"it\'s", "n": "3"}),
        ("", {}),
        ("nothing here", {}),
    ],
)
def test_dumps(text: str, found: dict[str, str]) -> None:
    assert parse_dump(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "ServerArgs(model_path='m', max_model_len=327",
        "{'model_path': 'm', 'max_model_len': 327",
        "model_path='m', name='half a na",
        "model_path='m', config=Config(a=1, b=",
        "model_path='m', enforce_eager=Fals",
    ],
)
def test_what_is_cut_short_is_left_out(text: str) -> None:
    assert parse_dump(text) == {"model_path": "m"}
    assert is_open(text) == ("Fals" not in text)


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    parse_dump(text)
    is_open(text)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), st.integers() | st.booleans() | st.none()))
def test_a_dump_is_read_back(values: dict[str, object]) -> None:
    assert parse_dump(repr(values)) == {name: str(value) for name, value in values.items()}


def test_none() -> None:
    assert is_none(None)
    assert is_none("None")
    assert not is_none("0")
