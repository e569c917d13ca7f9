"""What a message says as text, how turns and messages are shown, and the characters that steer a terminal."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Message, Store
from headish.values.blocks import Text, Thinking, ToolUse
from headish.values.checks.controls import escape_controls, escape_json_controls

BLOCKS = [
    {"type": "thinking", "text": "SECRET"},
    {"type": "text", "text": "Let me "},
    {"type": "text", "text": "look."},
    {"type": "tool_use", "name": "SECRET", "input": {}},
]
NEEDED = "می\u200cخواهم क्\u200dष 👨\u200d👩\u200d👧 soft\u00adhyphen \u200e\u00a0\u2028"


@pytest.fixture
def memory() -> Store:
    return Store.open(":memory:")


class TestText:
    def test_it_is_the_text_blocks_joined_and_never_the_reasoning(self, memory: Store) -> None:
        memory.add_turn(BLOCKS, role="assistant", bookmark="main")
        assert memory.text("main") == "Let me look."
        assert [message.text for message in memory.resolve("main").messages] == ["Let me look."]
        assert [record.text for record in memory.thread("main")] == ["Let me look."]
        assert [turn.text for turn in memory.tree("main")] == ["Let me look."]

    def test_of_what_says_nothing_it_is_empty(self) -> None:
        assert Message(role="assistant", content=(Thinking("hm"), ToolUse("f"))).text == ""


class TestReprs:
    def test_a_turn_says_who_when_and_where(self, memory: Store) -> None:
        turn = memory.add_turn("q", bookmark="main")
        assert repr(turn).startswith(f"<Turn {turn.id} user, {turn.time.astimezone():%Y-%m-%d %H:%M}")
        assert repr(turn).endswith(", on main>")
        half = {"model": "small", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]}
        assert repr(memory.reply("main", "openai", [half])).endswith(", of small, incomplete, on main>")

    def test_a_message_shows_how_it_begins_and_what_else_is_in_it(self) -> None:
        said = Message(role="user", content=(Text("One\ntwo " + "x" * 99), ToolUse("f", raw="y" * 1000)))
        assert repr(said) == f"<Message user 'One two {'x' * 52}…' + tool_use>"
        assert repr(Message(role=None, content=())) == "<Message sequence ''>"


class TestControls:
    def test_what_steers_a_terminal_is_written_out(self) -> None:
        assert escape_controls("a\x1b[1m\x07\x9b\x7f\rb\r\nc\td\u202e\u2066") == (
            "a\\x1b[1m\\x07\\x9b\\x7f\\rb\r\nc\td\\u202e\\u2066"
        )

    def test_what_scripts_need_stays(self) -> None:
        assert escape_controls(NEEDED) == NEEDED

    @given(st.text())
    def test_no_control_is_left(self, text: str) -> None:
        kept = escape_controls(text).replace("\r\n", "\n")
        assert not [each for each in kept if each not in "\n\t" and unicodedata.category(each) in ("Cc", "Cs")]

    @given(st.dictionaries(st.text(), st.text()))
    def test_json_says_the_same_afterwards(self, value: dict[str, str]) -> None:
        escaped = escape_json_controls(json.dumps(value, ensure_ascii=False))
        assert json.loads(escaped) == value
        assert not [each for each in escaped if unicodedata.category(each) == "Cc" or each in "\u202e\u2066"]
