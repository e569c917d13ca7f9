"""Numbers of JSON content keep their digits; reading gives int or float."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from headish import Store
from headish.content.drafts import encode_content, make_draft
from headish.content.encoding import decode_payload, encode_payload, read_content
from headish.errors import InvalidContent
from headish.values.blocks import Other, ToolUse
from support.counting import calls

SPELLINGS: list[tuple[str, Any]] = [
    ("-0", 0),
    ("-0.0", -0.0),
    ("0.10", 0.1),
    ("1.0", 1.0),
    ("1", 1),
    ("1E5", 100000.0),
    ("1e-07", 1e-7),
    ("0.1000000000000000055511151231257827", 0.1),
    ("123456789.123456789123456789", 123456789.12345679),
    ("12345678901234567890123456789012345678", 12345678901234567890123456789012345678),
]
NOWHERE = ["1e400", "-1E+999", "9" * 5000]


@pytest.mark.parametrize(("text", "value"), SPELLINGS)
class TestEachSpelling:
    def test_is_kept_in_the_arguments_of_a_call(self, text: str, value: Any) -> None:
        with Store.open(":memory:") as store:
            call = f'[{{"type": "tool_use", "name": "f", "id": "1", "input": {{"b": {text}, "a": [{text}]}}}}]'
            turn = store.add_turn(call, json=True, role="assistant")
            [block] = store.blocks(turn.id)
            assert isinstance(block, ToolUse)
            assert block.input == {"b": value, "a": [value]}
            assert type(block.input["b"]) is type(value)
            assert f'"b":{text},"a":[{text}]' in (block.raw or store.payload(turn.id).decode())

    def test_is_kept_in_a_block_of_any_kind(self, text: str, value: Any) -> None:
        payload = encode_content(f'{{"type": "odd", "data": [{text}], "more": {text}}}', json=True)
        assert payload.decode() == f'[{{"type":"odd","data":[{text}],"more":{text}}}]'
        assert decode_payload(payload) == (Other("odd", {"type": "odd", "data": [value], "more": value}),)

    def test_is_kept_in_a_call_inside_a_result(self, text: str, value: Any) -> None:
        inner = f'{{"type": "tool_use", "name": "f", "input": {text}}}'
        payload = encode_content(f'[{{"type": "tool_result", "content": [{inner}], "extra": {text}}}]', json=True)
        [block] = decode_payload(payload)
        assert block.content[0].input == value  # type: ignore[union-attr]
        assert payload.decode().count(text) >= 2


@pytest.mark.parametrize("text", NOWHERE)
class TestWhatNoNumberHolds:
    def test_is_raw_in_the_arguments_of_a_call(self, text: str) -> None:
        with Store.open(":memory:") as store:
            turn = store.add_turn(f'[{{"type":"tool_use","name":"f","input":{{"a":{text}}}}}]', json=True)
            assert store.blocks(turn.id) == (ToolUse("f", input=UNSET, raw=f'{{"a":{text}}}'),)

    def test_is_refused_elsewhere_and_nothing_is_stored(self, text: str) -> None:
        with Store.open(":memory:") as store:
            with pytest.raises(InvalidContent, match="no number that can be read holds"):
                store.add_turn(f'[{{"type":"odd","data":{text}}}]', json=True)
            assert store.stats().turns == 0


@pytest.mark.parametrize(
    "content",
    [
        '[{"type":"text","text":1.10}]',
        '[{"type":-0}]',
        "-0",
        "[1E5]",
        '{"type":"tool_use","name":1.10,"input":1}',
    ],
)
def test_a_number_where_a_text_belongs_is_refused(content: str) -> None:
    with pytest.raises(InvalidContent):
        encode_content(content, json=True)


def test_a_text_that_looks_like_a_mark_is_a_text() -> None:
    content = '[{"type":"text","text":"number 0"},{"type":"odd","n":-0}]'
    assert encode_content(content, json=True).decode() == content


@given(st.recursive(st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists))
def test_numbers_that_are_spelled_as_headish_does_are_stored_as_ever(value: Any) -> None:
    blocks = read_content([{"type": "tool_use", "name": "f", "input": value}, {"type": "odd", "data": value}])
    payload = encode_payload(blocks)
    assert encode_content(payload.decode(), json=True) == payload
    assert decode_payload(payload) == blocks


def test_a_payload_whose_number_nothing_holds_is_damaged() -> None:
    with pytest.raises(InvalidContent, match="does not decode"):
        decode_payload(b'[{"type":"odd","data":1e400}]')


def test_a_long_list_of_integers_takes_no_step_of_ours_for_each() -> None:
    text = f'[{{"type":"tool_use","name":"f","input":{{"n":[{",".join(map(str, range(-9_999, 10_000)))}]}}}}]'
    encode_content(text, json=True)
    assert calls(lambda: make_draft(text, {"json": True, "role": "assistant"}, 1 << 30)) < 2_000


@pytest.mark.parametrize("odd", ["-0", "9" * 5000, "1.10"])
def test_one_odd_number_among_integers_keeps_its_digits(odd: str) -> None:
    text = f'[{{"type":"tool_use","name":"f","input":{{"n":[1,-2,{odd},-03e1]}}}}]'.replace("-03e1", "-3e1")
    [block] = decode_payload(encode_content(text, json=True))
    assert isinstance(block, ToolUse)
    assert block.raw == f'{{"n":[1,-2,{odd},-3e1]}}'
