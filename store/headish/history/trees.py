"""Trees: a thread with all its branches, as values that can be drawn."""

from __future__ import annotations

from collections.abc import Sequence

from headish.errors import CorruptTurn
from headish.history.decode import read_attributes, read_blocks, read_mapping
from headish.rows.walks import Walked
from headish.values.ids import TurnId
from headish.values.places import Place
from headish.values.turns import TreeTurn, reply_of, said_of


def build_tree(
    walked: Sequence[Walked], links: dict[int, list[Place]], bookmarks: dict[Place, list[str]]
) -> list[TreeTurn]:
    """The turns of a tree, or of a part of one that holds every parent of its turns; in the order that is given.

    Raises: CorruptTurn if a turn that others continue is missing, or a payload does not decode.
    """
    ids = {each.place: each.id for each in walked}
    continues = {each.id: _continues(each, links, ids) for each in walked}
    children: dict[TurnId, list[TurnId]] = {each.id: [] for each in walked}
    for child, parents in continues.items():
        for parent in parents:
            children[parent].append(child)
    return [
        TreeTurn(
            id=turn.id,
            role=turn.role or None,
            content=read_blocks(turn, turn.payload),
            continues=continues[turn.id],
            children=tuple(children[turn.id]),
            bookmarks=tuple(bookmarks.get(turn.place, ())),
            attributes=read_attributes(turn),
            reply=reply_of(system),
            said=said_of(system),
        )
        for turn, system in ((each, read_mapping(each, "system")) for each in walked)
    ]


def _continues(turn: Walked, links: dict[int, list[Place]], ids: dict[Place, TurnId]) -> tuple[TurnId, ...]:
    parents = [Place(turn.chain, turn.pos - 1)] if turn.pos else links.get(turn.chain, [])
    if not all(parent in ids for parent in parents):
        raise CorruptTurn(turn.id, "a turn that it continues is missing")
    return tuple(ids[parent] for parent in parents)
