"""API JSON and conversions: what is written comes back the same, or is refused by name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish.errors import ConversionLoss, HeadishError, InvalidInterchange, Unmappable, Unrepresentable
from headish.transcripts import (
    Transcript,
    convert,
    emit,
    from_anthropic,
    from_chat,
    from_interchange,
    from_interchange20,
    from_json,
    from_responses,
    lint,
    parse,
    to_anthropic,
    to_chat,
    to_interchange,
    to_interchange20,
    to_json,
    to_responses,
)  # fmt: skip
from headish.transcripts.conversion import _compared
from support.transcripts.models import FORMATS, models

WAYS = {
    "2.2": [(to_interchange, from_interchange)],
    "2.0": [(to_interchange20, from_interchange20)],
    "rwkv": [(to_chat, from_chat), (to_responses, from_responses), (to_anthropic, from_anthropic)],
}
READERS = [from_interchange, from_interchange20, from_chat, from_responses, from_anthropic]
CALL = {"name": "f", "arguments": "{}"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4)
    | st.sampled_from(("user", "assistant", "tool", "system", "text", "tool_use", "tool_result", "call_1", "{}")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((
        "role", "content", "type", "text", "name", "id", "input", "tool_calls", "function", "arguments", "call_id",
        "tool_call_id", "tool_use_id", "output", "thinking", "stop", "tool_call", "recipient", "function_call", "x",
    )), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


def carried(transcript: Transcript, *, without_status: bool) -> dict[str, Any]:
    """The model, less what a way may change: layout, literal flags, the open message, the spacing of arguments."""
    data = to_json(transcript)
    for key in ("header_raw", "bos", "eos", *(["pending"] if without_status else [])):
        data.pop(key, None)
    for message in data["messages"]:
        message.pop("tight", None)
        text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
        if text and all(block["type"] == "text" for block in message["content"]):
            message["content"] = [{"type": "text", "text": text}]
        for block in message["content"]:
            for key in ("closed", "envelope", *(["status", "is_error", "name"] if without_status else [])):
                block.pop(key, None)
            block.pop("is_error" if block.get("is_error") is False else "", None)
            if "input" in block:
                block.pop("raw")
            if block["type"] == "tool_result":
                block["content"] = "".join(part["text"] for part in block["content"])
    return data


@pytest.mark.parametrize("format", WAYS)
@given(data=st.data())
def test_what_is_mapped_comes_back(format: str, data: st.DataObject) -> None:
    transcript = from_json(data.draw(models(format)))
    try:
        transcript = parse(emit(transcript, format), format, partial=True)
    except Unrepresentable:
        return
    for write, read in WAYS[format]:
        try:
            written = write(transcript)
        except Unmappable as error:
            assert error.code == "E-MAP-UNREPRESENTABLE"
            continue
        loose = format == "rwkv"
        assert carried(read(written), without_status=loose) == carried(transcript, without_status=loose)
        again = write(read(written))
        assert again == written or loose


@pytest.mark.parametrize("read", READERS)
@given(messages=st.lists(JSON, max_size=4), key=st.sampled_from(("messages", "input")))
def test_other_json_raises_only_the_named_error(read: Any, messages: Any, key: str) -> None:
    try:
        read({key: messages})
    except InvalidInterchange as error:
        assert error.code == "E-MAP-INPUT"


@given(source=st.sampled_from(FORMATS), target=st.sampled_from(FORMATS), data=st.data())
@settings(max_examples=5 * settings().max_examples)
def test_a_conversion_comes_back_or_is_refused(source: str, target: str, data: st.DataObject) -> None:
    transcript = from_json(data.draw(models(source)))
    try:
        emit(transcript, source)
        converted = convert(transcript, source, target)
    except ConversionLoss as error:
        assert error.code == "E-CONVERT-LOSS"
        return
    except Unrepresentable:
        return
    if source == target:
        assert converted == transcript
        return
    text = emit(converted, target)
    back = convert(parse(text, target, partial=True), target, source)
    assert _compared(back) == _compared(transcript)


class TestWhatIsRefused:
    @pytest.mark.parametrize("messages", [
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
        [{"role": "user", "content": "hi", "cache_control": {}}],
        [{"role": "assistant", "content": None}],
        [{"role": "assistant", "content": None, "refusal": "no"}],
        [{"role": "tool", "tool_call_id": "x", "content": "y"}],
        [{"role": "robot", "content": "y"}],
    ])  # fmt: skip
    def test_chat_messages_that_no_transcript_carries(self, messages: Any) -> None:
        with pytest.raises(InvalidInterchange):
            from_chat({"messages": messages})

    @pytest.mark.parametrize(("read", "data", "path"), [
        (from_chat, {"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "function": {**CALL, "x": 1}}]}]},
         "$.messages[0].tool_calls[0]"),
        (from_chat, {"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "x": 1, "function": CALL}]}]},
         "$.messages[0].tool_calls[0]"),
        (from_chat, {"messages": [{"role": "assistant", "function_call": {**CALL, "x": 1}}]},
         "$.messages[0].function_call"),
        (from_responses, {"input": [{"type": "function_call", "call_id": "c", "x": 1, **CALL}]}, "$.input[0]"),
        (from_responses, {"input": [{"type": "function_call_output", "call_id": "c", "x": 1, "output": "5"}]},
         "$.input[0]"),
        (from_anthropic, {"messages": [{"role": "assistant", "content": [
            {"type": "tool_use", "id": "c", "name": "f", "input": {}, "x": 1}]}]}, "$.messages[0].content[0]"),
        (from_anthropic, {"messages": [{"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": "5", "x": 1}]}]}, "$.messages[0].content[0]"),
    ])  # fmt: skip
    def test_a_call_or_a_result_with_a_key_that_no_transcript_carries(self, read: Any, data: Any, path: str) -> None:
        with pytest.raises(InvalidInterchange, match=re.escape("the key 'x', which a transcript does not carry")) as no:
            read(data)
        assert path in str(no.value)

    @pytest.mark.parametrize(("read", "data"), [
        (from_chat, {"messages": [{"role": "assistant", "content": "x", "tool_calls": "user"}]}),
        (from_chat, {"messages": [{"role": "assistant", "content": "x", "tool_calls": 5}]}),
        (from_anthropic, {"system": 5, "messages": []}),
        (from_interchange20, {"version": "2.0", "messages": [{"role": "assistant", "content": "x", "tool_calls": 5}]}),
    ])  # fmt: skip
    def test_what_is_no_list_where_one_belongs(self, read: Any, data: Any) -> None:
        with pytest.raises(InvalidInterchange):
            read(data)

    def test_a_system_message_behind_the_first_has_no_place_at_anthropic(self) -> None:
        text = "<<USER>>\nhi\n<<USER_END>>\n\n<<SYS>>\nbe brief\n<<SYS_END>>\n"
        with pytest.raises(Unmappable):
            to_anthropic(parse(text, "rwkv"))

    def test_a_thought_of_no_kind_has_no_place_in_0_1(self) -> None:
        text = "<|start|>assistant<|channel|>analysis<|message|>why<|end|>\n"
        with pytest.raises(ConversionLoss):
            convert(parse(text, "2.2"), "2.2", "v0.1")

    def test_a_refused_conversion_says_what_gives_it_up(self) -> None:
        text = "version: 2.2\nmodel: m\n\n<|start|>user<|message|>hi<|end|>\n"
        with pytest.raises(HeadishError, match='drop="header"'):
            convert(parse(text), "2.2", "rwkv")

    def test_one_refusal_names_every_word_that_is_needed(self) -> None:
        text = (
            "version: 2.2\nmodel: m\n\n<|start|>user name=bob intent=debug<|message|>hi<|end|>\n"
            "<|start|>assistant<|channel|>analysis<|message|>why<|end|>\n"
        )
        with pytest.raises(ConversionLoss) as refused:
            convert(parse(text), "2.2", "rwkv")
        assert set(refused.value.drops) == {"header", "name", "intent", "thinking"}
        assert refused.value.drop == refused.value.drops[0]
        assert str(refused.value).endswith('give them up with drop=["header", "name", "intent", "thinking"]')
        assert convert(parse(text), "2.2", "rwkv", drop=refused.value.drops).messages


class TestHeaders:
    @pytest.mark.parametrize("target", ["2.0", "2.2"])
    def test_a_text_that_comes_to_a_format_with_a_header_has_one(self, target: str) -> None:
        converted = convert(parse("<<USER>>\nhi\n<<USER_END>>\n"), "rwkv", target)
        assert emit(converted, target) == f"version: {target}\n\n<|start|>user<|message|>hi<|end|>\n"
        assert "W-HEADER-MISSING" not in lint(converted, target)

    def test_a_header_that_says_its_version_alone_needs_no_word_to_go(self) -> None:
        text = "version: 2.2\n\n<|start|>user<|message|>hi<|end|>\n"
        assert emit(convert(parse(text), "2.2", "rwkv"), "rwkv") == "<<USER>>\nhi\n<<USER_END>>\n"
