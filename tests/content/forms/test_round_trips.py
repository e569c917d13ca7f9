"""What a client gives comes out again equal, whatever the types of the official SDKs allow, and unknown keys too."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headish.content import strictjson
from headish.content.encoding import decode_payload, encode_payload
from headish.content.forms.layout import find_difference, is_same
from headish.content.forms.parts import FORM, Losses
from headish.content.forms.reading import Read, read_list
from headish.content.forms.table import FORMS
from headish.content.forms.writing import body_of, write_thread
from headish.errors import HeadishError
from headish.values.blocks import ProviderBlock, to_mapping
from headish.values.messages import Attributes, Message
from headish.values.results.threads import TranscriptMessage
from support.later import Later
from support.sdktypes import Maker

chat = Later("openai.types.chat")
responses = Later("openai.types.responses.response_input_item_param")
anthropic = Later("anthropic.types")
beta = Later("anthropic.types.beta")
gemini = Later("google.genai.types")
cohere = Later("cohere")
FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("type", "text", "content", "role", "id", "name", "z")), inner, max_size=3)
    ),
    max_leaves=8,
)


def come_back(entries: Any, name: str) -> tuple[list[Read], Any]:
    """The turns of a list, and what is written of them after they were stored and read."""
    reads = read_list(entries, name)
    thread = [
        TranscriptMessage(
            Message(
                role=read.role,
                content=decode_payload(encode_payload(read.blocks)),
                attributes=Attributes(speaker=read.speaker),
            ),
            strictjson.decode(strictjson.encode({FORM: read.form}), "system"),
        )
        for read in reads
    ]
    written = write_thread(FORMS[name], thread)
    return reads, body_of(FORMS[name], written) if isinstance(entries, dict) else written.entries


def types_of(name: str) -> list[Any]:
    if name == "chat":
        return list(get_args(chat.ChatCompletionMessageParam))
    if name == "responses":
        return list(get_args(responses.ResponseInputItemParam))
    if name == "anthropic":
        return [anthropic.MessageParam, beta.BetaMessageParam]
    if name == "gemini":
        return [gemini.Content]
    return [
        cohere.UserChatMessageV2, cohere.AssistantChatMessageV2, cohere.SystemChatMessageV2, cohere.ToolChatMessageV2,
    ]  # fmt: skip


def make_entry(maker: Maker, name: str) -> dict[str, Any]:
    entry = maker.make(maker.random.choice(types_of(name)))
    if name == "gemini":  # whose types take any text for a role
        entry["role"] = maker.random.choice(["user", "model"])
    return {"role": "user", **entry} if name == "cohere" else entry


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FORMS))
@given(seed=st.integers(0, 10**9))
@FEW
def test_every_type_of_the_official_sdks_comes_back_equal(name: str, seed: int) -> None:
    random = Random(seed)
    maker = Maker(random)
    entries = [make_entry(maker, name) for _ in range(random.randint(1, 3))]
    _, back = come_back(entries, name)
    assert is_same(back, entries), json.dumps({"given": entries, "back": back})


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FORMS))
@given(seed=st.integers(0, 10**9))
@FEW
def test_what_stands_outside_the_digest_holds_no_word(name: str, seed: int) -> None:
    reads, _ = come_back([make_entry(Maker(Random(seed)), name)], name)
    kept = json.dumps([_without_transport(read.form, FORMS[name].transport) for read in reads])
    # An unknown key may be a word too, if nothing stands under it.
    assert re.findall(r'(?<!new_)\bw[0-9]+\b(?!"\s*:)', kept) == []


def _without_transport(value: Any, transport: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without_transport(each, transport) for key, each in value.items() if key not in transport}
    return [_without_transport(each, transport) for each in value] if isinstance(value, list) else value


@given(entry=JSON, name=st.sampled_from(list(FORMS)))
@settings(max_examples=150, deadline=None)
def test_any_json_comes_back_equal_or_is_refused_by_name(entry: Any, name: str) -> None:
    try:
        _, back = come_back([entry], name)
    except HeadishError:
        return
    assert is_same(back, [entry])


@given(written=JSON, given_=JSON, transport=st.sampled_from(((), ("id",))))
@settings(max_examples=150, deadline=None)
def test_a_difference_gives_back_what_was_given(written: Any, given_: Any, transport: tuple[str, ...]) -> None:
    from headish.content.forms.layout import apply

    layout, said = find_difference(written, given_, transport)
    assert is_same(apply(said, apply(layout, written)), given_)


CASES: dict[str, tuple[str, Any]] = {
    "chat: what a tool loop holds": ("chat", [
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "name": "ann", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "high"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
            {"type": "file", "file": {"file_id": "file-1"}},
        ]},
        {"role": "assistant", "content": None, "refusal": None, "annotations": [], "reasoning_content": "A tool.",
         "reasoning_details": [{"type": "reasoning.text", "text": "A tool."}], "tool_calls": [
             {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1}"}, "index": 0},
             {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "ls -l"}},
         ]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a cat"}]},
        {"role": "tool", "tool_call_id": "c2", "name": "run", "content": "total 0"},
        {"role": "assistant", "content": None, "refusal": "I cannot."},
    ]),
    "chat: results that hold more than text, as some servers take them": ("chat", [
        {"role": "user", "content": "What is there?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": [
            {"type": "text", "text": "This:"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a"}, {"type": "odd", "b": 1}]},
    ]),
    "anthropic: thinking, marks, server tools": ("anthropic", {
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [
                {"type": "document", "title": "notes.txt", "citations": {"enabled": True},
                 "source": {"type": "text", "media_type": "text/plain", "data": "Zürich"}},
                {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
                {"type": "image", "source": {"type": "file", "file_id": "f_1"}},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"b": 1, "a": 2}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": False, "content": "no",
                 "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            ]},
            {"role": "assistant", "content": [{"type": "compaction", "content": "All of it."}]},
        ],
    }),
    "responses: reasoning goes with its call": ("responses", [
        {"role": "user", "content": "And now?"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}],
         "encrypted_content": "enc"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}",
         "status": "completed"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "a cat"}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "final_answer",
         "content": [{"type": "output_text", "text": "A cat.", "annotations": []}]},
    ]),
    "gemini: signatures, under Python's names": ("gemini", {
        "systemInstruction": "Be brief.",
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}, {"inline_data": {"mime_type": "image/png", "data": "AAAA"}}]},
            {"role": "model", "parts": [
                {"text": "Hm.", "thought": True},
                {"functionCall": {"name": "look", "args": {"at": 1}, "id": "g1"}, "thoughtSignature": "c2ln"},
            ]},
            {"role": "user", "parts": [{"functionResponse": {"id": "g1", "name": "look", "response": {"cats": [1]}}}]},
            {"role": "model", "parts": [{"executableCode": {"language": "PYTHON", "code": "1"}}]},
        ],
    }),
    "cohere: a plan, a document, citations": ("cohere", [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "tool_plan": "I look.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "document", "document": {"data": {"a": "b"}}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "That."}],
         "citations": [{"start": 0, "end": 4, "text": "That", "sources": []}]},
    ]),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_a_list_comes_back_equal_and_its_form_is_told_by_its_shape(case: str) -> None:
    name, given_ = CASES[case]
    reads, back = come_back(given_, name)
    assert is_same(back, given_)
    told = read_list(given_)
    assert [read.form for read in told] == [read.form for read in reads]


@pytest.mark.parametrize("case", list(CASES))
def test_nothing_of_a_known_shape_needs_a_block_for_what_has_no_place(case: str) -> None:
    reads, _ = come_back(CASES[case][1], CASES[case][0])
    blocks = [block for read in reads for block in read.blocks]
    assert [block for block in blocks if isinstance(block, ProviderBlock) and FORM in block.data] == []


def test_the_mark_of_a_cache_and_the_layout_of_a_text_do_not_change_what_was_said() -> None:
    [plain] = read_list([{"role": "user", "content": "Hi"}], "anthropic")
    marked = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    [read] = read_list([{"role": "user", "content": [marked]}], "anthropic")
    assert read.blocks == plain.blocks
    assert (read.cache, plain.cache) == (True, False)


def test_a_key_that_nobody_knows_is_said() -> None:
    [read] = read_list([{"role": "user", "content": [{"type": "text", "text": "Hi", "mood": "glad"}]}], "anthropic")
    assert [to_mapping(block) for block in read.blocks] == [
        {"type": "text", "text": "Hi", "opaque": {"anthropic": {"mood": "glad"}}}
    ]


def test_a_caller_that_is_the_model_itself_is_none() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    plain, direct = (
        come_back([{"role": "assistant", "content": [{**call, **more}]}], "anthropic")
        for more in ({}, {"caller": {"type": "direct"}})
    )
    assert plain[0][0].blocks == direct[0][0].blocks
    assert direct[1][0]["content"][0]["caller"] == {"type": "direct"}


def test_objects_of_an_sdk_are_read_as_the_json_that_they_send() -> None:
    class Model:
        def model_dump(self, **how: Any) -> dict[str, Any]:
            assert how == {"mode": "json", "by_alias": True, "exclude_unset": True}
            return {"role": "assistant", "content": None, "refusal": "No."}

    [read] = read_list([Model()])
    assert read.blocks[0].text == "No."


def test_a_loss_names_the_word_that_gives_it_up() -> None:
    reads = read_list([{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}])
    losses = Losses("chat", "openai", "0123")
    assert list(losses.own(reads[0].blocks)) == []
    assert [(loss.what, loss.drop, loss.turn) for loss in losses.losses] == [
        ("a block of anthropic", "provider", "0123")
    ]


@pytest.mark.parametrize("call", [{}, {"conction": {}}, {"function": None}, {"function": "f"}, {"custom": "f"}])
def test_a_call_that_is_none_comes_back_equal(call: dict[str, Any]) -> None:
    """Without an id it looks like the older spelling, which has nothing but the function."""
    entries = [{"role": "assistant", "content": None, "tool_calls": [{"type": "function", **call}]}]
    assert come_back(entries, "chat")[1] == entries
