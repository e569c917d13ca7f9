"""Twins: turns with equal digests, of which one came from another store.

Two stores that imported the same session give each turn a different id. After a sync both copies are kept, since ids
and times differ; lists and searches show one of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from headish.database.query import Connection
from headish.rows.elsewhere.arrivals import arrived
from headish.rows.keys import turns_by_ids
from headish.rows.payloads import LOOKED_UP
from headish.rows.turns import StoredTurn, tip_of, turns_by_digest
from headish.values.ids import TurnId


def folded_twins(connection: Connection, space: int, ids: Iterable[TurnId]) -> set[TurnId]:
    """The turns that lists leave out: of equal turns they show one that is continued, else the one that was here first.

    There are none if nothing ever came from another store (``Unlisted.has_arrivals``): then skip the call.
    Cost: two statements for each 64 turns, and about three for each turn that has twins.
    """
    turns = list(turns_by_ids(connection, space, ids).values())
    folded: set[TurnId] = set()
    for start in range(0, len(turns), LOOKED_UP):
        portion = turns[start : start + LOOKED_UP]
        found = turns_by_digest(connection, space, {each.digest for each in portion})
        for turn in portion:
            twins = [each for each in found if each.digest == turn.digest and each.seq != turn.seq]
            # No list shows an erased turn, so it must not hide the twin that still says it.
            twins = [each for each in twins if each.erased is None or turn.erased is not None]
            if twins and _is_folded(connection, space, turn, twins):
                folded.add(turn.id)
    return folded


def _is_folded(connection: Connection, space: int, turn: StoredTurn, twins: list[StoredTurn]) -> bool:
    # Two turns that were both written here are not twins: somebody said the same thing twice, and lists show both.
    is_from_elsewhere = arrived(connection, space, turn.seq)
    shown = [each for each in twins if is_from_elsewhere or arrived(connection, space, each.seq)]
    if not shown:
        return False
    if tip_of(connection, space, turn.place).continued:
        # If both are continued, the older one is shown. Without an order each would leave out the other.
        return any(each.seq < turn.seq and tip_of(connection, space, each.place).continued for each in shown)
    return any(each.seq < turn.seq or tip_of(connection, space, each.place).continued for each in shown)
