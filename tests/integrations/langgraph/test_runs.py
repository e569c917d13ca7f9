"""Runs that LangGraph's own tests do not look at: threads that are copied, pruned or deleted while they wait, runs that
are cancelled, and several at once in one thread."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.frameworks import not_installed

pytest.importorskip("langgraph.graph", reason=not_installed("langgraph"))

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from headish import Store
from headish.integrations.langgraph import HeadishSaver
from support.places import Place
from support.scenarios import Chat, asking, at, chatbot, say, tell_history, tell_state, with_subgraph

pytestmark = [pytest.mark.peers, pytest.mark.xdist_group("langgraph")]


def contents(graph: Any, config: Any) -> list[str]:
    return [each.content for each in graph.get_state(config).values["messages"]]


def fanned_out(saver: Any) -> Any:
    """Asks in three tasks of one step, and gathers the answers."""

    def part(state: dict[str, Any]) -> Chat:
        return {"log": [f"{state['number']}: {interrupt(state['number'])}"]}

    builder = StateGraph(Chat)
    builder.add_node("part", part)
    builder.add_node("end", lambda state: {"messages": [AIMessage(", ".join(state["log"]), id="end")]})
    builder.add_conditional_edges(START, lambda _: [Send("part", {"number": number}) for number in range(3)], ["part"])
    builder.add_edge("part", "end")
    return builder.compile(checkpointer=saver)


class TestAThreadThatWaits:
    @pytest.fixture
    def saver(self, place: Place) -> Any:
        with HeadishSaver(place.target, space=place.space, erase=True) as made:
            yield made
            with made._held.use() as store:
                assert store.verify().problems == ()

    def test_is_copied_and_both_are_answered(self, saver: HeadishSaver) -> None:
        graph = asking(saver)
        graph.invoke(say("hi"), at())
        saver.copy_thread("1", "2")
        for thread, name in (("1", "Ada"), ("2", "Bob")):
            graph.invoke(Command(resume=name), at(thread))
        for thread, age in (("2", 7), ("1", 36)):
            graph.invoke(Command(resume=age), at(thread))
        assert contents(graph, at("1")) == ["hi", "Ada is 36"]
        assert contents(graph, at("2")) == ["hi", "Bob is 7"]

    @pytest.mark.parametrize("make", [asking, with_subgraph, fanned_out])
    def test_is_pruned_and_answered(self, saver: HeadishSaver, make: Any) -> None:
        def run(given: Any, *, prunes: bool) -> Any:
            graph, told = make(given), []
            waits = graph.invoke({**say("hi"), "total": 7}, at())
            while "__interrupt__" in waits:
                if prunes:
                    given.prune(["1"])
                told.append(tell_state(graph.get_state(at(), subgraphs=True)) | {"has_parent": None})
                answers = {each.id: f"to {each.value}" for each in waits["__interrupt__"]}
                waits = graph.invoke(Command(resume=answers), at())
            return [told, tell_state(graph.get_state(at()))]

        assert run(saver, prunes=True) == run(InMemorySaver(), prunes=False)

    def test_is_answered_by_whoever_opens_the_database(self, durable_place: Place) -> None:
        for given in ({**say("hi"), "total": 7}, Command(resume="yes")):
            with HeadishSaver(durable_place.target, space=durable_place.space) as saver:
                with_subgraph(saver).invoke(given, at())
                last = contents(with_subgraph(saver), at())
        assert last == ["hi", "inner yes"]

    def test_goes_on_from_before_the_run_that_was_deleted(self, saver: HeadishSaver) -> None:
        graph = chatbot(saver)
        for text in ("kept", "gone"):
            graph.invoke(say(text), {**at(), "metadata": {"run_id": f"the run of {text}"}})
        saver.delete_for_runs(["the run of gone"])
        assert contents(graph, at()) == ["kept", "you said kept"]
        graph.invoke(say("new"), at())
        assert contents(graph, at()) == ["kept", "you said kept", "new", "you said new"]

    def test_is_deleted_and_begins_anew(self, saver: HeadishSaver) -> None:
        def run(given: Any) -> Any:
            graph = asking(given)
            graph.invoke(say("hi"), at())
            given.delete_thread("1")
            again = graph.invoke(Command(resume="Ada"), at())
            return [[each.value for each in again["__interrupt__"]], tell_history(graph, at())]

        assert run(saver) == run(InMemorySaver())


class TestSeveralRuns:
    def test_in_one_thread_at_once_each_end_whole(self, durable_place: Place) -> None:
        """The last one to end is the thread's state, and no checkpoint of the others is lost or mixed up."""
        with HeadishSaver(durable_place.target, space=durable_place.space) as saver:
            graph = chatbot(saver)
            graph.invoke(say("first"), at())
            with ThreadPoolExecutor(4) as pool:
                ended = list(pool.map(lambda number: graph.invoke(say(f"run {number}"), at()), range(8)))
            for number, each in enumerate(ended):
                assert [one.content for one in each["messages"]][-2:] == [f"run {number}", f"you said run {number}"]
            kept = [tuple(one.content for one in each.values.get("messages", ())) for each in _whole_history(graph)]
            assert all(tuple(one.content for one in each["messages"]) in kept for each in ended)
            assert len(kept) == 3 * 9
            with saver._held.use() as store:
                assert store.verify().problems == ()

    def test_of_several_loops_share_a_saver(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver:
            graph = chatbot(saver)

            def run(thread: str) -> list[str]:
                async def talk() -> None:
                    await asyncio.gather(*(graph.ainvoke(say(f"{thread} {n}"), at(f"{thread}{n}")) for n in range(3)))

                asyncio.run(talk())
                return [contents(graph, at(f"{thread}{n}"))[-1] for n in range(3)]

            with ThreadPoolExecutor(3) as pool:
                told = list(pool.map(run, "abc"))
        assert told == [[f"you said {thread} {n}" for n in range(3)] for thread in "abc"]


def _whole_history(graph: Any) -> list[Any]:
    return list(graph.get_state_history(at()))


class TestACancelledRun:
    @pytest.mark.parametrize("durability", ["sync", "async", "exit"])
    def test_goes_on_as_with_their_saver(self, tmp_path: Path, durability: Any) -> None:
        def told_with(saver: Any) -> Any:
            return asyncio.run(self.run(saver, durability))

        with HeadishSaver(tmp_path / "a.db") as saver:
            assert told_with(saver) == told_with(InMemorySaver())

    async def run(self, saver: Any, durability: Any) -> Any:
        began, runs = asyncio.Event(), list[str]()

        async def slow(state: Chat) -> Chat:
            runs.append("slow")
            began.set()
            if runs.count("slow") < 2:
                await asyncio.sleep(60)
            return {"log": ["slow"]}

        builder = StateGraph(Chat)
        builder.add_node("quick", lambda state: {"log": ["quick"], "messages": [AIMessage("quick", id="q")]})
        builder.add_node("slow", slow)
        builder.add_edge(START, "quick")
        builder.add_edge("quick", "slow")
        graph = builder.compile(checkpointer=saver)
        task = asyncio.create_task(graph.ainvoke(say("hi"), at(), durability=durability))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        between = tell_state(await graph.aget_state(at()))
        again = None if between["next"] else say("hi")
        await graph.ainvoke(again, at(), durability=durability)
        return [between, runs, tell_state(await graph.aget_state(at()))]


class Unknown:
    """A class that no serializer knows."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown)

    __hash__ = None  # type: ignore[assignment]


class TestAValueThatNobodyKnows:
    def run(self, saver: Any) -> Any:
        builder = StateGraph(Chat)
        builder.add_node("odd", lambda state: {"total": Unknown()})
        builder.add_edge(START, "odd")
        graph = builder.compile(checkpointer=saver)
        graph.invoke(say("hi"), at(), durability="sync")
        return graph.get_state(at()).values["total"]

    def test_ends_the_run_and_the_state_before_it_stays(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver:
            with pytest.raises(TypeError, match="Unknown"):
                self.run(saver)
            assert contents(chatbot(saver), at()) == ["hi"]
        with Store.open(tmp_path / "a.db") as store:
            assert store.verify().problems == ()

    def test_is_pickled_where_the_serializer_may(self, tmp_path: Path) -> None:
        serde = JsonPlusSerializer(pickle_fallback=True)
        with HeadishSaver(tmp_path / "a.db", serde=serde) as saver:
            assert self.run(saver) == Unknown()
        with HeadishSaver(tmp_path / "a.db", serde=serde) as saver:
            assert saver.get_tuple(at()).checkpoint["channel_values"]["total"] == Unknown()
