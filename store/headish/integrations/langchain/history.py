"""A chat history of LangChain in headish: one turn for each message, under the bookmark of the session's id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from headish import Store
from headish.adapters import sessions
from headish.adapters.hiding import check_erase, erases
from headish.adapters.holding import DatabaseHold, Db, Scoped
from headish.adapters.sessions import NamedSession, session_of
from headish.aio import finish
from headish.integrations.langchain.messages import make_message_draft, messages_of

T = TypeVar("T")


class HeadishChatMessageHistory(BaseChatMessageHistory, Scoped):
    """The messages of one chat, for ``RunnableWithMessageHistory`` and any user of a ``BaseChatMessageHistory``. A
    context manager.

    ``session_id`` is any text. A bookmark of the same name, or a conversation with this text as its ``key``, is the
    chat's history. ``db`` is a path, a URL or an open ``Database``; ``":memory:"`` belongs to this object alone.
    ``space`` is the space of the database.

    ``clear`` *hides* the messages, and warns once: they stay in the database. ``erase=True`` makes it erase,
    ``erase=False`` hides without a warning.

    The asynchronous methods may be called from any loop. When a caller learns that its call was cancelled, the method
    has ended. Raises: AdapterClosed (a RuntimeError) after ``close``; as ``Database.open``.
    """

    def __init__(
        self, session_id: str, db: Db = ":memory:", *, erase: bool | None = None, space: str = "default"
    ) -> None:
        self._session, self._erase = session_of(session_id), check_erase(erase)
        self.session_id = session_id
        self._held = DatabaseHold(db, type(self).__name__, space)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base class has an attribute, and no setter
        """All messages, oldest first, without erased ones."""
        return self._run(_read)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, all together or none. Raises: TypeError for a value that is not JSON."""
        self._run(_add, list(messages))

    def clear(self) -> None:
        """Take out all messages. ``erase=True`` also erases those that were cleared before."""
        self._run(partial(sessions.drop, erase=erases(self._erase, "HeadishChatMessageHistory", "clear")))

    async def aget_messages(self) -> list[BaseMessage]:
        """``messages``, without blocking the loop."""
        return await finish(self._run, _read)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """``add_messages``, without blocking the loop."""
        await finish(self._run, _add, list(messages))

    async def aclear(self) -> None:
        """``clear``, without blocking the loop."""
        erase = erases(self._erase, "HeadishChatMessageHistory", "clear")
        await finish(self._run, partial(sessions.drop, erase=erase))

    def close(self) -> None:
        """Release the database. Other objects on its file are not affected; a second call does nothing."""
        self._held.close()

    def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        with self._held.use() as store:
            return work(store, self._session, *arguments)


def _add(store: Store, session: NamedSession, messages: Sequence[BaseMessage]) -> None:
    sessions.add(store, session, [make_message_draft(each, store.payload_limit_bytes) for each in messages])


def _read(store: Store, session: NamedSession) -> list[BaseMessage]:
    messages = sessions.read_messages(store, session)
    return [message for kept, app in messages for message in messages_of(kept, app)]
