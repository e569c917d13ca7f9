"""Answers into the store: what a turn keeps of them, what they continue, and which name moves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from headish import Store
from headish.errors import (
    InvalidArgument,
    InvalidContent,
    InvalidReply,
    TooLarge,
    UnknownFormat,
    UnknownTurn,
    Unrepresentable,
)
from headish.providers import PROVIDERS
from headish.values.blocks import Text, ToolUse
from support.insides import unchanged
from support.places import Place, in_memory_too

MESSAGE: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "model": "small-1",
    "content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.txt"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 3, "output_tokens": 5},
}
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " look."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"path": '}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"a.txt"}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]
FORMS: dict[str, Callable[[], Any]] = {
    "a whole response": lambda: MESSAGE,
    "its JSON": lambda: json.dumps(MESSAGE, indent=1),
    "events": lambda: iter(EVENTS),
    "server-sent events": lambda: "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in EVENTS),
    "JSON lines": lambda: "\n".join(map(json.dumps, EVENTS)).encode(),
}


@pytest.fixture
def asked(store: Store) -> Store:
    store.pointers.set("milli", "anthropic/small")
    store.add_turn("Read a.txt", bookmark="main", provider_ptr="milli")
    return store


class TestAnAnswer:
    @pytest.mark.parametrize("form", FORMS)
    def test_it_is_the_same_turn_in_whatever_form_it_came(self, asked: Store, form: str) -> None:
        question = asked.get("main").id
        turn = asked.reply("main", "anthropic", FORMS[form]())
        assert asked.blocks(turn.id) == (Text("Let me look."), ToolUse("read", "toolu_1", {"path": "a.txt"}))
        assert (turn.meta.role, turn.meta.continues, turn.meta.bookmark) == ("assistant", (question,), "main")
        assert turn.meta.reply == {
            "provider": "anthropic",
            "model": "small-1",
            "stop_reason": "tool_use",
            "stop": "tool_use",
            "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3},
            "response_id": "msg_1",
            "ptr": "milli",
        }
        assert asked.get("main") == turn
        assert asked.verify().problems == ()

    def test_what_it_keeps_beside_does_not_change_what_was_said(self, asked: Store) -> None:
        turn = asked.reply("main", "anthropic", MESSAGE)
        again = asked.add_turn(asked.blocks(turn.id), role="assistant", continues=turn.meta.continues[0])
        assert again.digest == turn.digest

    def test_a_tool_that_went_out_under_another_name_comes_back_under_its_own(self, asked: Store) -> None:
        tools = [{"name": "files.read"}]
        request = asked.request("main", tools=tools)
        [sent] = request.tool_names
        called = {**MESSAGE, "content": [{"type": "tool_use", "id": "c", "name": sent, "input": {}}]}
        turn = asked.reply(request, "anthropic", called)
        assert [block.name for block in asked.open_calls(turn.id)] == ["files.read"]

    def test_one_that_ends_without_its_end_is_an_incomplete_turn(self, asked: Store) -> None:
        turn = asked.reply("main", "anthropic", EVENTS[:7])
        assert (turn.meta.reply["stop_reason"], turn.meta.reply["incomplete"]) == ("incomplete", True)
        text, call = asked.blocks(turn.id)
        assert text == Text("Let me look.")
        assert isinstance(call, ToolUse)
        assert (call.raw, call.partial) == ('{"path": ', True)

    def test_a_window_leaves_out_a_call_that_was_cut_off_and_says_so(self, asked: Store) -> None:
        turn = asked.reply("main", "anthropic", EVENTS[:7])
        window = asked.resolve("main")
        assert window.messages[-1].content == (Text("Let me look."),)
        [note] = window.notes
        assert (note.what, note.turn) == ("a call of read that was cut off is left out", turn.id)
        assert note in asked.request("main").notes
        assert asked.open_calls("main") == []

    def test_a_transcript_refuses_half_a_call_unless_it_may_be_dropped(self, asked: Store) -> None:
        asked.reply("main", "anthropic", EVENTS[:7])
        with pytest.raises(Unrepresentable, match=r'a call that was cut off .*drop="partial"'):
            asked.export("main")
        assert "Let me look." in asked.export("main", drop=["partial"])

    @pytest.mark.parametrize("provider", PROVIDERS)
    @pytest.mark.parametrize("nothing", [[], iter(()), "[]", b" [ ] ", "data: [DONE]\n\n", ": comment\n\n"])
    def test_nothing_at_all_is_no_answer(self, asked: Store, provider: str, nothing: Any) -> None:
        with unchanged(asked), pytest.raises(InvalidReply, match=f"nothing of it is an answer of {provider}"):
            asked.reply("main", provider, nothing)

    def test_a_stream_that_begins_and_says_nothing_is_an_empty_incomplete_turn(self, asked: Store) -> None:
        turn = asked.reply("main", "anthropic", EVENTS[:1])
        assert asked.blocks(turn.id) == ()
        assert turn.meta.reply["stop_reason"] == "incomplete"

    def test_an_error_is_kept_with_what_came_before(self, asked: Store) -> None:
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        turn = asked.reply("main", "anthropic", [*EVENTS[:4], error])
        assert asked.blocks(turn.id) == (Text("Let me look."),)
        assert turn.meta.reply["error"] == {"type": "overloaded_error", "message": "Overloaded"}
        assert turn.meta.reply["stop_reason"] == "error"


class TestBadInput:
    @pytest.mark.parametrize("text", ["nonsense", "data: {broken\n\n", b"\xff\xfe", "[1, 2]", "data: 3\n\n"])
    def test_text_that_is_no_answer_is_refused_and_nothing_is_stored(self, asked: Store, text: Any) -> None:
        with unchanged(asked), pytest.raises(InvalidReply):
            asked.reply("main", "anthropic", text)

    @pytest.mark.parametrize("events", [[1], ["x"], [None]])
    def test_what_is_no_event_is_refused(self, asked: Store, events: Any) -> None:
        with unchanged(asked), pytest.raises(InvalidArgument, match="an event is a mapping"):
            asked.reply("main", "anthropic", events)

    def test_an_unknown_headish_or_provider_is_refused(self, asked: Store) -> None:
        with unchanged(asked):
            with pytest.raises(UnknownTurn):
                asked.reply("nowhere", "anthropic", MESSAGE)
            with pytest.raises(UnknownFormat):
                asked.reply("main", "nobody", MESSAGE)
            with pytest.raises(InvalidArgument, match="the request was not made by a store for openai"):
                asked.reply(asked.request("main"), "openai", MESSAGE)

    def test_a_turn_of_another_space_is_unknown(self, durable_place: Place) -> None:
        one, other = durable_place.open("one"), durable_place.open("other")
        turn = one.add_turn("mine")
        with unchanged(other), pytest.raises(UnknownTurn):
            other.reply(turn.id, "anthropic", MESSAGE)

    def test_details_too_large_to_be_kept_do_not_cost_the_answer(self, asked: Store) -> None:
        details = {"category": "x" * 2_000_000}
        turn = asked.reply("main", "anthropic", {**MESSAGE, "stop_details": details})
        assert len(asked.blocks(turn.id)) == 2
        [note] = turn.meta.reply["notes"]
        assert note.startswith("2,000,030 of ")
        assert note.endswith("holds no more")

    def test_arguments_nested_too_deep_are_kept_as_their_text(self, asked: Store) -> None:
        deep: dict[str, Any] = {}
        for _ in range(300):
            deep = {"a": deep}
        content = [{"type": "tool_use", "id": "c", "name": "f", "input": deep}]
        turn = asked.reply("main", "anthropic", {**MESSAGE, "content": content})
        [call] = asked.blocks(turn.id)
        assert isinstance(call, ToolUse)
        assert json.loads(call.raw or "") == deep
        asked.request("main")

    def test_a_block_of_the_providers_nested_too_deep_is_kept_as_far_as_it_goes(self, asked: Store) -> None:
        deep: list[Any] = []
        for _ in range(300):
            deep = [deep]
        turn = asked.reply("main", "anthropic", {**MESSAGE, "content": [{"type": "new_block", "data": deep}]})
        assert "was replaced" in turn.meta.reply["notes"][0]
        asked.request("main")

    def test_halves_of_a_character_in_two_events_are_joined_again(self, asked: Store) -> None:
        halves = [
            {**EVENTS[2], "delta": {"type": "text_delta", "text": half}} for half in ("\ud83d", "\ude00", "\ud83d")
        ]
        turn = asked.reply("main", "anthropic", [*EVENTS[:2], *halves, *EVENTS[4:5], *EVENTS[9:]])
        assert asked.blocks(turn.id) == (Text("\U0001f600\ufffd"),)

    def test_a_capture_that_grows_past_what_a_turn_can_hold_keeps_what_came(self, place: Place) -> None:
        small = place.open(payload_limit_bytes=2000)
        small.add_turn("Hi", bookmark="main")
        with small.capture("main", "anthropic") as capture:
            for event in EVENTS[:3]:
                capture.feed(event)
            with pytest.raises(TooLarge):
                capture.feed({**EVENTS[2], "padding": "x" * 2000})
        turn = capture.finish()
        assert turn.meta.reply["incomplete"]
        assert small.resolve("main").messages[-1].content[0].text == "Let me"  # type: ignore[union-attr]


class TestWhatMoves:
    def test_an_answer_to_a_request_continues_the_turns_that_were_asked_from(self, asked: Store) -> None:
        request = asked.request("main")
        moved = asked.add_turn("Never mind.", continues="main")
        turn = asked.reply(request, "anthropic", MESSAGE)
        assert turn.meta.continues == request.turns
        assert turn.meta.bookmark is None
        assert asked.get("main") == moved

    def test_a_bookmark_that_came_back_moves_again(self, asked: Store) -> None:
        request = asked.request("main")
        asked.add_turn("Never mind.", continues="main")
        asked.bookmarks.set("main", request.turns[0])
        assert asked.reply(request, "anthropic", MESSAGE).meta.bookmark == "main"

    def test_by_its_id_the_one_name_that_points_at_a_turn_moves(self, asked: Store) -> None:
        turn = asked.reply(asked.get("main").id, "anthropic", MESSAGE)
        assert turn.meta.bookmark == "main"

    def test_of_several_names_the_one_that_was_asked_by_moves(self, asked: Store) -> None:
        before = asked.bookmarks.set("other", "main")
        turn = asked.reply("main", "anthropic", MESSAGE)
        assert turn.meta.bookmark == "main"
        assert asked.get("other").id == before.turn

    def test_an_answer_to_several_turns_continues_them_all(self, store: Store) -> None:
        root = store.add_turn("root")
        heads = [store.add_turn(text, continues=root.id).id for text in ("one", "other")]
        assert store.reply(heads, "anthropic", MESSAGE).meta.continues == tuple(heads)

    def test_a_thread_that_could_not_be_asked_from_is_answered_all_the_same(self, store: Store) -> None:
        question = store.add_turn("Hi", bookmark="main", servers=["unknown"])
        turn = store.reply("main", "anthropic", MESSAGE)
        assert (turn.meta.continues, turn.meta.bookmark) == ((question.id,), "main")


@in_memory_too
class TestACapture:
    def test_it_shows_each_piece_and_is_one_turn_in_the_end(self, asked: Store) -> None:
        with asked.capture(asked.request("main"), "anthropic") as capture:
            shown = [delta.to_dict() for event in EVENTS for delta in capture.feed(event)]
        assert shown == [
            {"type": "text", "content": "Let me", "index": 0},
            {"type": "text", "content": " look.", "index": 0},
            {"type": "tool_use", "name": "read", "id": "toolu_1", "index": 1},
            {"type": "tool_use", "content": '{"path": ', "index": 1},
            {"type": "tool_use", "content": '"a.txt"}', "index": 1},
        ]
        turn = capture.finish()
        assert turn == capture.finish() == asked.get("main")
        assert asked.streams.list() == []

    def test_an_exception_inside_stores_what_arrived_and_goes_on(self, asked: Store) -> None:
        def stop() -> None:
            with asked.capture("main", "anthropic") as capture:
                for event in EVENTS[:4]:
                    capture.feed(event)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            stop()
        assert asked.blocks("main") == (Text("Let me look."),)
        assert asked.get("main").meta.reply["incomplete"]

    def test_it_takes_objects_that_dump_themselves(self, asked: Store) -> None:
        class Event:
            def __init__(self, data: dict[str, Any]) -> None:
                self.data = data

            def model_dump(self, **_: Any) -> dict[str, Any]:
                return self.data

        with asked.capture("main", "anthropic") as capture:
            for event in EVENTS:
                capture.feed(Event(event))
        assert capture.finish().meta.reply["stop_reason"] == "tool_use"


def test_half_a_character_from_a_file_of_events_is_joined_with_its_other_half(asked: Store) -> None:
    halves = [{**EVENTS[2], "delta": {"type": "text_delta", "text": half}} for half in ("\ud83d", "\ude00")]
    text = "".join(f"data: {json.dumps(each)}\n\n" for each in [*EVENTS[:2], *halves])
    turn = asked.reply("main", "anthropic", text)
    assert asked.blocks(turn.id) == (Text("\U0001f600"),)


def test_what_looks_like_a_key_is_not_stored_with_a_turn(asked: Store) -> None:
    for params in ({"api_key": "x"}, {"openai": {"headers": {"Authorization": "x"}}}, {"user": "sk-0123456789abcdef0"}):
        with unchanged(asked), pytest.raises(InvalidContent, match="it looks like a key"):
            asked.add_turn("Hi", continues="main", inherited={"params": params})
    schema = {"type": "object", "properties": {"password": {"type": "string"}}, "required": ["password"]}
    asked.add_turn("Hi", continues="main", inherited={"params": {"schema": schema, "prompt_cache_key": "thread-1"}})


def test_a_text_that_breaks_off_inside_an_event_is_kept_as_far_as_it_came(asked: Store) -> None:
    text = "".join(f"data: {json.dumps(each)}\n\n" for each in EVENTS[:4]) + 'data: {"type": "content_bl'
    turn = asked.reply("main", "anthropic", text)
    assert asked.blocks(turn.id) == (Text("Let me look."),)
    assert (turn.meta.reply["incomplete"], turn.meta.reply["stop_reason"]) == (True, "incomplete")
    assert "not JSON" in turn.meta.reply["error"]["message"]


def test_another_providers_answer_is_refused(asked: Store) -> None:
    with unchanged(asked), pytest.raises(InvalidReply, match="nothing of it is an answer of cohere"):
        asked.reply("main", "cohere", "".join(f"data: {json.dumps(each)}\n\n" for each in EVENTS))
