"""Compact a session in one transaction: items that another writer adds meanwhile are neither lost nor left unseen.

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
    """Return the SDK's snapshot: the last ``limit`` items, and a function that replaces them. None if the session is
    not a plain list of one item per turn.

    ``run`` runs a function of the store and the session in a thread; ``erases`` tells whether replaced items are
    erased. Items at the beginning of the session for which ``is_expired`` holds go with them.
    """
    try:
        # Not public, so a version of the SDK may lack it: the wrapper then clears and rewrites the session.
        from agents.memory.session import _CompactionSnapshot
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
    """The drafts of the turns after the expired ones at the beginning. None if none is expired, or if a draft would
    lose something of its turn."""

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
