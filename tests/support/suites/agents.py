"""A plugin of pytest that gives the Agents SDK's own tests a ``HeadishSession`` where they ask for ``SQLiteSession``.

The names of ``AsyncSQLiteSession`` and ``AdvancedSQLiteSession`` are ours, too. See ``judged``.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import agents
import agents.extensions.memory as extensions

# Theirs is imported before it is replaced: it is a subclass of theirs, and its tests import what stands beside it.
import agents.extensions.memory.advanced_sqlite_session as advanced
import agents.extensions.memory.async_sqlite_session as asynchronous
import agents.memory as memory
import agents.memory.sqlite_session as sqlite

from headish.integrations.agents import HeadishSession
from support.suites.judged import use


class InPlaceOfSQLite(HeadishSession):
    """What ``SQLiteSession(session_id, db_path=":memory:", …)`` makes; names of tables are nothing to us."""

    def __init__(
        self,
        session_id: str,
        db_path: Any = ":memory:",
        sessions_table: str = "agent_sessions",
        messages_table: str = "agent_messages",
        session_settings: Any = None,
    ) -> None:
        super().__init__(session_id, db_path, session_settings=session_settings, erase=False)

    async def _run(self, *given: Any) -> Any:
        use()
        return await super()._run(*given)


class InPlaceOfAsync(InPlaceOfSQLite):
    """Theirs is closed with ``await``."""

    async def close(self) -> None:  # type: ignore[override]
        super().close()


class InPlaceOfAdvanced(InPlaceOfSQLite):
    """Theirs has all but ``session_id`` by name."""

    def __init__(self, *, create_tables: bool = False, logger: Any = None, **named: Any) -> None:
        super().__init__(**named)


for _modules, _name, _ours in (
    ((agents, memory, sqlite), "SQLiteSession", InPlaceOfSQLite),
    ((extensions, asynchronous), "AsyncSQLiteSession", InPlaceOfAsync),
    ((extensions, advanced), "AdvancedSQLiteSession", InPlaceOfAdvanced),
):
    for _module in _modules:
        assert hasattr(_module, _name)
        setattr(_module, _name, _ours)
