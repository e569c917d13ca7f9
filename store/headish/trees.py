"""Trees: a thread with all its branches, as values that can be drawn."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from headish.blocks import ContentBlock
from headish.ids import TurnId
from headish.order import Place
from headish.reading import read_blocks
from headish.turns import StoredTurn
from headish.walk import Walked


class TreeTurn(Struct, frozen=True):
    """A turn of a tree: what it says, what it continues and what continues it, in commit order."""

    id: TurnId
    role: str
    content: tuple[ContentBlock, ...]
    continues: tuple[TurnId, ...]
    children: tuple[TurnId, ...]
    bookmarks: tuple[str, ...]


def build_tree(
    walked: Sequence[Walked], links: dict[int, list[Place]], bookmarks: dict[Place, list[str]]
) -> list[TreeTurn]:
    """The turns of a tree in commit order, so parents come before children."""
    ids = {each.turn.place: each.turn.id for each in walked}
    continues = {each.turn.id: _continues(each.turn, links, ids) for each in walked}
    children: dict[TurnId, list[TurnId]] = {each.turn.id: [] for each in walked}
    for child, parents in continues.items():
        for parent in parents:
            children[parent].append(child)
    return [
        TreeTurn(
            id=turn.id,
            role=turn.role,
            content=read_blocks(turn, payload),
            continues=continues[turn.id],
            children=tuple(children[turn.id]),
            bookmarks=tuple(bookmarks.get(turn.place, ())),
        )
        for turn, payload in walked
    ]


def _continues(turn: StoredTurn, links: dict[int, list[Place]], ids: dict[Place, TurnId]) -> tuple[TurnId, ...]:
    if turn.pos:
        return (ids[Place(turn.chain, turn.pos - 1)],)
    return tuple(ids[place] for place in links.get(turn.chain, ()))
