"""Load the items of a session: remembered ones from memory, others from the blocks of their turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby

from headish import Store
from headish.adapters.messages import SpokenTurn, TurnId, is_plain, message_of
from headish.adapters.remembering import TurnMemory, encode
from headish.adapters.sessions import NamedSession, read, read_messages, read_unknown
from headish.integrations.agents.items import items_of
from headish.integrations.agents.rows import items_of_plain
from headish.integrations.agents.shapes import Item


def load(store: Store, session: NamedSession, limit: int | None, memory: TurnMemory) -> list[Item]:
    """The last ``limit`` items of a session, or all, oldest first, as a model sees them.

    Erased items are left out. Raises: CorruptTurn.
    """
    window = limit
    while True:
        turns = read_unknown(store, session, window, memory.ids)
        items = _as_items(store, session, turns, memory)
        if limit is None:
            return items
        # A turn may have no item for the SDK, or several: if there are too few, look at twice as many turns.
        if len(items) >= limit or len(turns) < (window or 0):
            return items[max(0, len(items) - limit) :]
        window = 2 * (window or 1)


def items_of_turn(said: SpokenTurn) -> list[Item]:
    """The items of a turn; none if it is erased. Raises: CorruptTurn."""
    if said.payload is None or said.type is not None:
        return []
    return items_of(message_of(said), said.app)


def _as_items(
    store: Store, session: NamedSession, turns: Sequence[SpokenTurn | TurnId], memory: TurnMemory
) -> list[Item]:
    known = memory.decode(turns)
    if known is not None:  # nearly always
        return known
    unknown = [each for each in turns if isinstance(each, SpokenTurn)]
    if not is_plain(unknown) or any(each.type is not None for each in unknown):
        # A model sees such a thread otherwise: overlays change it, or it has documents.
        return [item for kept, app in read_messages(store, session) for item in items_of(kept, app)]
    read_items = iter(_items_of(unknown, memory))
    items: list[Item] = []
    for are_read, group in groupby(turns, lambda each: isinstance(each, SpokenTurn)):
        if are_read:
            items += chain.from_iterable(next(read_items) for _ in group)
            continue
        known = memory.decode(group)  # all are ids
        if known is None:
            # Another thread's turns have pushed some out of the memory meanwhile, so all are read.
            return _as_items(store, session, read(store, session, len(turns)), memory)
        items += known
    return items


def _items_of(turns: Sequence[SpokenTurn], memory: TurnMemory) -> list[list[Item]]:
    """The items of turns that were read. They are remembered from now on. Raises: CorruptTurn."""
    quick = items_of_plain(turns)
    memory.keep_all([(turn.id, encode(item)) for turn, item in zip(turns, quick, strict=True) if item is not None])
    items = [items_of_turn(turn) if item is None else [item] for turn, item in zip(turns, quick, strict=True)]
    memory.add_all([(turn.id, made) for turn, made, item in zip(turns, items, quick, strict=True) if item is None])
    return items
