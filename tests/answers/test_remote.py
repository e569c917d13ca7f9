"""Answers that their provider keeps are fetched when somebody asks for it, and never before."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headish import Store, Turn
from headish.calls.remote import fetch_answer
from headish.errors import CallRefused, InvalidArgument, Redirected, Unreachable, UnreadableAnswer
from support.loopback import Loopback
from support.places import Place


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)


BACKGROUND = {"openai_responses": {"background": True, "store": True}}


def response(status: str, said: str | None = None, **more: Any) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": said, "annotations": []}]
    output = [] if said is None else [{"type": "message", "id": "msg_1", "role": "assistant", "content": parts}]
    return {"object": "response", "id": "resp_1", "status": status, "model": "m", "output": output, **more}


def begin(store: Store, server: Loopback) -> Turn:
    """An answer that the provider makes in the background; the bookmark ``main`` is on what is known of it."""
    store.pointers.set("far", "openai_responses/m", base_url=f"{server.url}/v1", key_env="TEST_KEY")
    server.answer_json(response("queued"))
    turn = store.ask("Think hard", bookmark="main", ptr="far", params=BACKGROUND, stream=False)
    assert turn.meta.reply["incomplete"]
    return turn


def test_a_whole_answer_takes_the_place_of_the_incomplete_one(durable: Store, server: Loopback) -> None:
    waiting = begin(durable, server)
    server.answer_json(response("completed", "42."))
    [turn] = durable.streams.recover_remote().turns
    assert durable.text("main") == "42."
    assert durable.bookmarks["main"] == turn.id
    assert turn.meta.continues == waiting.meta.continues
    assert "incomplete" not in turn.meta.reply
    asked = server.requests[1]
    assert (asked.method, asked.path) == ("GET", "/v1/responses/resp_1")
    assert asked.headers["authorization"].startswith("Bearer ")
    assert durable.streams.recover_remote().turns == ()
    assert len(server.requests) == 2


def test_one_that_is_being_made_is_asked_for_again_while_there_is_time(
    asking: Store, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headish.store.asking.unfinished.POLL_SECONDS", 0.001)
    waiting = begin(asking, server)
    server.answer_json(response("in_progress"))
    assert asking.streams.recover_remote().running == (waiting,)
    server.answer_json(response("in_progress"))
    server.answer_json({"error": {"message": "later"}}, 503)
    server.answer_json(response("completed", "42."))
    fetched = asking.streams.recover_remote(wait_seconds=30)
    assert (len(fetched.turns), fetched.running, fetched.failed) == (1, (), ())


def test_one_that_failed_there_is_stored_as_it_ended(asking: Store, server: Loopback) -> None:
    begin(asking, server)
    server.answer_json(response("failed", "Half", error={"code": "server_error", "message": "boom"}))
    [turn] = asking.streams.recover_remote().turns
    assert (turn.meta.reply["stop_reason"], turn.meta.reply["error"]["message"]) == ("error", "boom")
    assert asking.text(turn.id) == "Half"


def test_what_the_provider_does_not_keep_is_said_with_the_reason(asking: Store, server: Loopback) -> None:
    waiting = begin(asking, server)
    server.answer_json({"error": {"message": "Response with id 'resp_1' not found."}}, 404)
    [(turn, error)] = asking.streams.recover_remote().failed
    assert turn == waiting
    assert isinstance(error, CallRefused)
    assert error.status == 404
    asking.pointers.remove("far")
    [(turn, error)] = asking.streams.recover_remote().failed
    assert "no provider pointer is named 'far'" in str(error)


def test_opening_a_store_asks_nobody(durable_place: Place, server: Loopback) -> None:
    begin(durable_place.open(), server)
    assert durable_place.open().recovered == ()
    assert len(server.requests) == 1


def test_two_that_fetch_at_once_store_it_once(durable_place: Place, server: Loopback) -> None:
    begin(durable_place.open(), server)
    stores = [durable_place.open() for _ in range(4)]
    for _ in stores:
        server.answer_json(response("completed", "42."))
    made: list[Turn] = []
    threads = [
        threading.Thread(target=lambda each=each: made.extend(each.streams.recover_remote().turns)) for each in stores
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(stores[0].children(made[0].meta.continues[0])) == 2


class TestFetching:
    @pytest.mark.parametrize("id", ["../files/x", "a/b", "a?x=1", "", "a b", "é", "x" * 201])
    def test_an_id_cannot_leave_its_place_in_the_address(self, server: Loopback, id: str) -> None:
        with pytest.raises(InvalidArgument, match="cannot be the id of an answer"):
            fetch_answer("openai_responses", id, base_url=server.url)
        assert server.requests == []

    def test_a_provider_that_keeps_none_is_refused(self) -> None:
        with pytest.raises(InvalidArgument, match="anthropic keeps no answers: openai_responses does"):
            fetch_answer("anthropic", "msg_1")

    def test_a_key_that_the_server_says_again_is_hidden(self, asking: Store, server: Loopback) -> None:
        begin(asking, server)
        key = "sk-very-secret-key-of-the-test"
        server.answer_json(response("failed", None, error={"code": "x", "message": f"no {key}"}))
        [turn] = asking.streams.recover_remote().turns
        assert key not in str(turn.meta)

    def test_what_is_no_answer_is_an_error(self, server: Loopback) -> None:
        server.answer(headers={"content-type": "application/json"}, chunks=[b"{"])
        with pytest.raises(UnreadableAnswer):
            fetch_answer("openai_responses", "resp_1", base_url=server.url)
        with pytest.raises(Unreachable):
            fetch_answer("openai_responses", "resp_1", base_url="http://127.0.0.1:9")


def test_half_a_character_is_stored_as_a_mark_of_one(asking: Store, server: Loopback) -> None:
    begin(asking, server)
    server.answer_json(response("completed", "half\ud83d"))
    assert len(asking.streams.recover_remote().turns) == 1
    assert asking.text("main") == "half\ufffd"


@pytest.mark.parametrize("odd", [[], {}, 7, None, "x" * 100_000, [["completed"]]])
def test_an_odd_answer_keeps_no_other_from_being_fetched(asking: Store, server: Loopback, odd: Any) -> None:
    begin(asking, server)
    server.answer_json(response("queued"))
    asking.ask("Think harder", bookmark="second", ptr="far", params=BACKGROUND, stream=False)
    server.answer_json({"status": odd, "output": odd, "id": odd, "error": odd})
    server.answer_json(response("completed", "42."))
    fetched = asking.streams.recover_remote()
    assert "42." in [asking.text(turn.id) for turn in fetched.turns]
    assert asking.verify().problems == ()


def test_a_redirect_takes_no_key_along(asking: Store, server: Loopback) -> None:
    begin(asking, server)
    with Loopback() as other:
        server.answer(307, {"location": f"{other.url}/v1/responses/resp_1"})
        [(_, error)] = asking.streams.recover_remote().failed
        assert isinstance(error, Redirected)
        assert other.requests == []
