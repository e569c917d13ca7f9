"""A block is read by a typed reader where it is plain, by a careful one elsewhere: both say the same of it."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import pytest

from headish.content import encoding, strictjson
from headish.content.drafts import make_draft
from headish.content.encoding import (
    decode_payload,
    decode_payloads,
    encode_payload,
    read_block,
    read_call,
    read_content,
)
from headish.errors import InvalidContent, TooDeep
from headish.values.blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.limits import PAYLOAD_LIMIT_BYTES

TEXT = {"type": "text", "text": "a"}
CALL = {"type": "tool_use", "name": "add", "id": "c", "input": {"a": [1, {"b": None}]}}
BLOCKS: list[dict[str, Any]] = [
    TEXT,
    {**TEXT, "literal": True, "opaque": {"x": {"y": 1}}},
    {**TEXT, "extra": {}},
    {**TEXT, "extra": {"a": 1}},
    {**TEXT, "unknown": [1]},
    {"text": "a", "type": "text"},
    {"type": "thinking", "text": "hm", "signature": "s"},
    {"type": "thinking", "thinking": "hm"},
    CALL,
    {**CALL, "input": None},
    {**CALL, "raw": '{"a": 1}'},
    {**CALL, "raw": "no JSON"},
    {**CALL, "raw": None},
    {"type": "tool_use", "name": "add", "raw": "{}"},
    {"type": "tool_use", "name": "add", "invalid_json": "{"},
    {"type": "tool_result", "tool_use_id": "c", "content": [TEXT, TEXT], "is_error": True},
    {"type": "tool_result", "tool_use_id": "c", "content": "a"},
    {"type": "tool_result", "content": ["a", TEXT]},
    {"type": "tool_result", "content": [{**TEXT, "x": 1}]},
    {"type": "tool_result", "content": [{"type": "tool_use", "name": "n", "raw": '{"a": 1}'}]},
    {"type": "tool_result"},
    {"type": "mark", "token": "t"},
    {"type": "provider", "provider": "p", "data": [1]},
    {"type": "sound", "data": 1},
]
BAD: list[dict[str, Any]] = [
    {"type": "text"},
    {**TEXT, "text": 1},
    {**TEXT, "literal": None},
    {"type": "thinking"},
    {"type": "tool_use", "name": "add"},
    {"type": "tool_use", "input": {}},
    {"type": "tool_result", "content": [{"type": "text"}]},
    {"type": "tool_result", "content": 1},
    {"type": ["text"]},
]


@pytest.mark.parametrize("given", BLOCKS, ids=str)
def test_both_readers_read_the_same(given: dict[str, Any]) -> None:
    block = read_block(given)
    assert block == encoding._read_mapping(strictjson.plain(given), "$")
    assert decode_payload(encode_payload((block,))) == (block,)


@pytest.mark.parametrize("given", BAD, ids=str)
def test_both_readers_refuse_the_same(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidContent) as careful:
        encoding._read_mapping(strictjson.plain(given), "$")
    with pytest.raises(InvalidContent) as any_way:
        read_block(given)
    assert str(any_way.value) == str(careful.value)


@pytest.mark.parametrize("arguments", ["{}", '{"a": 1}', '{"a":1}', '{"a":1,"a":2}', '"\\ud800"', "no", "", "[" * 300])
def test_a_call_is_read_from_its_arguments_as_from_a_block(arguments: str) -> None:
    block = {"type": "tool_use", "name": "add", "id": "c", "raw": arguments}
    assert read_call("add", "c", arguments) == read_block(block)


def test_blocks_that_a_reader_made_become_the_same_payload_at_a_glance_or_are_looked_at() -> None:
    quick = []
    for given in BLOCKS:
        block = read_block(given)
        assert encoding.encode_read((block,)) in (None, encode_payload((block,)))
        quick.append(encoding.encode_read((block,)) is not None)
    assert sum(quick) == 9
    assert encoding.encode_read((read_block(TEXT), read_block(CALL))) is None


@pytest.mark.parametrize(
    "block",
    [
        Text(1), Text("\ud800"), Thinking("a", signature=b"a"), ToolUse("a"), ToolUse("a", input={"b": float("nan")}),  # type: ignore[arg-type]
        ToolUse("a", input={1: 2}), ToolUse("a", input={}, raw="{}"), ToolResult("a", content=(Text(1),)),  # type: ignore[arg-type]
        ToolResult("a", content=[Text("a")]), Text("a", opaque={"b": float("nan")}),  # type: ignore[arg-type]
    ],
    ids=ascii,
)  # fmt: skip
def test_a_block_that_is_not_what_its_kind_says_is_looked_at(block: ContentBlock) -> None:
    assert encoding.encode_read((block,)) is None


def test_a_list_that_a_program_gives_becomes_the_same_payload_at_a_glance_or_is_looked_at() -> None:
    quick = []
    for given in BLOCKS:
        known = encoding.encode_known([given, TEXT])
        assert known in (None, encode_payload(read_content([given, TEXT])))
        quick.append(known is not None)
    assert sum(quick) == 5
    assert encoding.encode_known([]) == encode_payload(())


class Spelled(StrEnum):
    """A text to Python, and no JSON."""

    A = "a"


class Texts(str):
    """A text of another type."""


@pytest.mark.parametrize(
    "given",
    [
        *BAD, "a", None, [TEXT], Text("a"), MappingProxyType(TEXT), {**TEXT, "cache_control": {"type": "ephemeral"}},
        {**TEXT, "text": Spelled.A}, {**TEXT, "text": Texts("a")}, {**TEXT, "text": "\ud800"},
        {Texts("type"): "text", "text": "a"}, {**CALL, "name": Spelled.A, "input": {}},
        {**CALL, "input": {Spelled.A: 1}}, {**CALL, "input": {1: 1}}, {**CALL, "input": {"\ud800": 1}},
        {**CALL, "input": {"a": float("nan")}}, {**CALL, "input": {"a": date(2000, 1, 1)}},
        {**CALL, "input": {"a": b"b"}}, {**CALL, "input": {"a": Texts("b")}},
        {"type": "tool_result", "content": [{**TEXT, "text": Spelled.A}]},
        {"type": "tool_result", "tool_use_id": Spelled.A}, {**TEXT, "opaque": "\ud800"},
        {"type": "tool_result", "content": [1]}, {"type": "tool_result", "content": [{**TEXT, "content": [TEXT]}]},
    ],
    ids=ascii,
)  # fmt: skip
def test_what_a_careful_reader_must_see_is_not_taken_at_a_glance(given: object) -> None:
    assert encoding.encode_known([TEXT, given]) is None
    assert encoding.encode_known([given]) is None


@pytest.mark.parametrize("given", [Spelled.A, Texts("a")])
def test_a_text_of_another_type_is_refused_by_name(given: str) -> None:
    with pytest.raises(InvalidContent, match=f"a {type(given).__name__} is not a JSON value"):
        make_draft(given, {"role": "user"}, PAYLOAD_LIMIT_BYTES)


def test_results_within_results_are_too_deep_and_not_the_end_of_the_stack() -> None:
    blocks: list[Any] = [TEXT]
    for _ in range(5_000):
        blocks = [{"type": "tool_result", "tool_use_id": "c", "content": blocks}]
    with pytest.raises(TooDeep):
        make_draft(blocks, {"role": "user"}, PAYLOAD_LIMIT_BYTES)


def test_many_payloads_at_once_are_each_what_they_are_alone() -> None:
    whole = [encode_payload((Text(each),)) for each in "ab"]
    assert decode_payloads(whole) == [decode_payload(each) for each in whole]
    assert decode_payloads([]) == []
    call = b'[{"type":"tool_use","name":"f","input":{"a":[[1]'
    odd = {
        "two halves": [b'[{"type":"text","text":"a"}', b'{"type":"text","text":"b"}],[]'],
        "in a call": [call, b'[2]]}}],[{"type":"text","text":"b"}]'],
        "two in one": [whole[0] + b"," + whole[1], b""],
        "a number": [b"1", whole[0]],
        "too many": [whole[0], whole[0] + b"," + whole[1]],
    }
    assert {name: decode_payloads(each) for name, each in odd.items()} == dict.fromkeys(odd)


@pytest.mark.parametrize("rest", [b'"\xe5"', b"[" * 100_000 + b"]" * 100_000, b'"\\ud800"', b"{"])
def test_what_cannot_be_read_behind_an_unknown_block_is_named(rest: bytes) -> None:
    """The typed decoder stops at the kind, and sees nothing of it."""
    for block in (b'[{"type":"of tomorrow","a":%b}]', b'[{"type":"text","text":1,"a":%b}]'):
        with pytest.raises(InvalidContent, match="it does not decode"):
            decode_payload(block % rest)
