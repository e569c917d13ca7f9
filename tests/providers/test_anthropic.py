"""Anthropic's Messages API: answers, the official SDK's types and client as the judges, recorded streams.

What its requests have to be in general is tested in tests/emission.
"""

from __future__ import annotations

import copy
import json
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from pydantic import TypeAdapter

from headish import ContextWindow
from headish.errors import Unsupported
from headish.providers import Reply, Request, Stream, parse_response, prepare_request
from headish.providers.anthropic.reply import STOPS
from headish.values.blocks import ProviderBlock, Text, Thinking, ToolUse
from support.later import Later
from support.loopback import Loopback
from support.providers.emitted import check_anthropic, windows
from support.providers.replies import CASES, USER, Replies, read, read_lines, record, show
from support.providers.sdk_types import check_strictly, strict
from support.shared import SHARED, needs_shared

PROVIDER = "anthropic"
RECORDED = SHARED / "fixtures" / "providers" / "response-stream" / PROVIDER
STREAMS = ("cache-control", "document-image", "document-text", "mixed-content", "tool-search-only", "tool-use",
           "tool-with-outputschema")  # fmt: skip
DATA = b64encode(b"\x89PNG").decode()
WEATHER = {"name": "weather", "inputSchema": {"type": "object", "properties": {"place": {"type": "string"}}}}
anthropic = Later("anthropic")
params = Later("anthropic.types.message_create_params")


@cache
def any_event() -> TypeAdapter[Any]:
    """Any event of a stream, as the SDK has it."""
    return TypeAdapter(anthropic.types.RawMessageStreamEvent)


