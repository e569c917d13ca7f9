"""Find the halves of answers that grew later (rule R40, grown versions) and that nobody sees: counts leave them out.

A half that anything but another half continues is a part of that thread, and counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from headish.database.query import Connection
from headish.history.reading.versions import find_firsts, outgrown_in_space
from headish.rows.keys import turns_by_ids
from headish.rows.threads.entries import Listed
from headish.rows.threads.places import count_continuing, grown_chains, parents_of_turns
from headish.rows.turns import turn_by_id
from headish.values.ids import TurnId
from headish.values.places import Place

CHAINS_LIMIT = 2000
"""The most chains of a conversation that are searched for halves."""


class HiddenHalf(msgspec.Struct, frozen=True, gc=False):
    """The place of a half, and whether it is a root or a head of the stored turns."""

    place: Place
    is_root: bool
    is_head: bool


def hidden_in_space(connection: Connection, space: int) -> dict[TurnId, HiddenHalf]:
    """All halves of a space that nothing but other hidden halves continues.

    Cost: one statement, over the turns that supersede others; then that of ``hidden_among``.
    """
    return hidden_among(connection, space, outgrown_in_space(connection, space))


def hidden_among(connection: Connection, space: int, outgrown: set[TurnId]) -> dict[TurnId, HiddenHalf]:
    """The halves among ``outgrown`` that nothing continues, or only other hidden halves.

    Cost: nothing if there are none; else three statements for each 64 of them.
    """
    halves = turns_by_ids(connection, space, outgrown) if outgrown else {}
    if not halves:
        return {}
    parents = parents_of_turns(connection, space, [each.place for each in halves.values()])
    continued = count_continuing(connection, space, [each.place for each in halves.values()])
    children_left = {id: continued[each.place] for id, each in halves.items()}
    hidden: dict[TurnId, HiddenHalf] = {}
    # Newest first, so children come before parents: a turn is stored after the one that it continues.
    for each in sorted(halves.values(), key=lambda half: half.seq, reverse=True):
        if not children_left[each.id]:
            above = parents.get(each.place, ())
            hidden[each.id] = HiddenHalf(each.place, not above, not continued[each.place])
            for parent in above:
                if parent is not None and parent in children_left:
                    children_left[parent] -= 1
    return hidden


def count_without(
    connection: Connection, space: int, listed: Iterable[Listed], hidden: Mapping[TurnId, HiddenHalf]
) -> list[Listed]:
    """Correct the numbers of turns and branches of conversations without a name: hidden halves do not count.

    Cost: nothing if nothing is hidden; else a few statements for each conversation with several branches.
    """
    # A conversation with one branch has no hidden half: the whole answer is stored beside the half, as another branch.
    return [
        _without(connection, space, each, hidden) if hidden and (each.branches or 0) > 1 else each for each in listed
    ]


def _without(connection: Connection, space: int, listed: Listed, hidden: Mapping[TurnId, HiddenHalf]) -> Listed:
    first = turn_by_id(connection, space, TurnId(str(listed.start)))
    if first is None:
        return listed
    firsts = [each.place for each in find_firsts(connection, space, first.place)]
    lows = {chain: low for _, chain, low in grown_chains(connection, space, firsts, CHAINS_LIMIT)}
    inside = [each for each in hidden.values() if lows.get(each.place.chain, each.place.pos + 1) <= each.place.pos]
    ends = sum(each.is_head for each in inside)
    return replace(listed, turns=listed.turns - len(inside), branches=(listed.branches or 0) - ends)
