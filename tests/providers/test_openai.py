"""OpenAI's Chat Completions: requests by its rules and its SDK's types, and answers of it and of servers like it."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from headish.errors import Unsupported
from headish.providers import Stream, parse_response
from support.later import Later
from support.providers.chat_replies import ChatReplies, arguments_of
from support.providers.chat_requests import ChatRequests, request, sent
from support.providers.chat_windows import IMAGE, PNG, WEATHER, call, document, exchange, result, say, text, thought
from support.providers.rules_chat import check_openai
from support.providers.sdk_types import check_strictly, strict
from support.shared import PROVIDER_REQUESTS, needs_shared, read_request

openai = Later("openai")
params = Later("openai.types.chat.completion_create_params")
streaming = Later("openai.lib.streaming.chat")
PDF = document("application/pdf", "JVBERi0=", name="a.pdf")
MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def client(url: str) -> Any:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)


def validate(body: dict[str, Any]) -> None:
    check_strictly(strict(params.CompletionCreateParams), body)


def ask(url: str, body: dict[str, Any]) -> None:
    with client(url) as asked:
        answer = asked.chat.completions.create(**body)
        if body["stream"]:
            list(answer)


def play(url: str) -> dict[str, Any]:
    state: Any = streaming.ChatCompletionStreamState()
    finish = None
    with client(url) as asked:
        for chunk in asked.chat.completions.create(model="m", messages=[], stream=True):
            state.handle_chunk(chunk)
            finish = next((choice.finish_reason for choice in chunk.choices if choice.finish_reason), finish)
    snapshot = state.current_completion_snapshot
    message, usage = snapshot.choices[0].message, snapshot.usage
    extra = message.model_extra
    calls = [(each.id, each.function.name, arguments_of(each.function.arguments)) for each in message.tool_calls or []]
    return {
        "text": (message.content or "") + (message.refusal or ""),
        "thinking": extra.get("reasoning_content") or extra.get("reasoning") or "",
        "calls": calls,
        "stop": finish,
        "tokens": None if usage is None else (usage.prompt_tokens, usage.completion_tokens),
    }


class TestRequests(ChatRequests):
    provider = "openai"
    check = staticmethod(check_openai)
    validate = staticmethod(validate)
    ask = staticmethod(ask)

    def test_instructions_stand_where_they_were_said_under_their_own_role(self) -> None:
        messages, notes = sent("openai", [say("developer", "a", "b"), say("user", "?"), say("system", "c")])
        assert messages == [
            {"role": "developer", "content": "a\nb"},
            {"role": "user", "content": "?"},
            {"role": "system", "content": "c"},
        ]
        assert notes == []

    def test_one_text_of_a_user_is_a_string_and_anything_else_is_parts(self) -> None:
        messages, _ = sent("openai", [say("user", "a"), say("user", "a", "b"), say("user", PDF), say("user", IMAGE)])
        url = f"data:image/png;base64,{PNG}"
        file = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
        assert [message["content"] for message in messages] == [
            "a",
            [text("a"), text("b")],
            [{"type": "file", "file": file}],
            [{"type": "image_url", "image_url": {"url": url}}],
        ]

    def test_a_file_without_a_name_gets_one_since_the_api_wants_it(self) -> None:
        messages, _ = sent("openai", [say("user", document("application/pdf", "JVBERi0="))])
        assert messages[0]["content"][0]["file"]["filename"] == "document.pdf"

    def test_the_results_of_parallel_calls_follow_in_order_and_their_images_behind_all_of_them(self) -> None:
        messages, notes = sent("openai", exchange(
            call("c1"), call("c2", "a.b"),
            results=(result("c2", document("image/jpeg"), "two", PDF), result("c1", IMAGE, is_error=True)),
        ))  # fmt: skip
        assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "user"]
        assert messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "Error: (attached below)"}
        assert messages[3] == {"role": "tool", "tool_call_id": "c2", "content": "two"}
        kinds = [part.get("text") or part["type"] for part in messages[4]["content"]]
        called = messages[1]["tool_calls"][1]["function"]["name"]
        assert kinds == [
            "From the result of weather:",
            "image_url",
            f"From the result of {called}:",
            "image_url",
            "file",
        ]
        assert "what the result of weather holds beside text goes into a message of the user" in notes

    def test_media_follow_the_results_that_they_are_from(self) -> None:
        once = exchange(call("c1"), results=(result("c1", IMAGE),))
        messages, _ = sent("openai", [*once, *exchange(call("c2"), results=(result("c2", IMAGE),))])
        moved = [message["content"] for message in messages if isinstance(message["content"], list)]
        assert [[part["type"] for part in content] for content in moved] == [["text", "image_url"]] * 2

    def test_results_are_text_and_say_what_the_api_has_no_key_for(self) -> None:
        messages, _ = sent("openai", exchange(
            call("c1"), call("c2"), call("c3"), call("c4"),
            results=(result("c1", "a", "b"), result("c2"), result("c3", "no", is_error=True))))  # fmt: skip
        contents = [message["content"] for message in messages if message["role"] == "tool"]
        interrupted = "Error: The call was interrupted: no result was stored."
        assert contents == ["a\nb", "(empty result)", "Error: no", interrupted]

    def test_text_behind_a_call_loses_its_place_with_a_note(self) -> None:
        messages, notes = sent("openai", exchange("a", call("c1"), "b", results=(result("c1", "x"),)))
        assert messages[1]["content"] == "a\nb"
        assert notes == ["text behind a call is sent in front of it"]

    def test_calls_alone_have_no_content_and_arguments_are_the_text_that_was_written(self) -> None:
        raw = {"type": "tool_use", "id": "c1", "name": "weather", "raw": '{ "city":1 }'}
        messages, notes = sent("openai", exchange(raw, results=(result("c1", "x"),)))
        function = {"name": "weather", "arguments": '{ "city":1 }'}
        called = [{"id": "c1", "type": "function", "function": function}]
        assert messages[1] == {"role": "assistant", "content": None, "tool_calls": called}
        assert notes == []

    def test_what_has_no_place_is_left_out_with_a_note(self) -> None:
        annotated = text("a", opaque={"openai": {"annotations": [1]}})
        window = [say("user", document("image/png", name="x.png")), *exchange(thought("Hm.", "openai"), annotated)]
        messages, notes = sent("openai", [*window, say("assistant", thought("Hm.", "openai"))])
        assert [message["role"] for message in messages] == ["user", "user", "assistant", "user"]
        assert notes == [
            "the name of the document 'x.png' has no place",
            "reasoning, which has no place in a request, is left out",
            "reasoning, which has no place in a request, is left out",
            "what openai keeps beside 1 block is left out",
        ]

    def test_a_streamed_answer_counts_its_tokens_unless_somebody_says_otherwise(self) -> None:
        window = [say("user", "?")]
        assert request("openai", window).body["stream_options"] == {"include_usage": True}
        own = {"params": {"openai": {"stream_options": {"include_obfuscation": False}}}}
        both = {"include_usage": True, "include_obfuscation": False}
        assert request("openai", window, own).body["stream_options"] == both
        whole = request("openai", window, own, stream=False)
        assert "stream_options" not in whole.body
        assert [note.what for note in whole.notes] == [
            "the option params.stream_options is not sent: the answer is not streamed"
        ]

    def test_parameters_stand_where_the_api_has_them(self) -> None:
        params = {"max_tokens": 9, "stop_sequences": ["x"], "effort": "high", "temperature": 0, "verbosity": "low",
                  "schema": {"type": "object", "title": "Answer"}, "parallel_tool_calls": False}  # fmt: skip
        body = request("openai", [say("user", "?")], {"params": params}, model="m", tools=[WEATHER]).body
        assert body["max_completion_tokens"] == 9
        assert body["stop"] == ["x"]
        assert body["response_format"]["json_schema"]["name"] == "Answer"
        validate(body)

    def test_a_schema_has_one_object_with_properties_at_its_top(self) -> None:
        """The API refuses a choice there, arrays without items, and an object without properties."""
        choice = {"anyOf": [{"properties": {"a": {"type": "array"}}, "required": ["a"]}], "not": {"required": ["b"]}}
        tools = [{"name": "f", "inputSchema": {"type": "object", **choice}}, {"name": "g"}]
        prepared = request("openai", [say("user", "?")], tools=tools)
        schemas = [tool["function"]["parameters"] for tool in prepared.body["tools"]]
        properties = {"a": {"type": "array", "items": {}}}
        assert schemas[0] == {"type": "object", "properties": properties, "required": ["a"]}
        assert schemas[1] == {"type": "object", "properties": {}}
        assert [note.what for note in prepared.notes] == [
            "the top of the schema of f is made one object, without anyOf, not"
        ]

    def test_the_providers_own_tools_stand_behind_the_threads(self) -> None:
        own = {"type": "custom", "custom": {"name": "shell"}}
        chosen = {"type": "custom", "custom": {"name": "shell"}}
        params = {"params": {"openai": {"tools": [own], "tool_choice": chosen}}}
        body = request("openai", [say("user", "?")], params, model="m", tools=[WEATHER]).body
        assert [tool["type"] for tool in body["tools"]] == ["function", "custom"]
        assert body["tool_choice"] == chosen
        validate(body)
        forced = {"tool_mode": "any", "params": {"openai": {"tools": [own]}}}
        assert request("openai", [say("user", "?")], forced).body["tool_choice"] == "required"
        with pytest.raises(Unsupported, match=r"params.openai.tools='x': it is a list of tools"):
            request("openai", [say("user", "?")], {"params": {"openai": {"tools": "x"}}})
        chosen_alone = request("openai", [say("user", "?")], {"params": {"openai": {"tool_choice": "auto"}}})
        assert [note.what for note in chosen_alone.notes] == [
            "the option params.tool_choice is not sent: there are no tools"
        ]

    def test_no_sequences_that_end_an_answer_are_no_parameter(self) -> None:
        assert "stop" not in request("openai", [say("user", "?")], {"params": {"stop_sequences": []}}).body

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({"search": True}, "openai cannot carry the option search: its requests have no web search"),
            ({"params": {"stop_sequences": list("abcde")}}, "5 stop sequences: 4 fit"),
            ({"params": {"effort": "enormous"}}, "the reasoning effort 'enormous': it is none, minimal, low"),
            ({"params": {"top_k": 3}}, "params.top_k"),
        ],
    )  # fmt: skip
    def test_what_the_api_refuses_is_refused_by_name(self, options: Any, reason: str) -> None:
        with pytest.raises(Unsupported, match=reason):
            request("openai", [say("user", "?")], options)

    def test_an_empty_file_is_refused(self) -> None:
        with pytest.raises(Unsupported, match="an empty document of type image/png"):
            request("openai", [say("user", document("image/png", ""))])

    def test_a_role_that_nobody_knows_is_refused(self) -> None:
        with pytest.raises(Unsupported, match="a message of role 'critic'"):
            request("openai", [say("critic", "?")])


class TestCacheFlags:
    """Off by default: older models refuse the field."""

    window: ClassVar[list[dict[str, Any]]] = [
        say("system", "s", "t", cache=True),
        *[say("user", f"{number}", cache=True) for number in range(4)],
        say("assistant", "a", cache=True),
        say("user", "b", IMAGE, cache=True),
        say("user", "c"),
    ]

    def test_flags_are_not_sent_and_one_note_says_so(self) -> None:
        messages, notes = sent("openai", self.window)
        assert messages[1] == {"role": "user", "content": "0"}
        assert notes[0] == "7 cache flags are not sent: openai caches by itself"

    def test_the_last_four_flags_become_breakpoints_on_last_parts(self) -> None:
        messages, notes = sent("openai", self.window, cache_breakpoints=True)
        assert messages[0]["content"] == [text("s\nt")]
        assert messages[1]["content"] == [text("0")]
        assert [message["content"] for message in messages[2:5]] == [
            [text(f"{number}", **MARK)] for number in (1, 2, 3)
        ]
        assert messages[5]["content"] == "a"
        assert messages[6]["content"] == [text("b"), {**messages[6]["content"][1], **MARK}]
        assert messages[7]["content"] == "c"
        assert notes == [
            "1 cache flag left out: nothing of the message can be marked",
            "the first 2 of 6 cache flags are left out: 4 fit",
        ]

    def test_a_flag_of_results_marks_what_stands_in_a_message_of_the_user(self) -> None:
        window = [say("user", "?"), say("assistant", call("c1")), say("tool", result("c1", IMAGE), cache=True)]
        messages, _ = sent("openai", window, cache_breakpoints=True)
        assert messages[-1]["content"][-1].keys() == {"type", "image_url", "prompt_cache_breakpoint"}
        window[2] = say("tool", result("c1", "x"), cache=True)
        messages, notes = sent("openai", window, cache_breakpoints=True)
        assert messages[-1] == {"role": "tool", "tool_call_id": "c1", "content": "x"}
        assert notes == ["1 cache flag left out: nothing of the message can be marked"]


class TestReplies(ChatReplies):
    provider = "openai"
    check = staticmethod(check_openai)
    play = staticmethod(play)
    unplayed: ClassVar[dict[str, str]] = {
        "an-error-as-text": "it raises what a stream says of an error",
        "an-error-object": "it takes an object of that kind for a chunk",
        "arguments-as-a-value": "it takes arguments for text",
        "an-error-with-a-reason": "it raises what a stream says of an error",
        "audio": "it keeps the words of a recording apart from the text",
        "calls-of-names-alone": "it pairs pieces by their index alone",
        "calls-without-an-index": "it pairs pieces by their index alone",
        "calls-without-ids": "it pairs pieces by their index alone",
        "custom-call": "it knows no calls but functions in a stream",
        "error-in-the-middle": "it raises what a stream says of an error",
        "error-inside-a-call": "it raises what a stream says of an error",
        "function-call": "it has another place for the calls of old",
        "mistral-reasoning": "it takes content for text",
        "names-and-ids-in-every-chunk": "it joins names that come twice",
        "nulls": "it takes no null for a list",
        "ollama-calls-of-one-index": "it pairs pieces by their index alone",
        "text-around-a-refusal": "it has one place for text and one for refusals",
        "unknown": "it takes an event of another kind for a chunk",
        "unknown-call": "it knows no calls but functions in a stream",
    }
    recorded: ClassVar[dict[str, dict[str, Any]]] = {
        "cache-control": {"usage": None},
        "document-image": {"usage": None},
        "tool-use": {"usage": None},
        "tool-with-outputschema": {"usage": None},
    }
    """The recordings hold no usage; the aggregate says zero of everything."""

    def test_names_that_were_rewritten_come_back_as_the_thread_knows_them(self) -> None:
        function = {"name": "a_b_1", "arguments": "{}"}
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": function}]}
        response = {"object": "chat.completion", "choices": [{"message": message, "finish_reason": "tool_calls"}]}
        reply = parse_response("openai", response, tool_names={"a_b_1": "a.b"})
        assert [getattr(block, "name", None) for block in reply.content] == ["a.b"]

    def test_a_name_that_comes_late_comes_back_as_the_thread_knows_it(self) -> None:
        stream = Stream("openai", tool_names={"a_b_1": "a.b"})
        stream.feed({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c"}]}}]})
        function = {"name": "a_b_1", "arguments": "{}"}
        shown = stream.feed({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": function}]}}]})
        assert [delta.name for delta in shown] == ["a.b", None]
        assert [getattr(block, "name", None) for block in stream.finish().content] == ["a.b"]

    def test_arguments_that_json_cannot_hold_are_mended(self) -> None:
        function = {"name": "f", "arguments": {"a": "\ud800"}}
        reply = parse_response("openai", {"choices": [{"message": {"tool_calls": [{"function": function}]}}]})
        assert [getattr(block, "input", None) for block in reply.content] == [{"a": "\ufffd"}]

    def test_a_reason_that_is_no_word_is_none(self) -> None:
        reply = parse_response("openai", {"choices": [{"message": {"content": "Hi"}, "finish_reason": 5}]})
        assert (reply.stop, reply.stop_reason) == (None, "incomplete")

    def test_an_index_however_large_costs_nothing(self) -> None:
        call = {"index": 10**30, "id": "c1", "function": {"name": "f", "arguments": "{}"}}
        response = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "stop"}]}
        assert parse_response("openai", response).stop_reason == "tool_use"


DIFFERENT = {
    "cache-control": "texts of one message are parts, not glued together",
    "document-text": "the text is sent; the other project refuses the document",
    "mixed-content": "the texts and the PDF are sent; the other project refuses the text",
}
"""PROVIDERS.md §8. Everywhere: no tools are no key, and streams count their tokens."""


@needs_shared
@pytest.mark.parametrize("case", sorted(path.name for path in PROVIDER_REQUESTS.glob("*")))
def test_a_request_of_the_other_project_is_the_same_but_for_the_table(case: str) -> None:
    record, tools = read_request(case)
    expected = PROVIDER_REQUESTS / case / "expected-openai.json"
    try:
        body = request("openai", record["messages"], record.get("options"), tools=tools).body
    except Unsupported:
        assert case == "tool-search-only"
        return
    del body["stream_options"]
    body.setdefault("tools", [])
    assert (expected.exists() and body == json.loads(expected.read_text())) is (case not in DIFFERENT)