def play(url: str) -> dict[str, Any]:
    client = anthropic.Anthropic(api_key="none", base_url=url, max_retries=0)
    with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]) as stream:
        message = stream.get_final_message()
    usage = message.usage
    counts = (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
    return {
        "id": message.id,
        "model": message.model,
        "texts": [block.text for block in message.content if block.type == "text"],
        "calls": [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"],
        "stop": message.stop_reason,
        "tokens": (sum(filter(None, counts)), usage.output_tokens),
    }


class TestReplies(Replies):
    provider = PROVIDER
    check = staticmethod(check_anthropic)
    play = staticmethod(play)
    unplayed = {
        "cut-off": "it asks for an end",
        "error-inside": "it raises for the error",
        "half-a-call": "it makes a whole object of half a one",
    }
    ends = ("message_stop",)
    errors = ("error",)
    keys = (
        "type", "index", "message", "content_block", "delta", "usage", "text", "thinking", "signature", "partial_json",
        "citation", "citations", "input", "name", "id", "caller", "stop_reason", "stop_sequence", "error", "content",
        "input_tokens", "output_tokens", "output_tokens_details", "thinking_tokens", "model", "tool_use_id", "x",
    )  # fmt: skip

    @pytest.mark.slow
    @needs_shared
    @pytest.mark.parametrize("name", STREAMS)
    def test_the_sdk_makes_the_same_of_a_recorded_stream(self, name: str) -> None:
        self.compare(read_lines(RECORDED / name / "events.jsonl"))


@pytest.mark.parametrize("case", sorted((CASES / PROVIDER).iterdir()), ids=lambda path: path.name)
@pytest.mark.slow
def test_the_types_of_the_sdk_know_the_events_of_the_cases(case: Path) -> None:
    """But for those that its stream passes over, those of a beta, and what nobody is meant to know."""
    if case.name not in ("unknown", "compaction", "half-understood"):
        for event in read_lines(case / "events.jsonl"):
            if event["type"] not in ("ping", "error"):
                assert any_event().validate_python(event).type == event["type"]


def shown_calls(name: str) -> list[dict[str, Any]]:
    deltas, _ = show(PROVIDER, read_lines(CASES / PROVIDER / name / "events.jsonl"))
    return [delta.to_dict() for delta in deltas if delta.type != "text"]


class TestDeltas:
    def test_pieces_of_parallel_calls_say_whose_they_are(self) -> None:
        assert shown_calls("parallel-calls") == [
            {"type": "tool_use", "name": "weather", "id": "toolu_a", "index": 1},
            {"type": "tool_use", "name": "weather", "id": "toolu_b", "index": 2},
            {"type": "tool_use", "name": "now", "id": "toolu_c", "index": 3},
            {"type": "tool_use", "content": '{"pl', "index": 1},
            {"type": "tool_use", "content": '{"place"', "index": 2},
            {"type": "tool_use", "content": 'ace":"Oslo"}', "index": 1},
            {"type": "tool_use", "content": ':"Rome"}', "index": 2},
        ]

    def test_the_servers_own_tools_are_shown_like_others(self) -> None:
        assert shown_calls("search") == [
            {"type": "server_tool_use", "name": "web_search", "id": "srvtoolu_1", "index": 1},
            {"type": "server_tool_use", "content": '{"query":', "index": 1},
            {"type": "server_tool_use", "content": '"weather oslo"}', "index": 1},
        ]

    def test_thinking_comes_piece_by_piece_and_its_signature_is_not_shown(self) -> None:
        assert shown_calls("thinking") == [
            {"type": "thinking", "content": "Norway's ", "index": 0},
            {"type": "thinking", "content": "is Oslo.", "index": 0},
        ]


# Recorded streams: the other project's aggregates, with ours beside them.


def as_recorded(reply: Reply) -> list[dict[str, Any]]:
    """The content as Anthropic writes it."""
    found: list[dict[str, Any]] = []
    for block in reply.content:
        if isinstance(block, Text):
            found.append({"type": "text", "text": block.text} | block.opaque.get(PROVIDER, {}))
        elif isinstance(block, ToolUse):
            found.append({"type": "tool_use", "id": block.id, "name": block.name, "input": block.input})
        elif isinstance(block, ProviderBlock):
            found.append(block.data)
    return found


NOT_SHOWN = {"web_search_tool_result": "what a search found is no piece of the answer (PROVIDERS §7)"}
LOST_THERE = {"tool-search-only": "the other project's aggregate has no citations (PROVIDERS §8)"}


@needs_shared
@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_stream_is_read_as_it_was(name: str) -> None:
    expected = json.loads((RECORDED / name / "expected-aggregate.json").read_text())["message"]
    reply = read(PROVIDER, read_lines(RECORDED / name / "events.jsonl"))
    found = as_recorded(reply)
    assert any("citations" in block for block in found) is (name in LOST_THERE)
    assert [_less(block, "citations") for block in found] == [
        _less(block, "citations") for block in expected["content"]
    ]
    assert (reply.id, reply.model, reply.stop_reason) == (expected["id"], expected["model"], expected["stop_reason"])
    counts = {key: count for key, count in expected["usage"].items() if key.endswith("_tokens")}
    assert reply.usage is not None
    assert msgspec.to_builtins(reply.usage) == counts
    assert reply.details["service_tier"] == expected["usage"]["service_tier"]


@needs_shared
@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_stream_is_shown_as_it_was(name: str) -> None:
    """Our deltas say the type each time, and nothing where there is nothing to show."""
    lines = [line for line in read_lines(RECORDED / name / "expected-streamer.jsonl") if line]
    expected = [line for line in lines if line.get("type") not in NOT_SHOWN]
    deltas, _ = show(PROVIDER, read_lines(RECORDED / name / "events.jsonl"))
    begun = [delta["name"] for delta in expected if "name" in delta]
    assert [delta.name for delta in deltas if delta.name] == begun
    pieces = [delta["content"] for delta in expected if delta.get("content")]
    assert [delta.content for delta in deltas if delta.content] == pieces


def _less(block: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in keys}


# Streams by hand.


def begun(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grown(index: int, kind: str, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}


class TestBrokenStreams:
    def test_what_has_no_beginning_is_told_by_its_first_piece(self) -> None:
        events = [
            grown(0, "text_delta", text="A"),
            grown(1, "thinking_delta", thinking="B"),
            grown(2, "input_json_delta", partial_json='{"c":'),
            grown(3, "input_json_delta", partial_json='{"d":4}'),
            grown(2, "input_json_delta", partial_json="3}"),
            {"type": "message_stop"},
        ]
        text, thought, first, second = read(PROVIDER, events, seed="s").content
        assert (text, thought) == (Text("A"), Thinking("B", provider=PROVIDER))
        assert first == ToolUse("", "call_s_2", {"c": 3})
        assert second == ToolUse("", "call_s_3", {"d": 4})

    def test_a_piece_of_another_kind_than_its_block_is_kept_aside(self) -> None:
        events = [begun(0, type="text", text="A"), grown(0, "input_json_delta", partial_json="{}")]
        reply = read(PROVIDER, events)
        assert reply.content == (Text("A"),)
        assert reply.details["unknown_events"] == events[1:]

    def test_arguments_that_are_there_from_the_start_are_kept(self) -> None:
        call = begun(0, type="tool_use", id="c1", name="f", input={"a": 1})
        (block,) = read(PROVIDER, [call, {"type": "content_block_stop", "index": 0}]).content
        assert block == ToolUse("f", "c1", {"a": 1})

    @pytest.mark.parametrize("kind", ["tool_use", "server_tool_use"])
    def test_half_a_character_in_arguments_is_replaced(self, kind: str) -> None:
        """In a stream and in a whole message: nothing raises, and what is kept is JSON."""
        block = {"type": kind, "id": "t_1", "name": "f", "input": {}}
        piece = {"type": "input_json_delta", "partial_json": '{"a": "\ud800"}'}
        stream = Stream("anthropic")
        stream.feed({"type": "content_block_start", "index": 0, "content_block": block})
        stream.feed({"type": "content_block_delta", "index": 0, "delta": piece})
        stream.feed({"type": "content_block_stop", "index": 0})
        whole = {"type": "message", "content": [block | {"input": {"a": "\ud800"}}], "stop_reason": "tool_use"}
        for reply in (stream.finish(), parse_response("anthropic", whole)):
            assert len(reply.content) == 1
            assert json.dumps(reply.to_dict(), ensure_ascii=False).encode()

    def test_a_second_signature_takes_the_place_of_the_first(self) -> None:
        """As in the SDK."""
        events = [
            begun(0, type="thinking", thinking="", signature="one"),
            grown(0, "signature_delta", signature="two"),
            grown(0, "signature_delta", signature=""),
        ]
        assert read(PROVIDER, events).content == (Thinking("", signature="two", provider=PROVIDER),)

    def test_null_fields_of_a_later_event_do_not_overwrite(self) -> None:
        events = [
            {"type": "message_start", "message": {"id": "m1", "model": "m", "usage": {"input_tokens": 5}}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
            {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"input_tokens": None}},
            {"type": "message_start", "message": {"id": None}},
            {"type": "message_stop"},
        ]
        reply = read(PROVIDER, events)
        assert (reply.id, reply.model, reply.stop) == ("m1", "m", "end_turn")
        assert record(reply)["usage"] == {"input_tokens": 5, "output_tokens": 2}

    def test_zeros_at_the_end_do_not_overwrite_the_counts_of_the_prompt(self) -> None:
        counts = {"input_tokens": 1500, "cache_read_input_tokens": 20}
        zeros = {"input_tokens": 0, "cache_read_input_tokens": 0}
        for first, last, kept in ((counts, zeros, counts), (zeros, counts, counts), (zeros, zeros, zeros)):
            events = [
                {"type": "message_start", "message": {"id": "m1", "model": "m", "usage": first}},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last | {"output_tokens": 2}},
                {"type": "message_stop"},
            ]
            assert record(read(PROVIDER, events))["usage"] == kept | {"output_tokens": 2}

    def test_what_arrived_of_a_search_is_kept(self) -> None:
        events = [
            begun(0, type="server_tool_use", id="s1", name="web_search", input={}),
            grown(0, "input_json_delta", partial_json='{"query":"Os'),
        ]
        (block,) = read(PROVIDER, events).content
        data = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"invalid_json": '{"query":"Os'}}
        assert block == ProviderBlock(PROVIDER, data, partial=True)

    def test_a_huge_index_is_one_as_any_other(self) -> None:
        events = [grown(10**18, "text_delta", text="A"), grown(-1, "text_delta", text="B")]
        assert read(PROVIDER, events).content == (Text("A"), Text("B"))

    @pytest.mark.parametrize("error", [None, "x", {}, {"message": None}, {"type": 3, "message": "m"}])
    def test_an_error_of_any_form_ends_the_stream(self, error: Any) -> None:
        stream = Stream(PROVIDER)
        stream.feed({"type": "error", "error": error})
        assert stream.ended
        assert stream.finish().stop_reason == "error"

    def test_an_error_as_the_whole_answer(self) -> None:
        response = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "r"}
        reply = parse_response(PROVIDER, response)
        assert reply.error == {"type": "overloaded_error", "message": "Overloaded"}
        assert reply.incomplete

    def test_a_response_without_a_reason_to_stop_is_not_at_its_end(self) -> None:
        response = {"type": "message", "content": [{"type": "text", "text": "A"}], "stop_reason": None}
        reply = parse_response(PROVIDER, response)
        assert (reply.content, reply.stop_reason, reply.incomplete) == ((Text("A"),), "incomplete", True)

    @pytest.mark.slow
    def test_the_words_are_those_of_the_sdk(self) -> None:
        known = any_event().json_schema()["$defs"]["Delta"]["properties"]["stop_reason"]["anyOf"][0]["enum"]
        beta = {"compaction"}
        assert set(STOPS) == set(STOPS.values()) == {*known, *beta}


