"""A process forks while a thread of it is inside an adapter: the child has no such thread, and must not wait for it."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from support.forks import Halt

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on POSIX systems; run this on one"),
]


def test_a_session_of_adk(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("google.adk")
    from google.adk.events.event import Event

    from headish.integrations.adk import HeadishSessionService, service

    halt = Halt()
    monkeypatch.setattr(service, "_append", lambda *_: halt.wait())
    sessions = HeadishSessionService()
    session = asyncio.run(sessions.create_session(app_name="app", user_id="ann"))
    event = Event(author="user")

    def append() -> None:
        assert sessions._append(session, event) is event

    halt.fork(append, append)
    asyncio.run(sessions.close())


def test_what_is_known_of_the_threads_of_graphs() -> None:
    pytest.importorskip("langgraph")
    from headish.integrations.langgraph.thread_memory import KnownThreads

    halt, known = Halt(), KnownThreads()

    class Lane(str):
        """A lane that halts where it is looked up, which is under the lock."""

        __slots__ = ()

        def __hash__(self) -> int:
            halt.wait()
            return super().__hash__()

    lane: Any = Lane("lane")

    def find() -> None:
        assert known.find(lane) is None

    halt.fork(find, find)
