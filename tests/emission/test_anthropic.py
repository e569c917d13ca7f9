"""Whatever a thread holds, the request is one that the API takes, or a refusal that names what it cannot take."""

from __future__ import annotations

import copy
import json
import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headish import ContextWindow, Message, Store, emit
from headish.errors import InvalidArgument, InvalidContent, UnknownFormat, Unrepresentable
from headish.providers import PROVIDERS, prepare_request
from headish.providers.shared import ledger
from headish.providers.shared.ledger import INTERRUPTED
from headish.providers.shared.tools import ToolNames
from headish.renderings.emission import TARGETS
from headish.values.blocks import Text, ToolResult, ToolUse
from support.providers.emitted import check_anthropic, windows

ALLOWED = ("text of a tool", "a tool call of role", "without a message", "a document", "not base64", "not UTF-8")
TOOL = {"name": "weather", "inputSchema": {"type": "object"}}


@given(window=windows())
def test_any_window_is_a_valid_request_or_is_refused(window: ContextWindow) -> None:
    before = copy.deepcopy(window)
    try:
        prepared = prepare_request("anthropic", window)
    except Unrepresentable:
        return
    check_anthropic(prepared.body)
    assert window == before
    assert prepare_request("anthropic", window) == prepared
    assert json.loads(json.dumps(prepared.body)) == prepared.body


@given(window=windows(odd_too=False), model=st.none() | st.just("m"))
@example(window=ContextWindow((Message(role="user", content=(Text("Hi"),)),), {}), model=None)
def test_a_usual_window_is_never_refused_for_its_tools(window: ContextWindow, model: str | None) -> None:
    """Calls without results, results without calls, ids of all kinds: they are repaired (rule R19, every call has a
    result)."""
    try:
        body = prepare_request("anthropic", window, tools=[TOOL], model=model).body
    except Unrepresentable as error:
        assert any(reason in str(error) for reason in ALLOWED)
        return
    check_anthropic(body)