# Requests: what the types of the SDK say, and what they do not.


def request(messages: list[Any], options: Any = None, **settings: Any) -> Request:
    """A request, checked."""
    prepared = prepare_request(PROVIDER, {"messages": messages, "options": options or {}}, **settings)
    check_anthropic(prepared.body)
    whole, streamed = params.MessageCreateParamsNonStreaming, params.MessageCreateParamsStreaming
    check_strictly(strict(streamed if prepared.body["stream"] else whole), {**prepared.body, "model": "m"})
    return prepared


def notes(prepared: Request) -> list[str]:
    return [note.what for note in prepared.notes]


def refused(messages: list[Any], options: Any = None, **settings: Any) -> str:
    with pytest.raises(Unsupported) as error:
        prepare_request(PROVIDER, {"messages": messages, "options": options or {}}, **settings)
    return str(error.value)


def said(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def own(**data: Any) -> dict[str, Any]:
    return {"type": "provider", "provider": PROVIDER, "data": data}


def document(media_type: str, data: str = DATA, **more: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}, **more}


def text(words: str, **opaque: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, "opaque": {PROVIDER: opaque}}


THOUGHT = {"type": "thinking", "text": "Hm.", "signature": "c2ln", "provider": PROVIDER}
SEARCH = own(type="server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"})
FOUND = own(type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[])
CITED = {"type": "char_location", "cited_text": "a", "document_index": 0, "document_title": None,
         "start_char_index": 0, "end_char_index": 1}  # fmt: skip


