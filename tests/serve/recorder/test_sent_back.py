"""Answers that their clients send back otherwise than they came: they are the stored turns, and each body is exact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from headish import Store
from headish.content.forms.layout import is_same
from headish.serve.recorder.recording import CallRecorder
from support.passed import anthropic_answer, chat_answer, message_item, passed, responses_answer, user

CODEX = {"user-agent": "codex_exec/0.171.0"}
CALLED = '{"city": "Zürich", "days": [1, 2.5], "exactly": true}'
VALUE = json.loads(CALLED)
SPELLINGS = {
    "compact": '{"city":"Zürich","days":[1,2.5],"exactly":true}',
    "compact ascii": '{"city":"Z\\u00fcrich","days":[1,2.5],"exactly":true}',
    "spaced": CALLED,
    "spaced ascii": '{"city": "Z\\u00fcrich", "days": [1, 2.5], "exactly": true}',
}


class Exchange:
    """A question, an answer that calls a tool, and a second request with the answer and the tool's result."""

    def __init__(self, store: Store) -> None:
        self.store, self.recorder = store, CallRecorder(lambda _space: store)
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def ask(self, surface: str, body: dict[str, Any], answer: bytes, headers: Mapping[str, str] = {}) -> None:
        call = passed(surface, {"model": "m", **body}, answer, headers=headers)
        assert self.recorder.record(call) is not None
        self.sent.append((call.id, {"model": "m", **body}))

    def kept(self) -> tuple[int, int, bool]:
        """The number of turns, that of heads, and whether the body of each call is exact."""
        exact = all(is_same(self.store.calls.body(id), body) for id, body in self.sent)
        return self.store.stats().turns, len(list(self.store.heads())), exact

    def chat(self, call: dict[str, Any], back: dict[str, Any]) -> None:
        question = {"role": "user", "content": "Hi"}
        self.ask("chat", {"messages": [question]}, chat_answer(None, tool_calls=[call], refusal=None))
        said = {"role": "assistant", "content": None, "tool_calls": [back]}
        result = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
        self.ask("chat", {"messages": [question, said, result]}, chat_answer("Well."))

    def responses(self, item: dict[str, Any], back: dict[str, Any]) -> None:
        question = {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
        self.ask("responses", {"input": [question]}, responses_answer(item))
        output = {"type": f"{item['type']}_output", "call_id": "call_1", "output": "done"}
        self.ask("responses", {"input": [question, back, output]}, responses_answer(id="resp_2"))


def function(arguments: str) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": arguments}}


def item(arguments: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": arguments, **more}


@pytest.mark.parametrize("given", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("came", SPELLINGS.values(), ids=SPELLINGS)
class TestArguments:
    """The AI SDK decodes the arguments of a call and encodes them anew, as programs in Python do."""

    def test_of_chat_that_are_spelled_anew_are_the_same(self, store: Store, came: str, given: str) -> None:
        exchange = Exchange(store)
        exchange.chat(function(came), function(given))
        assert exchange.kept() == (4, 1, True)

    def test_of_responses_that_are_spelled_anew_are_the_same(self, store: Store, came: str, given: str) -> None:
        exchange = Exchange(store)
        exchange.responses(item(came, id="fc_1", status="completed"), item(given))
        assert exchange.kept() == (3, 1, True)


@pytest.mark.parametrize(
    ("came", "given"),
    [(CALLED, CALLED.replace("true", "false")), (CALLED, json.dumps(VALUE | {"days": [1]})), ('{"a": 1}', '{"a": 1.0}'),
     ('{"a": 1}', '{"a":1'), ("{a", "{b"), ("", '{"a":1}'), ('{"a": {}}', "{}")],
)  # fmt: skip
def test_other_arguments_are_another_answer(store: Store, came: str, given: str) -> None:
    exchange = Exchange(store)
    exchange.chat(function(came), function(given))
    assert exchange.kept() == (5, 2, True)


@pytest.mark.parametrize(("came", "given"), [("{a", "{a"), ("", ""), ("", "{}"), ("{}", "{}"), ("null", "null")])
def test_arguments_that_are_not_an_object_come_back(store: Store, came: str, given: str) -> None:
    exchange = Exchange(store)
    exchange.chat(function(came), function(given))
    assert exchange.kept() == (4, 1, True)


def test_calls_of_custom_tools_come_back(store: Store) -> None:
    """Codex edits files so. The input of such a tool is any text."""
    exchange = Exchange(store)
    call = {"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": "*** Begin Patch"}
    exchange.responses({**call, "id": "ctc_1", "status": "completed"}, call)
    assert exchange.kept() == (3, 1, True)


def test_calls_of_custom_tools_in_chat_come_back(store: Store) -> None:
    exchange = Exchange(store)
    call = {"id": "call_1", "type": "custom", "custom": {"name": "apply_patch", "input": "*** Begin Patch"}}
    exchange.chat(call, call)
    assert exchange.kept() == (4, 1, True)


THOUGHT = {"type": "thinking", "thinking": "I ponder.", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rain"}}


def pause(exchange: Exchange, came: list[dict[str, Any]], given: list[dict[str, Any]]) -> None:
    question = user("Hi")
    body = {"max_tokens": 9, "stream": True}
    exchange.ask("anthropic", {**body, "messages": [question]}, anthropic_answer(*came, stop="pause_turn"))
    messages = [question, {"role": "assistant", "content": given}]
    exchange.ask("anthropic", {**body, "messages": messages}, anthropic_answer("Well.", id="msg_2"))


@pytest.mark.parametrize("came", [[THOUGHT], [SEARCH], [THOUGHT, SEARCH]], ids=["thought", "search", "both"])
def test_a_turn_that_paused_before_it_said_anything_comes_back(store: Store, came: list[dict[str, Any]]) -> None:
    """A client continues it by sending it back as it is, with no message of its own."""
    exchange = Exchange(store)
    pause(exchange, came, came)
    assert exchange.kept() == (3, 1, True)


def test_another_thought_is_another_answer(store: Store) -> None:
    exchange = Exchange(store)
    pause(exchange, [THOUGHT], [{**THOUGHT, "thinking": "I sleep."}])
    assert exchange.kept() == (4, 2, True)


def test_reasoning_alone_comes_back(store: Store) -> None:
    exchange, question = Exchange(store), {"role": "user", "content": "Hi"}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    exchange.ask("responses", {"input": [question]}, responses_answer(reasoning))
    exchange.ask("responses", {"input": [question, reasoning, question]}, responses_answer(id="resp_2"))
    assert exchange.kept() == (3, 1, True)


def texts_item(*texts: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": each, "annotations": []} for each in texts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content, **more}


REFUSED = {"type": "refusal", "refusal": "No."}
CALLS = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ls", "arguments": "{}"}
PIECES: dict[str, list[dict[str, Any]]] = {
    "two texts": [texts_item("One.", "Two.")],
    "an empty text before": [texts_item("", "Two.")],
    "an empty text behind": [texts_item("One.", "")],
    "two messages": [texts_item("One.", "Two."), texts_item("Three.", id="msg_2")],
    "a call behind": [texts_item("One.", "Two.", ""), CALLS],
    "a refusal": [texts_item("One.") | {"content": [*texts_item("One.")["content"], REFUSED]}],
}


@pytest.mark.parametrize("items", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize("restarts", [False, True])
def test_a_message_with_several_texts_comes_back(store: Store, items: list[dict[str, Any]], restarts: bool) -> None:
    exchange, question = Exchange(store), {"role": "user", "content": "Hi"}
    exchange.ask("responses", {"input": [question]}, responses_answer(*items))
    back = [{key: value for key, value in each.items() if key not in ("id", "status")} for each in items]
    listed = [question, *back, question]
    for answer in ("Well.", "So."):
        exchange.recorder = CallRecorder(lambda _space: store) if restarts else exchange.recorder
        exchange.ask("responses", {"input": listed}, responses_answer(message_item(answer)))
        listed = [*listed, {"role": "assistant", "content": answer}, question]
    assert exchange.kept() == (6, 1, True)


BESIDE = {"content": "One.", "refusal": "No."}
WAYS: dict[str, dict[str, Any]] = {
    "as it came": BESIDE,
    "with nulls": BESIDE | {"annotations": [], "audio": None, "tool_calls": None},
    "its words as a list": BESIDE | {"content": [{"type": "text", "text": "One."}]},
    "two texts": {"content": [{"type": "text", "text": "One."}, {"type": "text", "text": "No."}]},
}


@pytest.mark.parametrize("back", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("restarts", [False, True])
def test_words_with_a_refusal_beside_them_come_back(store: Store, back: dict[str, Any], restarts: bool) -> None:
    exchange, question = Exchange(store), {"role": "user", "content": "Hi"}
    exchange.ask("chat", {"messages": [question]}, chat_answer("One.", refusal="No."))
    listed = [question, {"role": "assistant", **back}, question]
    for answer in ("Well.", "So."):
        exchange.recorder = CallRecorder(lambda _space: store) if restarts else exchange.recorder
        exchange.ask("chat", {"messages": listed}, chat_answer(answer))
        listed = [*listed, {"role": "assistant", "content": answer}, question]
    assert exchange.kept() == (6, 1, True)


def test_reasoning_calls_and_a_refusal_come_back(store: Store) -> None:
    exchange, question = Exchange(store), {"role": "user", "content": "Hi"}
    said = BESIDE | {"tool_calls": [function("{}")]}
    exchange.ask("chat", {"messages": [question]}, chat_answer("One.", **{"reasoning_content": "Hm", **said}))
    result = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
    exchange.ask("chat", {"messages": [question, {"role": "assistant", **said}, result]}, chat_answer("Well."))
    assert exchange.kept() == (4, 1, True)


@pytest.mark.parametrize(
    "back",
    [BESIDE | {"refusal": "Never."}, BESIDE | {"content": "Two."}, {"content": "One."},
     {"content": "", "refusal": "One.No."}, {"content": "One.N", "refusal": "o."}],
)  # fmt: skip
def test_other_words_or_another_refusal_are_another_answer(store: Store, back: dict[str, Any]) -> None:
    exchange, question = Exchange(store), {"role": "user", "content": "Hi"}
    exchange.ask("chat", {"messages": [question]}, chat_answer("One.", refusal="No."))
    exchange.ask("chat", {"messages": [question, {"role": "assistant", **back}, question]}, chat_answer("Well."))
    assert exchange.kept() == (5, 2, True)


def test_other_texts_are_another_answer(store: Store) -> None:
    exchange, question = Exchange(store), {"role": "user", "content": "Hi"}
    exchange.ask("responses", {"input": [question]}, responses_answer(texts_item("One.", "Two.")))
    exchange.ask("responses", {"input": [question, texts_item("One.", "Three."), question]}, responses_answer())
    assert exchange.kept() == (4, 2, True)


@pytest.mark.parametrize("restarts", [False, True])
def test_an_answer_that_goes_on_from_one_that_broke_off_comes_back_beside_it(store: Store, restarts: bool) -> None:
    """Codex sends the items that had come, asks for the rest, and sends both in a row from then on."""
    exchange, question = Exchange(store), {"role": "user", "content": "Hi"}
    thoughts = [{"type": "reasoning", "id": f"rs_{at}", "summary": [], "encrypted_content": f"{at}"} for at in range(3)]
    said = [[thoughts[0], message_item("Ha", "msg_0")], [thoughts[1], message_item("lf", "msg_1")]]
    said.append([thoughts[2], item("{}", id="fc_1", status="completed")])
    output = {"type": "function_call_output", "call_id": "call_1", "output": "done"}
    listed: list[Any] = [question]
    for number, items in enumerate([*said, [message_item("Well.")]]):
        exchange.recorder = CallRecorder(lambda _space: store) if restarts else exchange.recorder
        body = {"input": listed, "prompt_cache_key": "one"}
        exchange.ask("responses", body, responses_answer(*items, id=f"resp_{number}"), headers=CODEX)
        listed = [*listed, *({**each, "status": None} for each in items), *([output] if number == 2 else [])]
    exchange.ask(
        "responses", {"input": listed, "prompt_cache_key": "one"}, responses_answer(id="resp_9"), headers=CODEX
    )
    assert exchange.kept() == (6, 1, True)
    assert store.verify().problems == ()


def test_the_mark_of_a_cache_on_an_answer_comes_back_and_moves_on(store: Store) -> None:
    """opencode marks the last two messages of each request."""
    exchange, marked = Exchange(store), {"cache_control": {"type": "ephemeral"}}
    texts, messages = ["Hello.", "Well.", "Yes."], [user("Hi")]
    for number, text in enumerate(texts):
        listed = json.loads(json.dumps(messages))
        for message in listed[-2:]:
            message["content"][-1] |= marked
        exchange.ask(
            "anthropic", {"max_tokens": 9, "stream": True, "messages": listed}, anthropic_answer(text, id=f"{number}")
        )
        messages += [{"role": "assistant", "content": [{"type": "text", "text": text}]}, user("Go on")]
    assert exchange.kept() == (6, 1, True)
