"""Compaction in one transaction: what another writer adds meanwhile is neither lost nor summarised unseen.

The SDK's own wrapper, ``OpenAIResponsesCompactionSession``, clears and rewrites a session that gives it no snapshot.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from headish import Store
from headish.adapters.messages import Draft, SpokenTurn, TurnId, is_plain
from headish.adapters.sessions import NamedSession, read, replace_last
from headish.integrations.agents.items import make_draft
from headish.integrations.agents.loading import items_of_turn
from headish.integrations.agents.shapes import Item

IsExpired = Callable[[Any], bool] | None


async def snapshot(
    run: Callable[..., Awaitable[Any]], erases: Callable[[], bool], limit: int, is_expired: IsExpired
) -> Any:
    """The last ``limit`` items, and how they are replaced; None where the session is no plain list of its own items.

    ``run`` runs a function of the store and the session in a thread; ``erases`` tells whether what is replaced is
    erased. What ``is_expired`` at the beginning of the session goes with it.
    """
    try:
        from agents.memory.session import _CompactionSnapshot  # not public: without it the wrapper goes its other way
    except ImportError:
        return None
    turns: list[SpokenTurn] = await run(read, limit + 1)
    listed = [items_of_turn(each) for each in turns]
    if not is_plain(turns) or any(len(items) != 1 for items in listed):
        return None
    turns, items = turns[-limit:], [items[0] for items in listed][-limit:]

    async def replace_suffix(start: int, output: list[Item]) -> bool:
        last = [each.id for each in turns[start:]]
        return bool(last) and await run(_replace, last, output, erases(), is_expired)

    make: Any = _CompactionSnapshot  # its items are the SDK's union of typed dicts; ours are dicts
    return make(items, len(listed) <= limit, replace_suffix)


def _replace(
    store: Store, session: NamedSession, last: list[TurnId], output: list[Item], erase: bool, is_expired: IsExpired
) -> bool:
    limit_bytes = store.payload_limit_bytes
    drafts = [make_draft(item, limit_bytes).draft for item in output]
    stay = None if is_expired is None else partial(_without_expired, is_expired, limit_bytes)
    return replace_last(store, session, last, drafts, erase=erase, stay=stay)


def _without_expired(
    is_expired: Callable[[Any], bool], limit_bytes: int, before: Sequence[SpokenTurn]
) -> list[Draft] | None:
    """The drafts of what comes behind the expired items at the beginning; None where there are none, or where a draft
    would not say all that its turn says."""

    def is_over(said: SpokenTurn) -> bool:
        items = items_of_turn(said)
        return bool(items) and all(map(is_expired, items))

    count = sum(1 for _ in takewhile(is_over, before))
    if count == 0 or not is_plain(before):
        return None
    drafts = [_draft_of(each, limit_bytes) for each in before[count:]]
    return None if None in drafts else drafts  # type: ignore[return-value]  # none is None


def _draft_of(said: SpokenTurn, limit_bytes: int) -> Draft | None:
    items = items_of_turn(said)
    draft = make_draft(items[0], limit_bytes).draft if len(items) == 1 else None
    if draft is None or (draft.payload, draft.said.role, draft.said.attributes, draft.system, draft.app) != (
        said.payload, said.role, said.attributes, said.system, said.app,
    ):  # fmt: skip
        return None
    return draft