def call(id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "weather", "input": {"place": "Oslo"}, **more}


def result(*content: Any, id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": list(content), **more}


THREAD = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": ["Look.", document("image/png"), document("application/pdf", name="a.pdf")]},
    said(THOUGHT, own(type="redacted_thinking", data="eA=="), SEARCH, FOUND, text("So.", citations=[CITED]), call(),
         call("c2")),
    {"role": "tool", "content": [result({"type": "text", "text": "Snow."}, document("image/png"), document(
        "application/pdf")), result(id="c2", is_error=True)]},
    {"role": "developer", "content": "In German."},
    {"role": "user", "content": [document("text/csv", b64encode(b"a,b").decode()), "Thanks."], "cache": True},
    said("Bye."),
    USER,
]  # fmt: skip


def bodies() -> Iterator[dict[str, Any]]:
    """Requests with every kind of block at every place, tools and parameters."""
    options = {
        "search": True,
        "tool_mode": "any",
        "params": {"max_tokens": 9, "effort": "low", "stop_sequences": ["x"]},
    }
    schema = {"params": {"schema": {"type": "object"}, "thinking": {"type": "enabled", "budget_tokens": 1024}}}
    yield request(THREAD, model="m").body
    yield request(THREAD, options, model="m", tools=[WEATHER]).body
    yield request(THREAD, {**schema, "tool_mode": "none"}, model="m", tools=[WEATHER], stream=False).body
    yield request([USER], {"tool_mode": "weather"}, model="m", tools=[WEATHER], stream=False).body
    yield request([USER], schema, model="m", stream=False).body


@pytest.mark.slow
def test_the_client_of_the_sdk_sends_the_body_as_it_is() -> None:
    answer = json.loads((CASES / PROVIDER / "text" / "response.json").read_text())
    with Loopback() as server:
        client = anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0)
        for body in bodies():
            server.answer() if body["stream"] else server.answer_json(answer)
            client.messages.create(**body)
            assert server.requests[-1].path == "/v1/messages"
            assert server.requests[-1].body == body


@given(window=windows())
@pytest.mark.slow
def test_the_types_of_the_sdk_take_every_request(window: ContextWindow) -> None:
    try:
        body = prepare_request(PROVIDER, window, model="m").body
    except Unsupported:
        return
    check_strictly(strict(params.MessageCreateParamsStreaming), body)
    for message in body["messages"]:
        assert "thinking" not in message["content"][-1]["type"], "no answer ends with reasoning"


