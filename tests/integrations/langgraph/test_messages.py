"""Messages of LangChain as turns: each comes back equal, is read by people, and is stored once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.frameworks import not_installed

pytest.importorskip("langgraph.checkpoint.base", reason=not_installed("langgraph"))

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from headish import Store
from headish.content.encoding import decode_payload, encode_payload
from headish.integrations.langchain import HeadishChatMessageHistory
from headish.integrations.langgraph import HeadishSaver, messages
from headish.transcripts.frameworks.langchain.messages import Split
from support.langchain.messages import MESSAGES
from support.langchain.rows import read_rows
from support.savers import put

pytestmark = [pytest.mark.peers, pytest.mark.xdist_group("langgraph")]

SERDE = JsonPlusSerializer()
PNG = "data:image/png;base64,iVBORw0KGgo="


ROWS = read_rows("saver")


def revived(name: str) -> BaseMessage:
    kind, fields = MESSAGES[name]
    return messages_from_dict([{"type": kind, "data": fields}])[0]


class Own(HumanMessage):
    """A message of an application."""

    mood: str = "calm"


def call(name: str = "weather", **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": f"call-{name}", "type": "tool_call"}


SAID: list[BaseMessage] = [
    HumanMessage("hello"),
    HumanMessage(""),
    HumanMessage("named", name="Ada", id="1", additional_kwargs={"k": [1, 2.5, None, {"é": True}]}),
    HumanMessage([]),
    HumanMessage(["bare", {"type": "text", "text": "part", "cache_control": {"type": "ephemeral"}}]),
    HumanMessage([{"type": "image_url", "image_url": {"url": PNG}}, {"type": "text", "text": "what is it?"}]),
    HumanMessage([{"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}, {"type": "own", "of": "mine"}]),
    HumanMessage([{"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}]),
    SystemMessage("be brief", id="s"),
    AIMessage("answer", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    AIMessage("", tool_calls=[call(city="Paris"), call("other")]),
    AIMessage("calling", tool_calls=[{"name": "f", "args": {}, "id": None, "type": "tool_call"}]),
    AIMessage(
        [
            {"type": "text", "text": "so"},
            {"type": "tool_use", "id": "call-weather", "name": "weather", "input": {"a": 1}},
        ],
        tool_calls=[call(a=1)],
    ),
    AIMessage([{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "yes"}]),
    AIMessage([{"signature": "x", "thinking": "hm", "type": "thinking"}, {"text": "yes", "type": "text"}]),
    AIMessage(
        "bad call",
        invalid_tool_calls=[{"name": "f", "args": "{", "id": "1", "error": "no", "type": "invalid_tool_call"}],
    ),
    AIMessage("made", response_metadata={"model_name": "m", "finish_reason": "stop", "logprobs": None}),
    ToolMessage("rain", tool_call_id="call-weather", name="weather"),
    ToolMessage("no", tool_call_id="x", status="error", artifact={"rows": [1]}),
    ToolMessage(["a", {"type": "text", "text": "b"}], tool_call_id="x"),
    FunctionMessage("done", name="f"),
    ChatMessage("as somebody", role="critic"),
    ChatMessage("as the model", role="assistant"),
]  # fmt: skip
ODD: list[BaseMessage] = [
    Own("mine", mood="glad"),
    HumanMessage("kept", additional_kwargs={"n": float("inf")}),
    HumanMessage("kept", additional_kwargs={"pair": {1: "one"}}),
    HumanMessage("kept", additional_kwargs={"bytes": b"\x00"}),
    HumanMessage("kept", additional_kwargs={"api_key": "sk-ant-0123456789abcdefghij0123"}),
    HumanMessage("kept", additional_kwargs={"long": "x" * 1_100_000}),
    ToolMessage("kept", tool_call_id="x", artifact=Own("inside")),
]


def through(message: BaseMessage) -> tuple[Split, BaseMessage | None]:
    written = messages.write(message, SERDE.dumps_typed)
    blocks = decode_payload(encode_payload(tuple(written.blocks)))
    return written, messages.read(blocks, {"langchain": written.beside}, SERDE.loads_typed)


def held(message: BaseMessage | None) -> tuple[Any, ...]:
    assert message is not None
    return type(message), message.__dict__, message.__pydantic_extra__


class TestAMessage:
    @pytest.mark.parametrize("message", SAID, ids=range(len(SAID)))
    def test_comes_back_from_its_blocks(self, message: BaseMessage) -> None:
        written, again = through(message)
        assert held(again) == held(message)
        assert repr(again) == repr(message)  # keys are in order, too
        assert written.beside["type"] == message.type

    @pytest.mark.parametrize("name", MESSAGES)
    def test_of_every_type_comes_back_from_its_blocks_with_its_keys_in_order(self, name: str) -> None:
        message = revived(name)
        written, again = through(message)
        assert written.beside["type"] == message.type
        assert repr(again) == repr(message)

    @pytest.mark.parametrize("name", ROWS)
    def test_of_an_older_version_comes_back(self, name: str) -> None:
        row = ROWS[name]
        assert repr(messages.read(row.blocks, row.beside, SERDE.loads_typed)) == repr(revived(name))

    @pytest.mark.parametrize("message", ODD, ids=range(len(ODD)))
    def test_that_no_turn_can_say_is_kept_whole(self, message: BaseMessage) -> None:
        written, again = through(message)
        assert written.beside == {"type": "opaque"}
        assert held(again) == held(SERDE.loads_typed(SERDE.dumps_typed(message)))

    @given(
        content=st.text() | st.lists(st.text() | st.fixed_dictionaries({"type": st.text(), "text": st.text()})),
        extra=st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists)),
        kind=st.sampled_from([HumanMessage, AIMessage, SystemMessage]),
    )
    def test_of_any_content_comes_back_as_the_serializer_gives_it(self, content: Any, extra: Any, kind: Any) -> None:
        message = kind(content, additional_kwargs=extra)
        expected = SERDE.loads_typed(SERDE.dumps_typed(message))
        assert repr(held(through(message)[1])) == repr(held(expected))

    def test_with_half_a_character_costs_no_run(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver:
            found = put(saver, [HumanMessage("half \ud800"), HumanMessage("whole")])
            said = saver.get_tuple(found).checkpoint["channel_values"]["messages"]
        assert [each.content for each in said] == ["half ?", "whole"]
        with Store.open(tmp_path / "a.db") as store:
            assert [turn.text for turn in store.log("1")] == ["whole", "half \ufffd"]

    def test_has_another_fingerprint_when_anything_in_it_is_another(self) -> None:
        message = AIMessage("a", tool_calls=[call(city="Paris")], id="1")
        seen = {bytes(messages.fingerprints([message], SERDE.dumps_typed) or b"")}
        for change in (
            lambda: message.tool_calls[0]["args"].update(city="Rome"),
            lambda: message.additional_kwargs.update(k=1),
            lambda: message.additional_kwargs.update(k=True),
            lambda: setattr(message, "content", "b"),
            lambda: setattr(message, "content", ["b"]),
            lambda: setattr(message, "id", "2"),
            lambda: message.response_metadata.update(o=object()),
        ):
            change()
            seen.add(bytes(messages.fingerprints([message], lambda value: ("t", repr(value).encode())) or b""))
        assert len(seen) == 8

    @pytest.mark.parametrize("value", [[], (HumanMessage("a"),), [HumanMessage("a"), "b"], "text", None])
    def test_is_not_what_other_values_are(self, value: Any) -> None:
        assert messages.fingerprints(value, SERDE.dumps_typed) is None


class TestAThread:
    def test_is_a_conversation_that_people_read(self, tmp_path: Path) -> None:
        said = [SystemMessage("be brief"), HumanMessage("weather?"), AIMessage("", tool_calls=[call(city="Paris")]),
                ToolMessage("rain", tool_call_id="call-weather"), AIMessage("It rains.")]  # fmt: skip
        with HeadishSaver(tmp_path / "a.db") as saver:
            for count in range(1, 6):
                put(saver, said[:count], thread="trip")
        with Store.open(tmp_path / "a.db") as store:
            turns = store.messages("trip")
            roles = [turn.meta.role for turn, _ in turns]
            assert roles == ["system", "user", "assistant", "tool", "assistant"]
            assert store.stats().turns == 5
            request = store.request("trip", to="anthropic", model="claude-x")
        assert [each["role"] for each in request.body["messages"]] == ["user", "assistant", "user", "assistant"]

    def test_tells_who_spoke_and_what_it_cost(self, tmp_path: Path) -> None:
        usage = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
        answer = AIMessage("Yes", name="critic", usage_metadata=usage, response_metadata={"model_name": "m-1"})
        with HeadishSaver(tmp_path / "a.db") as saver:
            put(saver, [HumanMessage("Well?", name="Ada"), answer], thread="talk")
        with Store.open(tmp_path / "a.db") as store:
            assert [message.attributes.speaker for _, message in store.messages("talk")] == ["Ada", "critic"]
            [used] = store.usage("talk", by="model")
            assert (used.key, used.usage.input_tokens, used.usage.output_tokens) == ("m-1", 9, 2)

    def test_is_a_chat_history_as_well(self, tmp_path: Path) -> None:
        said = [revived(name) for name in MESSAGES]
        with HeadishSaver(tmp_path / "a.db") as saver:
            put(saver, [*said, Own("mine", mood="glad")], thread="trip")
        with HeadishChatMessageHistory("trip", tmp_path / "a.db") as history:
            assert history.messages == [*said, HumanMessage("mine")]

    def test_that_grew_by_hand_goes_on_where_the_graph_left_it(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver:
            put(saver, [HumanMessage("one")])
            with Store.open(tmp_path / "a.db") as store:
                store.add_turn("a note of mine", continues="1")
            found = put(saver, [HumanMessage("one"), HumanMessage("two")])
            assert len(saver.get_tuple(found).checkpoint["channel_values"]["messages"]) == 2
