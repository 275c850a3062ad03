from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from logparse import unwrap
from logparse.unwrap import Passage, RawLine
from tests.wrap import hard

if TYPE_CHECKING:
    from logparse.patterns import PatternSet

MESSAGE = "Model loading took 5.0 GiB memory and 4.512331 seconds"
VLLM = "(Worker_TP1 pid=77) INFO 11-20 10:11:12 [gpu_model_runner.py:5120] "
SGLANG = "[2025-02-04 05:29:17 DP0 TP1 EP1] "


def _locate(text: str, known: PatternSet, engine: str = "vllm", anchor: str = "Model loading") -> unwrap.Line | None:
    return unwrap.locate(Passage(text, (0,), (7,)), text.index(anchor), len(text), engine, known, anywhere=False)


class TestDecode:
    def test_plain(self) -> None:
        assert unwrap.decode("plain [12] text") == ["plain [12] text"]

    @pytest.mark.parametrize("escape", ["\x1b", r"\x1b", r"\u001b", r"\033", r"\e", "␛", "^["])
    def test_colours(self, escape: str) -> None:
        assert unwrap.decode(f"{escape}[1;36m(EngineCore pid=1){escape}[0;0m INFO") == ["(EngineCore pid=1) INFO"]

    def test_colours_without_their_escape(self) -> None:
        assert unwrap.decode("[36mINFO[0m ready") == ["INFO ready"]

    def test_links_and_titles_of_terminals(self) -> None:
        assert unwrap.decode("\x1b]0;title\x07ready") == ["ready"]

    def test_json(self) -> None:
        record = json.dumps({"log": 'a "b"\tc\nd█\n', "stream": "stdout"}, ensure_ascii=True)
        assert unwrap.decode(record, ["a "])[:3] == ['{"log": "', 'a "b"\tc', "d█"]

    def test_json_without_escapes(self) -> None:
        assert unwrap.decode('{"message":"took 1","x":2}', ["took"]) == ['{"message":"', "took 1", ',"x":2}']

    def test_json_in_json(self) -> None:
        inner = json.dumps({"message": "took 1\n"})
        assert "took 1" in unwrap.decode(json.dumps({"log": inner}), ["took"])

    def test_several_strings(self) -> None:
        assert {"took 1", "took 2"} < set(unwrap.decode('["took 1\\n", "took 2\\n"]', ["took"]))

    def test_apostrophes_are_no_quotes(self) -> None:
        assert unwrap.decode("it's what the models's load took 1", ["took"]) == ["it's what the models's load took 1"]

    def test_backticks(self) -> None:
        assert unwrap.decode("- `took 1 of `x``", ["took"])[1] == "took 1 of `x`"
        assert unwrap.decode("took 1 of `x`", ["took"]) == ["took 1 of `x`"]

    def test_escapes_of_the_message_itself_stay(self) -> None:
        line = r"""args: {'chat_template': "{{ x }}\nuser: \"y\"", 'n': 3}"""
        assert unwrap.decode(line, ["args: "]) == [line]
        assert line in unwrap.decode(json.dumps({"log": line + "\n"}), ["args: "])

    def test_html(self) -> None:
        assert unwrap.decode('<span class="x">a &lt;b&gt; &amp; c</span><br>') == ["a <b> & c"]

    def test_carriage_returns(self) -> None:
        assert unwrap.decode("a\rb\r") == ["a", "b"]

    def test_a_progress_bar_keeps_its_last_state(self) -> None:
        bar = "\r".join(f"Loading: {n}% Completed | {n}/100" for n in (0, 50, 100))
        assert unwrap.decode(f"first\r{bar}\rlast") == ["first", "Loading: 100% Completed | 100/100", "last"]

    def test_invisible_characters(self) -> None:
        assert unwrap.decode("a\x00b\u200bc\ufeffd\u00a0e") == ["abcd e"]


