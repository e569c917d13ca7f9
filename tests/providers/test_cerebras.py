"""Cerebras' chat completions: requests by its rules and its SDK's types, and its answers."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from headish.errors import Unsupported
from support.later import Later
from support.providers.chat_replies import ChatReplies, arguments_of
from support.providers.chat_requests import ChatRequests, request, sent
from support.providers.chat_windows import call, document, exchange, result, say, thought
from support.providers.rules_chat import check_cerebras
from support.providers.sdk_types import check_strictly, strict
from support.shared import PROVIDER_REQUESTS, needs_shared, read_request

sdk = Later("cerebras.cloud.sdk")
params = Later("cerebras.cloud.sdk.types.chat.completion_create_params")
PLAIN = [say("user", "?")]


def client(url: str) -> Any:
    return sdk.Cerebras(base_url=url, api_key="k", max_retries=0, warm_tcp_connection=False)


def validate(body: dict[str, Any]) -> None:
    check_strictly(strict(params.CompletionCreateParams), body)


def ask(url: str, body: dict[str, Any]) -> None:
    with client(url) as asked:
        answer: Any = asked.chat.completions.create(**body)
        if body["stream"]:
            list(answer)


def play(url: str) -> dict[str, Any]:
    """The SDK joins nothing by itself: what its chunks say, joined."""
    told: dict[str, Any] = {"text": "", "thinking": "", "stop": None, "tokens": None}
    calls: dict[int, list[Any]] = {}
    with client(url) as asked:
        answer: Any = asked.chat.completions.create(model="m", messages=[], stream=True)
        for chunk in answer:
            for choice in chunk.choices or []:
                told["text"] += choice.delta.content or ""
                told["thinking"] += choice.delta.reasoning or ""
                told["stop"] = choice.finish_reason or told["stop"]
                for piece in choice.delta.tool_calls or []:
                    made = calls.setdefault(piece.index, [piece.id, piece.function.name, ""])
                    made[2] += piece.function.arguments or ""
            if chunk.usage:
                told["tokens"] = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
    return {**told, "calls": [(id, called, arguments_of(written)) for id, called, written in calls.values()]}


class TestRequests(ChatRequests):
    provider = "cerebras"
    check = staticmethod(check_cerebras)
    validate = staticmethod(validate)
    ask = staticmethod(ask)

    def test_its_own_reasoning_goes_back_beside_the_answer(self) -> None:
        window = exchange(thought("Hm.", "cerebras"), thought("So.", "cerebras"), "Sun.")
        messages, notes = sent("cerebras", window)
        assert messages[1] == {"role": "assistant", "content": "Sun.", "reasoning": "Hm.\nSo."}
        assert notes == []
        messages, _ = sent("cerebras", exchange(thought("Hm.", "cerebras"), call("c1"), results=(result("c1", "x"),)))
        assert (messages[1]["content"], messages[1]["reasoning"]) == (None, "Hm.")

    def test_reasoning_that_loses_its_place_or_says_nothing_is_noted(self) -> None:
        window = exchange("Sun.", thought("Hm.", "cerebras"), thought(" ", "cerebras"), call("c1"), "Rain.",
                          results=(result("c1", "x"),))  # fmt: skip
        messages, notes = sent("cerebras", window)
        assert (messages[1]["content"], messages[1]["reasoning"]) == ("Sun.\nRain.", "Hm.")
        assert notes == [
            "blank reasoning is left out",
            "text behind a call is sent in front of it",
            "reasoning behind text is sent in front of it",
        ]

    def test_an_answer_of_reasoning_alone_is_left_out(self) -> None:
        messages, notes = sent("cerebras", exchange(thought("Hm.", "cerebras")))
        assert [message["role"] for message in messages] == ["user", "user"]
        assert notes == ["an answer that is reasoning alone is left out"]

    def test_developers_speak_as_the_system(self) -> None:
        messages, notes = sent("cerebras", [say("developer", "Be brief."), say("user", "?")])
        assert messages[0] == {"role": "system", "content": "Be brief."}
        assert notes == ["a developer message is sent as system"]

    def test_keywords_that_some_models_refuse_are_taken_out_of_schemas_and_properties_of_that_name_are_not(
        self,
    ) -> None:
        inner = {"type": "integer", "minimum": 0, "format": "uint8", "nullable": True}
        schema = {"$schema": "x", "type": "object", "properties": {"format": inner, "minimum": {"items": inner}}}
        prepared = request("cerebras", PLAIN, tools=[{"name": "f", "inputSchema": schema}])
        cleaned = {"format": {"type": "integer"}, "minimum": {"items": {"type": "integer"}}}
        assert prepared.body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": cleaned}
        assert [note.what for note in prepared.notes] == [
            "not sent of tool definitions: $schema, minimum, format, nullable"
        ]

    @pytest.mark.parametrize(
        ("window", "options", "reason"),
        [
            ([say("user", document("application/pdf"))], {}, "a document of type application/pdf"),
            ([say("user", document("image/gif"))], {}, "cerebras cannot carry a document of type image/gif"),
            (PLAIN, {"search": True}, "the option search: its requests have no web search"),
            (PLAIN, {"params": {"effort": "xhigh"}}, "the reasoning effort 'xhigh': it is none, low, medium, high"),
            (PLAIN, {"params": {"stop_sequences": list("abcde")}}, "5 stop sequences: 4 fit"),
        ],
    )  # fmt: skip
    def test_what_the_api_refuses_is_refused_by_name(self, window: Any, options: Any, reason: str) -> None:
        with pytest.raises(Unsupported, match=reason):
            request("cerebras", window, options)

    def test_its_own_parameters_are_known(self) -> None:
        params = {"clear_thinking": False, "disable_reasoning": True, "min_completion_tokens": 3, "effort": "low",
                  "reasoning_format": "parsed", "prompt_cache_key": "k", "model_parameters": {"a": 1}, "seed": 1,
                  "prediction": {"type": "content", "content": "x"}, "max_tokens": 5,
                  "stop_sequences": ["x"]}  # fmt: skip
        prepared = request("cerebras", PLAIN, {"params": params}, model="m")
        assert prepared.notes == ()
        assert (prepared.body["max_completion_tokens"], prepared.body["reasoning_effort"]) == (5, "low")
        validate(prepared.body)

    def test_cache_flags_are_not_sent(self) -> None:
        assert sent("cerebras", [say("user", "?", cache=True)])[1] == [
            "1 cache flag is not sent: cerebras caches by itself"
        ]


class TestReplies(ChatReplies):
    provider = "cerebras"
    check = staticmethod(check_cerebras)
    play = staticmethod(play)
    unplayed: ClassVar[dict[str, str]] = {
        "error-in-the-middle": "it raises what a stream says of an error",
    }
    recorded: ClassVar[dict[str, dict[str, Any]]] = {
        "tool-use": {"usage": {"input_tokens": 425, "output_tokens": 27, "cache_read_input_tokens": 0}},
    }
    """The aggregate says zero of everything."""
    unshown = ("arguments",)


@needs_shared
@pytest.mark.parametrize("case", ["document-image", "tool-use"])
def test_a_request_of_the_other_project_is_the_same(case: str) -> None:
    """But that streams count their tokens, and that no tools are no key."""
    record, tools = read_request(case)
    body = request("cerebras", record["messages"], record["options"], tools=tools).body
    assert body.pop("stream_options") == {"include_usage": True}
    assert {"tools": [], **body} == json.loads((PROVIDER_REQUESTS / case / "expected-cerebras.json").read_text())


@needs_shared
def test_a_text_document_that_the_other_project_refuses_is_sent_as_its_text() -> None:
    record = json.loads((PROVIDER_REQUESTS / "document-text" / "input.json").read_text())
    assert (PROVIDER_REQUESTS / "document-text" / "expected-cerebras.err").exists()
    messages, _ = sent("cerebras", record["messages"])
    assert messages == [{"role": "user", "content": "# Hello World\n\nThis is a test."}]