def test_the_types_of_the_sdk_refuse_what_is_wrong() -> None:
    """The judge can fail."""
    broken = [copy.deepcopy(request(THREAD, model="m", tools=[WEATHER]).body) for _ in range(3)]
    broken[0]["surprise"] = 1
    broken[1]["messages"][0]["content"][0]["surprise"] = 1
    del broken[2]["messages"][1]["content"][0]["signature"]
    for each in broken:
        with pytest.raises(ValueError):
            check_strictly(strict(params.MessageCreateParamsStreaming), each)


class TestReasoning:
    def test_an_answer_does_not_end_with_it(self) -> None:
        """The API refuses one that does: an answer that was cut off while the model thought."""
        prepared = request([USER, said("Yes.", THOUGHT, own(type="redacted_thinking", data="eA==")), USER])
        assert prepared.body["messages"][1]["content"] == [{"type": "text", "text": "Yes."}]
        assert notes(prepared).count("reasoning that nothing follows is left out") == 2
        assert len(request([USER, said(THOUGHT, " "), USER]).body["messages"]) == 1

    @pytest.mark.slow
    def test_it_stands_in_front_of_what_it_led_to(self) -> None:
        prepared = request([USER, said(THOUGHT, call())], tools=[WEATHER])
        assert [part["type"] for part in prepared.body["messages"][1]["content"]] == ["thinking", "tool_use"]

    def test_the_limit_of_an_answer_has_room_for_it(self) -> None:
        thinking = {"thinking": {"type": "enabled", "budget_tokens": 10_000}}
        assert request([USER], {"params": thinking}).body["max_tokens"] == 18_192
        message = refused([USER], {"params": {**thinking, "max_tokens": 10_000}})
        assert "max_tokens=10000: it has to be more than thinking.budget_tokens, which is 10000" in message
        assert request([USER], {"params": {**thinking, "max_tokens": 10_001}}).body["max_tokens"] == 10_001

    @pytest.mark.parametrize("mode", ["any", "weather"])
    @pytest.mark.parametrize("kind", ["enabled", "adaptive"])
    def test_a_call_cannot_be_forced_beside_it(self, mode: str, kind: str) -> None:
        options = {"tool_mode": mode, "params": {"thinking": {"type": kind}}}
        assert "that forces a call" in refused([USER], options, tools=[WEATHER])
        options["tool_mode"] = "auto"
        assert prepare_request(PROVIDER, {"messages": [USER], "options": options}, tools=[WEATHER]).body["tool_choice"]

    def test_an_effort_that_there_is_not_is_refused(self) -> None:
        assert "the effort 'minimal'" in refused([USER], {"params": {"effort": "minimal"}})


class TestWhatComesBack:
    def test_who_called_a_tool_goes_back_with_the_call(self) -> None:
        caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
        code = own(type="server_tool_use", id="srvtoolu_1", name="code_execution", input={})
        calls = call(opaque={PROVIDER: {"caller": caller, "toolset_name": "geo"}})
        prepared = request([USER, said(code, calls), {"role": "tool", "content": [result()]}, USER], tools=[WEATHER])
        sent, called = prepared.body["messages"][1]["content"]
        assert sent["id"] == "srvtoolu_1", "code that waits for its calls was not cut off"
        assert (called["caller"], called["toolset_name"]) == (caller, "geo")

    def test_citations_go_back_as_a_request_takes_them(self) -> None:
        prepared = request([USER, said(text("A", citations=[{**CITED, "file_id": None}])), USER])
        assert prepared.body["messages"][1]["content"] == [{"type": "text", "text": "A", "citations": [CITED]}]
        assert notes(prepared) == []
        prepared = request([USER, said(text("A", citations=[{**CITED, "file_id": "file_1"}])), USER])
        assert notes(prepared) == ["the file_id of a citation has no place in a request"]

    def test_citations_of_a_user_are_not_sent(self) -> None:
        body = request([{"role": "user", "content": [text("A", citations=[CITED])]}]).body
        assert body["messages"][0]["content"] == [{"type": "text", "text": "A"}]

    @pytest.mark.parametrize("opaque", [None, 3, "x", [], {"citations": None}, {"citations": 3}, {"citations": []}])
    def test_what_makes_no_sense_beside_a_block_is_not_sent(self, opaque: Any) -> None:
        block = {"type": "text", "text": "A", "opaque": {PROVIDER: opaque}}
        body = request([USER, said(block, call(opaque={PROVIDER: opaque})), USER], tools=[WEATHER]).body
        assert body["messages"][1]["content"][0] == {"type": "text", "text": "A"}

    @pytest.mark.parametrize("data", [{}, {"type": None}, {"type": "tool_use", "id": "x"}, {"type": "tool_result"}])
    def test_a_block_of_its_own_that_cannot_be_sent_is_left_out(self, data: dict[str, Any]) -> None:
        prepared = request([USER, {**said(own(**data), "A"), "cache": True}, USER])
        assert f"a block of its own of type {data.get('type')!r} is left out" in notes(prepared)

    def test_a_search_that_was_cut_off_goes_on_at_the_end_alone(self) -> None:
        body = prepare_request(PROVIDER, {"messages": [USER, said("A", SEARCH)]}).body
        assert body["messages"][1]["content"][1] == SEARCH["data"]
        prepared = request([USER, said("A", SEARCH), USER])
        assert prepared.body["messages"][1]["content"] == [{"type": "text", "text": "A"}]
        assert "a search that was cut off is left out" in notes(prepared)


