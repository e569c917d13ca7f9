"""What turns continue, of many turns in one statement."""

from __future__ import annotations

from collections.abc import Iterable

from headish.database.query import Connection, Query
from headish.rows.threads.places import place_portions
from headish.values.ids import TurnId
from headish.values.places import Place

PARENTS = Query("ids of what turns continue")


def parents_of_turns(
    connection: Connection, space: int, places: Iterable[Place]
) -> dict[Place, tuple[TurnId | None, ...]]:
    """The ids that the turns at these places continue, in order; None for one that is missing. A root has no entry.

    Cost: one statement for each ``LOOKED_UP`` places, however many turns each of them continues.
    """
    found: dict[Place, dict[int, TurnId | None]] = {}
    for portion in place_portions(places):
        for chain, pos, ordinal, turn_id in connection.rows(PARENTS, space=space, **portion):
            found.setdefault(Place(chain, pos), {})[ordinal] = turn_id
    return {place: tuple(parents[each] for each in sorted(parents)) for place, parents in found.items()}
