"""What graphs do with a checkpointer, told without ids and times: two savers that keep the same state tell the same.

Each scenario is a function of a saver. The cases are those of LangGraph's own tests of graphs, written again.
"""

from __future__ import annotations

import asyncio
import operator
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, Send, interrupt

Told = Any
Scenario = Callable[[Any], Told]
SCENARIOS: list[Scenario] = []
ASYNC: list[Callable[[Any], Any]] = []


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(function)
    return function


def asynchronous(function: Any) -> Any:
    ASYNC.append(function)
    return function


class Chat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], operator.add]
    total: int


def at(thread: str = "1", **more: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, **more}}


def tell(value: Any) -> Told:
    """A value without ids that are drawn."""
    if isinstance(value, dict):
        return {key: tell(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [tell(each) for each in value]
    if hasattr(value, "content") and hasattr(value, "type"):
        return (value.type, tell(value.content), getattr(value, "tool_calls", None), getattr(value, "status", None))
    return value if isinstance(value, str | int | float | bool | None) else repr(type(value).__name__)


def tell_state(state: Any) -> Told:
    """A snapshot of a graph."""
    metadata = state.metadata or {}
    tasks = [
        (task.name, task.error and str(task.error), [each.value for each in task.interrupts], tell(task.result))
        for task in state.tasks
    ]
    return {
        "values": tell(state.values),
        "next": list(state.next),
        "source": metadata.get("source"),
        "step": metadata.get("step"),
        "tasks": tasks,
        "has_parent": state.parent_config is not None,
    }


def tell_history(graph: Any, config: Any, **more: Any) -> Told:
    return [tell_state(each) for each in graph.get_state_history(config, **more)]


def chatbot(saver: Any, **compile: Any) -> Any:
    """Says back what it hears."""

    def answer(state: Chat) -> Chat:
        said = state["messages"][-1]
        return {"messages": [AIMessage(f"you said {said.content}", id=f"re-{said.id}")], "log": ["answer"]}

    builder = StateGraph(Chat)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver, **compile)


def say(text: str, id: str | None = None) -> Chat:
    return {"messages": [HumanMessage(text, id=id or f"id-{text}")]}


@scenario
def a_conversation_goes_on(saver: Any) -> Told:
    graph = chatbot(saver)
    for text in ("one", "two", "three"):
        graph.invoke(say(text), at())
    return [tell_state(graph.get_state(at())), tell_history(graph, at())]


@scenario
def threads_are_apart(saver: Any) -> Told:
    graph = chatbot(saver)
    for text in ("one", "two"):
        for thread in ("a", "b", "c"):
            graph.invoke(say(f"{thread} {text}"), at(thread))
    return [tell_state(graph.get_state(at(thread))) for thread in "abcd"]


@scenario
def a_history_has_a_limit_a_filter_and_a_before(saver: Any) -> Told:
    graph = chatbot(saver)
    for text in ("one", "two", "three"):
        graph.invoke(say(text), at(run_name=text))
    history = list(graph.get_state_history(at()))
    before = history[3].config
    return [
        tell_history(graph, at(), limit=2),
        tell_history(graph, at(), filter={"source": "input"}),
        tell_history(graph, at(), filter={"source": "loop", "step": 1}),
        tell_history(graph, at(), filter={"source": "nothing"}),
        tell_history(graph, at(), before=before),
        tell_history(graph, at(), before=before, limit=1, filter={"source": "loop"}),
    ]


@scenario
def time_travel_replays_from_a_checkpoint(saver: Any) -> Told:
    graph = chatbot(saver)
    for text in ("one", "two"):
        graph.invoke(say(text), at())
    history = list(graph.get_state_history(at()))
    early = next(each for each in history if each.next == ("answer",) and len(each.values["messages"]) == 1)
    replayed = graph.invoke(None, early.config)
    return [tell(replayed), tell_state(graph.get_state(at())), len(list(graph.get_state_history(at())))]


@scenario
def a_fork_by_update_state_leaves_the_other_branch(saver: Any) -> Told:
    graph = chatbot(saver)
    for text in ("one", "two"):
        graph.invoke(say(text), at())
    history = list(graph.get_state_history(at()))
    early = next(each for each in history if len(each.values.get("messages", ())) == 2 and not each.next)
    fork = graph.update_state(early.config, {"messages": [HumanMessage("another", id="x")], "total": 5})
    after = graph.invoke(None, fork)
    old = graph.get_state(history[0].config)
    return [tell(after), tell_state(graph.get_state(at())), tell_state(old), tell_history(graph, at())]


@scenario
def an_update_as_a_node_and_a_copy(saver: Any) -> Told:
    graph = chatbot(saver)
    graph.invoke(say("one"), at())
    graph.update_state(at(), {"messages": [AIMessage("put in", id="p")]}, as_node="answer")
    graph.update_state(at(), None, as_node="__copy__")
    return tell_history(graph, at())


@scenario
def a_message_is_replaced_and_removed(saver: Any) -> Told:
    graph = chatbot(saver)
    for text in ("one", "two"):
        graph.invoke(say(text), at())
    graph.update_state(at(), {"messages": [HumanMessage("edited", id="id-one")]})
    graph.update_state(at(), {"messages": [RemoveMessage("id-two")]})
    now = tell_state(graph.get_state(at()))
    graph.invoke(say("three"), at())
    graph.update_state(at(), {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})
    graph.invoke(say("four"), at())
    return [now, tell_state(graph.get_state(at())), tell_history(graph, at())]


def asking(saver: Any, **compile: Any) -> Any:
    def ask(state: Chat) -> Chat:
        name = interrupt({"question": "who?"})
        age = interrupt({"question": f"how old is {name}?"})
        return {"messages": [AIMessage(f"{name} is {age}", id="a")], "total": age}

    builder = StateGraph(Chat)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver, **compile)


