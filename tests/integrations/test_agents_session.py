"""``HeadishSession`` does what the Agents SDK expects of a session, and what its own sessions do.

The cases of the SDK's tests (openai-agents 0.24.0, tests/memory) that do not look into SQLiteSession's tables or
connections are here in other words.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headish import Database
from headish.errors import BookmarkTaken, InvalidArgument
from support.frameworks import needs
from support.later import Later

pytestmark = needs("agents", "openai-agents")
agents = Later("agents")
adapter = Later("headish.integrations.agents")
run = asyncio.run


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


_COUNTED = ("input_tokens", "output_tokens", "total_tokens")


def _used(tokens: int) -> Any:
    """What ``Runner.run`` gives of a run that used so many tokens."""
    used = agents.Usage(requests=1, input_tokens=tokens, output_tokens=1, total_tokens=tokens + 1)
    return SimpleNamespace(context_wrapper=SimpleNamespace(usage=used))


def answer(text: str, id: str = "msg_1") -> dict[str, Any]:
    part = {"annotations": [], "text": text, "type": "output_text"}
    return {"id": id, "content": [part], "role": "assistant", "status": "completed", "type": "message"}


@pytest.fixture(autouse=True)
def _no_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is told to anybody."""
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")


@pytest.fixture(params=["file", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Makes sessions of one database, which are closed at the end."""
    database = Database.open(tmp_path / "a.db" if request.param == "file" else ":memory:")
    made: list[Any] = []

    def make(session_id: str = "main", **options: Any) -> Any:
        made.append(adapter.HeadishSession(session_id, database, **{"erase": False, **options}))
        return made[-1]

    yield make
    for each in made:
        each.close()
    database.close()


class TestItems:
    async def test_are_kept_in_order(self, make: Any) -> None:
        session = make()
        await session.add_items([user("a"), answer("b")])
        await session.add_items([user("c")])
        assert await session.get_items() == [user("a"), answer("b"), user("c")]
        assert json.dumps(await session.get_items()) == json.dumps([user("a"), answer("b"), user("c")])

    @pytest.mark.parametrize(
        ("limit", "kept"), [(None, "abcd"), (0, ""), (1, "d"), (3, "bcd"), (4, "abcd"), (99, "abcd"), (-1, "abcd")]
    )
    async def test_are_cut_to_the_last_ones(self, make: Any, limit: int | None, kept: str) -> None:
        session = make()
        await session.add_items([user(each) for each in "abcd"])
        assert [each["content"] for each in (await session.get_items(limit))] == [*kept]

    @pytest.mark.parametrize("settings", [{"limit": 2}, "settings"])
    async def test_are_cut_as_the_settings_say_unless_the_call_does(self, make: Any, settings: Any) -> None:
        given = agents.SessionSettings(limit=2) if settings == "settings" else settings
        session = make(session_settings=given)
        assert session.session_settings.limit == 2
        await session.add_items([user(each) for each in "abcd"])
        assert [each["content"] for each in await session.get_items()] == ["c", "d"]
        assert len(await session.get_items(limit=3)) == 3

    def test_of_unknown_settings_are_refused(self, make: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="limits"):
            make(session_settings={"limits": 2})

    async def test_of_other_sessions_are_apart(self, make: Any) -> None:
        one, other = make("one"), make("other")
        await one.add_items([user("a")])
        await other.add_items([user("b")])
        await one.clear_session()
        assert (await one.get_items(), await other.get_items()) == ([], [user("b")])

    @pytest.mark.parametrize(
        "text",
        ["天気 😀 Ω", 'O\'Brien "x" \\ \x00 \t', "'; DROP TABLE turn; --", "a\u2028b\r\n", "x" * 3_000_000],
        ids=["wide", "quotes", "sql", "lines", "large"],
    )
    async def test_hold_any_text_as_id_and_words(self, make: Any, text: str) -> None:
        session = make(text[:10_000])
        await session.add_items([user(text), answer(text)])
        assert await session.get_items() == [user(text), answer(text)]
        assert await session.pop_item() == answer(text)

    async def test_that_are_none_change_nothing(self, make: Any) -> None:
        await make().add_items([])
        assert (await make().get_items()) == []

    async def test_are_all_refused_where_one_is(self, make: Any) -> None:
        session = make()
        with pytest.raises(TypeError):
            await session.add_items([user("a"), {"role": "user", "content": object()}])
        assert (await session.get_items()) == []

    async def test_that_the_caller_changes_afterwards_stay(self, make: Any) -> None:
        session, item = make(), user("a")
        await session.add_items([item])
        item["content"] = "changed"
        for _ in range(2):
            [got] = await session.get_items()
            assert got == user("a")
            got["content"] = "changed, too"


class TestPop:
    async def test_gives_the_last_item_and_none_at_the_end(self, make: Any) -> None:
        session = make()
        assert await session.pop_item() is None
        await session.add_items([user("a"), answer("b")])
        assert [await session.pop_item() for _ in range(3)] == [answer("b"), user("a"), None]
        await session.add_items([user("c")])
        assert await session.get_items() == [user("c")]

    async def test_takes_one_item_of_a_turn_that_has_several(self, make: Any) -> None:
        session = make()
        with session._held.use() as store:
            store.record([user("a"), answer("b"), {**answer("c"), "id": "msg_2"}], bookmark="main", form="responses")
        assert [each.get("id") for each in await session.get_items()] == [None, "msg_1", "msg_2"]
        assert [(await session.pop_item() or {}).get("id") for _ in range(3)] == ["msg_2", "msg_1", None]

    async def test_that_its_check_refuses_changes_nothing(self, make: Any) -> None:
        session = make()
        await session.add_items([user("a")])

        def refuse(_: object) -> None:
            raise LookupError("not this one")

        with pytest.raises(LookupError):
            await session._pop_item_with_validation(refuse)
        assert await session.get_items() == [user("a")]


class TestAClosedSession:
    @pytest.mark.parametrize("call", ["get_items", "pop_item", "clear_session", "bookmark", "branches"])
    def test_raises_a_runtime_error(self, make: Any, call: str) -> None:
        session = make()
        session.close()
        session.close()
        with pytest.raises(RuntimeError, match="HeadishSession is closed"):
            run(getattr(session, call)())
        with pytest.raises(RuntimeError, match="closed"):
            run(session.add_items([]))

    async def test_leaves_the_others_of_its_file_open(self, tmp_path: Path) -> None:
        one, other = (adapter.HeadishSession(each, tmp_path / "a.db") for each in ("one", "other"))
        await one.add_items([user("a")])
        one.close()
        await other.add_items([user("b")])
        assert await other.get_items() == [user("b")]
        other.close()

    async def test_in_memory_is_gone(self) -> None:
        one, other = adapter.HeadishSession("main"), adapter.HeadishSession("main")
        await one.add_items([user("a")])
        assert await other.get_items() == []
        one.close()
        other.close()


class TestErase:
    @pytest.mark.parametrize("erase", [False, True])
    async def test_decides_whether_words_stay(self, make: Any, erase: bool) -> None:
        session = make(erase=erase)
        await session.add_items([user("a"), answer("b"), user("c")])
        await session.pop_item()
        await session.clear_session()
        await session.add_items([user("d")])
        with session._held.use() as store:
            assert sum(turn.erased is not None for turn in store.turns()) == (3 if erase else 0)
        assert await session.get_items() == [user("d")]

    def test_left_out_hides_and_warns_once(self, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:

        from headish.adapters import hiding

        monkeypatch.setattr(hiding, "_said", set())

        async def work() -> None:
            session = make(erase=None)
            for _ in range(2):
                await session.add_items([user("a")])
                await session.clear_session()

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(work())
        assert [str(each.message).split(":")[0] for each in caught] == ["HeadishSession.clear_session hides"]

    def test_is_true_false_or_none(self, make: Any) -> None:
        with pytest.raises(InvalidArgument, match="erase is True, False or None"):
            make(erase="yes")

    async def test_of_a_turn_by_another_takes_it_out_of_the_session(self, make: Any) -> None:
        session = make()
        await session.add_items([user("a"), user("b"), user("c")])
        assert len(await session.get_items()) == 3
        with session._held.use() as store:
            store.erase("main~1", reason="asked for", scrub=False)
        assert await session.get_items() == [user("a"), user("c")]
        assert await session.get_items(2) == [user("a"), user("c")]


class TestASessionIsAConversation:
    async def test_that_every_verb_reads(self, make: Any) -> None:
        session = make("tides")
        await session.add_items([user("Why tides?"), answer("The moon.")])
        assert await session.bookmark() == "tides"
        with session._held.use() as store:
            assert store.conversations.find("tides").name == "tides"
            assert [message.text for message in store.resolve("tides").messages] == ["Why tides?", "The moon."]

    async def test_that_was_stored_otherwise_goes_on(self, make: Any) -> None:
        session = make("imported")
        with session._held.use() as store:
            store.add_turn("Hi", bookmark="imported")
            call = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
            store.add_turn([{"type": "text", "text": "Hello"}, call], role="assistant", continues="imported")
        await session.add_items([user("Go on")])
        kinds = [each.get("type", each.get("role")) for each in await session.get_items()]
        assert kinds == ["user", "assistant", "function_call", "user"]
        assert len(await session.get_items(2)) == 2

    async def test_is_seen_as_overlays_show_it(self, make: Any) -> None:
        session = make()
        await session.add_items([user("a"), answer("b"), user("c")])
        with session._held.use() as store:
            store.hide("main~1", continues="main")
        assert [each["role"] for each in await session.get_items()] == ["user", "user"]


class TestAFork:
    async def test_shares_what_was_and_goes_on_alone(self, make: Any) -> None:
        session = make("one")
        await session.add_items([user("a"), answer("b"), user("c")])
        whole, part = await session.fork("whole"), await session.fork("part", items=2)
        await part.add_items([user("other")])
        await session.pop_item()
        assert [each.get("content") for each in await whole.get_items()][-1] == "c"
        assert await part.get_items() == [user("a"), answer("b"), user("other")]
        assert await session.get_items() == [user("a"), answer("b")]
        assert sorted(await part.branches()) == ["one", "part", "whole"]
        with session._held.use() as store:
            assert store.stats().turns == 4
        with pytest.raises(BookmarkTaken):
            await session.fork("part")
        session.close()
        assert len(await part.get_items()) == 3
        whole.close()
        part.close()

    async def test_of_a_subclass_is_one(self, make: Any) -> None:
        class Own(adapter.HeadishSession):
            async def get_items(self, limit: int | None = None) -> Any:
                return [{**each, "mine": True} for each in await super().get_items(limit)]

        session = Own("own", erase=False)
        await session.add_items([user("a")])
        forked = await session.fork("other")
        session.close()
        assert await forked.get_items() == [{**user("a"), "mine": True}]
        forked.close()


class TestUsage:
    async def test_is_kept_beside_the_items(self, make: Any) -> None:
        session, agent = make(erase=True), agents.Agent(name="a", model=_model())
        assert await session.get_session_usage() is None
        for text in ("one", "two"):
            await session.store_run_usage(await agents.Runner.run(agent, text, session=session))
        total = await session.get_session_usage()
        assert (total["requests"], total["total_turns"]) == (2, 2)
        assert [each["user_turn_number"] for each in await session.get_turn_usage()] == [1, 2]
        assert (await session.get_turn_usage(2))["requests"] == 1
        assert await session.get_turn_usage(3) == {}
        await session.clear_session()
        assert await session.get_session_usage() is None
        with session._held.use() as store:
            assert store.objects.list("agents/usage") == []

    @pytest.mark.parametrize("session_id", ["main", "of a user: 7"])
    async def test_stays_with_a_session_that_is_renamed(self, make: Any, session_id: str) -> None:
        session = make(session_id, erase=True)
        for number, name in enumerate(["once", "twice"]):
            await session.add_items([user(name)])
            await session.store_run_usage(_used(10**number))
            with session._held.use() as store:
                store.bookmarks.rename(await session.bookmark(), name)
            assert (await session.get_session_usage())["total_turns"] == number + 1
        assert (await session.get_session_usage())["input_tokens"] == 11
        # The same conversation by its new name.
        assert await make("twice").get_session_usage() == await session.get_session_usage()
        await session.clear_session()
        with session._held.use() as store:
            assert [*store.objects.list("agents/usage"), *store.objects.list("headish/usage")] == []

    async def test_that_was_stored_under_the_bookmark_of_an_import_stays(self, make: Any) -> None:
        session = make("key-1", erase=True)
        with session._held.use() as store:
            turn = store.add_turn("Hi", bookmark="imported").id
            store.conversations.set("imported", key="key-1")
            data = {"turn": turn, "user_turn_number": 1, "requests": 5} | dict.fromkeys(_COUNTED, 1)
            store.objects.put("agents/usage", f"imported\n{turn}", json.dumps(data).encode())
        assert (await session.get_session_usage())["requests"] == 5
        await session.store_run_usage(_used(3))  # of the same turn: replaces it
        assert (await session.get_session_usage())["requests"] == 1
        await session.add_items([user("Go on")])
        await session.store_run_usage(_used(3))
        assert (await session.get_session_usage())["requests"] == 2
        assert [each["user_turn_number"] for each in await session.get_turn_usage()] == [1, 2]
        await session.clear_session()
        with session._held.use() as store:
            assert store.objects.list("agents/usage") == []

    async def test_of_another_conversation_with_the_old_name_stays(self, make: Any) -> None:
        session = make("main", erase=True)
        await session.add_items([user("a")])
        await session.store_run_usage(_used(1))
        with session._held.use() as store:
            store.bookmarks.rename("main", "old")
            store.add_turn("b", bookmark="main")
        await session.store_run_usage(_used(7))
        old = make("old", erase=True)
        assert [(await each.get_session_usage())["input_tokens"] for each in (old, session)] == [1, 7]
        await old.clear_session()
        assert (await session.get_session_usage())["input_tokens"] == 7
        with session._held.use() as store:
            assert [len(store.objects.list(kind)) for kind in ("agents/usage", "headish/usage")] == [1, 1]

    async def test_of_a_session_that_was_hidden_goes_when_it_is_erased(self, make: Any) -> None:
        session = make("main", erase=False)
        await session.add_items([user("a")])
        await session.store_run_usage(_used(1))
        await session.clear_session()
        await make("main", erase=True).clear_session()
        with session._held.use() as store:
            assert [*store.objects.list("agents/usage"), *store.objects.list("headish/usage")] == []


class TestARun:
    @pytest.mark.parametrize("how", ["run", "run_streamed"])
    async def test_remembers_the_one_before(self, make: Any, how: str) -> None:
        session, model = make(), _model()
        agent = agents.Agent(name="a", model=model)
        for text in ("Which city?", "Which state?"):
            result = getattr(agents.Runner, how)(agent, text, session=session)
            if how == "run":
                await result
            else:
                _ = [event async for event in result.stream_events()]
        assert [each["role"] for each in await session.get_items()] == ["user", "assistant"] * 2
        assert list(model.last_call.input) == [*(await session.get_items())[:2], user("Which state?")]

    async def test_that_fails_leaves_what_was_said(self, make: Any) -> None:
        session, model = make(), _model(answers=0)
        model.enqueue(LookupError("no model"))
        with pytest.raises(LookupError):
            await agents.Runner.run(agents.Agent(name="a", model=model), "Hi", session=session)
        assert [each["content"] for each in await session.get_items()] in ([], ["Hi"])


class TestManyAtOnce:
    async def test_tasks_keep_pairs_whole(self, make: Any) -> None:
        session = make()
        await asyncio.gather(*(session.add_items([user(f"{at}"), user(f"{at}")]) for at in range(30)))
        found = [each["content"] for each in await session.get_items()]
        assert found[::2] == found[1::2]
        assert sorted(map(int, found[::2])) == list(range(30))

    def test_loops_of_several_threads_share_a_session(self, make: Any) -> None:
        session = make()
        threads = [threading.Thread(target=lambda at=at: run(session.add_items([user(str(at))]))) for at in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sorted(each["content"] for each in run(session.get_items())) == sorted(map(str, range(8)))

    async def test_what_was_cancelled_is_stored_wholly_or_not_at_all(self, make: Any) -> None:
        session, chance = make(), random.Random(7)
        for at in range(25):
            task = asyncio.create_task(session.add_items([user(f"{at}a"), user(f"{at}b")]))
            await asyncio.sleep(chance.random() * 0.004)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass
            told = await session.get_items()
            await asyncio.sleep(0.002)
            assert await session.get_items() == told  # nothing comes later than its caller was told
        texts = [each["content"] for each in await session.get_items()]
        assert [each[:-1] for each in texts[::2]] == [each[:-1] for each in texts[1::2]]

    async def test_pops_and_adds_give_each_item_once(self, make: Any) -> None:
        session = make()
        adding = [session.add_items([user(str(at))]) for at in range(40)]
        done = await asyncio.gather(*adding, *(session.pop_item() for _ in range(40)))
        popped = [each["content"] for each in done if each is not None]
        left = [each["content"] for each in await session.get_items()]
        assert sorted(map(int, popped + left)) == list(range(40))


class TestCompaction:
    async def test_of_the_sdk_replaces_items_in_one_step(self, make: Any) -> None:
        session = make()
        await session.add_items([user("a"), answer("b"), user("c")])
        found = await session._get_compaction_snapshot(2)
        assert (found.items, found.complete) == ([answer("b"), user("c")], False)
        assert await found.replace_suffix(0, [{"type": "compaction", "encrypted_content": "x", "id": "cmp_1"}])
        assert [each.get("type", "user") for each in await session.get_items()] == ["user", "compaction"]
        assert not await found.replace_suffix(0, [])

    async def test_leaves_what_was_added_meanwhile(self, make: Any) -> None:
        session = make()
        await session.add_items([user("a"), answer("b")])
        found = await session._get_compaction_snapshot(10)
        assert found.complete
        await session.add_items([user("late")])
        assert not await found.replace_suffix(0, [user("summary")])
        assert len(await session.get_items()) == 3

    async def test_takes_what_is_expired_at_the_beginning_with_it(self, make: Any) -> None:
        def is_expired(item: dict[str, Any]) -> bool:
            return item["content"] in ("old", "older")

        session = make()
        stays = [answer("stays"), {**user("old, and stays"), "id": "u_1"}]
        await session.add_items([user("older"), user("old"), *stays, user("c"), user("d")])
        found = await session._get_compaction_snapshot(2, prune_prefix=is_expired)
        assert (found.items, found.complete) == ([user("c"), user("d")], False)
        assert await found.replace_suffix(1, [user("summary")])
        assert await session.get_items() == [*stays, user("c"), user("summary")]
        found = await session._get_compaction_snapshot(1, prune_prefix=is_expired)
        assert await found.replace_suffix(0, [])
        assert await session.get_items() == [*stays, user("c")]

    async def test_of_a_session_whose_items_are_all_expired_leaves_its_output(self, make: Any) -> None:
        session = make()
        await session.add_items([user("a"), user("b"), user("c")])
        found = await session._get_compaction_snapshot(1, prune_prefix=lambda item: True)
        assert await found.replace_suffix(0, [])
        assert await session.get_items() == []
        await session.add_items([user("d")])
        assert await session.get_items() == [user("d")]

    async def test_leaves_expired_items_where_what_follows_says_more_than_its_item(self, make: Any) -> None:
        session = make()
        await session.add_items([user("old")])
        with session._held.use() as store:
            store.add_turn("noted", continues=await session.bookmark(), meta={"app": {"mine": 1}})
        await session.add_items([user("c")])
        found = await session._get_compaction_snapshot(1, prune_prefix=lambda item: item == user("old"))
        assert await found.replace_suffix(0, [user("summary")])
        assert [each["content"] for each in await session.get_items()] == ["old", "noted", "summary"]

    async def test_of_a_subclass_that_changes_items_goes_the_long_way(self) -> None:
        class Own(adapter.HeadishSession):
            async def get_items(self, limit: int | None = None) -> Any:
                return await super().get_items(limit)

        session = Own("own")
        found = await session._get_compaction_snapshot(10)
        session.close()
        assert found is None


def _model(answers: int = 4) -> Any:
    """A model that answers anything, so many times."""
    from agents.testing import ScriptedModel
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    text = ResponseOutputText(annotations=[], text="An answer.", type="output_text")
    message = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
    return ScriptedModel([[message]] * answers)
