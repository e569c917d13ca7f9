"""Answers of Gemini: our own cases, whole and as a stream, and what is left of a stream that is cut or makes no sense.

A case has ``events.jsonl``, the chunks of a stream, and ``reply.json``, what they are read as; ``response.json`` is the
same answer in one piece.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.content.encoding import decode_payload, encode_payload
from headish.providers import Delta, Reply, Stream, parse_response, prepare_request
from headish.providers.gemini.reply import STOPS
from headish.values.blocks import ProviderBlock, Text, Thinking, ToolUse, to_mapping
from support.later import Later
from support.providers.rules_gemini import check_gemini

types = Later("google.genai.types")
CASES = sorted(path for path in (Path(__file__).parent / "cases" / "gemini").iterdir() if path.is_dir())
WHOLE = [case for case in CASES if (case / "response.json").exists()]
by_case = pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)


def events_of(case: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (case / "events.jsonl").read_text().splitlines()]


def read(events: list[dict[str, Any]], **settings: Any) -> Reply:
    stream = Stream("gemini", **settings)
    for event in events:
        stream.feed(event)
    return stream.finish()


def shown(name: str) -> list[dict[str, Any]]:
    stream = Stream("gemini")
    case = next(case for case in CASES if case.name == name)
    return [delta.to_dict() for event in events_of(case) for delta in stream.feed(event)]


def record(reply: Reply) -> dict[str, Any]:
    return {"content": [to_mapping(block) for block in reply.content], **reply.to_meta()}


def chunk(*parts: Any, **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **candidate}], "responseId": "r"}


class TestCases:
    @by_case
    def test_a_stream_is_read_as_its_case_says(self, case: Path) -> None:
        assert record(read(events_of(case))) == json.loads((case / "reply.json").read_text())

    @pytest.mark.parametrize("case", WHOLE, ids=lambda path: path.name)
    def test_a_whole_response_gives_the_same_reply(self, case: Path) -> None:
        response = json.loads((case / "response.json").read_text())
        assert record(parse_response("gemini", response)) == json.loads((case / "reply.json").read_text())

    @by_case
    def test_the_sdk_knows_what_the_case_holds(self, case: Path) -> None:
        """But for what nobody is meant to know, and for what a client with underscores writes."""
        if case.name in ("unknown", "underscores") or case.name.startswith("error"):
            return
        for event in events_of(case):
            known = types.GenerateContentResponse.model_validate_json(json.dumps(event))
            assert known.response_id == event.get("responseId")

    @by_case
    def test_a_reply_can_be_stored(self, case: Path) -> None:
        content = read(events_of(case)).content
        assert decode_payload(encode_payload(content)) == content

    @by_case
    def test_what_is_shown_adds_up_to_what_is_kept(self, case: Path) -> None:
        stream = Stream("gemini")
        deltas = [delta for event in events_of(case) for delta in stream.feed(event)]
        blocks = stream.finish().content
        for index, block in enumerate(blocks):
            pieces = "".join(delta.content for delta in deltas if delta.index == index)
            if isinstance(block, Text | Thinking):
                assert pieces == block.text
            if isinstance(block, ToolUse):
                assert json.loads(pieces) == block.input
        assert all(delta.index is not None and delta.index < len(blocks) for delta in deltas)

    @pytest.mark.parametrize("case", WHOLE, ids=lambda path: path.name)
    def test_a_reply_goes_back_as_it_came(self, case: Path) -> None:
        """Part by part, but for thoughts that nobody signed."""
        response = json.loads((case / "response.json").read_text())
        reply = parse_response("gemini", response)
        thread = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": list(reply.content)}]
        body = prepare_request("gemini", {"messages": thread}, model="gemini-2.5-pro").body
        check_gemini(body)
        parts = response.get("candidates", [{}])[0].get("content", {}).get("parts", [])
        signed = [part for part in parts if not part.get("thought") or "thoughtSignature" in part]
        sent = [part for content in body["contents"] if content["role"] == "model" for part in content["parts"]]
        if case.name == "underscores":
            assert [sorted(part) for part in sent] == [
                ["text", "thoughtSignature"],
                ["functionCall", "thoughtSignature"],
                ["executableCode"],
            ]
        elif case.name == "call-without-arguments":
            assert sent == [{"functionCall": {"name": "now", "args": {}}}]
        else:
            assert sent == signed


class TestDeltas:
    def test_texts_and_thoughts_come_piece_by_piece(self) -> None:
        assert shown("thoughts") == [
            {"type": "thinking", "content": "**Finding the capital**\n", "index": 0},
            {"type": "thinking", "content": "It is easy.", "index": 0},
            {"type": "text", "content": "It is ", "index": 1},
            {"type": "text", "content": "Paris.", "index": 1},
        ]

    def test_a_call_comes_whole(self) -> None:
        assert shown("parallel-calls")[1:] == [
            {"type": "tool_use", "content": '{"place":"Oslo"}', "name": "weather", "id": "fc-1", "index": 1},
            {"type": "tool_use", "content": '{"place":"Rome"}', "name": "weather", "id": "fc-2", "index": 2},
        ]

    def test_a_search_is_shown_as_the_servers_call(self) -> None:
        assert shown("search")[0] == {
            "type": "server_tool_use",
            "content": '{"queries":["weather in Oslo"]}',
            "name": "GOOGLE_SEARCH_WEB",
            "id": "s1",
            "index": 0,
        }

    def test_several_parts_of_a_chunk_are_all_shown(self) -> None:
        assert [delta["type"] for delta in shown("calls-without-ids")] == ["text", "tool_use", "tool_use"]


class TestCuts:
    @by_case
    def test_a_stream_cut_after_any_event_keeps_what_arrived(self, case: Path) -> None:
        events = events_of(case)
        whole = read(events)
        for count in range(len(events)):
            stream = Stream("gemini")
            for event in events[:count]:
                stream.feed(event)
            reply = stream.finish()
            ended = any("finishReason" in json.dumps(event) for event in events[:count])
            assert reply.incomplete is not ended
            assert stream.ended is ended
            assert ended or reply.stop_reason == "incomplete"
            for block, later in zip(reply.content, whole.content, strict=False):
                assert type(block) is type(later)
                if isinstance(block, Text | Thinking) and isinstance(later, Text | Thinking):
                    assert later.text.startswith(block.text)
                elif isinstance(block, ToolUse) and block.partial:
                    assert case.name == "streamed-calls"
                else:
                    assert block == later, "a call and a part of Gemini's own arrive whole"

    def test_the_empty_stream_is_an_incomplete_reply(self) -> None:
        assert record(read([])) == {
            "content": [],
            "provider": "gemini",
            "stop_reason": "incomplete",
            "incomplete": True,
        }

    def test_an_error_behind_the_end_is_an_error(self) -> None:
        reply = read([chunk({"text": "Yes."}, finishReason="STOP"), {"error": {"message": "lost"}}])
        assert (reply.stop_reason, reply.error) == ("error", {"message": "lost"})


class TestFinishReasons:
    def test_every_reason_of_the_sdk_has_a_word(self) -> None:
        for reason in types.FinishReason:
            reply = read([chunk({"text": "A"}, finishReason=reason.value)])
            if reason is types.FinishReason.FINISH_REASON_UNSPECIFIED:
                assert (reply.stop_reason, reply.stop) == ("incomplete", None)
            else:
                assert (reply.stop_reason, reply.stop) == (STOPS.get(reason.value, "error"), reason.value)

    def test_the_table_names_reasons_that_there_are(self) -> None:
        assert set(STOPS) <= {reason.value for reason in types.FinishReason}
        words = set(STOPS.values())
        assert words == {"end_turn", "max_tokens", "pause_turn", "refusal"}

    def test_a_blocked_prompt_is_a_refusal(self) -> None:
        for reason in types.BlockedReason:
            reply = parse_response("gemini", {"promptFeedback": {"blockReason": reason.value}})
            assert (reply.stop_reason, reply.stop, reply.incomplete) == ("refusal", reason.value, False)

    def test_a_call_ends_a_normal_turn_and_no_other(self) -> None:
        call = {"functionCall": {"name": "f", "args": {}}}
        assert read([chunk(call, finishReason="STOP")]).stop_reason == "tool_use"
        assert read([chunk(call, finishReason="MAX_TOKENS")]).stop_reason == "max_tokens"
        assert read([chunk(call, finishReason="TOO_MANY_TOOL_CALLS")]).stop_reason == "error"


class TestUsage:
    @pytest.mark.parametrize(
        ("said", "usage"),
        [
            ({}, None),
            ({"trafficType": "ON_DEMAND"}, None),
            ({"promptTokenCount": 10}, {"input_tokens": 10}),
            ({"candidatesTokenCount": 3}, {"output_tokens": 3}),
            ({"thoughtsTokenCount": 4}, {"output_tokens": 4, "reasoning_tokens": 4}),
            (
                {
                    "promptTokenCount": 100,
                    "cachedContentTokenCount": 60,
                    "toolUsePromptTokenCount": 7,
                    "candidatesTokenCount": 5,
                    "thoughtsTokenCount": 11,
                },
                {"input_tokens": 47, "cache_read_input_tokens": 60, "output_tokens": 16, "reasoning_tokens": 11},
            ),
            ({"promptTokenCount": 1, "cachedContentTokenCount": 2}, {"input_tokens": 0, "cache_read_input_tokens": 2}),
            ({"promptTokenCount": "many", "candidatesTokenCount": True, "thoughtsTokenCount": None}, None),
        ],
    )
    def test_counts_are_disjoint_and_never_invented(self, said: dict[str, Any], usage: dict[str, int] | None) -> None:
        assert read([{**chunk({"text": "A"}), "usageMetadata": said}]).to_meta().get("usage") == usage

    def test_the_last_counts_are_those_of_the_whole(self) -> None:
        events = [
            {**chunk({"text": "A"}), "usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 50}},
            {**chunk({"text": "B"}), "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2}},
            {**chunk({"text": "C"}, finishReason="STOP"), "usageMetadata": {"trafficType": "ON_DEMAND"}},
        ]
        assert read(events).to_meta()["usage"] == {"input_tokens": 9, "output_tokens": 2}


class TestCalls:
    def test_a_call_without_an_id_gets_one_of_the_answer_and_its_place(self) -> None:
        events = [chunk({"text": "A"}, {"functionCall": {"name": "f", "args": {}}})]
        (_, call) = read(events).content
        assert isinstance(call, ToolUse)
        assert call.id == "call_r_1"
        assert call.opaque == {}
        assert read(events) == read(events)

    def test_the_seed_stands_in_where_the_answer_has_no_id(self) -> None:
        event = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}}]}
        (call,) = read([event], seed="turn7").content
        assert isinstance(call, ToolUse)
        assert call.id == "call_turn7_0"

    def test_a_call_comes_back_under_the_name_that_the_thread_knows(self) -> None:
        (call,) = read([chunk({"functionCall": {"name": "a_b_1234"}})], tool_names={"a_b_1234": "a b"}).content
        assert isinstance(call, ToolUse)
        assert call.name == "a b"

    def test_arguments_that_are_no_object_are_kept(self) -> None:
        (call,) = read([chunk({"functionCall": {"name": "f", "args": "x"}})]).content
        assert isinstance(call, ToolUse)
        assert call.input == "x"


def calling(**call: Any) -> dict[str, Any]:
    return chunk({"functionCall": call})


BEGUN = calling(name="wipe", willContinue=True)
PATH = calling(partialArgs=[{"jsonPath": "$.path", "stringValue": "/", "willContinue": True}], willContinue=True)
TAIL = {"partialArgs": [{"jsonPath": "$.path", "stringValue": "tmp"}]}
ENDED = chunk(finishReason="STOP")


class TestACallThatIsStreamed:
    """Vertex AI sends arguments value by value where ``streamFunctionCallArguments`` asks for it."""

    def test_has_the_arguments_of_all_its_pieces(self) -> None:
        (call,) = read([BEGUN, PATH, calling(**TAIL), ENDED]).content
        assert isinstance(call, ToolUse)
        assert (call.name, call.input, call.partial) == ("wipe", {"path": "/tmp"}, False)

    def test_has_each_value_as_it_was_said(self) -> None:
        halves = [{"jsonPath": "$.face", "stringValue": half} for half in ("\ud83d", "\ude00")]
        count = {"jsonPath": "$.count", "numberValue": 2.0}
        far = {"jsonPath": "$.far", "numberValue": 1e300}
        reply = read(
            [
                BEGUN,
                calling(partialArgs=[halves[0], count, far], willContinue=True),
                calling(partialArgs=halves[1:]),
                ENDED,
            ]
        )
        (call,) = reply.content
        assert isinstance(call, ToolUse)
        assert json.dumps(call.input) == r'{"face": "\ud83d\ude00", "count": 2, "far": 1e+300}'
        assert reply.notes == ()

    def test_keeps_arguments_that_came_with_its_name(self) -> None:
        (call,) = read([calling(name="wipe", args={"force": True}, willContinue=True), PATH, calling(), ENDED]).content
        assert isinstance(call, ToolUse)
        assert (call.input, call.partial) == ({"force": True, "path": "/"}, False)

    @pytest.mark.parametrize(
        "pieces",
        [
            [],
            [PATH],
            [PATH, calling(name="now", args={})],
            [PATH, calling(partialArgs=[{"jsonPath": "$.path.of", "stringValue": "x"}])],
            [PATH, calling(partialArgs=[{"jsonPath": "$.path", "numberValue": 1}])],
            [calling(partialArgs=[{"jsonPath": "$.list[900000000]", "stringValue": "x"}])],
            [calling(partialArgs=[{"jsonPath": "$..path", "stringValue": "x"}])],
            [calling(partialArgs=[{"jsonPath": "$" + ".a" * 5000, "stringValue": "x"}])],
            [calling(partialArgs=[{"jsonPath": "$.path"}])],
            [calling(partialArgs=[{"jsonPath": "$.path", "structValue": {"a": 1}}])],
            [calling(partialArgs=["x"])],
            [calling(partialArgs="tmp")],
            [calling(), PATH, calling(**TAIL)],
        ],
        ids=[
            "nothing else", "no end", "another call", "two places", "two kinds", "a gap", "no path", "too deep",
            "no value", "a new kind of value", "no piece", "no list", "a piece behind its end",
        ],
    )  # fmt: skip
    def test_is_not_taken_for_a_whole_one_where_a_piece_is_missing_or_odd(self, pieces: list[dict[str, Any]]) -> None:
        reply = read([BEGUN, *pieces, ENDED])
        call = reply.content[0]
        assert isinstance(call, ToolUse)
        assert call.partial
        kept = json.dumps(record(reply))
        for said in ("tmp", "$.list[900000000]", "$..path", ".a" * 5000, "structValue"):
            assert said in kept or said not in json.dumps(pieces)


class TestWhateverComes:
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just("STOP"),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from([
                        "candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall", "name",
                        "args", "id", "toolCall", "finishReason", "finish_reason", "index", "error", "message", "usage",
                        "usageMetadata", "promptTokenCount", "promptFeedback", "blockReason", "citationMetadata",
                        "groundingMetadata", "modelVersion", "responseId", "inlineData", "x", "", "willContinue",
                        "partialArgs", "jsonPath", "stringValue",
                    ]),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=12,
        )
    )  # fmt: skip
    def test_no_shape_of_events_raises(self, value: Any) -> None:
        part = {"candidates": [{"content": {"parts": value if isinstance(value, list) else [value]}}]}
        grounded = {"candidates": [{"groundingMetadata": value, "citationMetadata": {"citations": value}}]}
        stream = Stream("gemini")
        for event in (value, part, {"candidates": value}, grounded, grounded, {"error": value}):
            if isinstance(event, dict):
                deltas = stream.feed(event)
                assert all(isinstance(delta, Delta) for delta in deltas)
        reply = stream.finish()
        assert decode_payload(encode_payload(reply.content)) == reply.content

    def test_a_candidate_of_a_huge_index_is_one_of_the_others(self) -> None:
        reply = read([chunk({"text": "A"}, index=0, finishReason="STOP"), chunk({"text": "B"}, index=10**15)])
        assert [to_mapping(block) for block in reply.content] == [{"type": "text", "text": "A"}]
        assert [str(note) for note in reply.notes] == ["candidates behind the first are kept beside the answer"]
        assert reply.details["candidates"] == [
            {"content": {"parts": [{"text": "B"}], "role": "model"}, "index": 10**15}
        ]

    def test_a_part_of_an_unknown_kind_is_kept_as_it_came(self) -> None:
        (block,) = read([chunk({"hologram": {"a": 1}, "thoughtSignature": "c2ln"})]).content
        assert block == ProviderBlock("gemini", {"hologram": {"a": 1}, "thoughtSignature": "c2ln"})

    def test_empty_parts_leave_no_gap(self) -> None:
        events = [chunk({}, {"text": ""}, {"thought": True}, {"text": None}, {"text": "A"}), chunk({"text": "B"})]
        assert [delta.to_dict() for delta in Stream("gemini").feed(events[0])] == [
            {"type": "text", "content": "A", "index": 0}
        ]
        assert [to_mapping(block) for block in read(events).content] == [{"type": "text", "text": "AB"}]

    def test_details_that_are_said_again_stand_once(self) -> None:
        first, second = {"uri": "https://a.example"}, {"uri": "https://b.example"}
        again = [chunk(citationMetadata={"citations": [first]}), chunk(citationMetadata={"citations": [first, second]})]
        more = [chunk(citationMetadata={"citations": [first]}), chunk(citationMetadata={"citations": [second]})]
        for events in (again, more):
            before = json.dumps(events)
            assert read(events).details["citationMetadata"] == {"citations": [first, second]}
            assert json.dumps(events) == before
