"""An answer that OpenAI stores is gone on from: only what is new is sent, and all of it where the server forgot."""

from __future__ import annotations

from typing import Any

import pytest

from headish import Store, Turn
from headish.errors import CallRefused, InvalidArgument
from headish.providers import prepare_request
from support.loopback import Loopback

OWN = {"openai_responses": {"store": True, "continue_stored": True}}
FORGOT = {"error": {"message": "Previous response with id 'resp_1' not found.", "type": "invalid_request_error",
                    "param": "previous_response_id", "code": "previous_response_not_found"}}  # fmt: skip


def response(said: str, id: str = "resp_1", *, store: bool = True, items: tuple[Any, ...] = ()) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": said, "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": parts}
    return {"object": "response", "id": id, "status": "completed", "model": "m", "store": store,
            "output": [message, *items]}  # fmt: skip


def texts(body: dict[str, Any]) -> list[str]:
    """What the items of a body say."""
    return [item["content"] if isinstance(item["content"], str) else item["content"][0]["text"]
            for item in body["input"] if "content" in item]  # fmt: skip


@pytest.fixture
def begun(asking: Store, server: Loopback) -> Store:
    """A thread whose last answer, on ``main``, the server stores."""
    asking.pointers.set("far", "openai_responses/m", base_url=f"{server.url}/v1", key_env="TEST_KEY", params=OWN)
    server.answer_json(response("Paris."))
    asking.ask("Capital?", bookmark="main", ptr="far", system="Be brief.", stream=False)
    return asking


def more(store: Store, server: Loopback, **options: Any) -> Turn:
    server.answer_json(response("Two million.", "resp_2"))
    return store.ask("How large?", continues="main", stream=False, **options)


def told(store: Store, headish: str = "main", **options: Any) -> list[str]:
    return [note.what for note in store.request(headish, **options).notes]


class TestGoingOn:
    def test_only_what_is_new_is_sent(self, begun: Store, server: Loopback) -> None:
        assert "previous_response_id" not in server.requests[0].body
        assert "continue_stored" not in server.requests[0].body
        more(begun, server)
        body = server.requests[1].body
        assert (body["previous_response_id"], texts(body), body["store"]) == ("resp_1", ["How large?"], True)

    def test_the_next_one_names_the_next_answer(self, begun: Store, server: Loopback) -> None:
        more(begun, server)
        begun.add_turn("And Rome?", continues="main")
        request = begun.request("main")
        assert (request.body["previous_response_id"], texts(request.body)) == ("resp_2", ["And Rome?"])
        assert [len(origin.turns) for origin in request.origins] == [1]
        assert "what was said up to a stored answer is not sent: the server keeps it" in told(begun)
        assert request.whole is not None
        assert texts(request.whole) == ["Be brief.", "Capital?", "Paris.", "How large?", "Two million.", "And Rome?"]

    def test_a_call_of_its_own_does(self, asking: Store, server: Loopback) -> None:
        server.answer_json(response("Paris."))
        there = {"base_url": f"{server.url}/v1", "to": "openai_responses", "stream": False}
        asking.ask("Capital?", bookmark="main", **there)
        server.answer_json(response("Two million."))
        asking.ask("How large?", continues="main", params=OWN, **there)
        assert server.requests[1].body["previous_response_id"] == "resp_1"

    def test_results_of_its_calls_are_new_and_open_calls_are_settled(self, begun: Store, server: Loopback) -> None:
        calls = tuple({"type": "function_call", "call_id": f"c{at}", "name": "f", "arguments": "{}"} for at in (1, 2))
        server.answer_json(response("Wait.", "resp_2", items=calls))
        begun.ask("Look it up", continues="main", stream=False)
        result = {"type": "tool_result", "tool_use_id": "c1", "content": "7"}
        begun.add_turn([result], role="tool", continues="main")
        body = begun.request("main").body
        assert [(item["type"], item["call_id"]) for item in body["input"]] == [
            ("function_call_output", "c1"), ("function_call_output", "c2")]  # fmt: skip
        begun.add_turn("Never mind", continues="main~1", bookmark="other")
        body = begun.request("other").body
        assert [item.get("call_id") for item in body["input"]] == ["c1", "c2", None]

    def test_an_earlier_turn_is_gone_on_from_as_well(self, begun: Store, server: Loopback) -> None:
        more(begun, server)
        begun.add_turn("And Rome?", continues="main~2", bookmark="other")
        body = begun.request("other").body
        assert (body["previous_response_id"], texts(body)) == ("resp_1", ["And Rome?"])