class TestDocumentsAndTools:
    def test_the_name_of_an_image_has_no_place(self) -> None:
        prepared = request([{"role": "user", "content": [document("image/png", name="a.png")]}])
        assert notes(prepared) == ["the name of the document 'a.png' has no place"]

    @pytest.mark.parametrize("media_type", ["image/png", "application/pdf"])
    def test_an_empty_document_is_refused(self, media_type: str) -> None:
        message = refused([{"role": "user", "content": [document(media_type, "")]}])
        assert f"an empty document of type {media_type}" in message

    def test_choices_at_the_top_of_a_schema_are_joined(self) -> None:
        """The API takes none there."""
        schema = {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "oneOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}, {"required": ["c"]}, True],
            "allOf": [{"properties": {"d": {"anyOf": [{"type": "null"}]}}, "required": ["d"]}],
        }
        prepared = request([USER], tools=[{"name": "f", "inputSchema": schema}])
        assert prepared.body["tools"][0]["input_schema"] == {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "d": {"anyOf": [{"type": "null"}]},
                "b": {"type": "string"},
            },
            "required": ["a", "d"],
        }
        assert notes(prepared) == ["the top of the schema of f is made one object, without oneOf, allOf"]

    def test_the_apis_other_tools_stand_beside_the_threads(self) -> None:
        code = {"type": "code_execution_20250825", "name": "code_execution"}
        body = request([USER], {"params": {PROVIDER: {"tools": [code]}}, "search": True}, tools=[WEATHER]).body
        assert [tool["name"] for tool in body["tools"]] == ["weather", "web_search", "code_execution"]
        assert "it is a list of tools" in refused([USER], {"params": {PROVIDER: {"tools": {}}}})


def test_a_block_that_was_not_understood_whole_is_not_sent_back() -> None:
    """Neither a block of its own nor reasoning whose signature covers what nobody here read; the text is."""
    reply = read(PROVIDER, read_lines(CASES / PROVIDER / "half-understood" / "events.jsonl"))
    user = {"role": "user", "content": "Hi"}
    sent = prepare_request(PROVIDER, {"messages": [user, {"role": "assistant", "content": list(reply.content)}, user]})
    assert sent.body["messages"][1]["content"] == [{"type": "text", "text": "Hi."}]
    assert "a block of anthropic that was cut off is left out" in [note.what for note in sent.notes]
    assert "reasoning of which a part was not understood is left out" in [note.what for note in sent.notes]


def test_a_summary_that_was_streamed_goes_back_whole() -> None:
    reply = read(PROVIDER, read_lines(CASES / PROVIDER / "compaction" / "events.jsonl"))
    user = {"role": "user", "content": "Hi"}
    sent = prepare_request(PROVIDER, {"messages": [user, {"role": "assistant", "content": list(reply.content)}, user]})
    block = {"type": "compaction", "content": "They spoke of Lima.", "encrypted_content": "ZW5j"}
    assert sent.body["messages"][0]["content"] == [block]


@pytest.mark.parametrize("kind", ["compaction", "server_tool_use", "hologram"])
def test_a_delta_that_nobody_knows_leaves_its_block_partial(kind: str) -> None:
    events = read_lines(CASES / PROVIDER / "compaction" / "events.jsonl")
    events[1]["content_block"]["type"] = kind
    events[2]["delta"] = {"type": "something_delta", "more": 1}
    (block,) = read(PROVIDER, events).content
    assert isinstance(block, ProviderBlock)
    assert block.partial
