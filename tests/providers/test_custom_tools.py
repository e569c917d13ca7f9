"""Custom tools of OpenAI: calls of any text and their results, in the neutral blocks, whoever is asked next."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headish import Store
from headish.errors import InvalidArgument
from headish.providers import Stream, parse_response, prepare_request
from headish.tools.router import Router
from headish.values.blocks import ToolResult, ToolUse

PATCH = "*** Begin Patch\n+ a = {1}\n*** End Patch"
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}
TOOL = {"type": "custom", "name": "patch", "description": "Applies a patch.", "format": GRAMMAR}
CALL = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "patch", "input": PATCH}
OUTPUT = {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}
LIST = [{"role": "user", "content": "Fix it"}, CALL, OUTPUT, {"role": "assistant", "content": "Fixed."},
        {"role": "user", "content": "Thanks"}]  # fmt: skip
CHAT = [
    {"role": "user", "content": "Fix it"},
    {"role": "assistant", "content": None,
     "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "patch", "input": PATCH}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "done"},
]  # fmt: skip


def recorded(store: Store, given: list[Any], form: str) -> dict[str, Any]:
    store.record(given, bookmark="main", form=form)
    return {"messages": list(store.resolve("main").messages), "options": {}}


def body(provider: str, window: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return prepare_request(provider, window, **settings).body


def notes(provider: str, window: dict[str, Any], **settings: Any) -> list[str]:
    return [note.what for note in prepare_request(provider, window, **settings).notes]


class TestWhatClientsSend:
    def test_items_are_a_call_and_a_result_and_come_out_equal(self, store: Store) -> None:
        window = recorded(store, LIST, "responses")
        blocks = [block for message in window["messages"] for block in message.content]
        assert isinstance(blocks[1], ToolUse)
        assert (blocks[1].name, blocks[1].id, blocks[1].raw) == ("patch", "c1", PATCH)
        assert isinstance(blocks[2], ToolResult)
        assert [message.role for message in window["messages"][1:3]] == ["assistant", "tool"]
        assert store.messages("main", form="responses") == LIST

    def test_what_it_was_called_with_is_found(self, store: Store) -> None:
        recorded(store, LIST, "responses")
        assert [hit.turn.meta.role for hit in store.search("Begin Patch")] == ["assistant"]

    def test_a_list_that_is_sent_again_is_known(self, store: Store) -> None:
        store.record(LIST[:3], bookmark="main", form="responses")
        assert store.record(LIST, bookmark="main", form="responses").added == 2

    @pytest.mark.parametrize("odd", [{**CALL, "input": 7}, {**CALL, "input": '{"a": 1}'}, {**CALL, "x": [1]}])
    def test_an_odd_item_comes_out_as_it_was(self, store: Store, odd: dict[str, Any]) -> None:
        given = [LIST[0], odd, {**OUTPUT, "output": [{"type": "input_text", "text": "a"}], "status": "completed"}]
        store.record(given, bookmark="main", form="responses")
        assert store.messages("main", form="responses") == given


class TestWhatIsSent:
    def test_the_same_api_gets_the_items(self, store: Store) -> None:
        sent = body("openai_responses", recorded(store, LIST, "responses"))["input"]
        assert sent[1:3] == [{key: CALL[key] for key in CALL if key != "id"}, OUTPUT]

    def test_chat_gets_a_custom_call_and_responses_one_of_chat(self, store: Store) -> None:
        sent = body("openai", recorded(store, LIST, "responses"))["messages"]
        assert sent[1]["tool_calls"] == CHAT[1]["tool_calls"]
        assert sent[2] == CHAT[2]
        other = store.record(CHAT, bookmark="chat", form="chat")
        window = {"messages": list(store.resolve(other.tip.id).messages), "options": {}}
        items = body("openai_responses", window)["input"]
        assert items[1:] == [{key: CALL[key] for key in CALL if key != "id"}, OUTPUT]

    @pytest.mark.parametrize("provider", ["anthropic", "gemini", "cohere", "cerebras"])
    def test_others_get_the_text_as_an_argument(self, store: Store, provider: str) -> None:
        window = recorded(store, LIST, "responses")
        assert json.dumps({"input": PATCH}) in json.dumps(_arguments(body(provider, window)))
        assert not any("not a JSON object" in note for note in notes(provider, window))

    def test_a_server_of_a_dialect_gets_a_function(self, store: Store) -> None:
        call = body("openai", recorded(store, LIST, "responses"), dialect="deepseek")["messages"][1]["tool_calls"][0]
        assert (call["type"], json.loads(call["function"]["arguments"])) == ("function", {"input": PATCH})


def _arguments(value: Any) -> Any:
    """A body with the arguments of calls as values, whoever writes them as text."""
    if isinstance(value, dict):
        return {key: _arguments(json.loads(each) if key == "arguments" else each) for key, each in value.items()}
    return [_arguments(each) for each in value] if isinstance(value, list) else value


class TestDefinitions:
    WINDOW: dict[str, Any] = {"messages": LIST[:1], "options": {"tool_mode": "patch"}}
    AS_CHAT: dict[str, Any] = {"type": "custom", "custom": {
        "name": "patch", "description": "Applies a patch.",
        "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": 'start: "a"'}},
    }}  # fmt: skip

    @pytest.mark.parametrize("given", [TOOL, AS_CHAT])
    def test_either_spelling_goes_to_both_apis(self, given: dict[str, Any]) -> None:
        responses = body("openai_responses", self.WINDOW, tools=[given])
        assert (responses["tools"], responses["tool_choice"]) == ([TOOL], {"type": "custom", "name": "patch"})
        chat = body("openai", self.WINDOW, tools=[given])
        assert chat["tools"] == [self.AS_CHAT]
        assert chat["tool_choice"] == {"type": "custom", "custom": {"name": "patch"}}

    @pytest.mark.parametrize("provider", ["anthropic", "gemini", "cohere", "cerebras"])
    def test_others_get_a_function_with_a_note(self, provider: str) -> None:
        window = {**self.WINDOW, "options": {}}
        assert '"input"' in json.dumps(body(provider, window, tools=[TOOL])["tools"])
        what = "the tool patch takes text: it goes out as a function of one input, and its grammar is not sent"
        assert what in notes(provider, window, tools=[TOOL])

    @pytest.mark.parametrize("wrong", [{"name": ""}, {"format": 1}, {"format": {"type": "x"}},
                                       {"format": {"type": "grammar"}}])  # fmt: skip
    def test_what_is_no_definition_is_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgument, match=r"the format|the grammar|needs a"):
            body("openai_responses", self.WINDOW, tools=[{**TOOL, **wrong}])


class TestAnswers:
    EVENTS = (
        {"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "input": ""}},
        {"type": "response.custom_tool_call_input.delta", "output_index": 0, "item_id": "ctc_1", "delta": PATCH[:5]},
        {"type": "response.custom_tool_call_input.delta", "output_index": 0, "item_id": "ctc_1", "delta": PATCH[5:]},
        {"type": "response.custom_tool_call_input.done", "output_index": 0, "item_id": "ctc_1", "input": PATCH},
        {"type": "response.output_item.done", "output_index": 0, "item": CALL},
        {"type": "response.completed", "response": {"status": "completed", "output": [CALL]}},
    )

    def test_a_stream_shows_the_call_and_its_text(self) -> None:
        stream = Stream("openai_responses")
        shown = [delta for event in self.EVENTS for delta in stream.feed(event)]
        assert "".join(delta.content for delta in shown) == PATCH
        assert {delta.type for delta in shown} == {"tool_use"}
        reply = stream.finish()
        assert reply == parse_response("openai_responses", {"status": "completed", "output": [CALL]})
        assert reply.stop_reason == "tool_use"

    def test_a_captured_answer_is_what_the_client_sends_again(self, store: Store) -> None:
        store.record(LIST[:1], bookmark="main", form="responses")
        store.reply("main", "openai_responses", {"id": "r", "object": "response", "status": "completed",
                                                 "output": [CALL]})  # fmt: skip
        assert store.record(LIST[:3], bookmark="main", form="responses").added == 1

    def test_a_loop_calls_a_tool_that_takes_text_by_either_kind_of_call(self, store: Store) -> None:
        got: list[Any] = []
        router = Router()
        router.add("patch", lambda text: got.append(text) or "done", takes_text=True)
        router.run(recorded(store, LIST[:2], "responses")["messages"])
        said = {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "patch", "input": {"input": PATCH}}]}  # fmt: skip
        store.record([LIST[0], said], bookmark="other")
        router.run(store.resolve("other").messages)
        assert got == [PATCH, PATCH]
