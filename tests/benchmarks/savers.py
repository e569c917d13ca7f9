"""A graph in ``HeadishSaver`` and in LangGraph's ``SqliteSaver``: a message more at each step, puts interleaved.

    put_100, put_400  a put at that step, microseconds; ``own`` is the put at 400 by our own at 100
    get_400           the last state, by a saver that has it in memory as after a step
    bytes_400         what the files take after 400 steps

A part of ``make bench-peers``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from statistics import median
from typing import Any

from benchmarks.clock import Bench, Clock
from benchmarks.plain import settled_bytes

PEER = "langgraph_saver"
GOALS = {"put_400": 2.0, "bytes_400": 0.25}
OWN_GOAL = 1.5
STEPS, NEAR = 400, 15


class Steps:
    """A thread of a graph that has one list of messages."""

    def __init__(self, saver: Any) -> None:
        self.saver, self.times = saver, list[float]()
        self._config: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
        self._messages: list[Any] = []
        self._version: Any = None

    def put(self, text: str) -> None:
        from langchain_core.messages import AIMessage, HumanMessage
        from langgraph.checkpoint.base import empty_checkpoint

        kind = AIMessage if len(self._messages) % 2 else HumanMessage
        self._messages = [*self._messages, kind(text, id=f"message-{len(self._messages):08}")]
        self._version = self.saver.get_next_version(self._version, None)
        versions = dict.fromkeys(("__start__", "messages", "branch:to:model"), self._version)
        made = empty_checkpoint() | {"channel_values": {"messages": self._messages}, "channel_versions": versions}
        metadata = {"source": "loop", "step": len(self._messages), "parents": {}}
        started = Clock.now()
        self._config = self.saver.put(self._config, made, metadata, {"messages": self._version})
        self.times.append((Clock.now() - started) * 1e6)

    def get(self) -> float:
        started = Clock.now()
        found = self.saver.get_tuple({"configurable": {"thread_id": "1", "checkpoint_ns": ""}})
        took = (Clock.now() - started) * 1e6
        assert found.checkpoint["channel_values"]["messages"] == self._messages
        return took

    def near(self, step: int) -> float:
        return median(self.times[step - NEAR : step + NEAR])


def said(step: int) -> str:
    """What is said at a step: about 500 bytes."""
    return " ".join(f"word{(step * 7 + index) % 97}" for index in range(80))


def compare_savers(bench: Bench, line: Callable[..., None]) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver

    from headish.integrations.langgraph import HeadishSaver

    folder = bench.path("savers").with_suffix("")
    folder.mkdir()
    with closing(sqlite3.connect(folder / "theirs.db", check_same_thread=False)) as driver:
        theirs, ours = Steps(SqliteSaver(driver)), Steps(HeadishSaver(folder / "ours.db"))
        for step in range(STEPS + NEAR):
            for each in (ours, theirs) if step % 2 else (theirs, ours):
                each.put(said(step))
        got = [[each.get() for _ in range(5)] for each in (ours, theirs)]
        ours.saver.close()
    for step in (100, STEPS):
        goal = {"goal": f"<={GOALS[f'put_{step}']}"} if step == STEPS else {}
        own = {"own": f"{ours.near(STEPS) / ours.near(100):.2f}", "own_goal": f"<={OWN_GOAL}"} if step == STEPS else {}
        line(f"put_{step}", PEER, ours.near(step), theirs.near(step), "us", **goal, **own)
    line("get_400", PEER, *map(median, got), "us")
    sizes = [settled_bytes(folder / name) for name in ("ours.db", "theirs.db")]
    line("bytes_400", PEER, *sizes, "b", goal=f"<={GOALS['bytes_400']}")
