"""What turns continue, of many turns in one statement."""

from __future__ import annotations

from collections.abc import Iterable

from headish.database.query import Connection, Query
from headish.rows.payloads import LOOKED_UP
from headish.rows.threads.places import WANTED_PLACES, place_portions
from headish.values.ids import TurnId
from headish.values.places import Place

_CHAINS = ", ".join(f":chain{index}" for index in range(LOOKED_UP))
# The one before it in its chain; of a chain's first turn what its links name, in their order. Each is looked up for a
# row: for a join PostgreSQL may read the whole space.
PARENTS = Query(
    "ids of what turns continue",
    f"""
    WITH wanted AS ({WANTED_PLACES})
    SELECT wanted.chain, wanted.pos, 0,
      (SELECT t.id FROM turn AS t WHERE t.space = :space AND t.chain = wanted.chain AND t.pos = wanted.pos - 1)
    FROM wanted WHERE wanted.pos > 0
    UNION ALL SELECT l.chain, 0, l.ordinal,
      (SELECT t.id FROM turn AS t WHERE t.space = :space AND t.chain = l.parent_chain AND t.pos = l.parent_pos)
    FROM link AS l WHERE l.space = :space AND l.chain IN ({_CHAINS})
    """,
)


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
