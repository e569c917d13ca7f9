"""Messages of LangChain as blocks and back: one mapping, on plain data, whoever has kept them."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish.content.encoding import decode_payload, encode_payload
from headish.errors import InvalidContent
from headish.transcripts.frameworks.langchain.facts import is_kind
from headish.transcripts.frameworks.langchain.messages import join, split
from headish.values.blocks import Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse, kind_of
from support.langchain.messages import CALL, MESSAGES, PARTS, TEXT, USAGE, USE
from support.langchain.rows import read_rows
from support.loops import failing

SAVED = {name: row for name, row in read_rows("saver").items() if row.beside["langchain"]["type"] != "opaque"}
"""Old rows of the saver, but those that held the serializer's bytes."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
DEEP: list[Any] = []
for _ in range(1_000):
    DEEP = [DEEP]
KEYS = [
    "text", "id", "name", "input", "args", "url", "base64", "data", "source", "source_type", "mime_type", "thinking",
    "signature", "reasoning", "image_url", "file", "content", "summary", "index",
]  # fmt: skip
ODD = st.fixed_dictionaries(
    {"type": st.sampled_from(sorted({part["type"] for part in PARTS.values() if "type" in part}))},
    optional=dict.fromkeys(KEYS, JSON),
)


def through(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message as they are read from what is stored of it."""
    made = split(kind, fields)
    blocks = decode_payload(encode_payload(tuple(made.blocks)))
    return join(blocks, json.loads(msgspec.json.encode(made.beside)))


def without_defaults(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields but those that every message of a class has, as they are where nothing was given."""
    return {name: each for name, each in fields.items() if each is not None and (name, each) != ("status", "success")}


def spelled(value: Any) -> str:
    """A value with the order of its keys, but for that of the fields themselves."""
    return json.dumps(dict(sorted(value.items())))


class TestAMessage:
    def test_comes_back_from_its_blocks_and_what_stands_beside_them(self) -> None:
        def comes_back(name: str) -> None:
            kind, fields = MESSAGES[name]
            assert spelled(without_defaults(through(kind, fields))) == spelled(fields)
            assert is_kind(kind)

        assert failing(MESSAGES, comes_back) == {}

    def test_of_an_older_version_comes_back(self) -> None:
        def comes_back(name: str) -> None:
            again = join(SAVED[name].blocks, SAVED[name].beside["langchain"])
            assert without_defaults(again) == MESSAGES[name][1]

        assert failing(SAVED, comes_back) == {}

    @given(parts=st.lists(ODD | st.text(max_size=3), max_size=3), kind=st.sampled_from(["human", "ai", "tool"]))
    @settings(max_examples=60)
    def test_with_any_parts_comes_back(self, parts: list[Any], kind: str) -> None:
        assert json.dumps(through(kind, {"content": parts})["content"]) == json.dumps(parts)

    @given(fields=st.dictionaries(st.sampled_from(["content", "tool_calls", "name", "status", "usage_metadata"]), JSON))
    @settings(max_examples=60)
    def test_with_any_fields_is_read(self, fields: dict[str, Any]) -> None:
        for kind in ("human", "ai", "tool", "chat"):
            blocks = tuple(split(kind, fields).blocks)
            assert decode_payload(encode_payload(blocks)) == blocks

    @pytest.mark.parametrize(
        "bad",
        [
            "half \ud800",
            [{**TEXT, "id": "half \ud800"}],
            [{**TEXT, "n": float("nan")}],
            [{"type": "image", "url": "u", "n": b""}],
            [{**TEXT, "n": DEEP}],
        ],
        ids=range(5),
    )
    def test_that_no_database_can_hold_is_refused(self, bad: Any) -> None:
        with pytest.raises(InvalidContent):
            split("human", {"content": bad})

    @pytest.mark.parametrize(
        ("blocks", "beside"),
        [
            ((), {"type": "ai", "calls": 1}),
            ((Text("a"),), {"type": "ai", "invalid": ["e"]}),
            ((), {"type": "ai", "list": 1}),
            ((Text("a"),), {"type": "ai", "reasoning": True, "rest": {"additional_kwargs": {}}}),
            ((Thinking("a"),), {"type": "ai"}),
            ((Text("a"),), {"type": "ai", "list": 1, "parts": {"image": [0]}}),
        ],
    )
    def test_whose_blocks_are_others_by_now_is_not_made_up(self, blocks: Any, beside: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"calls|parts|block|text"):
            join(blocks, beside)


READ: dict[str, tuple[type, dict[str, Any]]] = {
    "text": (Text, {"opaque": {}}),
    "text with a cache mark": (Text, {"opaque": {}, "extra": {}}),
    "text with annotations": (Text, {"text": "So."}),
    "text in another order": (Text, {"text": "So."}),
    "text with nothing": (Text, {"opaque": {}}),
    "reasoning": (Thinking, {"text": "Hm.", "provider": "langchain"}),
    "reasoning of Responses": (Thinking, {"text": "Hm.", "provider": "openai_responses"}),
    "reasoning without words": (ProviderBlock, {"provider": "langchain"}),
    "signed thinking": (Thinking, {"text": "Hm.", "signature": "c2ln", "provider": "anthropic"}),
    "unsigned thinking": (Thinking, {"text": "Hm.", "provider": None}),
    "redacted thinking": (ProviderBlock, {"provider": "anthropic"}),
    "file": (Document, {"name": "a.pdf"}),
    "file as it was": (Document, {"name": "a.pdf"}),
    "file of Chat": (Document, {"name": "a.pdf"}),
    "document of Anthropic": (Document, {"name": "A"}),
    "plain text": (Document, {"name": "A"}),
    "tool call": (ToolUse, {"id": "c1", "input": CALL["args"]}),
    "tool call of Anthropic": (ToolUse, {"id": "c1", "input": CALL["args"], "opaque": {}}),
    "tool call that was streamed": (ToolUse, {"id": "c1", "input": CALL["args"]}),
    "tool call of Responses": (ToolUse, {"id": "c1", "input": {"b": 2}}),
    "invalid tool call": (ToolUse, {"id": "c3", "raw": '{"a": '}),
    "server tool of Anthropic": (ProviderBlock, {"provider": "anthropic"}),
    "result of a server tool": (ProviderBlock, {"provider": "anthropic"}),
    "search of Responses": (ProviderBlock, {"provider": "openai_responses"}),
    "result in the words of Anthropic": (ToolResult, {"tool_use_id": "c1", "content": (Text("3"),)}),
    "refusal": (Text, {"text": "No."}),
    **{name: (Document, {}) for name in PARTS if name.startswith(("image", "audio", "video"))},
    **{name: (Document, {}) for name in ("file by its id as it was", "file of words as it was", "plain text as data")},
}  # fmt: skip
"""What each part is as a block; those that are not listed are kept whole, for LangChain alone."""


class TestAPart:
    def test_is_the_block_that_says_the_most_of_it(self) -> None:
        def is_that_block(name: str, role: str) -> None:
            [block] = split(role, {"content": [PARTS[name]]}).blocks
            if isinstance(block, ToolResult) and role == "tool":
                [block] = block.content
            whole = {key: value for key, value in PARTS[name].items() if key != "index"}
            kind, facts = READ.get(name, (ProviderBlock, {"provider": "langchain", "data": whole}))
            assert type(block) is kind
            assert {fact: getattr(block, fact) for fact in facts} == facts

        assert failing(product(PARTS, ("human", "ai", "tool")), is_that_block) == {}

    @pytest.mark.parametrize("name", [name for name in PARTS if name.startswith("image")])
    def test_that_is_a_picture_has_its_bytes_or_where_they_are(self, name: str) -> None:
        [block] = split("human", {"content": [PARTS[name]]}).blocks
        source = msgspec.to_builtins(block.source)
        assert {**source, "type": ""} in (
            {"type": "", "media_type": "image/png", "data": "iVBORw0KGgo="},
            {"type": "", "url": "https://example.org/a.png", "media_type": "image/*"},
            {"type": "", "file_id": "file-1", "media_type": "image/*"},
        )

    def test_that_no_list_holds_is_read_as_well(self) -> None:
        assert [kind_of(each) for each in split("human", {"content": [5, None]}).blocks] == ["provider", "provider"]


class TestAnAnswer:
    def test_says_each_call_once_and_with_its_arguments(self) -> None:
        pieces = {**USE, "input": {}, "partial_json": json.dumps(USE["input"])}
        for content in ("", [TEXT], [USE], [{**USE, "input": {}}], [pieces], [{**USE, "input": ""}]):
            calls = [each for each in split("ai", {"content": content, "tool_calls": [CALL]}).blocks if is_call(each)]
            assert [(call.id, call.input) for call in calls] == [("c1", CALL["args"])]

    def test_has_calls_that_no_parser_took_as_they_were_said(self) -> None:
        made = split(*MESSAGES["ai, an invalid call"])
        assert [(each.id, each.raw) for each in made.blocks if is_call(each)] == [("c2", None), ("c3", '{"a": ')]
        assert made.beside["invalid"] == ["cut off"]

    def test_has_the_reasoning_and_the_refusal_that_a_client_keeps_beside_it(self) -> None:
        assert split(*MESSAGES["ai, reasoning beside"]).blocks[0] == Thinking("Hm.", provider="langchain")
        assert split(*MESSAGES["ai, a refusal beside"]).blocks == [Text("No.")]

    def test_has_the_model_and_the_usage_with_what_came_from_a_cache_apart(self) -> None:
        usage = {"input_tokens": 6, "output_tokens": 3, "cache_read_input_tokens": 4, "reasoning_tokens": 1}
        expected = {"provider": "openai", "model": "gpt-x", "stop": "stop", "usage": usage}
        assert split(*MESSAGES["ai"]).reply == expected
        assert split("human", {"content": "Hi", "usage_metadata": USAGE}).reply == {}


class TestWhoSpeaks:
    @pytest.mark.parametrize(
        ("name", "role", "speaker"),
        [
            ("human", "user", None), ("human, named", "user", "Ada"), ("ai, named", "assistant", "calculator"),
            ("system", "system", None), ("developer", "developer", None), ("tool", "tool", None),
            ("function", "tool", None), ("chat", "user", None), ("chat, the model", "assistant", None),
            ("chat, a tool", "tool", None), ("piece of an ai", "assistant", None),
        ],
    )  # fmt: skip
    def test_is_told_by_type_role_and_name(self, name: str, role: str, speaker: str | None) -> None:
        made = split(*MESSAGES[name])
        assert (made.role, made.speaker) == (role, speaker)

    def test_a_result_names_its_call_and_its_function(self) -> None:
        result = split(*MESSAGES["tool"]).blocks[0]
        assert result == ToolResult("c1", "add", (Text("3"),))
        assert split(*MESSAGES["tool, failed, with an artifact"]).blocks[0] == ToolResult(
            "c1", None, (Text("no"),), True
        )
        assert split(*MESSAGES["function"]).blocks[0] == ToolResult(None, "add", (Text("3"),))

    def test_a_cache_that_is_asked_for_stands_outside_of_what_is_said(self) -> None:
        made = split("human", {"content": [PARTS["text with a cache mark"]]})
        assert (made.blocks, made.cache) == ([Text("So.")], True)


def is_call(block: Any) -> bool:
    return isinstance(block, ToolUse)
