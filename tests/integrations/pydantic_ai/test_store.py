"""A durable conversation store is Pydantic AI's own in memory: whatever is done to both, they tell the same."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.frameworks import not_installed

pytest.importorskip("pydantic_ai.conversation_store", reason=not_installed("pydantic-ai"))

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    InMemoryConversationStore,
)
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from headish import Store
from headish.errors import AdapterClosed, TooLarge
from headish.integrations.pydantic_ai import HeadishConversationStore
from support.pages import run_page
from support.places import Place

pytestmark = [pytest.mark.peers, pytest.mark.xdist_group("pydantic-ai")]

ODD = ["line\nbreak", "😀", "x" * 10_000, "", "a/b%2f..", "half \ud800", "\x00"]


def say(text: str) -> Any:
    return ModelRequest(parts=[UserPromptPart(text)]) if len(text) % 2 else ModelResponse(parts=[TextPart(text)])


def texts(conversation: Any) -> list[str]:
    return [each.parts[0].content for each in conversation.messages]


class Both:
    """Does everything in two stores, and compares what they tell."""

    def __init__(self, ours: HeadishConversationStore) -> None:
        self.stores = (InMemoryConversationStore(), ours)
        self.loaded: list[dict[str, Any]] = [{}, {}]

    async def do(self, verb: Callable[[Any, dict[str, Any]], Any]) -> None:
        told = []
        for store, loaded in zip(self.stores, self.loaded, strict=True):
            try:
                told.append(await verb(store, loaded))
            except Exception as error:
                told.append((type(error).__name__, str(error).split("'")[0]))
        assert told[0] == told[1]

    async def compare(self, ids: list[str]) -> None:
        async def look(store: Any, _: Any) -> Any:
            told = []
            for record in await store.list_conversations():
                entries = await store.load_entries(record.conversation_id)
                known = [each.id for each in entries]
                told.append((
                    record.conversation_id, [each.message.parts[0].content for each in entries], record.scope,
                    record.usage, len(record.branches), record.forked_from,
                    record.forked_at is not None and record.forked_at in known,
                    [each.parent_id for each in entries] == [None, *known][: len(known)],
                ))  # fmt: skip
            return told

        await self.do(look)


NAMES = ["a", "b", "c"]
SCOPES = st.sampled_from([None, "s"])
STEP = st.one_of(
    st.tuples(st.just("load"), st.sampled_from(NAMES), st.sampled_from([None, 0, 1, 2, -1]), SCOPES),
    st.tuples(st.just("save"), st.sampled_from(NAMES), st.lists(st.sampled_from(["x", "yy", "zzz"]), max_size=3)),
    st.tuples(st.just("new"), st.sampled_from(NAMES), st.lists(st.sampled_from(["x", "yy"]), max_size=2), SCOPES),
    st.tuples(st.just("rewrite"), st.sampled_from(NAMES), st.integers(0, 3)),
    st.tuples(st.just("branch"), st.sampled_from(NAMES), st.integers(0, 3)),
    st.tuples(st.just("back"), st.sampled_from(NAMES), st.integers(0, 3)),
    st.tuples(st.just("fork"), st.sampled_from(NAMES), st.sampled_from(NAMES), st.none() | st.integers(0, 3)),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), SCOPES),
    st.tuples(st.just("list"), SCOPES, st.sampled_from([None, 0, 2])),
)  # fmt: skip


async def run_step(step: Any, store: Any, loaded: dict[str, Any]) -> Any:
    verb, name, *rest = step
    if verb == "load":
        found = await store.load(name, limit=rest[0], scope=rest[1])
        if found is not None:
            loaded[name] = found
        return found is not None and texts(found)
    if verb == "new":
        made = Conversation(messages=[*map(say, rest[0])], conversation_id=name, usage=RunUsage(requests=len(rest[0])))
        loaded[name] = made
        return len(await store.save(made, scope=rest[1]))
    if verb == "delete":
        return await store.delete(name, scope=rest[0])
    if verb == "list":
        return [each.conversation_id for each in await store.list_conversations(scope=name, limit=rest[0])]
    if verb == "fork":
        forked = await store.fork(name, at=rest[1], new_conversation_id=rest[0])
        loaded[rest[0]] = forked
        return texts(forked)
    had = loaded.get(name)
    if had is None:
        return None
    if verb == "save":
        had.messages.extend(map(say, rest[0]))
        return len(await store.save(had))
    if verb == "rewrite":
        made = dataclasses.replace(had, messages=[*had.messages[: rest[0]], say("rewritten")], new_message_index=None)
        loaded[name] = made
        return len(await store.save(made))
    if verb == "branch":
        loaded[name] = await store.branch(name, at=rest[0], expected_revision=had.revision)
        return texts(loaded[name])
    record = await store.read_record(name)
    if record is None or not record.branches:
        return None
    tip = record.branches[rest[0] % len(record.branches)]
    loaded[name] = await store.branch(name, from_entry=tip, expected_revision=record.revision)
    return texts(loaded[name])


class TestTheSame:
    @given(steps=st.lists(STEP, max_size=14))
    def test_whatever_is_done(self, place: Place, steps: list[Any]) -> None:
        async def run() -> None:
            with HeadishConversationStore(place.target, space=place.fresh().space) as ours:
                both = Both(ours)
                for step in steps:
                    await both.do(lambda store, loaded, step=step: run_step(step, store, loaded))
                    await both.compare(NAMES)

        asyncio.run(run())

    def test_with_an_agent(self, tmp_path: Path) -> None:
        async def run(store: Any) -> Any:
            agent = Agent(TestModel(custom_output_text="yes"), system_prompt="be brief")
            told = []
            for prompt in ("one", "two"):
                conversation = await store.load("trip") or Conversation(conversation_id="trip")
                result = await agent.run(prompt, conversation=conversation)
                told.append(len(await store.save(result)))
            found = await store.load("trip")
            return told, [[getattr(part, "content", None) for part in each.parts] for each in found.messages]

        with HeadishConversationStore(tmp_path / "a.db") as ours:
            assert asyncio.run(run(ours)) == asyncio.run(run(InMemoryConversationStore()))
        with Store.open(tmp_path / "a.db") as store:
            assert [(turn.meta.role, turn.text) for turn in store.log("trip")][::-1] == [
                ("user", "one"), ("assistant", "yes"), ("user", "two"), ("assistant", "yes"),
            ]  # fmt: skip
            assert store.verify().problems == ()


class TestConversations:
    @pytest.mark.parametrize("id", ODD, ids=lambda text: repr(text)[:12])
    async def test_have_any_id(self, place: Place, id: str) -> None:
        with HeadishConversationStore(place.target, space=place.space) as store:
            entry = ConversationEntry(id=f"entry {id}", parent_id=None, message=say("one"))
            record = ConversationRecord(conversation_id=id, head_id=entry.id, scope="s")
            await store.write_record(record, new_entries=[entry], expected_revision=None)
            assert [each.conversation_id for each in await store.read_records()] == [id]
            assert await store.read_history(entry.id) == [entry]
            assert await store.read_entry(entry.id) == entry
            await store.delete(id)
            with pytest.raises(LookupError):
                await store.read_entry(entry.id)

    async def test_are_erased_but_for_what_others_have(self, place: Place) -> None:
        made = HeadishConversationStore(place.target, space=place.space)
        with made as store, made._held.use() as shown:
            mine = Conversation(messages=[*map(say, ("shared", "left"))], conversation_id="mine")
            await store.save(mine)
            mine = await store.branch("mine", at=1, expected_revision=mine.revision)
            mine.messages.append(say("secret"))
            await store.save(mine)
            await store.fork("mine", at=1, new_conversation_id="fork")
            await store.delete("mine")
            assert texts(await store.load("fork")) == ["shared"]
            assert [turn.erased is None for turn in shown.turns()] == [True, False, False]
            assert "mine" not in shown.bookmarks
            assert shown.verify().problems == ()

    async def test_that_are_hidden_stay(self, tmp_path: Path) -> None:
        with HeadishConversationStore(tmp_path / "a.db", erase=False) as store:
            await store.save(Conversation(messages=[say("kept")], conversation_id="a"))
            await store.delete("a")
            assert await store.load("a") is None
        with Store.open(tmp_path / "a.db") as store:
            assert [turn.text for turn in store.turns()] == ["kept"]

    def test_leave_a_name_that_is_somebody_elses(self, tmp_path: Path) -> None:
        async def run() -> None:
            with HeadishConversationStore(tmp_path / "a.db") as store:
                await store.save(Conversation(messages=[say("theirs")], conversation_id="main"))

        with Store.open(tmp_path / "a.db") as store:
            store.add_turn("mine", bookmark="main")
            asyncio.run(run())
            assert [store.log(name)[0].text for name in ("main", "main-2")] == ["mine", "theirs"]

    async def test_that_are_too_large_are_not_half_stored(self, tmp_path: Path) -> None:
        with HeadishConversationStore(tmp_path / "a.db") as store, store._held.use() as shown:
            shown._payload_limit_bytes = 1000
            with pytest.raises(TooLarge):
                await store.save(Conversation(messages=[say("a"), say("x" * 2000)], conversation_id="a"))
            assert await store.load("a") is None
            assert shown.stats().turns == 0


class TestALimit:
    """``read_history`` with a limit, of a conversation that was edited in headish."""

    @staticmethod
    async def _save(store: HeadishConversationStore, *said: str) -> list[str]:
        await store.save(Conversation(messages=[*map(say, said)], conversation_id="a"))
        return [each.id for each in await store.load_entries("a")]

    @staticmethod
    async def _read(store: HeadishConversationStore, limit: int | None) -> list[tuple[str, str | None]]:
        record = await store.read_record("a")
        assert record is not None
        entries = await store.read_history(record.head_id, limit=limit)
        return [(each.message.parts[0].content, each.parent_id) for each in entries]  # type: ignore[union-attr]

    async def test_counts_neither_overlays_nor_what_they_hide(self, place: Place) -> None:
        made = HeadishConversationStore(place.target, space=place.space)
        with made as store, made._held.use() as shown:
            ids = await self._save(store, "one", "two", "three", "four", "five")
            for back in (1, 4):  # "four", then "two" from the overlay on
                shown.hide(f"a~{back}", continues="a")
            whole = await self._read(store, None)
            assert [said for said, _ in whole] == ["one", "three", "five"]
            assert whole[1:] == [("three", ids[1]), ("five", ids[3])]
            assert [await self._read(store, limit) for limit in range(1, 5)] == [
                whole[-limit:] for limit in range(1, 5)
            ]

    async def test_counts_no_turn_that_models_do_not_see(self, place: Place) -> None:
        made = HeadishConversationStore(place.target, space=place.space)
        with made as store, made._held.use() as shown:
            await self._save(store, "one", "two", "three")
            for _ in range(3):
                shown.add_turn("a note", continues="a", attributes={"hidden": "model"})
            assert [said for said, _ in await self._read(store, 2)] == ["two", "three"]

    @pytest.mark.parametrize("hides", [False, True])
    async def test_does_not_look_at_what_was_erased_before(self, place: Place, hides: bool) -> None:
        made = HeadishConversationStore(place.target, space=place.space)
        with made as store, made._held.use() as shown:
            await self._save(store, "one", "two", "three", "four")
            shown.erase("a~2", reason="asked for", scrub=False)
            if hides:
                shown.hide("a", continues="a")
            said = ["three"] if hides else ["three", "four"]
            assert [each for each, _ in await self._read(store, len(said))] == said
            for limit in (len(said) + 1, None):
                with pytest.raises(KeyError):
                    await self._read(store, limit)


class TestSeveralWriters:
    def test_of_one_conversation_are_told(self, tmp_path: Path) -> None:
        def write(store: HeadishConversationStore, number: int) -> int:
            async def run() -> int:
                saved = 0
                while saved < 4:
                    mine = await store.load("a") or Conversation(conversation_id="a")
                    mine.messages.append(say(f"{number} {saved}"))
                    try:
                        await store.save(mine)
                        saved += 1
                    except ConversationConflict:
                        await asyncio.sleep(random.random() * 0.01)
                return saved

            return asyncio.run(run())

        with HeadishConversationStore(tmp_path / "a.db") as store:
            with ThreadPoolExecutor(5) as pool:
                assert sum(pool.map(lambda number: write(store, number), range(5))) == 20
            found = texts(asyncio.run(store.load("a")))
        assert sorted(found) == sorted(f"{number} {each}" for number in range(5) for each in range(4))

    @pytest.mark.slow
    def test_in_other_processes_cannot_make_what_exists(self, tmp_path: Path) -> None:
        path, children = tmp_path / "a.db", []
        with HeadishConversationStore(path) as store:
            asyncio.run(store.save(Conversation(messages=[say("other")], conversation_id="other")))
            for number in range(4):
                child = os.fork()
                if not child:
                    os._exit(_make_all(store, path, number))
                children.append(child)
            codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
            assert sum(codes) == 30  # each conversation was made once
            assert len(asyncio.run(store.list_conversations())) == 31

    def test_cancelled_at_random_know_what_is_stored(self, tmp_path: Path) -> None:
        drawn = random.Random(3)

        async def run(store: HeadishConversationStore) -> None:
            for number in range(30):
                task = asyncio.create_task(store.save(Conversation(messages=[say("x")], conversation_id=str(number))))
                await asyncio.sleep(drawn.random() * 0.004)
                task.cancel()
                try:
                    await task
                    is_stored = True
                except asyncio.CancelledError:
                    is_stored = await store.load(str(number)) is not None
                await asyncio.sleep(0.005)
                assert (await store.load(str(number)) is not None) == is_stored

        with HeadishConversationStore(tmp_path / "a.db") as store:
            asyncio.run(run(store))


def _make_all(store: HeadishConversationStore, path: Path, number: int) -> int:
    """How many of thirty conversations this child made; some go on with the store that they inherited."""

    async def run() -> int:
        mine, made = (store if number % 2 else HeadishConversationStore(path)), 0
        for each in range(30):
            try:
                await mine.save(Conversation(messages=[say(f"of {number}")], conversation_id=f"c{each}"))
                made += 1
            except ConversationConflict:
                pass
        return made

    return asyncio.run(run())


def test_a_closed_store_refuses(tmp_path: Path) -> None:
    store = HeadishConversationStore(tmp_path / "a.db")
    store.close()
    store.close()
    with pytest.raises(RuntimeError, match="closed") as caught:
        asyncio.run(store.load("a"))
    assert isinstance(caught.value, AdapterClosed)


def test_the_examples_of_the_page_print_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = run_page("pydantic-ai.md")
    assert told
    assert all(printed == expected for printed, expected in told), told
