"""Compaction in one transaction: what another writer adds meanwhile is neither lost nor summarised unseen.

The SDK's own wrapper, ``OpenAIResponsesCompactionSession``, clears and rewrites a session that gives it no snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headish.integrations.agents.items import make_draft
from headish.integrations.agents.loading import items_of_turn
from headish.integrations.agents.shapes import Item
from headish.integrations.shared import threads
from headish.integrations.shared.forgetting import erases
from headish.integrations.shared.threads import is_plain, read
from headish.rows.threads.ranges import Said

if TYPE_CHECKING:
    from headish.integrations.agents.session import HeadishSession

_HISTORY = ("get_items", "add_items", "pop_item", "clear_session")


async def snapshot(session: HeadishSession, limit: int) -> Any:
    """The last ``limit`` items, and how they are replaced; None where the session is no plain list of its own items,
    or a subclass reads and writes otherwise."""
    from headish.integrations.agents.session import HeadishSession

    try:
        from agents.memory.session import _CompactionSnapshot  # not public: without it the wrapper goes its other way
    except ImportError:
        return None
    if any(getattr(type(session), name) is not getattr(HeadishSession, name) for name in _HISTORY):
        return None
    turns: list[Said] = await session._run(read, limit + 1)
    listed = [items_of_turn(each) for each in turns]
    if not is_plain(turns) or any(len(items) != 1 for items in listed):
        return None
    turns, items = turns[-limit:], [items[0] for items in listed][-limit:]

    async def replace_suffix(start: int, output: list[Item]) -> bool:
        erase = erases(session._erase, "HeadishSession", "compaction")
        return bool(turns[start:]) and await session._run(_replace, [each.id for each in turns[start:]], output, erase)

    make: Any = _CompactionSnapshot  # its items are the SDK's union of typed dicts; ours are dicts
    return make(items, len(listed) <= limit, replace_suffix)


def _replace(store: Any, session: threads.Session, last: list[Any], output: list[Item], erase: bool) -> bool:
    drafts = [make_draft(item, store._payload_limit_bytes).draft for item in output]
    return threads.replace_last(store, session, last, drafts, erase=erase)