@scenario
def interrupts_are_answered_one_after_another(saver: Any) -> Told:
    graph = asking(saver)
    told = []
    for given in (say("hi"), Command(resume="Ada"), Command(resume=36)):
        found = graph.invoke(given, at())
        told.append([[each.value for each in found.get("__interrupt__", ())], tell_state(graph.get_state(at()))])
    return [told, tell_history(graph, at())]


@scenario
def an_interrupt_survives_an_update(saver: Any) -> Told:
    graph = asking(saver)
    graph.invoke(say("hi"), at())
    graph.update_state(at(), {"total": 3})
    before = tell_state(graph.get_state(at()))
    graph.invoke(Command(resume="Bob", update={"log": ["resumed"]}), at())
    return [before, tell_state(graph.get_state(at()))]


@scenario
def a_graph_stops_before_and_after_nodes(saver: Any) -> Told:
    def step(name: str) -> Callable[[Chat], Chat]:
        return lambda state: {"log": [name], "total": state.get("total", 0) + 1}

    builder = StateGraph(Chat)
    for name in ("a", "b", "c"):
        builder.add_node(name, step(name))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("b", "c")
    graph = builder.compile(checkpointer=saver, interrupt_before=["b"], interrupt_after=["b"])
    told = []
    for given in ({"log": ["begin"]}, None, None):
        graph.invoke(given, at())
        told.append(tell_state(graph.get_state(at())))
    return [told, tell_history(graph, at())]


@scenario
def what_succeeded_beside_a_failure_is_not_run_again(saver: Any) -> Told:
    runs: list[str] = []

    def good(state: Chat) -> Chat:
        runs.append("good")
        return {"log": ["good"], "messages": [AIMessage("good", id="g")]}

    def bad(state: Chat) -> Chat:
        runs.append("bad")
        if runs.count("bad") < 2:
            time.sleep(0.3)  # what the other one wrote is stored by then
            raise ValueError("not yet")
        return {"log": ["bad"]}

    builder = StateGraph(Chat)
    builder.add_node("good", good)
    builder.add_node("bad", bad)
    builder.add_edge(START, "good")
    builder.add_edge(START, "bad")
    graph = builder.compile(checkpointer=saver)
    try:
        graph.invoke(say("hi"), at())
        failed = "no"
    except ValueError as error:
        failed = str(error)
    between = tell_state(graph.get_state(at()))
    graph.invoke(None, at())
    return [failed, between, sorted(runs), tell_state(graph.get_state(at())), tell_history(graph, at())]


@scenario
def sends_fan_out_and_come_back_in_order(saver: Any) -> Told:
    def part(state: dict[str, Any]) -> Chat:
        return {
            "log": [f"part {state['number']}"],
            "messages": [AIMessage(str(state["number"]), id=f"p{state['number']}")],
        }

    def route(state: Chat) -> list[Send]:
        return [Send("part", {"number": number}) for number in range(4)]

    builder = StateGraph(Chat)
    builder.add_node("part", part)
    builder.add_node("end", lambda state: {"total": len(state["log"])})
    builder.add_conditional_edges(START, route, ["part"])
    builder.add_edge("part", "end")
    graph = builder.compile(checkpointer=saver)
    graph.invoke(say("go"), at())
    return [tell_state(graph.get_state(at())), tell_history(graph, at())]