class TestLocate:
    def test_vllm_prefix(self, known: PatternSet) -> None:
        line = _locate(VLLM + MESSAGE, known)
        assert line is not None
        assert (line.level, line.time, line.process, line.pid) == ("INFO", "11-20 10:11:12", "Worker_TP1", 77)
        assert (line.rank, line.file, line.lineno, line.number) == ("TP1", "gpu_model_runner.py", 5120, 7)
        assert line.text == MESSAGE

    def test_sglang_prefix(self, known: PatternSet) -> None:
        line = _locate(SGLANG + MESSAGE, known, "sglang")
        assert line is not None
        assert (line.time, line.rank) == ("2025-02-04 05:29:17", "DP0_TP1")

    def test_ray_rank(self, known: PatternSet) -> None:
        line = _locate(f"(RayWorkerWrapper pid=9, ip=10.0.0.2) {VLLM}{MESSAGE}", known)
        assert line is not None
        assert (line.process, line.rank) == ("Worker_TP1", "TP1")

    def test_exception(self, known: PatternSet) -> None:
        line = _locate(f"{VLLM}torch.OutOfMemoryError: {MESSAGE}", known)
        assert line is not None
        assert line.level == "INFO"

    @pytest.mark.parametrize("left", ["", "  ", "> ", "| ", "- `", "12: ", "[x] "])
    def test_where_a_message_can_begin(self, known: PatternSet, left: str) -> None:
        assert _locate(left + MESSAGE, known) is not None

    @pytest.mark.parametrize("left", ["I saw ", "the figure, ", "5% "])
    def test_where_none_can_begin(self, known: PatternSet, left: str) -> None:
        assert _locate(left + MESSAGE, known) is None

    @pytest.mark.parametrize(
        ("left", "stream"),
        [
            ("vllm-1  | ", "vllm-1"),
            ("[pod/llm-0/server] ", "pod/llm-0/server"),
            ("Nov 20 10:11:12 node1 vllm[1234]: ", "vllm"),
            ("2026-11-20T10:11:12.1Z stdout F sglang-2  | ", "sglang-2"),
            ('vllm-1  | {"log":"', "vllm-1"),
            ('{"log":"vllm-1  | ', "vllm-1"),
            ("", None),
        ],
    )
    def test_streams(self, known: PatternSet, left: str, stream: str | None) -> None:
        passage = unwrap.passages(RawLine(1, left + VLLM + MESSAGE), known)[-1]
        assert passage.text == VLLM + MESSAGE
        assert passage.stream == stream

    def test_absurd_numbers(self, known: PatternSet) -> None:
        line = _locate(VLLM.replace("77", "7" * 200) + MESSAGE, known)
        assert line is not None
        assert line.pid is None


class TestJoined:
    def test_at_spaces(self, known: PatternSet) -> None:
        passage = unwrap.joined([RawLine(3, "> took 5.0 "), RawLine(4, "> GiB")], " ", known)
        assert passage.text == "took 5.0 GiB"
        assert [passage.number_at(passage.text.index(word)) for word in ("took", "GiB")] == [3, 4]

    def test_anywhere(self, known: PatternSet) -> None:
        assert unwrap.joined([RawLine(1, "took 5."), RawLine(2, "0 GiB")], "", known).text == "took 5.0 GiB"

    def test_a_short_line_of_a_terminal_lost_its_space(self, known: PatternSet) -> None:
        lines = [RawLine(1, "took 5.0"), RawLine(2, "GiB memory"), RawLine(3, "and")]
        assert unwrap.joined(lines, "", known, width=10).text == "took 5.0 GiB memoryand"

    def test_a_hash_is_no_mark(self) -> None:
        assert unwrap.strip_continuation("# CPU blocks: 5") == "# CPU blocks: 5"
        assert unwrap.strip_continuation("> > * more") == "more"


class TestWidth:
    def test_of_a_wrapped_log(self, known: PatternSet) -> None:
        assert unwrap.wrap_width("\n".join(hard([VLLM + "x" * 100] * 4, 80)), known) == 80

    def test_equally_long_lines_are_not_wrapped(self, known: PatternSet) -> None:
        assert unwrap.wrap_width(f"{VLLM}{MESSAGE}\n" * 8, known) is None

    def test_of_nothing(self, known: PatternSet) -> None:
        assert unwrap.wrap_width("", known) is None


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (VLLM + "x", True),
        (SGLANG + "x", True),
        (f"vllm-1  | {VLLM}x", True),
        ("12", False),
        ("memory and 4.5 seconds", False),
    ],
)
def test_what_begins_a_message(known: PatternSet, text: str, begins: bool) -> None:
    assert unwrap.begins_message(text, known) is begins
