"""Compaction in one transaction: what another writer adds meanwhile is neither lost nor summarised unseen.

The SDK's own wrapper, ``OpenAIResponsesCompactionSession``, clears and rewrites a session that gives it no snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from headish.content.drafts import Draft
from headish.integrations.agents.items import make_draft
from headish.integrations.agents.loading import items_of_turn
from headish.integrations.agents.shapes import Item
from headish.integrations.shared import threads
from headish.integrations.shared.forgetting import erases
from headish.integrations.shared.threads import is_plain, read
from headish.rows.threads.ranges import SpokenTurn

if TYPE_CHECKING:
    from headish.integrations.agents.session import HeadishSession

_HISTORY = ("get_items", "add_items", "pop_item", "clear_session")


async def snapshot(session: HeadishSession, limit: int, is_expired: Callable[[Any], bool] | None) -> Any:
    """The last ``limit`` items, and how they are replaced; None where the session is no plain list of its own items,
    or a subclass reads and writes otherwise. What ``is_expired`` at the beginning of the session goes with them."""
    from headish.integrations.agents.session import HeadishSession

    try:
        from agents.memory.session import _CompactionSnapshot  # not public: without it the wrapper goes its other way
    except ImportError:
        return None
    if any(getattr(type(session), name) is not getattr(HeadishSession, name) for name in _HISTORY):
        return None
    turns: list[SpokenTurn] = await session._run(read, limit + 1)
    listed = [items_of_turn(each) for each in turns]
    if not is_plain(turns) or any(len(items) != 1 for items in listed):
        return None
    turns, items = turns[-limit:], [items[0] for items in listed][-limit:]

    async def replace_suffix(start: int, output: list[Item]) -> bool:
        erase = erases(session._erase, "HeadishSession", "compaction")
        last = [each.id for each in turns[start:]]
        return bool(last) and await session._run(_replace, last, output, erase, is_expired)

    make: Any = _CompactionSnapshot  # its items are the SDK's union of typed dicts; ours are dicts
    return make(items, len(listed) <= limit, replace_suffix)


def _replace(
    store: Any,
    session: threads.Session,
    last: list[Any],
    output: list[Item],
    erase: bool,
    is_expired: Callable[[Any], bool] | None,
) -> bool:
    limit_bytes = store._payload_limit_bytes
    drafts = [make_draft(item, limit_bytes).draft for item in output]
    stay = None if is_expired is None else partial(_without_expired, is_expired, limit_bytes)
    return threads.replace_last(store, session, last, drafts, erase=erase, stay=stay)


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
