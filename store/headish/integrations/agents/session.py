"""A session of the OpenAI Agents SDK in headish: one turn for each item, under the bookmark of the session's id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

from headish import Store
from headish.adapters import sessions
from headish.adapters.hiding import check_erase, erases
from headish.adapters.holding import DatabaseHold, Db
from headish.adapters.messages import Draft, SpokenTurn
from headish.adapters.remembering import TurnMemory
from headish.adapters.sessions import NamedSession, session_of
from headish.aio import finish
from headish.integrations.agents import usage
from headish.integrations.agents.compacting import snapshot
from headish.integrations.agents.items import make_draft
from headish.integrations.agents.loading import items_of_turn, load
from headish.integrations.agents.shapes import Item

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.result import RunResultBase

T = TypeVar("T")
_HISTORY = ("get_items", "add_items", "pop_item", "clear_session")


class HeadishSession:
    """The history of one conversation, for ``Runner.run(…, session=…)``. May be subclassed.

    ``session_id`` is any text. A bookmark of the same name, or a conversation with this text as its ``key``, is the
    session's history: so an agent can continue an imported conversation. ``db`` is a path, a URL or an open
    ``Database``; ``":memory:"`` belongs to this object alone. ``space`` is the space of the database.

    ``clear_session``, ``pop_item`` and compaction *hide* the items that they take out, and warn once: the items stay in
    the database. ``erase=True`` makes them erase, ``erase=False`` hides without a warning.

    Every method may be called from any loop and thread, and by many sessions at once. When a caller learns that its
    call was cancelled, the method has ended. Raises: AdapterClosed (a RuntimeError) after ``close``; as
    ``Database.open``.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        db: Db | DatabaseHold = ":memory:",
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        erase: bool | None = None,
        space: str = "default",
    ) -> None:
        self._found = session_of(session_id)
        self._erase = check_erase(erase)
        self.session_id = session_id
        self.session_settings = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._space = space
        self._held = DatabaseHold(db, type(self).__name__, space)

    @property
    def _memory(self) -> TurnMemory:
        return self._held.memory("agents")

    @property
    def _session(self) -> NamedSession:
        if self._found.id is not self.session_id:  # which a subclass may set
            self._found = session_of(self.session_id)
        return self._found

    # The protocol

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The last ``limit`` items, or all, oldest first. They equal the items that were added, in the order of keys,
        too.

        ``limit`` overrides that of ``session_settings``; a negative one means no limit.
        """
        resolved = resolve_session_limit(limit, self.session_settings)
        items = await self._run(self._load, None if resolved is None or resolved < 0 else resolved)
        return cast("list[TResponseInputItem]", items)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, all together or none. Raises: TypeError for a value that is not JSON."""
        self._held.check()
        if items:
            await self._run(self._add, list(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take out the last item and return it; None if the session is empty."""
        popped = await self._run(self._pop, erases(self._erase, "HeadishSession", "pop_item"))
        return cast("TResponseInputItem | None", popped)

    async def clear_session(self) -> None:
        """Take out all items. ``erase=True`` also erases those that were popped and cleared before."""
        await self._run(self._clear, erases(self._erase, "HeadishSession", "clear_session"))

    def close(self) -> None:
        """Release the database. Other sessions of it are not affected; a second call does nothing."""
        self._held.close()

    # Beside the protocol

    async def fork(self, session_id: str, *, items: int | None = None) -> Self:
        """Return another session that begins with all items of this one, or with its first ``items``.

        The shared items are stored once, and each session continues by itself.
        Raises: BookmarkTaken if the other session is not empty.
        """
        forked = type(self)(
            session_id,
            self._held,
            session_settings=self.session_settings,
            erase=self._erase,
            space=self._space,
        )
        try:
            await self._run(sessions.fork, session_of(session_id), items)
        except BaseException:
            forked.close()
            raise
        return forked

    async def branches(self) -> list[str]:
        """The ids of the sessions that begin with the same item, this one included."""
        return await self._run(sessions.branches)

    async def bookmark(self) -> str | None:
        """The bookmark of this session, for commands and verbs of headish; None while the session is empty."""
        return await self._run(sessions.name_of)

    async def store_run_usage(self, result: RunResultBase) -> None:
        """Store the usage of a run beside the last item; ``result`` is the value of ``Runner.run``."""
        await self._run(usage.store_usage, result.context_wrapper.usage)

    async def get_session_usage(self) -> dict[str, int] | None:
        """The total usage of the runs whose items the session has: ``requests``, ``input_tokens``, ``output_tokens``,
        ``total_tokens``, ``total_turns``. None if none was stored."""
        return usage.total_of(await self._run(usage.list_usage))

    async def get_turn_usage(self, user_turn_number: int | None = None) -> list[dict[str, Any]] | dict[str, Any]:
        """The usage of each run, or of the run for one user message (the first is 1), with the details of its
        tokens."""
        listed = await self._run(usage.list_usage)
        if user_turn_number is None:
            return listed
        matching = [each for each in listed if each["user_turn_number"] == user_turn_number]
        return {key: matching[-1][key] for key in matching[-1] if key != "user_turn_number"} if matching else {}

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        self._held.check()
        return await finish(self._work, work, self._session, *arguments)

    def _work(self, work: Callable[..., T], session: NamedSession, *arguments: Any) -> T:
        with self._held.use() as store:
            return work(store, session, *arguments)

    def _load(self, store: Store, session: NamedSession, limit: int | None) -> list[Item]:
        return load(store, session, limit, self._memory)

    def _add(self, store: Store, session: NamedSession, items: Sequence[Any]) -> None:
        drafted = [make_draft(item, store.payload_limit_bytes) for item in items]
        ids = sessions.add(store, session, [each.draft for each in drafted])
        named = [*zip(ids, drafted, strict=True)]
        self._memory.keep_all([(turn, each.data) for turn, each in named if each.data is not None])
        self._memory.add_all(
            [(turn, [each.item]) for turn, each in named if each.data is None and each.item is not None]
        )

    def _pop(
        self, store: Store, session: NamedSession, erase: bool, validate: Callable[[Item], None] | None = None
    ) -> Item | None:
        def rest(said: SpokenTurn) -> list[Draft]:
            items = items_of_turn(said)
            if validate is not None and items:
                validate(items[-1])
            return [make_draft(item, store.payload_limit_bytes).draft for item in items[:-1]]

        # A turn may have no item for the SDK: then the one before it is popped, too.
        while (said := sessions.pop(store, session, erase=erase, rest=rest)) is not None:
            items = items_of_turn(said)
            if items:
                return items[-1]
        return None

    def _clear(self, store: Store, session: NamedSession, erase: bool) -> None:
        if erase:
            usage.forget_usage(store, session)  # first: it is found by the name that ``drop`` removes
        sessions.drop(store, session, erase=erase)

    async def _pop_item_with_validation(self, validate: Callable[[Item], None] | None = None) -> Item | None:
        """``pop_item``, undone if ``validate`` raises: ``EncryptedSession`` calls this method of the SDK's own
        session."""
        return await self._run(self._pop, erases(self._erase, "HeadishSession", "pop_item"), validate)

    async def _get_compaction_snapshot(self, limit: int, *, prune_prefix: Callable[[Any], bool] | None = None) -> Any:
        """Give ``OpenAIResponsesCompactionSession`` a snapshot, so that it replaces items in one transaction. With
        ``prune_prefix``, items at the beginning of the session that ``EncryptedSession`` calls expired go with them."""
        if any(getattr(type(self), name) is not getattr(HeadishSession, name) for name in _HISTORY):
            return None  # a subclass reads and writes in another way, which the snapshot would pass by
        return await snapshot(
            self._run, lambda: erases(self._erase, "HeadishSession", "compaction"), limit, prune_prefix
        )
