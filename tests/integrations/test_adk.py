"""``HeadishSessionService`` does what Google ADK expects of a session service, and what its own ones do.

The contract is that of ADK's tests of session services (google-adk 2.13.0), in other words; what is drawn at random is
held against its service in memory.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Database
from headish.errors import TooLarge
from support.frameworks import needs
from support.later import Later

pytestmark = needs("google.adk", "google-adk")
adapter = Later("headish.integrations.adk")
errors = Later("google.adk.errors")
sessions = Later("google.adk.sessions.base_session_service")
types = Later("google.genai.types")
run = asyncio.run
WHO = {"app_name": "app", "user_id": "user"}


def said(text: str, author: str = "user", **more: Any) -> Any:
    from google.adk.events.event import Event

    role = "user" if author == "user" else "model"
    return Event(author=author, content=types.Content(role=role, parts=[types.Part(text=text)]), **more)


def changed(**delta: Any) -> Any:
    from google.adk.events.event_actions import EventActions

    return EventActions(state_delta={key.replace("__", ":"): value for key, value in delta.items()})


@pytest.fixture(params=["file", "memory"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    made = adapter.HeadishSessionService(tmp_path / "a.db" if request.param == "file" else ":memory:")
    yield made
    run(made.close())


class TestASession:
    async def test_is_made_with_an_id_or_gets_one(self, service: Any) -> None:
        made = await service.create_session(**WHO, state={"a": 1})
        assert made.id
        assert (made.state, made.events) == ({"a": 1}, [])
        named = await service.create_session(**WHO, session_id=" named ")
        assert named.id == "named"
        assert (await service.get_session(**WHO, session_id=" named ")).id == "named"
        from google.adk.errors.already_exists_error import AlreadyExistsError

        with pytest.raises(AlreadyExistsError, match="exists"):
            await service.create_session(**WHO, session_id="named")

    async def test_that_is_not_there_is_none(self, service: Any) -> None:
        assert await service.get_session(**WHO, session_id="none") is None
        assert (await service.list_sessions(app_name="app")).sessions == []
        await service.delete_session(**WHO, session_id="none")
        from google.adk.sessions.session import Session

        with pytest.raises(ValueError, match="not found"):
            await service.append_event(Session(id="none", **WHO), said("a"))

    @pytest.mark.parametrize("text", ["a/b", "line\nbreak 😀", "x" * 10_000, "'; DROP TABLE object; --", "%2f=2f;"])
    async def test_has_any_texts_as_names(self, service: Any, text: str) -> None:
        who = {"app_name": text, "user_id": text, "session_id": text}
        made = await service.create_session(**who, state={"user:u": 1})
        await service.append_event(made, said("a"))
        got = await service.get_session(**who)
        assert (got.id, got.user_id, got.state, len(got.events)) == (text, text, {"user:u": 1}, 1)
        assert [each.id for each in (await service.list_sessions(app_name=text)).sessions] == [text]
        assert await service.get_session(**{**who, "user_id": text + "/"}) is None
        await service.delete_session(**who)
        assert await service.get_session(**who) is None

    async def test_is_listed_by_its_last_change(self, service: Any) -> None:
        first = await service.create_session(**WHO, session_id="first", state={"app:x": 1})
        await service.create_session(app_name="app", user_id="other", session_id="second", state={"user:y": 2})
        await service.create_session(app_name="app2", user_id="user", session_id="elsewhere")
        await service.append_event(first, said("a", timestamp=time.time() + 10))
        listed = (await service.list_sessions(app_name="app")).sessions
        assert [(each.id, each.state, each.events) for each in listed] == [
            ("second", {"app:x": 1, "user:y": 2}, []),
            ("first", {"app:x": 1}, []),
        ]
        assert [each.id for each in (await service.list_sessions(**WHO)).sessions] == ["first"]


class TestState:
    async def test_is_of_an_app_a_user_or_a_session(self, service: Any) -> None:
        one = await service.create_session(**WHO, state={"app:a": 1, "user:u": 2, "s": 3, "temp:t": 4})
        assert one.state == {"app:a": 1, "user:u": 2, "s": 3}
        await service.append_event(one, said("x", actions=changed(app__a=10, user__v=20, s=30, temp__t=40)))
        assert one.state == {"app:a": 10, "user:u": 2, "user:v": 20, "s": 30, "temp:t": 40}
        same_user = await service.create_session(**WHO)
        other_user = await service.create_session(app_name="app", user_id="other")
        other_app = await service.create_session(app_name="app2", user_id="user")
        assert same_user.state == {"app:a": 10, "user:u": 2, "user:v": 20}
        assert (other_user.state, other_app.state) == ({"app:a": 10}, {})
        assert await service.get_user_state(**WHO) == {"u": 2, "v": 20}
        assert await service.get_user_state(app_name="app", user_id="nobody") == {}
        got = await service.get_session(**WHO, session_id=one.id)
        assert got.state == {"app:a": 10, "user:u": 2, "user:v": 20, "s": 30}
        assert got.events[0].actions.state_delta == {"app:a": 10, "user:v": 20, "s": 30}

    async def test_outlives_its_session_where_it_is_not_its_own(self, service: Any) -> None:
        one = await service.create_session(**WHO, state={"app:a": 1, "user:u": 2, "s": 3})
        await service.delete_session(**WHO, session_id=one.id)
        assert (await service.create_session(**WHO, session_id=one.id)).state == {"app:a": 1, "user:u": 2}

    @pytest.mark.parametrize("scope", ["", "user__", "app__"])
    def test_that_grows_past_the_limit_is_refused_and_the_event_with_it(self, tmp_path: Path, scope: str) -> None:
        async def work() -> None:
            made = await service.create_session(**WHO, session_id="s")
            await service.append_event(made, said("fits", actions=changed(**{f"{scope}one": "x" * 2000})))
            with pytest.raises(TooLarge, match="object of kind adk"):
                await service.append_event(made, said("does not", actions=changed(**{f"{scope}two": "x" * 2000})))
            found = await service.get_session(**WHO, session_id="s")
            kept = [each.content.parts[0].text for each in found.events]
            assert (kept, len(found.state)) == (["fits"], 1)
            await service.close()

        with Database.open(tmp_path / "a.db", payload_limit_bytes=3000) as database:
            service = adapter.HeadishSessionService(database)
            run(work())

    async def test_with_half_a_character_in_a_key_is_healed(self, service: Any) -> None:
        made = await service.create_session(**WHO, session_id="s", state={"k\ud800": {"in\ud800": 1}})
        await service.append_event(made, said("x", actions=changed(**{"user:k\ud800": 2})))
        got = await service.get_session(**WHO, session_id="s")
        assert got.state == {"k\ufffd": {"in\ufffd": 1}, "user:k\ufffd": 2}

    async def test_that_is_no_json_becomes_text(self, service: Any) -> None:
        one = await service.create_session(**WHO, state={"when": {1, 2}, "half": "\ud800", "f": print})
        got = await service.get_session(**WHO, session_id=one.id)
        assert (sorted(got.state["when"]), got.state["half"]) == ([1, 2], "\ufffd")
        assert "print" in got.state["f"]


class TestAnEvent:
    async def test_comes_back_equal(self, service: Any) -> None:
        from google.adk.events.event import Event

        one = await service.create_session(**WHO)
        parts = [
            types.Part(text="Let me think.", thought=True),
            types.Part(text="An answer."),
            types.Part(function_call=types.FunctionCall(id="f1", name="add", args={"a": [1, None, {"b": "c"}]})),
            types.Part(inline_data=types.Blob(data=b"\xff\xfe\x00>?", mime_type="image/png")),
            types.Part(executable_code=types.ExecutableCode(code="1", language="PYTHON")),
        ]
        result = types.Part(function_response=types.FunctionResponse(id="f1", name="add", response={"r": 1}))
        events = [
            said("Hi", invocation_id="i1"),
            Event(author="agent", content=types.Content(role="model", parts=parts), branch="a.b", turn_complete=True),
            Event(author="agent", content=types.Content(role="user", parts=[result])),
            Event(author="agent", content=types.Content(parts=[types.Part(text="no role")])),
            Event(author="agent", content=types.Content(role="model", parts=[])),
            Event(author="agent", error_code="E", error_message="bad", custom_metadata={"k": [1]}),
            Event(author="agent", actions=changed(s=1)),
        ]
        for each in events:
            await service.append_event(one, each)
        got = await service.get_session(**WHO, session_id=one.id)
        assert got.events == events
        assert got.last_update_time == events[-1].timestamp
        with service._held.use() as store:
            assert store.text(f"adk/app/user/{one.id}~6") == "Hi"
            assert store.verify().problems == ()

    async def test_that_is_partial_is_not_stored(self, service: Any) -> None:
        one = await service.create_session(**WHO)
        await service.append_event(one, said("a", partial=True))
        assert (await service.get_session(**WHO, session_id=one.id)).events == one.events == []

    @pytest.mark.parametrize(
        ("chosen", "kept"),
        [({}, "abcde"), ({"num_recent_events": 2}, "de"), ({"num_recent_events": 0}, ""),
         ({"num_recent_events": 9}, "abcde"), ({"after_timestamp": 3.0}, "cde"),
         ({"after_timestamp": 2.5, "num_recent_events": 2}, "de"), ({"after_timestamp": 9.0}, "")],
    )  # fmt: skip
    def test_is_chosen_by_number_and_time(self, service: Any, chosen: dict[str, Any], kept: str) -> None:
        async def work() -> Any:
            one = await service.create_session(**WHO)
            for at, text in enumerate("abcde", 1):
                one._storage_update_marker = None
                one.last_update_time = time.time()
                await service.append_event(one, said(text, timestamp=float(at)))
            config = sessions.GetSessionConfig(**chosen)
            return await service.get_session(**WHO, session_id=one.id, config=config)

        assert [each.content.parts[0].text for each in run(work()).events] == [*kept]

    async def test_that_is_delivered_again_is_stored_once(self, service: Any) -> None:
        one = await service.create_session(**WHO)
        late = await service.get_session(**WHO, session_id=one.id)
        event = said("a", actions=changed(n=1))
        await service.append_event(one, event)
        await service.append_event(late, event.model_copy(deep=True))
        assert len((await service.get_session(**WHO, session_id=one.id)).events) == 1


class TestAStaleSession:
    async def test_is_refused_and_nothing_is_stored(self, service: Any) -> None:
        one = await service.create_session(**WHO)
        other = await service.get_session(**WHO, session_id=one.id)
        await service.append_event(one, said("first"))
        with pytest.raises(errors.StaleSessionError, match="get it anew"):
            await service.append_event(other, said("second", actions=changed(s=1, user__u=1)))
        assert other.events == []
        got = await service.get_session(**WHO, session_id=one.id)
        assert (len(got.events), got.state) == (1, {})
        await service.append_event(got, said("second"))

    async def test_that_no_service_made_is_judged_by_its_time(self, service: Any) -> None:
        one = await service.create_session(**WHO)
        await service.append_event(one, said("first"))
        from google.adk.sessions.session import Session

        own = Session(id=one.id, **WHO, last_update_time=one.last_update_time - 5)
        with pytest.raises(errors.StaleSessionError):
            await service.append_event(own, said("second"))
        own.last_update_time = one.last_update_time
        await service.append_event(own, said("second"))

    async def test_is_none_that_branches_of_a_run_share(self, service: Any) -> None:
        one = await service.create_session(**WHO)
        await asyncio.gather(*(service.append_event(one, said(str(at))) for at in range(20)))
        got = await service.get_session(**WHO, session_id=one.id)
        texts = [[each.content.parts[0].text for each in session.events] for session in (one, got)]
        assert texts[0] == texts[1]
        assert sorted(map(int, texts[0])) == list(range(20))


class TestDelete:
    @pytest.mark.parametrize("erase", [None, False])
    async def test_erases_unless_it_is_to_hide(self, tmp_path: Path, erase: bool | None) -> None:
        service = adapter.HeadishSessionService(tmp_path / "a.db", erase=erase)
        one = await service.create_session(**WHO)
        await service.append_event(one, said("secret"))
        await service.delete_session(**WHO, session_id=one.id)
        with service._held.use() as store:
            assert [turn.erased is not None for turn in store.turns()] == [erase is None]
            assert store.objects.list("adk/session") == []
        await service.close()

    async def test_leaves_nothing_for_a_session_of_the_same_name(self, service: Any) -> None:
        for text in ("one", "two"):
            made = await service.create_session(**WHO, session_id="s")
            await service.append_event(made, said(text))
            assert len((await service.get_session(**WHO, session_id="s")).events) == 1
            await service.delete_session(**WHO, session_id="s")


async def test_a_closed_service_raises_a_runtime_error(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db") as database:
        service, other = (adapter.HeadishSessionService(database) for _ in range(2))
        made = await service.create_session(**WHO)
        await service.close()
        await service.close()
        for call in (service.get_session(**WHO, session_id="s"), service.append_event(made, said("a"))):
            with pytest.raises(RuntimeError, match="HeadishSessionService is closed"):
                await call
        assert await other.get_session(**WHO, session_id=made.id) is not None


KEYS = st.sampled_from(["a", "b", "app:a", "user:a", "temp:a"])
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(st.characters(codec="utf-8"), max_size=5)
    | st.lists(st.integers(0, 9), max_size=2)
)
STATES = st.dictionaries(KEYS, VALUES, max_size=3)
SESSIONS = st.tuples(st.sampled_from(["app", "app2"]), st.sampled_from(["u", "v"]), st.sampled_from(["s", "t"]))
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["create", "append", "append", "delete", "list"]), SESSIONS, STATES), max_size=12
)


@given(actions=ACTIONS)
@settings(max_examples=25)
def test_it_does_what_the_service_in_memory_does(actions: list[Any]) -> None:
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.sessions.in_memory_session_service import InMemorySessionService

    async def act(service: Any, verb: str, place: Any, state: Any, event: Any) -> Any:
        who = {"app_name": place[0], "user_id": place[1]}
        if verb == "list":
            listed = (await service.list_sessions(app_name=place[0])).sessions
            return sorted((each.user_id, each.id, sorted(each.state.items(), key=repr)) for each in listed)
        if verb == "delete":
            return await service.delete_session(**who, session_id=place[2])
        if verb == "create":
            try:
                return (await service.create_session(**who, session_id=place[2], state=dict(state))).state
            except AlreadyExistsError:
                return "exists"
        got = await service.get_session(**who, session_id=place[2])
        if got is None:
            return None
        await service.append_event(got, event)
        after = await service.get_session(**who, session_id=place[2])
        return got.state, after.state, [each.model_dump() for each in after.events], await service.get_user_state(**who)

    async def work() -> None:
        ours, theirs = adapter.HeadishSessionService(), InMemorySessionService()
        for verb, place, state in actions:
            event = said("x", actions=changed()) if verb == "append" else None
            if event is not None:
                event.actions.state_delta = dict(state)
            copy = None if event is None else event.model_copy(deep=True)
            assert await act(ours, verb, place, state, event) == await act(theirs, verb, place, state, copy)
        await ours.close()

    run(work())
