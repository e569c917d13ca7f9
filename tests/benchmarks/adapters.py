"""One adapter for each peer on SQLite: the same turns, stored and loaded as its documentation shows.

An adapter opens its store in a folder, appends turns and loads the thread. Those of asynchronous peers await inside
one event loop, so that starting a loop is not timed. ``load`` uses a new object of the peer's, as a program does that
continues a conversation, and gives the peer's own messages; ``said`` translates one outside the clock. A peer's
packages are imported when its adapter is made: one that is not installed is skipped, and the line says why.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from benchmarks import forms, plain
from benchmarks.canonical import Said, items
from headish import Store
from headish.values.blocks import to_mapping


class Peer(Protocol):
    """What the clock needs of a peer."""

    async def append(self, said: Sequence[Said]) -> None:
        """Store some turns, in as few calls as the peer has for it."""
        ...

    async def load(self) -> Sequence[Any]:
        """The messages of the whole thread, by a new object."""
        ...

    def said(self, message: Any) -> tuple[str | None, Any]:
        """The role and the blocks of a loaded message, as plain data."""
        ...

    async def close(self) -> None: ...


class Headish:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "headish.db"
        self._store = Store.open(self._path)
        self._first = "main" not in self._store.bookmarks

    async def append(self, said: Sequence[Said]) -> None:
        behind = {"bookmark": "main"} if self._first else {"continues": "main"}
        self._first = False
        listed = list(items(said))
        listed[0] |= behind
        if len(listed) == 1:
            self._store.add_turn(**listed[0])
        else:
            self._store.add_turns(listed)

    async def load(self) -> Sequence[Any]:
        with Store.open(self._path) as store:
            return [(each.role, each.content) for each in store.resolve("main").messages]

    def said(self, message: Any) -> tuple[str | None, Any]:
        role, content = message
        return role, [to_mapping(block) for block in content]

    async def close(self) -> None:
        self._store.close()


class PlainTable:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "plain.db"
        self._table = plain.make_table(self._path)

    async def append(self, said: Sequence[Said]) -> None:
        if len(said) == 1:
            plain.add(self._table, said[0])
        else:
            plain.add_batch(self._table, said)

    async def load(self) -> Sequence[Any]:
        connection = plain.connect(self._path)
        found = plain.load(connection)
        connection.close()
        return found

    def said(self, message: Any) -> tuple[str | None, Any]:
        return message  # type: ignore[no-any-return]

    async def close(self) -> None:
        self._table.close()


class AgentsSQLite:
    """OpenAI Agents SDK, SQLiteSession."""

    def __init__(self, folder: Path) -> None:
        from agents import SQLiteSession

        self._make: Any = lambda: SQLiteSession("main", folder / "agents.db")
        self._session = self._make()

    async def append(self, said: Sequence[Said]) -> None:
        await self._session.add_items([forms.item(each) for each in said])

    async def load(self) -> Sequence[Any]:
        session = self._make()
        found = await session.get_items()
        session.close()
        return found  # type: ignore[no-any-return]

    def said(self, message: Any) -> tuple[str | None, Any]:
        return message["role"], message["content"]

    async def close(self) -> None:
        self._session.close()


class AgentsSQLAlchemy(AgentsSQLite):
    """OpenAI Agents SDK, SQLAlchemySession on aiosqlite."""

    def __init__(self, folder: Path) -> None:
        from agents.extensions.memory import SQLAlchemySession

        url = f"sqlite+aiosqlite:///{folder / 'agents-alchemy.db'}"
        self._make = lambda: SQLAlchemySession.from_url("main", url=url, create_tables=True)
        self._session = self._make()

    async def load(self) -> Sequence[Any]:
        session = self._make()
        found = await session.get_items()
        await session.engine.dispose()
        return found  # type: ignore[no-any-return]

    async def close(self) -> None:
        await self._session.engine.dispose()


class LangGraphSaver:
    """LangGraph, SqliteSaver: a checkpoint holds the whole thread, so an append writes all of it anew."""

    def __init__(self, folder: Path) -> None:
        from langgraph.checkpoint.base import empty_checkpoint
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._path, self._empty, self._saver = folder / "langgraph.db", empty_checkpoint, SqliteSaver
        self._connection = sqlite3.connect(self._path, check_same_thread=False)
        self._open = SqliteSaver(self._connection)
        self._config: Any = forms.langgraph_config()
        self._messages: list[Any] = []

    async def append(self, said: Sequence[Said]) -> None:
        self._messages += [forms.langchain_message(each) for each in said]
        checkpoint: Any = {**self._empty(), "channel_values": {"messages": self._messages}}
        metadata: Any = {"source": "loop", "step": len(self._messages), "parents": {}}
        self._config = self._open.put(self._config, checkpoint, metadata, {})

    async def load(self) -> Sequence[Any]:
        connection = sqlite3.connect(self._path, check_same_thread=False)
        found = self._saver(connection).get_tuple(forms.langgraph_config())
        connection.close()
        return found.checkpoint["channel_values"]["messages"] if found else []

    def said(self, message: Any) -> tuple[str | None, Any]:
        return forms.of_langchain(message)

    async def close(self) -> None:
        self._connection.close()


class LangChainHistory:
    """LangChain, SQLChatMessageHistory."""

    def __init__(self, folder: Path) -> None:
        from langchain_community.chat_message_histories import SQLChatMessageHistory

        url = f"sqlite:///{folder / 'langchain.db'}"
        self._make: Any = lambda: SQLChatMessageHistory("main", connection=url)
        self._history = self._make()

    async def append(self, said: Sequence[Said]) -> None:
        self._history.add_messages([forms.langchain_message(each) for each in said])

    async def load(self) -> Sequence[Any]:
        history = self._make()
        found = history.messages
        history.engine.dispose()
        return found  # type: ignore[no-any-return]

    def said(self, message: Any) -> tuple[str | None, Any]:
        return forms.of_langchain(message)

    async def close(self) -> None:
        self._history.engine.dispose()


class LlmLogs:
    """llm, LogStore: messages by content, and a thread that points at the last one; one transaction a call."""

    def __init__(self, folder: Path) -> None:
        import llm.logs
        import sqlite_utils

        path = folder / "llm.db"
        self._make: Any = lambda: llm.logs.LogStore(sqlite_utils.Database(path))
        self._store = self._make()
        self._store.create_thread(id="main")

    async def append(self, said: Sequence[Said]) -> None:
        with self._store.db.atomic():
            self._store.append("main", [forms.llm_message(each) for each in said])

    async def load(self) -> Sequence[Any]:
        store = self._make()
        found = store.thread_messages("main")
        store.db.close()
        return found  # type: ignore[no-any-return]

    def said(self, message: Any) -> tuple[str | None, Any]:
        return forms.of_llm(message)

    async def close(self) -> None:
        self._store.db.close()


class GoogleADK:
    """Google ADK, SqliteSessionService: an event a call."""

    def __init__(self, folder: Path) -> None:
        from google.adk.sessions.sqlite_session_service import SqliteSessionService

        path = str(folder / "adk.db")
        self._make: Any = lambda: SqliteSessionService(path)
        self._service, self._session, self._at = self._make(), None, {"app_name": "bench", "user_id": "main"}

    async def append(self, said: Sequence[Said]) -> None:
        if self._session is None:
            self._session = await self._service.create_session(**self._at, session_id="main")
        for each in said:
            await self._service.append_event(self._session, forms.adk_event(each))

    async def load(self) -> Sequence[Any]:
        session = await self._make().get_session(**self._at, session_id="main")
        return session.events  # type: ignore[no-any-return]

    def said(self, message: Any) -> tuple[str | None, Any]:
        return forms.of_adk(message)

    async def close(self) -> None:
        await self._service.close()


PEERS: dict[str, type[Peer]] = {
    "headish": Headish,
    "plain_table": PlainTable,
    "agents_sqlite": AgentsSQLite,
    "agents_sqlalchemy": AgentsSQLAlchemy,
    "langgraph_sqlite": LangGraphSaver,
    "langchain_sql": LangChainHistory,
    "llm_logs": LlmLogs,
    "google_adk_sqlite": GoogleADK,
}
