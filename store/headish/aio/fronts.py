"""The base of every async front: it wraps the sync object and runs its verbs on the thread pools."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from operator import getitem
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from headish.aio.bridging import Bridge
from headish.aio.streams import AsyncStream
from headish.aio.threads import THREADS, WAITING_THREADS, finish, finish_or_stop

if TYPE_CHECKING:
    from headish.history.writing.batches import StoredTurns
    from headish.values.turns import Turn

S = TypeVar("S")
T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")
C = TypeVar("C", bound=AbstractAsyncContextManager[Any])


class Front(Generic[S]):
    """An async front of a sync object. Cheap: it stores nothing but that object."""

    def __init__(self, sync: S) -> None:
        self._sync = sync

    @property
    def sync(self) -> S:
        """The sync object itself, for code that runs in threads."""
        return self._sync

    async def _finish(self, verb: Callable[..., T], /, **given: Any) -> T:
        """Run a verb that waits only for the database, or also for the callbacks that it was given."""
        bridge = Bridge()
        call = partial(verb, **_adapted(bridge, given))
        # A callback may wait for anything: in the pool of the others, a few would hold up everybody's reads.
        return await finish_or_stop(bridge.cancel, WAITING_THREADS if bridge.calls_back else THREADS, call)

    async def _wait(self, verb: Callable[..., T], /, **given: Any) -> T:
        """Run a verb that waits for callbacks, models or tools."""
        bridge = Bridge()
        return await finish_or_stop(bridge.cancel, WAITING_THREADS, partial(verb, **_adapted(bridge, given)))

    async def _ask(self, verb: Callable[..., T], /, **given: Any) -> T:
        """Run a verb that asks a model. If it is cancelled, the request ends at once, and what arrived is stored."""
        from headish.calls import Stop

        bridge, stop = Bridge(), given.get("stop") or Stop()

        def end() -> None:
            stop.now()
            bridge.cancel()

        return await finish_or_stop(end, WAITING_THREADS, partial(verb, **_adapted(bridge, {**given, "stop": stop})))

    def _stream(self, verb: Callable[..., Iterator[Any]], /, **given: Any) -> AsyncStream[Any]:
        return AsyncStream(partial(verb, **given))

    def __repr__(self) -> str:
        return f"<async {self._sync!r}>"


class Opening(Generic[C]):
    """An object to open: ``await`` returns it, and ``async with`` closes it, too.

    ``async with AsyncStore.open(path) as store``
    """

    def __init__(self, opening: Coroutine[Any, Any, C]) -> None:
        self._opening = opening
        self._opened: C | None = None

    def __await__(self) -> Generator[Any, Any, C]:
        return self._opening.__await__()

    async def __aenter__(self) -> C:
        self._opened = opened = await self._opening
        return opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._opened is not None
        await self._opened.__aexit__(kind, error, trace)


class MappingFront(Front[S], Generic[S, K, V]):
    """A part that is a mapping: ``await part[key]``, ``async for key in part``, ``await part.count()``."""

    def __getitem__(self, key: K) -> Coroutine[Any, Any, V]:
        """``await part[key]``. Raises: as the sync part."""
        return finish(getitem, self._mapping, key)

    def __aiter__(self) -> AsyncStream[K]:
        return AsyncStream(partial(iter, self._mapping))

    @property
    def _mapping(self) -> Mapping[K, V]:
        return cast("Mapping[K, V]", self.sync)

    async def get(self, key: K, default: D | None = None) -> V | D | None:
        """The value of a key, or ``default``."""
        return await finish(self._mapping.get, key, default)

    async def contains(self, key: object) -> bool:
        """Whether there is such a key: ``in``."""
        return await finish(self._mapping.__contains__, key)

    async def count(self) -> int:
        """How many there are: ``len``."""
        return await finish(len, self._mapping)

    def items(self) -> AsyncStream[tuple[K, V]]:
        """Pairs of keys and values, each when it is reached."""
        return AsyncStream(lambda: iter(self._mapping.items()))

    def values(self) -> AsyncStream[V]:
        """The values, each when it is reached."""
        return AsyncStream(lambda: iter(self._mapping.values()))


class Turns:
    """The turns that ``add_turns`` stored: ``len``, ``await turns[n]``, ``async for``. Reads the store on access."""

    def __init__(self, sync: StoredTurns) -> None:
        self.sync: Sequence[Turn] = sync
        self.revisions = sync.revisions
        """The revisions of the objects that were stored with the turns."""

    def __len__(self) -> int:
        return len(self.sync)

    def __getitem__(self, index: int) -> Coroutine[Any, Any, Turn]:
        return finish(getitem, self.sync, index)

    def __aiter__(self) -> AsyncStream[Turn]:
        return AsyncStream(partial(iter, self.sync))


def _adapted(bridge: Bridge, given: dict[str, Any]) -> dict[str, Any]:
    for name, value in given.items():
        if isinstance(value, Front):
            given[name] = value.sync
    return bridge.adapt(given)
