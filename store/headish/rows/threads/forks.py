"""The turns that continue the forks of a thread, and the parents of turns, for many places at once.

Each function runs one statement for any number of places, which are one parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from headish.database.query import Connection, Query
from headish.rows.threads.places import LISTED, WANTED_SEGMENTS, as_list, on_each
from headish.rows.turns import T_COLUMNS, StoredTurn
from headish.values.places import Place, Segment

NO_LINKS: Mapping[int, Sequence[Place]] = MappingProxyType({})
_LINKS_OF_SOME = """
    WITH wanted(chain) AS MATERIALIZED (%s)
    SELECT l.chain, l.parent_chain, l.parent_pos FROM wanted
    LEFT JOIN link AS l ON l.space = :space AND l.chain = wanted.chain ORDER BY l.chain, l.ordinal
"""
LINKS_OF_SOME = Query(
    "links of some chains", **{database: _LINKS_OF_SOME % (each % "chains") for database, each in LISTED.items()}
)


def parents_at(
    connection: Connection, space: int, places: Iterable[Place], links: Mapping[int, Sequence[Place]] = NO_LINKS
) -> dict[Place, tuple[Place, ...]]:
    """The places that the turns at these places continue, in order; an empty tuple for a root. ``links`` are links of
    chains that the caller has read already.

    Cost: one statement; no statement if each chain is in ``links`` or no turn is the first of its chain.
    """
    before: dict[Place, list[Place]] = {
        place: [Place(place.chain, place.pos - 1)] if place.pos else list(links.get(place.chain, ()))
        for place in places
    }
    begun = [place.chain for place in before if place.pos == 0 and place.chain not in links]
    rows = connection.rows(LINKS_OF_SOME, space=space, chains=as_list(begun)) if begun else ()
    for chain, *parent in rows:
        if chain is not None:
            before[Place(chain, 0)].append(Place(*parent))
    return {place: tuple(parents) for place, parents in before.items()}


# A place is inside a conversation if a turn on the way to it is neither system nor developer. Its own chain nearly
# always has one, and ``path`` ends there. Outer and cross joins fix the order: left to itself, SQLite begins with every
# turn of the space. ``continuing`` is materialized before it is compared: under a policy, PostgreSQL uses no index for
# a condition that computes. LIMIT keeps PostgreSQL from making a join of the sub-select, which may read the whole
# space.
_SAID = """(
        SELECT o.pos FROM turn AS o
        WHERE o.space = :space AND o.chain = path.at_chain AND o.pos <= path.at_pos
          AND o.role <> 'system' AND o.role <> 'developer' LIMIT 1
      )"""
_AT_FORKS = f"""
    WITH RECURSIVE wanted(chain, low, high) AS MATERIALIZED (%s),
    forks(chain, pos) AS MATERIALIZED (
      SELECT DISTINCT l.parent_chain, l.parent_pos FROM wanted CROSS JOIN link AS l
      WHERE l.space = :space AND l.parent_chain = wanted.chain
        AND l.parent_pos >= wanted.low AND l.parent_pos <= wanted.high
    ),
    path(chain, pos, at_chain, at_pos) AS (
      SELECT chain, pos, chain, pos FROM forks
      UNION ALL SELECT path.chain, path.pos, l.parent_chain, l.parent_pos FROM path CROSS JOIN link AS l
      WHERE l.space = :space AND l.chain = path.at_chain AND l.ordinal = 0 AND l.parent_chain < path.at_chain
        AND {_SAID} IS NULL
    ),
    inside(chain, pos) AS MATERIALIZED (SELECT chain, pos FROM path WHERE {_SAID} IS NOT NULL),
    continuing(parent_chain, parent_pos, chain, pos) AS MATERIALIZED (
      SELECT chain, pos, chain, pos + 1 FROM inside
      UNION ALL SELECT inside.chain, inside.pos, l.chain, 0 FROM inside CROSS JOIN link AS l
      WHERE l.space = :space AND l.parent_chain = inside.chain AND l.parent_pos = inside.pos
    )
    SELECT continuing.parent_chain, continuing.parent_pos, {T_COLUMNS} FROM continuing
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = continuing.chain AND t.pos = continuing.pos
"""
AT_FORKS = Query(
    "turns that continue the forks of some ranges, inside conversations", **on_each(_AT_FORKS, WANTED_SEGMENTS)
)


def turns_at_forks(connection: Connection, space: int, places: Iterable[Place]) -> dict[Place, list[StoredTurn]]:
    """The turns that continue the forks among these places, in no order. Other places have no entry.

    A fork has no entry, either, if no conversation has begun there (it and all turns before it are system turns): each
    turn that continues it begins one.
    Cost: one statement, which looks at each turn that it gives.
    """
    continuing: dict[Place, list[StoredTurn]] = {}
    ranges = as_ranges(places)
    for row in connection.rows(AT_FORKS, space=space, wanted=as_list(ranges)) if ranges else ():
        if row[2] is not None:
            continuing.setdefault(Place(row[0], row[1]), []).append(StoredTurn(*row[2:]))
    return continuing


def as_ranges(places: Iterable[Place]) -> list[Segment]:
    """Join places into ranges: neighbours in a chain become one range. Sorted, each place once."""
    ranges: list[Segment] = []
    for chain, pos in sorted(set(places)):
        if ranges and (ranges[-1].chain, ranges[-1].high) == (chain, pos - 1):
            ranges[-1] = Segment(chain, ranges[-1].low, pos)
        else:
            ranges.append(Segment(chain, pos, pos))
    return ranges
