"""Answers of OpenAI's Responses API: our own cases, the SDK's reading of them, and what makes no sense."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec
import pytest
from pydantic import TypeAdapter

from headish.providers import Reply, parse_response
from headish.providers.openai_responses.reply import STATUSES, STOPS
from headish.values.blocks import ProviderBlock, Text, Thinking, ToolUse
from support.later import Later
from support.providers.replies import CASES, Replies, read, read_lines, record, show
from support.providers.rules_openai_responses import check_openai_responses

PROVIDER = "openai_responses"
openai = Later("openai")


@cache
def any_event() -> TypeAdapter[Any]:
    """Any event of a stream, as the SDK has it."""
    return TypeAdapter(openai.types.responses.ResponseStreamEvent)


def play(url: str) -> dict[str, Any]:
    client = openai.OpenAI(api_key="none", base_url=url, max_retries=0)
    with client.responses.stream(model="m", input="Hi") as stream:
        events = list(stream)
    response = events[-1].response
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    calls = [item for item in response.output if item.type in ("function_call", "custom_tool_call")]
    early = response.incomplete_details
    usage = response.usage
    return {
        "id": response.id,
        "model": response.model,
        "texts": [part.refusal if part.type == "refusal" else part.text for part in parts if part.type in TEXTS],
        "calls": [(call.call_id, call.name, _arguments(_said(call))) for call in calls],
        "stop": early.reason if early else response.status,
        "tokens": (usage.input_tokens, usage.output_tokens) if usage else None,
    }


def _said(call: Any) -> str:
    return str(call.arguments if call.type == "function_call" else call.input)


def _arguments(said: str) -> Any:
    try:
        return json.loads(said or "{}")
    except ValueError:
        return msgspec.UNSET


TEXTS = ("output_text", "refusal")


class TestReplies(Replies):
    provider = PROVIDER
    check = staticmethod(check_openai_responses)
    play = staticmethod(play)
    unplayed = {
        "error-inside": "it raises for the error",
        "cut-off": "it never ends",
        "unknown": "it warns of what it does not know",
    }
    ends = ("response.completed", "response.incomplete")
    errors = ("error", "response.failed")
    keys = (
        "type", "response", "item", "item_id", "output_index", "content_index", "summary_index", "delta", "part",
        "text", "refusal", "arguments", "name", "call_id", "id", "status", "output", "content", "summary", "usage",
        "error", "code", "message", "annotations", "annotation", "phase", "encrypted_content", "input_tokens",
        "input_tokens_details", "cached_tokens", "incomplete_details", "reason", "model", "x",
    )  # fmt: skip


@pytest.mark.parametrize("case", sorted((CASES / PROVIDER).iterdir()), ids=lambda path: path.name)
def test_the_types_of_the_sdk_know_the_events_of_the_cases(case: Any) -> None:
    """But for what nobody is meant to know, and for what a server leaves out."""
    for event in read_lines(case / "events.jsonl"):
        if "hologram" not in json.dumps(event) and case.name != "output-lost":
            assert any_event().validate_python(event).type == event["type"]


# A stream by hand.


def start(at: int = 0, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": at, "item": item}


def end(at: int = 0, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": at, "item": item}


def delta(piece: str, at: int | None = 0, kind: str = "output_text", **more: Any) -> dict[str, Any]:
    place = {} if at is None else {"output_index": at}
    return {"type": f"response.{kind}.delta", "delta": piece, **place, **more}


def completed(*output: Any, **more: Any) -> dict[str, Any]:
    response = {"id": "resp_1", "model": "m", "status": "completed", "output": list(output), **more}
    return {"type": "response.completed", "response": response}


def message(*texts: str, id: str = "msg_1", **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": id, "role": "assistant", "content": content, **more}


def function_call(arguments: Any = "{}", call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "f", "arguments": arguments,
            **more}  # fmt: skip


def texts(reply: Reply) -> list[str]:
    return [block.text for block in reply.content if isinstance(block, Text | Thinking)]


def calls(reply: Reply) -> list[tuple[str | None, Any]]:
    return [(block.id, block.input) for block in reply.content if isinstance(block, ToolUse)]


class TestTheWholeTruth:
    def test_the_last_event_has_the_last_word(self) -> None:
        reply = read(PROVIDER, [delta("Osol"), completed(message("Oslo."))])
        assert texts(reply) == ["Oslo."]

    def test_what_was_not_streamed_is_shown_at_the_end(self) -> None:
        shown, _ = show(PROVIDER, [delta("Os"), completed(message("Oslo."), function_call('{"a":1}'))])
        assert [(each.type, each.content, each.index) for each in shown] == [
            ("text", "Os", 0), ("text", "lo.", 0), ("tool_use", "", 1), ("tool_use", '{"a":1}', 1),
        ]  # fmt: skip

    @pytest.mark.parametrize("output", [[], None, [message()], [message("")], [{"type": "message", "content": None}]])
    def test_what_was_streamed_is_kept_where_the_last_event_does_not_have_it(self, output: Any) -> None:
        last = completed(output=output)
        reply = read(PROVIDER, [start(**message()), delta("Oslo."), last])
        assert (texts(reply), reply.incomplete) == (["Oslo."], False)

    def test_a_stream_that_says_nothing_but_its_end_is_a_reply(self) -> None:
        last = completed(message("Oslo."))
        assert read(PROVIDER, [last]) == parse_response(PROVIDER, last["response"])

    def test_items_stand_in_the_order_of_the_output(self) -> None:
        """The beginning of the stream is lost: what it held is known at the end only, and stands first."""
        events = [delta("B", at=1, item_id="msg_2"), completed(message("A"), message("B", id="msg_2"))]
        assert texts(read(PROVIDER, events)) == ["A", "B"]

    def test_an_index_that_nothing_came_for_is_no_gap(self) -> None:
        events = [
            {"type": "response.output_item.added", "output_index": 0, "item": None},
            start(1, **message(id="msg_2")),
            delta("Oslo.", at=1, item_id="msg_2"),
            completed(message("Oslo.", id="msg_2")),
        ]
        assert texts(read(PROVIDER, events)) == ["Oslo."]

    def test_ids_that_change_from_event_to_event_are_no_new_items(self) -> None:
        """Some gateways give an item another id in every event."""
        events = [
            start(**message(id="x1")),
            delta("Oslo.", item_id="x2"),
            end(**message("Oslo.", id="x3")),
            completed(message("Oslo.", id="x4")),
        ]
        assert texts(read(PROVIDER, events)) == ["Oslo."]

    def test_items_that_are_all_numbered_alike_are_told_by_their_ids(self) -> None:
        first, second = function_call('{"a":1}', "c1"), function_call('{"b":2}', "c2")
        events = [
            start(**{**first, "arguments": ""}),
            start(**{**second, "arguments": ""}),
            delta('{"a":1}', kind="function_call_arguments", item_id="fc_c1"),
            delta('{"b":2}', kind="function_call_arguments", item_id="fc_c2"),
            end(**first),
            end(**second),
        ]
        assert calls(read(PROVIDER, events)) == [("c1", {"a": 1}), ("c2", {"b": 2})]
        assert calls(read(PROVIDER, [*events, completed(first, second)])) == [("c1", {"a": 1}), ("c2", {"b": 2})]

    def test_items_without_numbers_and_ids_come_one_after_the_other(self) -> None:
        events = [delta("Os", None), delta("lo", None), delta("{}", None, "function_call_arguments")]
        assert [type(block) for block in read(PROVIDER, events).content] == [Text, ToolUse]

    def test_encrypted_content_of_an_item_that_is_not_finished_is_not_kept(self) -> None:
        """It may be half of it."""
        events = [start(type="reasoning", id="rs_1", summary=[], encrypted_content="gAA")]
        assert read(PROVIDER, events).content == ()
        (thought,) = read(PROVIDER, [*events, delta("Hm.", kind="reasoning_summary_text", summary_index=0)]).content
        assert thought == Thinking("Hm.", provider=PROVIDER)

    def test_encrypted_content_that_the_last_event_lacks_is_kept(self) -> None:
        item = {"type": "reasoning", "id": "rs_1", "summary": []}
        events = [end(**item, encrypted_content="gAAAA"), completed({**item, "encrypted_content": None})]
        (thought,) = read(PROVIDER, events).content
        assert isinstance(thought, Thinking)
        assert thought.opaque == {PROVIDER: {**item, "encrypted_content": "gAAAA"}}


class TestPieces:
    def test_texts_of_one_reasoning_are_parted_by_a_blank_line(self) -> None:
        pieces = [("A", 0), ("B", 0), ("C", 1), ("D", 3)]
        events = [delta(piece, kind="reasoning_summary_text", summary_index=index) for piece, index in pieces]
        shown, content = show(PROVIDER, events)
        assert [each.content for each in shown] == ["A", "B", "\n\nC", "\n\nD"]
        assert content == (Thinking("AB\n\nC\n\nD", provider=PROVIDER),)

    def test_a_text_without_pieces_comes_at_its_end(self) -> None:
        events = [
            {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Oslo."},
            {"type": "response.refusal.done", "output_index": 0, "content_index": 1, "refusal": "No."},
            {"type": "response.function_call_arguments.done", "output_index": 1, "name": "f", "arguments": "{}"},
            {"type": "response.reasoning_text.done", "output_index": 2, "content_index": 0, "text": "Hm."},
        ]
        shown, _ = show(PROVIDER, events)
        assert [each.content for each in shown if each.content] == ["Oslo.", "No.", "{}", "Hm."]

    def test_a_call_whose_beginning_is_lost_gets_its_name_at_its_end(self) -> None:
        events = [delta('{"a":1}', kind="function_call_arguments"), end(**function_call('{"a":1}', name="sent"))]
        (call,) = read(PROVIDER, events, tool_names={"sent": "a.b"}).content
        assert isinstance(call, ToolUse)
        assert (call.name, call.id, call.input) == ("a.b", "c1", {"a": 1})

    def test_a_call_without_an_id_gets_one_of_the_answer_and_its_place(self) -> None:
        output = [message("A"), {"type": "function_call", "name": "f", "arguments": "{}"}]
        assert calls(read(PROVIDER, [completed(*output)])) == [("call_resp_1_1", {})]

    def test_arguments_that_are_no_text_are_taken_as_they_are(self) -> None:
        assert calls(read(PROVIDER, [completed(function_call({"a": 1}))])) == [("c1", {"a": 1})]

    def test_code_and_custom_input_of_a_cut_stream_are_kept(self) -> None:
        kinds = {
            "mcp_call_arguments": ("mcp_call", "arguments"),
            "code_interpreter_call_code": ("code_interpreter_call", "code"),
        }
        for event, (kind, key) in kinds.items():
            (block,) = read(PROVIDER, [delta("a", kind=event), delta("b", kind=event)]).content
            assert block == ProviderBlock(PROVIDER, {"type": kind, key: "ab"}, partial=True)
        custom = "custom_tool_call_input"
        (call,) = read(PROVIDER, [delta("a", kind=custom), delta("b", kind=custom)]).content
        assert isinstance(call, ToolUse)
        assert (call.raw, call.partial) == ("ab", True)

    def test_the_servers_calls_are_shown_like_others(self) -> None:
        shown, _ = show(PROVIDER, [start(type="web_search_call", id="ws_1"), start(1, type="compaction", id="cmp_1")])
        assert [each.to_dict() for each in shown] == [
            {"type": "server_tool_use", "name": "web_search", "id": "ws_1", "index": 0}
        ]

    def test_log_probabilities_are_kept_beside_the_text(self) -> None:
        part = {"type": "output_text", "text": "A", "annotations": [], "logprobs": [{"token": "A", "logprob": -0.1}]}
        (block,) = read(PROVIDER, [completed({**message(), "content": [part]})]).content
        assert block == Text("A", opaque={PROVIDER: {"logprobs": part["logprobs"]}})


class TestTheEnd:
    @pytest.mark.parametrize(
        ("reason", "word"),
        [("max_output_tokens", "max_tokens"), ("content_filter", "refusal"), ("max_messages", "pause_turn"),
         ("steered", "pause_turn"), (None, "incomplete"), ("moonlight", "error")],
    )  # fmt: skip
    def test_an_early_end_has_its_reason(self, reason: str | None, word: str) -> None:
        response = {"status": "incomplete", "output": [], "incomplete_details": {"reason": reason}}
        reply = parse_response(PROVIDER, response)
        assert (reply.stop_reason, reply.stop, reply.incomplete) == (word, reason or "incomplete", False)

    def test_a_call_ends_a_normal_turn_and_no_other(self) -> None:
        assert parse_response(PROVIDER, completed(function_call())["response"]).stop_reason == "tool_use"
        early = {
            "status": "incomplete",
            "output": [function_call()],
            "incomplete_details": {"reason": "content_filter"},
        }
        assert parse_response(PROVIDER, early).stop_reason == "refusal"

    @pytest.mark.parametrize("status", STATUSES)
    def test_every_status_of_a_whole_response(self, status: str) -> None:
        reply = parse_response(PROVIDER, {"id": "r", "status": status, "output": [message("A")]})
        assert texts(reply) == ["A"]
        assert reply.incomplete is (status not in ("completed", "incomplete"))
        assert (reply.error is not None) is (status == "failed")

    def test_a_response_that_does_not_say_its_status_is_whole(self) -> None:
        """Some servers leave it out."""
        assert parse_response(PROVIDER, {"output": [message("A")]}).stop_reason == "end_turn"
        assert parse_response(PROVIDER, {}).stop_reason == "incomplete"

    @pytest.mark.parametrize(
        ("event", "error"),
        [
            ({"type": "error", "code": "c", "message": "m"}, {"type": "c", "message": "m"}),
            ({"type": "error", "error": {"type": "t", "code": "c", "message": "m"}}, {"type": "t", "message": "m"}),
            ({"error": {"code": "c", "message": "m"}}, {"type": "c", "message": "m"}),
            ({"error": "m"}, {"message": "m"}),
            ({"type": "error"}, {"message": "the provider gave no reason"}),
            ({"type": "response.failed"}, {"message": "the provider gave no reason"}),
            ({"type": "response.failed", "response": {"error": {"code": "c", "message": "m"}}},
             {"type": "c", "message": "m"}),
        ],
    )  # fmt: skip
    def test_an_error_of_any_form(self, event: dict[str, Any], error: dict[str, Any]) -> None:
        reply = read(PROVIDER, [delta("Os"), event])
        assert (reply.error, reply.stop_reason, reply.incomplete) == (error, "error", True)
        assert texts(reply) == ["Os"]

    def test_an_error_as_the_whole_answer(self) -> None:
        reply = parse_response(PROVIDER, {"error": {"message": "No such model.", "type": "invalid_request_error"}})
        assert reply.error == {"type": "invalid_request_error", "message": "No such model."}

    def test_a_failure_without_a_reason_leaves_the_reason_that_was_given(self) -> None:
        events = [{"type": "error", "code": "c", "message": "m"}, {"type": "response.failed", "response": {}}]
        assert read(PROVIDER, events).error == {"type": "c", "message": "m"}

    def test_what_comes_behind_the_end_changes_nothing(self) -> None:
        reply = read(PROVIDER, [completed(message("Oslo.")), delta("?"), {"type": "keepalive"}])
        assert texts(reply) == ["Oslo."]
        assert [event["type"] for event in reply.details["unknown_events"]] == [
            "response.output_text.delta", "keepalive"
        ]  # fmt: skip

    def test_the_words_are_those_of_the_shared_vocabulary(self) -> None:
        assert set(STOPS.values()) == {"end_turn", "max_tokens", "refusal", "pause_turn", "incomplete"}


class TestUsage:
    @pytest.mark.parametrize(
        ("usage", "counts"),
        [
            (None, None),
            ({}, None),
            ({"input_tokens": 9, "output_tokens": 2}, {"input_tokens": 9, "output_tokens": 2}),
            (
                {
                    "input_tokens": 100,
                    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
                    "output_tokens": 50,
                    "output_tokens_details": {"reasoning_tokens": 40},
                },
                {
                    "input_tokens": 10,
                    "output_tokens": 50,
                    "cache_creation_input_tokens": 30,
                    "cache_read_input_tokens": 60,
                    "reasoning_tokens": 40,
                },
            ),
            (
                {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 5}},
                {"input_tokens": 0, "cache_read_input_tokens": 5},
            ),
            ({"input_tokens": "many", "output_tokens": None, "input_tokens_details": 3}, None),
        ],
    )
    def test_counts_are_disjoint_and_never_invented(self, usage: Any, counts: Any) -> None:
        assert record(read(PROVIDER, [completed(usage=usage)])).get("usage") == counts


class TestOddOnes:
    def test_a_huge_index_is_one_as_any_other(self) -> None:
        events = [delta("A", 10**18, content_index=10**18), delta("B", -1), delta("C", 10**18, content_index=10**18)]
        assert texts(read(PROVIDER, events)) == ["B", "AC"]

    def test_items_of_no_type_and_no_object_are_kept(self) -> None:
        reply = read(PROVIDER, [completed({"id": "x"}, None, "text")])
        assert reply.content == (ProviderBlock(PROVIDER, {"id": "x"}),)
        assert reply.details["unknown_events"] == [{"item": None}, {"item": "text"}]

    def test_a_part_that_nobody_knows_is_noted_once(self) -> None:
        item = {**message(), "content": [{"type": "output_hologram"}]}
        reply = read(PROVIDER, [end(**item), completed(item)])
        assert [str(note) for note in reply.notes] == [
            "a part of type 'output_hologram' is kept beside the answer: nobody knows it"
        ]

    def test_a_long_stream_of_repeated_ends_is_read_in_linear_time(self) -> None:
        """Counted, not timed: how many characters are joined."""
        joined = [0]

        class Counting(str):
            def startswith(self, *args: Any) -> bool:
                joined[0] += len(self)
                return super().startswith(*args)

        def work(count: int) -> int:
            joined[0] = 0
            whole = Counting("x" * count)
            ending = {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": whole}
            read(PROVIDER, [*(delta("x") for _ in range(count)), ending, completed(message(whole))])
            return joined[0]

        assert work(2000) <= 10 * work(200)
