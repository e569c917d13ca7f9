"""Cohere's chat: requests by its rules and its SDK's types, and its answers."""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any, ClassVar

import pytest
from pydantic import TypeAdapter

from headish.errors import Unsupported
from headish.providers import Stream
from headish.values.blocks import ToolUse
from support.later import Later
from support.providers.chat_replies import ChatReplies, arguments_of
from support.providers.chat_requests import ChatRequests, request, sent
from support.providers.chat_windows import IMAGE, WEATHER, call, document, exchange, result, say, text, thought
from support.providers.rules_chat import check_cohere
from support.providers.sdk_types import check_strictly
from support.shared import PROVIDER_REQUESTS, needs_shared, read_request

cohere = Later("cohere")
kinds = Later("cohere.types")
sdk_client = Later("cohere.v2.client")
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20")
PLAIN = [say("user", "?")]
PLAN = {"opaque": {"cohere": {"tool_plan": True}}}
ANSWERED = (result("c1", "x"),)


@cache
def types() -> dict[str, TypeAdapter[Any]]:
    return {
        "messages": TypeAdapter(kinds.ChatMessages),
        "tools": TypeAdapter(list[kinds.ToolV2]),
        "thinking": TypeAdapter(kinds.Thinking),
        "citation_options": TypeAdapter(kinds.CitationOptions),
        "response_format": TypeAdapter(kinds.ResponseFormatV2),
    }


def client(url: str) -> Any:
    return cohere.ClientV2(base_url=url, api_key="k")


def validate(body: dict[str, Any]) -> None:
    known = inspect.signature(sdk_client.V2Client.chat).parameters.keys() - {"self", "request_options"}
    unknown = body.keys() - known - {"stream"}
    if unknown:
        raise ValueError(f"the API has no {', '.join(unknown)}")
    for key in types().keys() & body.keys():
        check_strictly(types()[key], body[key])


def ask(url: str, body: dict[str, Any]) -> None:
    asked = {key: value for key, value in body.items() if key != "stream"}
    if body["stream"]:
        list(client(url).chat_stream(**asked))
    else:
        client(url).chat(**asked)


def play(url: str) -> dict[str, Any]:
    """The SDK joins nothing by itself: what its events say, joined."""
    told: dict[str, Any] = {"text": "", "thinking": "", "stop": None, "tokens": None}
    calls: dict[int, list[Any]] = {}
    events: Any = client(url).chat_stream(model="m", messages=[])
    for event in events:
        if event.type in ("content-start", "content-delta"):
            content = event.delta.message.content
            told["text"] += content.text or ""
            told["thinking"] += content.thinking or ""
        elif event.type == "tool-plan-delta":
            told["thinking"] += event.delta.message.tool_plan
        elif event.type == "tool-call-start":
            called = event.delta.message.tool_calls
            calls[event.index] = [called.id, called.function.name, called.function.arguments or ""]
        elif event.type == "tool-call-delta":
            calls[event.index][2] += event.delta.message.tool_calls.function.arguments
        elif event.type == "message-end":
            told["stop"] = event.delta.finish_reason
            tokens = event.delta.usage.tokens if event.delta.usage else None
            told["tokens"] = tokens and (tokens.input_tokens, tokens.output_tokens)
    return {**told, "calls": [(id, called, arguments_of(written)) for id, called, written in calls.values()]}