@scenario
def commands_go_on_and_update(saver: Any) -> Told:
    def first(state: Chat) -> Command[Any]:
        return Command(goto="second", update={"log": ["first"], "messages": [AIMessage("go", id="f")]})

    builder = StateGraph(Chat)
    builder.add_node("first", first, destinations=("second",))
    builder.add_node("second", lambda state: {"log": ["second"]})
    builder.add_edge(START, "first")
    graph = builder.compile(checkpointer=saver)
    graph.invoke(say("go"), at())
    return tell_history(graph, at())


@scenario
def tools_are_called_and_answer(saver: Any) -> Told:
    def model(state: Chat) -> Chat:
        if isinstance(state["messages"][-1], ToolMessage):
            return {"messages": [AIMessage("it rains", id="end", usage_metadata=_usage())]}
        calls = [{"name": "weather", "args": {"city": city}, "id": f"c-{city}", "type": "tool_call"} for city in "AB"]
        return {"messages": [AIMessage("", id="call", tool_calls=calls)]}

    def tools(state: Chat) -> Chat:
        calls = state["messages"][-1].tool_calls
        return {
            "messages": [
                ToolMessage("rain", tool_call_id=call["id"], name=call["name"], id=f"t{call['id']}", status=status)
                for call, status in zip(calls, ("success", "error"), strict=True)
            ]
        }

    builder = StateGraph(Chat)
    builder.add_node("model", model)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"messages": [SystemMessage("be brief", id="s"), HumanMessage("weather?", id="w")]}, at())
    return tell_history(graph, at())


def _usage() -> Any:
    return {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}


def with_subgraph(saver: Any, child: bool | None = None) -> Any:
    def inner(state: Chat) -> Chat:
        given = interrupt("inner?") if state.get("total") == 7 else "nothing"
        return {"messages": [AIMessage(f"inner {given}", id=f"in-{len(state['messages'])}")], "log": ["inner"]}

    inside = StateGraph(Chat)
    inside.add_node("inner", inner)
    inside.add_node("after", lambda state: {"log": ["after"]})
    inside.add_edge(START, "inner")
    inside.add_edge("inner", "after")
    builder = StateGraph(Chat)
    builder.add_node("child", inside.compile(checkpointer=child))
    builder.add_node("done", lambda state: {"log": ["done"]})
    builder.add_edge(START, "child")
    builder.add_edge("child", "done")
    return builder.compile(checkpointer=saver)


@scenario
def a_subgraph_is_interrupted_and_resumed(saver: Any) -> Told:
    graph = with_subgraph(saver)
    graph.invoke({**say("hi"), "total": 7}, at())
    between = graph.get_state(at(), subgraphs=True)
    inner = tell_state(between.tasks[0].state)
    graph.invoke(Command(resume="yes"), at())
    return [tell_state(between), inner, tell_state(graph.get_state(at())), tell_history(graph, at())]


@scenario
def a_subgraph_is_updated_while_it_waits(saver: Any) -> Told:
    graph = with_subgraph(saver)
    graph.invoke({**say("hi"), "total": 7}, at())
    inside = graph.get_state(at(), subgraphs=True).tasks[0].state.config
    graph.update_state(inside, {"log": ["from outside"]})
    history = [tell_state(each) for each in graph.get_state_history(inside)]
    graph.invoke(Command(resume="yes"), at())
    return [history, tell_state(graph.get_state(at()))]


@scenario
def a_subgraph_that_remembers_keeps_its_own_state(saver: Any) -> Told:
    graph = with_subgraph(saver, child=True)
    for text in ("one", "two"):
        graph.invoke({**say(text), "total": 1}, at())
    return [tell_state(graph.get_state(at())), tell_history(graph, at())]


@scenario
def a_subgraph_that_remembers_nothing(saver: Any) -> Told:
    graph = with_subgraph(saver, child=False)
    graph.invoke({**say("one"), "total": 1}, at())
    return tell_history(graph, at())


@dataclass
class Point:
    x: int
    tags: list[str]


