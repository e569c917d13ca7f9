"""Asking: what is said is stored, goes to a server, and what it answers is the turn that comes next."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from headish import Store
from headish.errors import (
    CallRefused,
    InvalidArgument,
    MissingKey,
    UnknownFormat,
    UnknownPointer,
    UnknownTurn,
    Unreachable,
)
from headish.providers import Delta
from headish.values.blocks import Text, ToolUse
from support.growing import grow, texts
from support.insides import unchanged
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_call, anthropic_message, anthropic_text, held_back

HELLO = anthropic_text("Hel", "lo.")
USAGE = {"input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 2}


def say_hello(server: Loopback, times: int = 1) -> None:
    for _ in range(times):
        server.answer(chunks=event_stream(HELLO))


class TestAQuestion:
    def test_it_and_its_answer_are_the_next_two_turns_and_the_bookmark_moves(
        self, everywhere: Store, server: Loopback
    ) -> None:
        say_hello(server)
        turn = everywhere.ask("Hi", bookmark="main", ptr="milli")
        question, answer = everywhere.log("main")[::-1]
        assert answer == turn == everywhere.get("main")
        assert (question.meta.role, question.meta.bookmark, dict(question.meta.inherited)) == (
            "user", "main", {"provider_ptr": "milli"},
        )  # fmt: skip
        assert (turn.meta.role, turn.meta.bookmark, turn.meta.continues) == ("assistant", "main", (question.id,))
        assert texts(everywhere, "main") == ["Hi", "Hello."]
        assert everywhere.streams.list() == []
        assert everywhere.verify().problems == ()

    def test_the_request_is_what_the_store_would_write(self, asking: Store, server: Loopback) -> None:
        say_hello(server)
        turn = asking.ask("Hi", ptr="milli", tools=[{"name": "clock"}])
        [request] = server.requests
        assert (request.method, request.path) == ("POST", "/v1/messages")
        assert request.body == asking.request(turn.meta.continues[0], tools=[{"name": "clock"}]).body
        assert (request.body["model"], request.body["max_tokens"], request.body["stream"]) == ("small", 9, True)
        assert request.body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
        assert request.headers["authorization"] == "Bearer sk-very-secret-key-of-the-test"

    def test_what_was_said_before_goes_along_and_so_does_the_pointer(self, asking: Store, server: Loopback) -> None:
        say_hello(server, 2)
        asking.ask("Hi", bookmark="main", ptr="milli")
        asking.ask("And you?", continues="main")
        roles = [message["role"] for message in server.requests[1].body["messages"]]
        assert roles == ["user", "assistant", "user"]
        assert texts(asking, "main") == ["Hi", "Hello.", "And you?", "Hello."]

    def test_the_turn_keeps_who_answered_and_what_it_cost(self, asking: Store, server: Loopback) -> None:
        say_hello(server)
        assert asking.ask("Hi", ptr="milli").meta.reply == {
            "provider": "anthropic",
            "model": "small-1",
            "stop_reason": "end_turn",
            "stop": "end_turn",
            "usage": USAGE,
            "response_id": "msg_1",
            "ptr": "milli",
        }

    def test_servers_are_inherited_and_their_tools_go_along(self, asking: Store, server: Loopback) -> None:
        asking.tools.set("files", [{"name": "read"}])
        server.answer(chunks=event_stream(anthropic_call("files___read", {"path": "a"})))
        turn = asking.ask("Read a", bookmark="main", ptr="milli", servers=["files"])
        assert [tool["name"] for tool in server.requests[0].body["tools"]] == ["files___read"]
        assert asking.open_calls("main") == [ToolUse("files___read", "toolu_1", {"path": "a"})]
        assert turn.meta.reply["stop_reason"] == "tool_use"

    def test_without_content_the_thread_is_asked_from_as_it_stands(self, asking: Store, server: Loopback) -> None:
        asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
        say_hello(server, 2)
        assert asking.ask(continues="main").meta.bookmark == "main"
        assert texts(asking, "main") == ["Hi", "Hello."]
        asking.ask()
        assert texts(asking) == ["Hi", "Hello.", "Hello."]

    def test_several_heads_are_merged(self, everywhere: Store, server: Loopback) -> None:
        drawn = grow(everywhere, "root? <- one?, root? <- other?")
        everywhere.bookmarks.set("a", drawn["one?"].id)
        everywhere.bookmarks.set("b", drawn["other?"].id)
        say_hello(server, 2)
        turn = everywhere.ask("Both?", continues=["a", "b"], ptr="milli")
        assert texts(everywhere, "a") == ["root?", "one?", "other?", "Both?", "Hello."]
        assert (turn.meta.bookmark, everywhere.get("b").id) == ("a", drawn["other?"].id)
        unsaid = everywhere.ask(continues=[drawn["one?"].id, "b"], to="anthropic", base_url=server.url)
        assert unsaid.meta.continues == (drawn["one?"].id, drawn["other?"].id)
        sent = server.requests[1].body["messages"]
        assert [block["text"] for block in sent[0]["content"]] == ["root?", "one?", "other?"]

    def test_a_system_text_is_hoisted_and_options_of_the_thread_win(self, asking: Store, server: Loopback) -> None:
        asking.add_turn("Be brief.", role="system", bookmark="main", inherited={"params": {"max_tokens": 3}})
        say_hello(server)
        asking.ask("Hi", continues="main", ptr="milli")
        body = server.requests[0].body
        assert (body["system"], body["max_tokens"]) == ([{"type": "text", "text": "Be brief."}], 3)


class TestWhoIsAsked:
    @pytest.mark.parametrize(
        ("given", "error"),
        [
            ({}, UnknownPointer),
            ({"ptr": "gone"}, UnknownPointer),
            ({"to": "nobody"}, UnknownFormat),
            ({"ptr": "milli", "to": "nobody"}, UnknownFormat),
            ({"ptr": "milli", "continues": "nowhere"}, UnknownTurn),
            ({"ptr": "milli", "continues": 3}, InvalidArgument),
        ],
    )
    def test_where_nobody_can_be_asked_nothing_is_stored(
        self, asking: Store, server: Loopback, given: dict[str, Any], error: type[Exception]
    ) -> None:
        with unchanged(asking), pytest.raises(error):
            asking.ask("Hi", **given)
        assert server.requests == []

    def test_a_thread_whose_pointer_is_gone_is_not_added_to(self, asking: Store) -> None:
        asking.add_turn("Hi", bookmark="main", provider_ptr="gone")
        with unchanged(asking), pytest.raises(UnknownPointer, match="headish ptr set gone"):
            asking.ask("Hi?", continues="main")

    def test_what_belongs_to_a_turn_is_refused_where_none_is_said(self, asking: Store) -> None:
        asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
        for given in ({"bookmark": "other"}, {"servers": ["files"]}):
            with unchanged(asking), pytest.raises(InvalidArgument, match="give content"):
                asking.ask(continues="main", **given)

    def test_a_provider_by_name_and_a_server_need_no_pointer(self, asking: Store, server: Loopback) -> None:
        say_hello(server)
        turn = asking.ask("Hi", to="anthropic", base_url=server.url, model="large")
        assert server.requests[0].body["model"] == "large"
        assert "ptr" not in turn.meta.reply

    def test_the_providers_usual_key_does_not_go_to_another_server(self, asking: Store, server: Loopback) -> None:
        asking.pointers.set("keyless", "anthropic/small", base_url=server.url)
        say_hello(server, 3)
        asking.ask("Hi", ptr="keyless")
        asking.ask("Hi", to="anthropic", base_url=server.url)
        # Nor does the key that a pointer has for its own server, where the call names another one.
        asking.pointers.set("elsewhere", "anthropic/small", base_url="http://127.0.0.1:9", key_env="TEST_KEY")
        asking.ask("Hi", ptr="elsewhere", base_url=server.url)
        for request in server.requests:
            assert "authorization" not in request.headers
            assert "sk-" not in repr(request)

    def test_a_key_named_for_the_call_goes_where_the_call_goes(self, asking: Store, server: Loopback) -> None:
        say_hello(server)
        asking.ask("Hi", to="anthropic", base_url=server.url, key_env="TEST_KEY")
        assert server.requests[0].headers["authorization"] == "Bearer sk-very-secret-key-of-the-test"

    def test_a_key_that_is_not_there_is_told_and_the_question_stays(
        self, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("TEST_KEY")
        with pytest.raises(MissingKey, match="TEST_KEY"):
            asking.ask("Hi", bookmark="main", ptr="milli")
        assert texts(asking, "main") == ["Hi"]
        assert (server.requests, asking.streams.list()) == ([], [])


class TestARefusal:
    def test_it_leaves_the_question_and_nothing_else(self, asking: Store, server: Loopback) -> None:
        server.answer_json({"type": "error", "error": {"message": "model: no such model"}}, 400)
        with pytest.raises(CallRefused, match="status 400: model: no such model"):
            asking.ask("Hi", bookmark="main", ptr="milli")
        assert [turn.meta.role for turn in asking.turns()] == ["user"]
        assert asking.streams.list() == []

    def test_the_question_can_be_asked_again_without_saying_it_twice(self, asking: Store, server: Loopback) -> None:
        server.answer_json({"error": {"message": "no"}}, 403)
        with pytest.raises(CallRefused):
            asking.ask("Hi", bookmark="main", ptr="milli")
        say_hello(server)
        asking.ask(continues="main")
        assert texts(asking, "main") == ["Hi", "Hello."]

    def test_a_busy_server_is_asked_again_and_the_waits_are_told(self, asking: Store, server: Loopback) -> None:
        server.answer_json({"error": {"message": "slow down"}}, 429, {"retry-after-ms": "1"})
        server.answer_json({"error": {"message": "overloaded"}}, 529)
        say_hello(server)
        told: list[str] = []
        turn = asking.ask("Hi", ptr="milli", told=lambda attempt, seconds, error: told.append(f"{attempt} {error}"))
        assert told == [
            "1 anthropic: status 429: slow down (it asks to wait 0.001 s)",
            "2 anthropic: status 529: overloaded",
        ]
        assert asking.blocks(turn.id) == (Text("Hello."),)
        assert len(list(asking.turns())) == 2

    def test_a_server_that_is_not_there_is_unreachable(self, asking: Store) -> None:
        with pytest.raises(Unreachable):
            asking.ask("Hi", to="anthropic", base_url="http://127.0.0.1:9", attempts=1)
        assert [turn.meta.role for turn in asking.turns()] == ["user"]


class TestHowItArrives:
    @pytest.mark.parametrize(
        "answer",
        [
            lambda server: server.answer(chunks=event_stream(HELLO)),
            lambda server: server.answer_json(anthropic_message({"type": "text", "text": "Hello."})),
        ],
        ids=["streamed", "whole"],
    )
    @pytest.mark.parametrize("stream", [True, False])
    def test_streamed_or_whole_it_is_the_same_turn(
        self, asking: Store, server: Loopback, answer: Callable[[Loopback], None], stream: bool
    ) -> None:
        answer(server)
        turn = asking.ask("Hi", ptr="milli", stream=stream)
        assert server.requests[0].body["stream"] is stream
        assert asking.blocks(turn.id) == (Text("Hello."),)
        assert (turn.meta.reply["usage"], turn.meta.reply["stop_reason"]) == (USAGE, "end_turn")
        say_hello(server)
        assert asking.ask("Hi", ptr="milli").digest == turn.digest

    def test_each_piece_is_shown_before_the_next_one_is_sent(self, asking: Store, server: Loopback) -> None:
        seen = threading.Event()
        shown: list[Delta] = []

        def show(delta: Delta) -> None:
            shown.append(delta)
            seen.set()

        server.answer(chunks=held_back(HELLO, 3, seen))
        turn = asking.ask("Hi", ptr="milli", on_delta=show)
        assert [delta.content for delta in shown] == ["Hel", "lo."]
        assert "incomplete" not in turn.meta.reply

    def test_an_exception_in_what_shows_it_keeps_what_arrived(self, asking: Store, server: Loopback) -> None:
        def fail(delta: Delta) -> None:
            raise ZeroDivisionError

        say_hello(server)
        with pytest.raises(ZeroDivisionError):
            asking.ask("Hi", bookmark="main", ptr="milli", on_delta=fail)
        assert texts(asking, "main") == ["Hi", "Hel"]
        assert asking.get("main").meta.reply["incomplete"]
        assert asking.streams.list() == []

    def test_an_answer_left_in_the_middle_is_kept_as_far_as_it_was_read(self, asking: Store, server: Loopback) -> None:
        say_hello(server)
        asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
        with asking.open_answer("main") as answer:
            assert next(iter(answer)).content == "Hel"
        turn = answer.finish()
        assert (asking.get("main"), answer.failure) == (turn, None)
        assert texts(asking, "main") == ["Hi", "Hel"]

    def test_an_answer_cut_off_is_an_incomplete_turn(self, asking: Store, server: Loopback) -> None:
        server.answer(chunks=event_stream(HELLO[:3]))
        reply = asking.ask("Hi", ptr="milli").meta.reply
        assert (reply["stop_reason"], reply["incomplete"], reply["model"]) == ("incomplete", True, "small-1")


class TestWhileItArrives:
    def test_a_bookmark_that_moved_stays_where_it_was_moved_to(self, durable: Store, server: Loopback) -> None:
        seen = threading.Event()
        server.answer(chunks=held_back(HELLO, 3, seen))
        moved: list[str] = []

        def move_on(delta: Delta) -> None:
            if not moved:
                moved.append(durable.add_turn("Never mind.", continues="main").id)
            seen.set()

        turn = durable.ask("Hi", bookmark="main", ptr="milli", on_delta=move_on)
        assert durable.get("main").id == moved[0]
        assert turn.meta.bookmark is None
        assert texts(durable, turn.id) == ["Hi", "Hello."]

    def test_the_answer_is_to_what_was_said_not_to_what_came_after_it(self, durable: Store, server: Loopback) -> None:
        say_hello(server)
        asked = durable.say("Hi", bookmark="main", ptr="milli")
        durable.add_turn("Somebody else's.", continues="main")
        with durable.open_answer(*asked) as answer:
            list(answer)
        assert len(server.requests[0].body["messages"][0]["content"]) == 1
        assert texts(durable, answer.finish().id) == ["Hi", "Hello."]
        assert texts(durable, "main") == ["Hi", "Somebody else's."]

    def test_of_several_names_at_a_question_the_one_that_was_asked_by_moves(
        self, durable: Store, server: Loopback
    ) -> None:
        say_hello(server)
        question, name = durable.say("Hi", bookmark="main", ptr="milli")
        assert isinstance(question, str)
        durable.bookmarks.set("other", question)
        with durable.open_answer(question, name) as answer:
            list(answer)
        assert answer.finish().meta.bookmark == "main"
        assert durable.get("other").id == question

    def test_two_that_ask_by_one_name_are_both_answered(self, durable: Store, server: Loopback) -> None:
        durable.add_turn("root", bookmark="main", provider_ptr="milli")
        say_hello(server, 2)
        asked = [durable.say(text, continues="main") for text in ("One?", "Other?")]
        answers = []
        for each in asked:
            with durable.open_answer(*each) as answer:
                list(answer)
            answers.append(answer.finish())
        assert texts(durable, answers[0].id) == ["root", "One?", "Hello."]
        assert texts(durable, "main") == ["root", "One?", "Other?", "Hello."]
        assert [turn.meta.bookmark for turn in answers] == [None, "main"]


class TestAskingAgain:
    def test_the_new_answer_stands_beside_the_old_one_and_the_bookmark_moves_over(
        self, everywhere: Store, server: Loopback
    ) -> None:
        server.answer(chunks=event_stream(HELLO[:3]))
        cut = everywhere.ask("Hi", bookmark="main", ptr="milli")
        say_hello(server)
        again = everywhere.retry("main")
        assert again.meta.continues == cut.meta.continues
        assert everywhere.get("main") == again
        assert everywhere.get("main@{1}").id == cut.id
        assert texts(everywhere, "main") == ["Hi", "Hello."]
        assert texts(everywhere, cut.id) == ["Hi", "Hel"]
        assert server.requests[0].body == server.requests[1].body
        assert everywhere.verify().problems == ()

    def test_an_answer_named_by_its_id_takes_the_name_along_too(self, asking: Store, server: Loopback) -> None:
        say_hello(server, 2)
        turn = asking.ask("Hi", bookmark="main", ptr="milli")
        assert asking.retry(turn.id) == asking.get("main")

    def test_a_name_that_has_moved_on_stays(self, everywhere: Store, server: Loopback) -> None:
        say_hello(server, 3)
        first = everywhere.ask("Hi", bookmark="main", ptr="milli")
        last = everywhere.ask("And?", continues="main")
        for headish in (first.id, "main~2"):
            again = everywhere.retry(headish)
            assert again.meta.bookmark is None
            assert everywhere.get("main") == last
            server.answer(chunks=event_stream(HELLO))

    def test_a_name_that_moved_while_the_new_answer_came_stays(self, durable: Store, server: Loopback) -> None:
        say_hello(server, 2)
        durable.ask("Hi", bookmark="main", ptr="milli")
        with durable.open_retry("main") as answer:
            moved = durable.add_turn("Thanks.", continues="main")
            list(answer)
        assert durable.get("main") == moved
        assert answer.finish().meta.bookmark is None

    def test_without_a_pointer_who_answered_before_is_asked(self, asking: Store, server: Loopback) -> None:
        say_hello(server, 4)
        turn = asking.ask("Hi", bookmark="main", to="anthropic", base_url=server.url)
        again = asking.retry("main", base_url=server.url)
        assert (again.meta.reply["provider"], again.meta.continues) == ("anthropic", turn.meta.continues)
        assert server.requests[1].body["model"] == "small-1"
        assert asking.retry("main").meta.reply["base_url"] == server.url, "the thread does not leave its server unasked"
        # What is not given counts as left out, as a command line gives it.
        asking.retry("main", base_url=server.url, to=None, ptr=None, model=None)
        assert server.requests[3].body["model"] == "small-1"

    def test_a_server_named_for_a_call_is_asked_again_though_the_thread_has_a_pointer(
        self, asking: Store, server: Loopback
    ) -> None:
        asking.pointers.set("far", "anthropic/large")
        say_hello(server, 2)
        turn = asking.ask("Hi", bookmark="main", ptr="far", base_url=server.url)
        assert (turn.meta.reply["base_url"], "ptr" in turn.meta.reply) == (server.url, False)
        assert asking.retry("main").meta.reply["base_url"] == server.url
        assert len(server.requests) == 2

    def test_the_dialect_that_was_named_for_an_unknown_server_holds_when_it_is_asked_again(
        self, asking: Store, server: Loopback
    ) -> None:
        question = asking.add_turn("Hi")
        said = {"role": "assistant", "content": "Hello.", "reasoning_details": [{"type": "reasoning.encrypted"}]}
        thought = asking.reply(
            question.id, "openai", {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}
        )
        answer = {"choices": [{"index": 0, "delta": {"content": "Bye."}, "finish_reason": "stop"}]}
        for _ in range(2):
            server.answer(chunks=event_stream([answer]))
        server_named = {"to": "openai", "model": "m", "base_url": server.url, "dialect": "openai"}
        asking.ask("Bye", continues=thought.id, bookmark="main", **server_named)
        asking.retry("main")
        assert "reasoning_details" not in json.dumps(server.requests[0].body)
        assert server.requests[1].body == server.requests[0].body

    def test_the_same_server_named_again_keeps_its_dialect_and_its_key(
        self, asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GATEWAY_KEY", "a-gateways-key")
        answer = {"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}
        for _ in range(2):
            server.answer(chunks=event_stream([answer]))
        named = {"to": "openai", "model": "m", "dialect": "ollama", "key_env": "GATEWAY_KEY"}
        asking.ask("Hi", bookmark="main", base_url=server.url, params={"max_tokens": 9}, **named)
        asking.retry("main", base_url=server.url)
        first, again = server.requests
        assert "max_tokens" in first.body
        assert again.body == first.body
        assert again.headers["authorization"] == first.headers["authorization"]

    def test_a_pointers_own_server_named_for_a_call_keeps_the_pointers_dialect(
        self, asking: Store, server: Loopback
    ) -> None:
        asking.pointers.set("near", "openai/m", base_url=server.url, dialect="ollama", params={"max_tokens": 9})
        answer = {"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}
        for _ in range(2):
            server.answer(chunks=event_stream([answer]))
        asking.ask("Hi", bookmark="main", ptr="near")
        asking.retry("main", base_url=server.url)
        first, again = server.requests
        assert "max_tokens" in first.body
        assert again.body == first.body
        other = asking.request("main", base_url="http://127.0.0.1:9/v1").body
        assert "max_completion_tokens" in other, "another server has another dialect"

    def test_somebody_else_can_be_asked(self, asking: Store, server: Loopback) -> None:
        say_hello(server, 2)
        asking.ask("Hi", bookmark="main", ptr="milli")
        asking.pointers.set("kilo", "anthropic/large", base_url=server.url)
        assert asking.retry("main", ptr="kilo").meta.reply["ptr"] == "kilo"
        assert server.requests[1].body["model"] == "large"

    def test_an_answer_to_several_turns_is_asked_from_them_all(self, asking: Store, server: Loopback) -> None:
        drawn = grow(asking, "root? <- one?, root? <- other?")
        say_hello(server, 2)
        heads = [drawn["one?"].id, drawn["other?"].id]
        turn = asking.ask(continues=heads, ptr="milli")
        assert asking.retry(turn.id, ptr="milli").meta.continues == tuple(heads)

    def test_what_is_no_answer_is_refused(self, asking: Store) -> None:
        question = asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
        lonely = asking.add_turn("Hello.", role="assistant")
        with unchanged(asking):
            for headish in ("main", question.id, lonely.id):
                with pytest.raises(InvalidArgument, match="only an answer can be asked for again"):
                    asking.retry(headish)

    def test_nobody_to_ask_is_told(self, asking: Store) -> None:
        grow(asking, "Hi? <- Hello")
        with unchanged(asking), pytest.raises(UnknownPointer, match="no provider is named"):
            asking.retry()

    def test_a_refusal_leaves_everything_as_it_was(self, asking: Store, server: Loopback) -> None:
        say_hello(server)
        asking.ask("Hi", bookmark="main", ptr="milli")
        server.answer_json({"error": {"message": "no"}}, 400)
        with unchanged(asking), pytest.raises(CallRefused):
            asking.retry("main")


@pytest.mark.parametrize("provider", ["openai", "openai_responses", "gemini", "cohere", "cerebras"])
def test_every_other_provider_is_asked_at_its_own_address(asking: Store, server: Loopback, provider: str) -> None:
    answer, path = OTHERS[provider]
    server.answer_json(answer)
    turn = asking.ask("Hi", to=provider, model="m", base_url=server.url, stream=False)
    assert server.requests[0].path == path
    assert asking.blocks(turn.id) == (Text("Hello."),)
    assert (turn.meta.reply["provider"], turn.meta.reply["stop_reason"]) == (provider, "end_turn")


_CHAT = {"id": "c", "choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}
_ITEM = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
_SAID = {"parts": [{"text": "Hello."}], "role": "model"}
OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "openai": (_CHAT, "/chat/completions"),
    "openai_responses": ({"object": "response", "status": "completed", "output": [_ITEM]}, "/responses"),
    "gemini": ({"candidates": [{"content": _SAID, "finishReason": "STOP"}]}, "/v1/models/m:generateContent"),
    "cohere": (
        {"id": "c", "finish_reason": "COMPLETE", "message": {"content": [{"type": "text", "text": "Hello."}]}},
        "/v2/chat",
    ),
    "cerebras": (_CHAT, "/v1/chat/completions"),
}
"""A whole answer of each provider, and where it is asked for below a base URL."""
