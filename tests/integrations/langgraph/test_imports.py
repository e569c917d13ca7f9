"""The importer of checkpoints reads what LangGraph's own savers wrote, in SQLite and in PostgreSQL."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from support.frameworks import not_installed

pytest.importorskip("langgraph.checkpoint.sqlite", reason=not_installed("langgraph"))
pytest.importorskip("langgraph.checkpoint.postgres", reason=not_installed("langgraph"))

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.types import Command, Overwrite, interrupt

from headish import Store

pytestmark = [pytest.mark.peers, pytest.mark.xdist_group("langgraph")]
Saving = Callable[[], Any]


@pytest.fixture(params=["sqlite", "postgresql"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Saving]:
    """The address of a database, and its saver."""
    if request.param == "sqlite":
        path = str(tmp_path / "checkpoints.db")
        return path, lambda: SqliteSaver.from_conn_string(path)
    url = request.getfixturevalue("new_postgresql").replace("+psycopg", "")

    @contextmanager
    def saving() -> Iterator[Any]:
        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()
            yield saver

    return url, saving


class Usual(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    topic: str
    seen: Annotated[set[int], operator.or_]


class Delta(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=3)]
    log: Annotated[list[str], DeltaChannel(lambda held, writes: [*held, *(each for to in writes for each in to)])]


def answer(state: Any) -> Any:
    last = state["messages"][-1]
    return {"messages": [AIMessage(f"You said: {last.text}", id=f"re-{last.id}")], **_further(state)}


def _further(state: Any) -> Any:
    return {"log": [f"line {len(state['messages'])}"]} if "topic" not in state else {"topic": "sums", "seen": {7}}


def graph_of(state: Any, saver: Any, *, asks: bool = False) -> Any:
    builder = StateGraph(state)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    if asks:
        builder.add_node("ask", lambda state: {"messages": [HumanMessage(interrupt("Sure?"), id="sure")]})
        builder.add_node("beside", lambda state: {"messages": [AIMessage("Beside", id="beside")]})
        builder.add_edge("answer", "ask")
        builder.add_edge("answer", "beside")
        builder.add_edge("ask", END)
    return builder.compile(checkpointer=saver)


def at(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def texts_of(graph: Any, thread: str) -> list[str]:
    return [each.text for each in graph.get_state(at(thread)).values["messages"]]


def imported(address: str, store: Store, thread: str) -> list[str]:
    done = store.import_file(address, "langgraph")
    assert done.broken == 0
    name = store.conversations.find(f"langgraph:{thread}").name
    return [each.text for each in store.resolve(name).messages]


@pytest.mark.parametrize("state", [Usual, Delta])
def test_the_tip_is_what_the_graph_shows_however_it_came_about(written: Any, state: Any, tmp_path: Path) -> None:
    address, saving = written
    with saving() as saver, Store.open(tmp_path / "ours.db") as store:
        graph = graph_of(state, saver)
        for number in range(5):
            graph.invoke({"messages": [HumanMessage(f"Say {number}", id=f"h{number}")], **given(state)}, at("t"))
            assert imported(address, store, "t") == texts_of(graph, "t")
        changed = {"messages": [HumanMessage("Changed", id="h1"), RemoveMessage(id="h2")]}
        graph.update_state(at("t"), changed, as_node="answer")
        assert imported(address, store, "t") == texts_of(graph, "t")
        older = [*graph.get_state_history(at("t"))][6].config
        graph.invoke({"messages": [HumanMessage("Otherwise", id="o")]}, older)
        assert imported(address, store, "t") == texts_of(graph, "t")
        if state is Delta:
            graph.update_state(at("t"), {"messages": Overwrite([HumanMessage("Anew", id="n")])}, as_node="answer")
            assert imported(address, store, "t") == texts_of(graph, "t") == ["Anew"]
        assert store.import_file(address, "langgraph").added == 0
        assert store.verify().problems == ()


def given(state: Any) -> Any:
    return {"topic": "", "seen": {3}} if state is Usual else {"log": ["asked"]}


@pytest.mark.parametrize("state", [Usual, Delta])
def test_what_waits_is_kept_as_data_until_the_graph_goes_on(written: Any, state: Any, tmp_path: Path) -> None:
    address, saving = written
    with saving() as saver, Store.open(tmp_path / "ours.db") as store:
        graph = graph_of(state, saver, asks=True)
        graph.invoke({"messages": [HumanMessage("Hi", id="h")], **given(state)}, at("t"))
        assert imported(address, store, "t") == ["Hi", "You said: Hi"]
        pending = store.conversations.find("langgraph:t").record.app["langgraph"]["pending"]
        assert sorted(each["channel"] for each in pending) == ["__interrupt__", "messages"]
        assert all(words in str(pending) for words in ("Sure?", "Beside"))
        graph.invoke(Command(resume="Yes"), at("t"))
        assert imported(address, store, "t") == texts_of(graph, "t")
        assert "pending" not in store.conversations.find("langgraph:t").record.app["langgraph"]


def test_other_values_are_data(written: Any, tmp_path: Path) -> None:
    address, saving = written
    with saving() as saver, Store.open(tmp_path / "ours.db") as store:
        for state in (Usual, Delta):
            graph_of(state, saver).invoke(
                {"messages": [HumanMessage("Hi", id="h")], **given(state)}, at(state.__name__)
            )
        store.import_file(address, "langgraph")
        usual = store.conversations.find("langgraph:Usual").record.app["langgraph"]["values"]
        assert usual["topic"] == "sums"
        assert sorted(usual["seen"]["value"]) == [3, 7]
        log = store.conversations.find("langgraph:Delta").record.app["langgraph"]["values"]["log"]
        assert "asked" in str(log)
        assert "line 1" in str(log)