def _blocks(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Role and content of every block, less the cache marks."""
    return [
        (message["role"], json.dumps({key: value for key, value in block.items() if key != "cache_control"}))
        for message in body["messages"]
        for block in message["content"]
    ]


@given(window=windows(odd_too=False))
def test_what_was_emitted_is_the_beginning_of_what_is_emitted_later(window: ContextWindow) -> None:
    """The prompt cache's condition, measured in content blocks; the listed breaks are left out of the comparison."""
    bodies = []
    for count in range(1, len(window.messages) + 1):
        part = ContextWindow(window.messages[:count], {})
        try:
            bodies.append(prepare_request("anthropic", part, tools=[TOOL]).body)
        except Unrepresentable:
            bodies.append(None)
    for earlier, later in pairwise(bodies):
        if earlier is None or later is None or INTERRUPTED in json.dumps(earlier):
            continue  # an interrupted call whose result comes after all is a permitted break
        assert _blocks(later)[: len(_blocks(earlier))] == _blocks(earlier)


def test_a_body_shares_nothing_with_the_window() -> None:
    call = ToolUse("f", "c1", {"deep": {"list": [1]}})
    window = ContextWindow((Message(role="assistant", content=(call,)),), {})
    body = prepare_request("anthropic", window).body
    body["messages"][0]["content"][0]["input"]["deep"]["list"].append(2)
    assert call.input == {"deep": {"list": [1]}}


def test_a_request_of_many_calls_is_built_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: how often a waiting call is looked at."""
    looks = [0]

    class Counting(ledger._Call):
        def __getattribute__(self, name: str) -> Any:
            looks[0] += 1
            return super().__getattribute__(name)

    monkeypatch.setattr(ledger, "_Call", Counting)

    def work(count: int) -> int:
        calls = tuple(ToolUse("f", f"c{index}", {}) for index in range(count))
        results = tuple(ToolResult(None if index % 2 else f"c{index}", "f") for index in range(count))
        looks[0] = 0
        ledger.settle([Message(role="assistant", content=calls), Message(role="tool", content=results)])
        return looks[0]

    assert work(2000) <= 10 * work(200) + 100


def test_the_tool_names_of_a_request_lead_back() -> None:
    names = ToolNames(re.compile("[a-z]+"), 20)
    rewritten = [names.send(name) for name in ("weather", "a.b", "a_b", "é" * 50, "a b")]
    assert rewritten[0] == "weather"
    assert len(set(rewritten)) == 5
    assert all(len(name) <= 20 for name in rewritten)
    assert [names.rewritten[name] for name in rewritten[1:]] == ["a.b", "a_b", "é" * 50, "a b"]


class TestBadInput:
    window = ContextWindow((Message(role="user", content=(Text("Hi"),)),), {})

    @pytest.mark.parametrize("target", ["chat", "responses"])
    def test_the_messages_of_an_api_are_those_of_an_export(self, target: str) -> None:
        with Store.open(":memory:") as store:
            store.add_turn("Hi", bookmark="main", inherited={"params": {"model": "small"}})
            assert emit(store.resolve("main"), target) == store.export("main", target)

    def test_every_target_that_an_error_lists_is_written(self) -> None:
        for target in TARGETS:
            assert emit(self.window, target, **({"model": "small"} if target in PROVIDERS else {}))

    def test_an_unknown_target_is_refused_by_name(self) -> None:
        known = (
            "v0.1, 2.0, 2.2, harmony, rwkv, openchatml, chat, responses, anthropic, openai, openai_responses, gemini"
        )
        with pytest.raises(UnknownFormat, match=rf"unknown format 'nowhere': known are {known}, cohere, cerebras$"):
            emit(self.window, "nowhere")
        with pytest.raises(UnknownFormat, match="known are anthropic"):
            prepare_request("nobody", self.window)

    def test_an_unknown_setting_is_refused(self) -> None:
        with pytest.raises(InvalidArgument, match="unknown setting 'temperature'"):
            emit(self.window, "anthropic", temperature=1)

    @pytest.mark.parametrize(
        ("tools", "reason"),
        [
            ([{}], "a tool needs a `name`"),
            ([{"name": 1}], "a tool needs a `name`"),
            ([{"name": "f", "inputSchema": 1}], "the inputSchema of the tool 'f' is not an object"),
            ([{"name": "f"}, {"name": "f"}], "two tools are named 'f'"),
        ],
    )
    def test_a_tool_that_is_none_is_refused(self, tools: list[dict[str, Any]], reason: str) -> None:
        with pytest.raises(InvalidArgument, match=reason):
            emit(self.window, "anthropic", tools=tools)

    def test_lone_surrogates_are_refused_wherever_they_come_from(self) -> None:
        with pytest.raises(InvalidContent, match="surrogate"):
            emit(self.window, "anthropic", tools=[{"name": "f", "description": "\ud800"}])
        with pytest.raises(InvalidContent, match="surrogate"):
            emit(ContextWindow((Message(role="user", content=(Text("\ud800"),)),), {}), "anthropic")

    @pytest.mark.parametrize("mode", [1, ["auto"], {"type": "auto"}, "", True])
    def test_a_tool_mode_of_another_kind_is_refused(self, mode: object) -> None:
        with pytest.raises(Unrepresentable, match="tool_mode"):
            emit(msgspec.structs.replace(self.window, options={"tool_mode": mode}), "anthropic")

    @pytest.mark.parametrize("params", [1, {"max_tokens": 0}, {"max_tokens": True}, {"model": 4}])
    def test_parameters_of_another_kind_are_refused(self, params: object) -> None:
        with pytest.raises(Unrepresentable, match=r"params|max_tokens"):
            emit(msgspec.structs.replace(self.window, options={"params": params}), "anthropic")


def test_the_same_thread_gives_the_same_bytes_in_every_store(store: Store) -> None:
    """Ids that a request makes come from the window, so a thread without made ids is equal everywhere."""
    store.add_turn("Be brief.", role="system", bookmark="main")
    store.add_turn("Weather?", continues="main")
    blocks: list[Any] = [{"type": "tool_use", "name": "weather", "input": {"b": 1, "a": 2}, "id": "c1"}]
    store.add_turn(blocks, role="assistant", continues="main")
    store.add_turn([{"type": "tool_result", "tool_use_id": "c1", "content": "Sun."}], role="tool", continues="main")
    encoded = json.dumps(emit(store.resolve("main"), "anthropic"))
    assert encoded == (
        '{"max_tokens": 8192, "stream": true, "system": [{"type": "text", "text": "Be brief."}], "messages": '
        '[{"role": "user", "content": [{"type": "text", "text": "Weather?"}]}, {"role": "assistant", "content": '
        '[{"type": "tool_use", "id": "c1", "name": "weather", "input": {"b": 1, "a": 2}}]}, {"role": "user", '
        '"content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "Sun."}]}]}], '
        '"tools": [{"name": "weather", "input_schema": {"type": "object"}}], "tool_choice": {"type": "none"}}'
    )