class TestRequests(ChatRequests):
    provider = "cohere"
    check = staticmethod(check_cohere)
    validate = staticmethod(validate)
    ask = staticmethod(ask)

    def test_its_own_reasoning_goes_back_as_parts_in_their_order(self) -> None:
        messages, notes = sent("cohere", exchange(thought("Hm.", "cohere"), "Sun.", "Rain."))
        content = [{"type": "thinking", "thinking": "Hm."}, text("Sun."), text("Rain.")]
        assert messages[1] == {"role": "assistant", "content": content}
        assert sent("cohere", exchange("Sun."))[0][1] == {"role": "assistant", "content": "Sun."}
        assert notes == []

    def test_reasoning_stands_beside_a_call_and_a_plan_goes_back_as_one(self) -> None:
        messages, _ = sent("cohere", exchange(thought("Hm.", "cohere"), call("c1"), results=ANSWERED))
        assert messages[1]["content"] == [{"type": "thinking", "thinking": "Hm."}]
        messages, notes = sent("cohere", exchange(thought("I look.", "cohere", **PLAN), call("c1"), results=ANSWERED))
        assert messages[1].keys() == {"role", "tool_plan", "tool_calls"}
        assert messages[1]["tool_plan"] == "I look."
        assert notes == []

    def test_text_beside_a_call_is_its_plan_since_the_api_takes_none(self) -> None:
        messages, notes = sent("cohere", exchange("I look.", call("c1"), "Now.", results=ANSWERED))
        assert messages[1]["tool_plan"] == "I look.\nNow."
        assert notes == ["text behind a call is sent in front of it", "text beside a call is sent as the plan of it"]
        window = exchange(thought("Hm.", "cohere"), "I look.", call("c1"), results=ANSWERED)
        messages, notes = sent("cohere", window)
        assert messages[1]["content"] == [{"type": "thinking", "thinking": each} for each in ("Hm.", "I look.")]
        assert "tool_plan" not in messages[1]
        assert notes == ["text beside a call is sent as reasoning"]

    def test_a_plan_whose_call_is_gone_is_left_out(self) -> None:
        messages, notes = sent("cohere", exchange(thought("I look.", "cohere", **PLAN), "Sun."))
        assert messages[1] == {"role": "assistant", "content": "Sun."}
        assert notes == ["a plan without its call is left out"]

    def test_citations_go_back_and_say_which_part_they_are_about(self) -> None:
        cited = {"opaque": {"cohere": {"citations": [{"start": 0, "end": 3, "text": "Sun", "content_index": 4}]}}}
        messages, _ = sent("cohere", exchange(thought("Hm.", "cohere"), " ", text("Sun.", **cited)))
        assert messages[1]["citations"] == [{"start": 0, "end": 3, "text": "Sun", "content_index": 1}]
        assert all("citations" not in part for part in messages[1]["content"])
        window = exchange(text("Sun.", **cited), call("c1"), results=ANSWERED)
        messages, notes = sent("cohere", window)
        assert "citations" not in messages[1]
        assert "what cohere keeps beside 1 block is left out" in notes

    def test_developers_speak_as_the_system(self) -> None:
        messages, notes = sent("cohere", [say("developer", "Be brief."), say("user", "?")])
        assert messages[0] == {"role": "system", "content": "Be brief."}
        assert notes == ["a developer message is sent as system"]

    def test_a_tool_can_be_demanded_or_forbidden_and_otherwise_nothing_is_said(self) -> None:
        chosen = {
            mode: request("cohere", PLAIN, {"tool_mode": mode}, tools=[WEATHER]).body.get("tool_choice")
            for mode in ("auto", "any", "none")
        }
        assert chosen == {"auto": None, "any": "REQUIRED", "none": "NONE"}

    @pytest.mark.parametrize(
        ("window", "options", "reason"),
        [
            (PLAIN, {"tool_mode": "weather"}, "tool_mode='weather': it can name no tool, only say auto, any or none"),
            (PLAIN, {"search": True}, "the option search: its requests have no web search"),
            (PLAIN, {"params": {"schema": {}}}, "response_format together with tools"),
            (PLAIN, {"params": {"safety_mode": "STRICT"}}, "safety_mode together with tools"),
            (PLAIN, {"params": {"stop_sequences": list("abcdef")}}, "6 stop sequences: 5 fit"),
            (PLAIN, {"params": {"effort": "high"}}, "params.effort: its requests have no such parameter"),
            ([say("user", document("application/pdf"))], {}, "a document of type application/pdf"),
            ([say("user", *[IMAGE] * 21)], {}, "21 images: 20 fit"),
        ],
    )  # fmt: skip
    def test_what_the_api_refuses_is_refused_by_name(self, window: Any, options: Any, reason: str) -> None:
        with pytest.raises(Unsupported, match=reason):
            request("cohere", window, options, tools=[WEATHER])

    def test_its_own_parameters_are_known(self) -> None:
        params = {"citation_options": {"mode": "OFF"}, "priority": 1, "max_tokens": 5, "stop_sequences": ["x"],
                  "top_p": 0.5, "top_k": 3, "thinking": {"type": "enabled", "token_budget": 9}, "seed": 1,
                  "safety_mode": "STRICT", "schema": {"type": "object"}}  # fmt: skip
        prepared = request("cohere", PLAIN, {"params": params}, model="m")
        assert prepared.notes == ()
        assert (prepared.body["p"], prepared.body["k"]) == (0.5, 3)
        validate(prepared.body)
        alone = request("cohere", PLAIN, {"params": {"strict_tools": True}})
        assert [note.what for note in alone.notes] == ["the option params.strict_tools is not sent: there are no tools"]


class TestReplies(ChatReplies):
    provider = "cohere"
    check = staticmethod(check_cohere)
    play = staticmethod(play)
    unplayed: ClassVar[dict[str, str]] = {
        "lists-and-lost-starts": "its types have objects where lists came, and calls have a start",
    }
    recorded: ClassVar[dict[str, dict[str, Any]]] = {
        "document-image": {
            "model": None,
            "usage": {"input_tokens": 16, "output_tokens": 57, "cache_read_input_tokens": 480},
        },
        "tool-use": {
            "model": None,
            "content": "the reasoning is kept",
            "usage": {"input_tokens": 1500, "output_tokens": 249, "cache_read_input_tokens": 0},
        },
    }
    """No event says the model; the aggregate makes one up, counts what is billed, and loses reasoning."""
    unshown = ("thinking",)

    def test_a_call_that_ended_is_whole_though_the_stream_was_cut(self) -> None:
        stream = Stream("cohere")
        called = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": ""}}
        stream.feed({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": called}}})
        assert [getattr(block, "partial", None) for block in stream.finish().content] == [True]
        stream.feed({"type": "tool-call-end", "index": 0})
        reply = stream.finish()
        assert reply.incomplete
        assert [(block.partial, block.input) for block in reply.content if isinstance(block, ToolUse)] == [(False, {})]

    def test_the_model_is_the_one_that_was_asked_since_no_event_says_it(self) -> None:
        stream = Stream("cohere", model="command-a-03-2025")
        stream.feed({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}})
        assert stream.finish().model == "command-a-03-2025"

    def test_arguments_that_are_no_text_are_kept(self) -> None:
        called = {"id": "c_1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
        stream = Stream("cohere")
        start = {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": called}}}
        shown = stream.feed(start)
        [block] = stream.finish().content
        assert isinstance(block, ToolUse)
        assert block.input == {"a": 1}
        assert [delta.content for delta in shown] == ["", '{"a":1}']


@needs_shared
@pytest.mark.parametrize("case", ["document-image", "tool-use"])
def test_a_request_of_the_other_project_is_the_same(case: str) -> None:
    """But that no tools are no key."""
    record, tools = read_request(case)
    body = request("cohere", record["messages"], record["options"], tools=tools).body
    assert {"tools": [], **body} == json.loads((PROVIDER_REQUESTS / case / "expected-cohere.json").read_text())
