"""headish for asyncio: the same verbs, awaited. They run in threads; there is one code path, and it is the sync one.

    async with AsyncStore.open("talk.db") as store:
        await store.add_turn("Hello", bookmark="main")
        async for change in store.follow():
            …

``threads`` runs a call and reports its outcome, ``streams`` and ``handing`` pass on items one by one, ``bridging`` runs
the coroutine callbacks of a call, and ``fronts`` and the generated ``verbs`` are the verbs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headish.aio.answers import AsyncAnswer as AsyncAnswer
    from headish.aio.answers import AsyncCapture as AsyncCapture
    from headish.aio.store import AsyncDatabase as AsyncDatabase
    from headish.aio.store import AsyncStore as AsyncStore
    from headish.aio.streams import AsyncStream
    from headish.aio.threads import finish as finish
    from headish.aio.threads import outcome_of as outcome_of

# As in ``headish``: a name is loaded when it is first used, so that importing the package costs nothing.
_HOMES = {
    "AsyncAnswer": "answers",
    "AsyncCapture": "answers",
    "AsyncDatabase": "store",
    "AsyncStore": "store",
    "AsyncStream": "streams",
    "finish": "threads",
    "outcome_of": "threads",
}
__all__ = ["AsyncAnswer", "AsyncCapture", "AsyncDatabase", "AsyncStore", "AsyncStream", "finish", "outcome_of"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headish.aio' has no attribute {name!r}")
    value = getattr(import_module(f"headish.aio.{home}"), name)
    globals()[name] = value
    return value