class Odd(TypedDict, total=False):
    point: Point
    data: bytes
    nothing: None
    numbers: Annotated[list[int], operator.add]
    nested: dict[str, Any]
    mixed: list[Any]


@scenario
def values_of_every_kind_come_back(saver: Any) -> Told:
    builder = StateGraph(Odd)
    builder.add_node("add", lambda state: {"numbers": [2], "nested": {"a": [1, {"b": None}], "é": "\u2028"}})
    builder.add_edge(START, "add")
    graph = builder.compile(checkpointer=saver)
    given = {
        "point": Point(1, ["a"]),
        "data": b"\x00\xff",
        "nothing": None,
        "numbers": [1],
        "mixed": ["x", 1, 2.5, True],
    }
    graph.invoke(given, at())
    values = graph.get_state(at()).values
    return [
        repr(values["point"]),
        values["data"],
        values["nothing"],
        values["numbers"],
        values["nested"],
        values["mixed"],
    ]


@scenario
def every_durability_keeps_the_last_state(saver: Any) -> Told:
    graph = chatbot(saver)
    told = []
    for durability in ("sync", "async", "exit"):
        graph.invoke(say("one"), at(durability), durability=durability)
        graph.invoke(say("two"), at(durability), durability=durability)
        told.append(tell_history(graph, at(durability)))
    return told


@scenario
def bulk_updates_are_steps(saver: Any) -> Told:
    from langgraph.types import StateUpdate

    graph = chatbot(saver)
    graph.invoke(say("one"), at())
    graph.bulk_update_state(
        at(),
        [
            [StateUpdate({"messages": [AIMessage("x", id="x")]}, "answer")],
            [StateUpdate({"messages": [AIMessage("y", id="y")], "total": 2}, "answer")],
        ],
    )
    return tell_history(graph, at())


@scenario
def a_thread_begins_anew_after_it_was_deleted(saver: Any) -> Told:
    graph = chatbot(saver)
    graph.invoke(say("one"), at())
    graph.invoke(say("kept"), at("2"))
    saver.delete_thread("1")
    gone = tell_history(graph, at())
    graph.invoke(say("two"), at())
    return [gone, tell_history(graph, at()), tell_history(graph, at("2"))]


@scenario
def a_message_that_is_changed_in_place_is_kept_as_it_is(saver: Any) -> Told:
    def change(state: Chat) -> Chat:
        state["messages"][0].content = f"{state['messages'][0].content}!"
        state["messages"][0].additional_kwargs["seen"] = True
        return {"messages": [AIMessage("changed", id=f"a{len(state['messages'])}")]}

    builder = StateGraph(Chat)
    builder.add_node("change", change)
    builder.add_edge(START, "change")
    graph = builder.compile(checkpointer=saver)
    for text in ("one", "two"):
        graph.invoke(say(text), at())
    return tell_state(graph.get_state(at()))


@asynchronous
async def async_runs_and_interrupts(saver: Any) -> Told:
    graph = asking(saver)
    await graph.ainvoke(say("hi"), at())
    await graph.ainvoke(Command(resume="Ada"), at())
    await graph.ainvoke(Command(resume=36), at())
    return [tell_state(each) async for each in graph.aget_state_history(at())]


@asynchronous
async def many_async_threads_at_once(saver: Any) -> Told:
    graph = chatbot(saver)
    for text in ("one", "two"):
        await asyncio.gather(*(graph.ainvoke(say(f"{thread} {text}"), at(str(thread))) for thread in range(12)))
    return [tell_state(await graph.aget_state(at(str(thread)))) for thread in range(12)]


@asynchronous
async def async_updates_and_travel(saver: Any) -> Told:
    graph = chatbot(saver)
    await graph.ainvoke(say("one"), at())
    history = [each async for each in graph.aget_state_history(at())]
    fork = await graph.aupdate_state(history[-2].config, {"messages": [HumanMessage("other", id="o")]})
    await graph.ainvoke(None, fork)
    limited = [tell_state(each) async for each in graph.aget_state_history(at(), limit=2, filter={"source": "loop"})]
    return [limited, tell_state(await graph.aget_state(at()))]


@asynchronous
async def async_subgraphs_stream(saver: Any) -> Told:
    graph = with_subgraph(saver)
    seen = [each async for each in graph.astream({**say("hi"), "total": 7}, at(), stream_mode="values")]
    await graph.ainvoke(Command(resume="yes"), at())
    return [tell(seen[0]), tell_state(await graph.aget_state(at()))]