class TestForgotten:
    @pytest.mark.parametrize("status", [400, 404])
    def test_the_whole_window_is_sent(self, begun: Store, server: Loopback, status: int) -> None:
        server.answer_json(FORGOT, status=status)
        turn = more(begun, server)
        assert begun.text(turn.id) == "Two million."
        assert texts(server.requests[2].body) == ["Be brief.", "Capital?", "Paris.", "How large?"]
        assert "previous_response_id" not in server.requests[2].body

    def test_another_refusal_is_told(self, begun: Store, server: Loopback) -> None:
        server.answer_json({"error": {"message": "The model is unknown."}}, status=400)
        with pytest.raises(CallRefused, match="The model is unknown"):
            begun.ask("How large?", continues="main", stream=False)
        assert len(server.requests) == 2


class TestTheWholeWindow:
    def test_without_an_answer_that_is_stored(self, begun: Store, server: Loopback) -> None:
        server.answer_json(response("Rome.", store=False))
        begun.ask("Italy?", bookmark="other", ptr="far", stream=False)
        begun.add_turn("Sure?", continues="other")
        assert "previous_response_id" not in begun.request("other").body
        why = "the whole window is sent: no answer of the thread is one that the server stores"
        assert why in told(begun, "other")
        assert why in [finding.what for finding in begun.lint("other")]

    def test_where_something_is_erased(self, begun: Store) -> None:
        begun.erase(["main~1"], reason="asked")
        begun.add_turn("How large?", continues="main")
        assert "the whole window is sent: something that the stored answer has seen is erased" in told(begun)

    def test_where_an_overlay_shows_it_otherwise(self, begun: Store) -> None:
        begun.hide("main~1", continues="main")
        begun.add_turn("How large?", continues="main")
        assert "the whole window is sent: an overlay behind the stored answer shows the thread otherwise" in told(begun)

    def test_where_threads_are_joined(self, begun: Store) -> None:
        begun.add_turn("Elsewhere.", bookmark="other")
        joined = begun.add_turn("Both", continues=["other", "main"])
        body = begun.request(joined.id, "openai_responses", ptr="far").body
        assert "previous_response_id" not in body

    def test_where_an_edit_came_between(self, begun: Store) -> None:
        begun.edit("main~1", "Capital of Peru?")
        begun.add_turn("How large?", continues="main")
        assert "previous_response_id" not in begun.request("main", ptr="far").body

    def test_where_another_server_is_asked(self, begun: Store) -> None:
        begun.add_turn("How large?", continues="main")
        elsewhere = {"base_url": "http://127.0.0.1:9/v1"}
        assert "the whole window is sent: the stored answer is kept by another server" in told(begun, **elsewhere)

    def test_where_a_budget_holds(self, begun: Store) -> None:
        begun.add_turn("How large?", continues="main")
        assert "previous_response_id" not in begun.request("main", budget=10_000).body

    def test_where_nobody_asks_for_it(self, begun: Store) -> None:
        begun.add_turn("How large?", continues="main")
        off = {"openai_responses": {"continue_stored": False}}
        assert "previous_response_id" not in begun.request("main", params=off).body
        window = {"messages": [{"role": "user", "content": "Hi"}], "options": {"params": OWN}}
        assert "continue_stored" not in prepare_request("openai_responses", window).body

    def test_parameters_that_are_none_are_told_as_ever(self, begun: Store) -> None:
        begun.add_turn("Odd", bookmark="odd", inherited={"params": "none"})
        assert "refused" in [finding.kind for finding in begun.lint("odd", "openai_responses")]

    def test_a_wish_is_true_or_false(self, begun: Store) -> None:
        with pytest.raises(InvalidArgument, match=r"params.continue_stored is true or false"):
            begun.request("main", params={"openai_responses": {"continue_stored": "yes"}})
