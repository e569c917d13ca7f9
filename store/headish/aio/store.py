"""Open and close ``AsyncStore`` and ``AsyncDatabase``. Their verbs are in ``verbs``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar
from weakref import WeakSet

from headish.aio.fronts import Opening
from headish.aio.sharing import Share, open_shared
from headish.aio.threads import finish, finish_surely, result_of
from headish.aio.verbs.database import DatabaseVerbs
from headish.aio.verbs.store import StoreVerbs
from headish.values.limits import PAYLOAD_LIMIT_BYTES

if TYPE_CHECKING:
    from headish.database.backend import Durability
    from headish.store.connections import Isolation
    from headish.store.database import Database
    from headish.store.store import Store
    from headish.values.turns import Turn

T = TypeVar("T")


class AsyncStore(StoreVerbs):
    """One space of one database, for asyncio: the verbs of ``Store``, awaited. ``async with`` closes it.

    It may be used from any loop and thread. A verb runs in a thread of a bounded pool. When a cancelled task gets its
    ``CancelledError``, the verb is over, and ``headish.aio.outcome_of`` returns its outcome. Some attributes of results
    read from the store on access (``turn.content``, ``turn.options``): a short sync read. The verbs ``blocks`` and
    ``options`` read the same without holding up the loop.
    """

    def __init__(self, sync: Store, share: Share | None = None) -> None:
        super().__init__(sync)
        self._share = share

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str],
        *,
        space: str = "default",
        durability: Durability = "full",
        create: bool = True,
        read_only: bool = False,
        prepared: bool = True,
        payload_limit_bytes: int = PAYLOAD_LIMIT_BYTES,
        author: str | None = None,
        isolation: Isolation | None = None,
    ) -> Opening[AsyncStore]:
        """Open one space of a database, as ``Store.open`` does: ``async with AsyncStore.open(path) as store``.

        A file that this process has open already is not opened a second time: both share commits and connections.
        """
        open_share = partial(
            open_shared, target, durability=durability, create=create, read_only=read_only, prepared=prepared,
            payload_limit_bytes=payload_limit_bytes, isolation=isolation,
        )  # fmt: skip
        return Opening(cls._open(open_share, space, create, author))

    @classmethod
    async def _open(cls, opened: Callable[[], Share], space: str, create: bool, author: str | None) -> AsyncStore:
        def begin() -> AsyncStore:
            share = opened()
            try:
                return cls(share.database.store(space, create=create, author=author)._begin(), share)
            except BaseException:
                # Without a store, nobody would ever give this share back.
                share.close()
                raise

        return await _opened(begin)

    @property
    def space(self) -> str:
        """The name of the space."""
        return self.sync.space

    @property
    def recovered(self) -> tuple[Turn, ...]:
        """The turns that opening the store made of the answers that dead processes had left behind."""
        return self.sync.recovered

    async def close(self) -> None:
        """Close the store, for good, and the database if nothing else in this process has it open."""
        self._sync.close()
        if self._share is not None:
            await finish_surely(self._share.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncDatabase(DatabaseVerbs):
    """A database of conversations, kept apart in spaces, for asyncio: the verbs of ``Database``, awaited."""

    def __init__(self, share: Share) -> None:
        super().__init__(share.database)
        self._share = share
        self._stores: WeakSet[AsyncStore] = WeakSet()

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        create: bool = True,
        read_only: bool = False,
        prepared: bool = True,
        payload_limit_bytes: int = PAYLOAD_LIMIT_BYTES,
        isolation: Isolation | None = None,
    ) -> Opening[AsyncDatabase]:
        """Open a database, as ``Database.open`` does: ``async with AsyncDatabase.open(path) as database``.

        A file that this process has open already is not opened a second time: both share commits and connections.
        """
        open_share = partial(
            open_shared, target, durability=durability, create=create, read_only=read_only, prepared=prepared,
            payload_limit_bytes=payload_limit_bytes, isolation=isolation,
        )  # fmt: skip
        return Opening(_opened(lambda: cls(open_share())))

    @property
    def sync(self) -> Database:
        """The sync database. Raises: Closed."""
        return self._share.database

    def store(self, space: str = "default", *, create: bool = True, author: str | None = None) -> Opening[AsyncStore]:
        """The store of a space, as ``Database.store``; closing it closes nothing else."""
        return Opening(self._store(space, create, author))

    async def _store(self, space: str, create: bool, author: str | None) -> AsyncStore:
        store = AsyncStore(await self._finish(self.sync.store, space=space, create=create, author=author))
        self._stores.add(store)
        return store

    async def close(self) -> None:
        """Close this front and its stores, for good, and the database if nothing else in this process has it open."""
        for store in tuple(self._stores):
            store._sync.close()
        await finish_surely(self._share.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _opened(open_one: Callable[[], T]) -> T:
    """Open a front in a thread, and return it. If the task is cancelled meanwhile, nobody gets it: close it again."""
    try:
        return await finish(open_one)
    except asyncio.CancelledError as cancelled:
        if (front := result_of(cancelled)) is not None:
            front._share.close()
        raise
