"""Reading whole threads: the statements that step from fork to fork.

``reach`` is the set of places that the end of a thread leads back to: the end itself, and one place for each link.
``top`` is the last of them in each chain. Both take one step for each fork, however long the chains are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec

from headish.database.query import Connection, Query, Row
from headish.rows.payloads import LOOKED_UP, PAYLOAD
from headish.rows.threads.places import TREE, WANTED_PLACES, WANTED_SEGMENTS, on_each, portions, rows_at
from headish.values.blocks import Erased
from headish.values.ids import TurnId
from headish.values.places import Place, Segment


class Walked(msgspec.Struct, frozen=True, gc=False):
    """A turn on a walk, without its place, which follows from the walk. Fields in column order.

    It has only the columns that a context window needs, because a long thread pays for every column.
    ``history/reading/walk`` compares ``payload`` with ``hash``, and both with ``digest``. If the turn was erased,
    ``payload`` is a mark.
    """

    seq: int
    id: TurnId
    role: str
    type: str | None
    content_type: str | None
    cache: int | None
    attributes: bytes | None
    inherited: bytes | None
    system: bytes | None
    digest: bytes
    hash: bytes
    payload: bytes | Erased


class PlacedTurn(Walked, frozen=True, gc=False):
    """A turn with its place, for reads that are not walks."""

    chain: int
    pos: int

    @property
    def place(self) -> Place:
        return Place(self.chain, self.pos)


WALKED = f"{', '.join(f't.{name}' for name in Walked.__struct_fields__[:-1])}, {PAYLOAD}"
PLACED = f"{WALKED}, t.chain, t.pos"

REACH = """reach(chain, pos) AS (
      SELECT CAST(:chain AS BIGINT), CAST(:pos AS BIGINT)
      UNION SELECT l.parent_chain, l.parent_pos FROM reach CROSS JOIN link AS l
      WHERE l.space = :space AND l.chain = reach.chain
    )"""

# ``reach`` of several ends at once. UNION keeps each place once, even if many ends lead to it.
REACH_OF_SEVERAL = """places AS MATERIALIZED (%s), reach(chain, pos) AS (
      SELECT chain, pos FROM places
      UNION SELECT l.parent_chain, l.parent_pos FROM reach CROSS JOIN link AS l
      WHERE l.space = :space AND l.chain = reach.chain
    )"""

TOP = "top AS (SELECT chain, max(pos) AS pos FROM reach GROUP BY chain)"
# Most threads are one chain, and even a recursion that finds nothing costs more than reading a few turns.
HAS_LINKS = Query(
    "whether a chain continues anything", "SELECT ordinal FROM link WHERE space = :space AND chain = :chain LIMIT 1"
)
READ_LINKS = Query(
    "links that lead to a place",
    f"""
    WITH RECURSIVE {REACH}
    SELECT l.chain, l.parent_chain, l.parent_pos FROM link AS l
    WHERE l.space = :space AND l.chain IN (SELECT chain FROM reach) ORDER BY l.chain, l.ordinal
    """,
)


def read_links(connection: Connection, space: int, end: Place) -> dict[int, list[Place]]:
    """The links of each chain on the way to ``end``: the places that its first turn continues, in order.

    Cost: one look-up if the thread is linear, otherwise one more statement.
    """
    if connection.row(HAS_LINKS, space=space, chain=end.chain) is None:
        return {}
    return _grouped(connection.rows(READ_LINKS, space=space, chain=end.chain, pos=end.pos))


# In a damaged database a chain may continue a later one. The path ends there, because it could be a cycle.
FIRST_PARENTS = Query(
    "what leads to a chain along first parents",
    """
    WITH RECURSIVE path(n, chain, parent_chain, parent_pos) AS (
      SELECT 1, l.chain, l.parent_chain, l.parent_pos FROM link AS l
      WHERE l.space = :space AND l.chain = :chain AND l.ordinal = 0
      UNION ALL SELECT path.n + 1, l.chain, l.parent_chain, l.parent_pos FROM path CROSS JOIN link AS l
      WHERE l.space = :space AND l.chain = path.parent_chain AND l.ordinal = 0
        AND path.n < :limit AND path.parent_chain < path.chain
    )
    SELECT parent_chain, parent_pos FROM path ORDER BY n
    """,
)


def first_parents(connection: Connection, space: int, chain: int, limit: int) -> list[Place]:
    """The first parent of a chain, the first parent of that one's chain, and so on: at most ``limit`` places."""
    rows = connection.rows(FIRST_PARENTS, space=space, chain=chain, limit=limit)
    return [Place(*row) for row in rows]


READ_LINKS_OF_SEVERAL = Query(
    "links that lead to some places",
    **on_each(
        f"""
    WITH RECURSIVE {REACH_OF_SEVERAL}
    SELECT l.chain, l.parent_chain, l.parent_pos FROM link AS l
    WHERE l.space = :space AND l.chain IN (SELECT chain FROM reach) ORDER BY l.chain, l.ordinal
    """,
        WANTED_PLACES,
    ),
)


def read_links_of(connection: Connection, space: int, ends: Sequence[Place]) -> dict[int, list[Place]]:
    """The links of all chains on the way to any of the ends. Cost: one statement for each ``AT_ONCE`` ends."""
    if len(ends) == 1:
        return read_links(connection, space, ends[0])
    links: dict[int, list[Place]] = {}
    for portion in portions(ends):
        links |= _grouped(connection.rows(READ_LINKS_OF_SEVERAL, space=space, wanted=portion))
    return links


# An outer join fixes the order: left to itself, SQLite begins with every turn of the space.
READ_THREAD = Query(
    "turns that lead to a place, with payloads",
    f"""
    WITH RECURSIVE {REACH},
    {TOP}
    SELECT t.chain, t.pos, {WALKED} FROM top
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = top.chain AND t.pos <= top.pos
    """,
)
READ_CHAIN = Query(
    "turns of a chain up to a place, with payloads",
    f"""
    SELECT {WALKED} FROM turn AS t WHERE t.space = :space AND t.chain = :chain AND t.pos <= :pos
    ORDER BY t.pos
    """,
)


Chains = dict[int, list[Walked]]
"""The turns of each chain, each at the index of its position. If a chain has a gap, its list is too short."""


def read_thread(connection: Connection, space: int, end: Place, *, linear: bool) -> Chains:
    """The turns that lead to ``end``, with their payloads. ``linear``: the chain of ``end`` continues nothing."""
    if linear:
        turns = connection.each(READ_CHAIN, Walked, space=space, chain=end.chain, pos=end.pos)
        return {end.chain: turns}
    return _by_chain(connection.rows(READ_THREAD, space=space, chain=end.chain, pos=end.pos))


READ_THREADS = Query(
    "turns that lead to some places, with payloads",
    **on_each(
        f"""
    WITH RECURSIVE {REACH_OF_SEVERAL},
    {TOP}
    SELECT t.chain, t.pos, {WALKED} FROM top
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = top.chain AND t.pos <= top.pos
    """,
        WANTED_PLACES,
    ),
)


def read_threads(connection: Connection, space: int, ends: Sequence[Place]) -> Iterator[Chains]:
    """The turns that lead to any of the ends, with their payloads; one item for each ``LOOKED_UP`` ends.

    Cost: one statement for each item, which reads each turn once.
    """
    for portion in portions(ends, LOOKED_UP):
        yield _by_chain(connection.rows(READ_THREADS, space=space, wanted=portion))


def _by_chain(rows: Iterable[Row]) -> Chains:
    """Group rows by chain. Each row begins with the place of its turn; a chain without turns has a row of None."""
    # ``groupby`` needs them in order, and the statements give none.
    ordered = sorted(row for row in rows if row[0] is not None)
    return {chain: [Walked(*row[2:]) for row in members] for chain, members in groupby(ordered, itemgetter(0))}


# The hint, because SQLite otherwise takes the primary key, which has the same columns and reads every turn of the
# thread. ``turn_inherited`` has only the turns that set options.
_INHERITED = f"""{TOP}
    SELECT t.chain, t.pos, t.id, t.inherited FROM top
    LEFT JOIN turn AS t INDEXED BY turn_inherited ON t.space = :space AND t.chain = top.chain AND t.pos <= top.pos
      AND t.inherited IS NOT NULL
"""
READ_INHERITED = Query("turns that set options on the way to a place", f"WITH RECURSIVE {REACH}, {_INHERITED}")
READ_INHERITED_OF_SEVERAL = Query(
    "turns that set options on the way to some places",
    **on_each(f"WITH RECURSIVE {REACH_OF_SEVERAL}, {_INHERITED}", WANTED_PLACES),
)


def read_inherited(connection: Connection, space: int, ends: Sequence[Place]) -> Sequence[Row]:
    """``(chain, pos, id, inherited)`` of the turns that set options on the way to the ends, in no order.

    Cost: one statement for each ``AT_ONCE`` ends.
    """
    rows: Iterable[Row]
    if len(ends) == 1:
        rows = connection.rows(READ_INHERITED, space=space, chain=ends[0].chain, pos=ends[0].pos)
    else:
        rows = rows_at(connection, READ_INHERITED_OF_SEVERAL, space, ends)
    return [row for row in rows if row[0] is not None]


READ_PLACES = Query(
    "turns at places, with payloads",
    **on_each(
        f"""
    WITH wanted AS MATERIALIZED (%s)
    SELECT {PLACED} FROM wanted
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = wanted.chain AND t.pos = wanted.pos
    """,
        WANTED_PLACES,
    ),
)


def read_places(connection: Connection, space: int, places: Iterable[Place]) -> list[PlacedTurn]:
    """The turns at places with their payloads, in no order. Cost: one statement for each ``AT_ONCE`` places."""
    return [PlacedTurn(*row) for row in rows_at(connection, READ_PLACES, space, places) if row[0] is not None]


# IN instead of a join, and no ORDER BY: for a join, or to save the sort, SQLite would read the whole space.
READ_TREE = Query(
    "turns of a tree, with payloads",
    f"""
    WITH RECURSIVE {TREE}
    SELECT {PLACED} FROM turn AS t
    WHERE t.space = :space AND t.chain IN (SELECT chain FROM down)
    """,
)


def read_tree(connection: Connection, space: int, place: Place) -> list[PlacedTurn]:
    """All turns that grew from the roots of ``place``, with payloads, in no order."""
    return connection.each(READ_TREE, PlacedTurn, space=space, chain=place.chain)


READ_TREE_LINKS = Query(
    "links of a tree",
    f"""
    WITH RECURSIVE {TREE}
    SELECT l.chain, l.parent_chain, l.parent_pos FROM link AS l
    WHERE l.space = :space AND l.chain IN (SELECT chain FROM down) ORDER BY l.chain, l.ordinal
    """,
)


def read_tree_links(connection: Connection, space: int, place: Place) -> dict[int, list[Place]]:
    """The links of all chains that grew from the roots of ``place``."""
    return _grouped(connection.rows(READ_TREE_LINKS, space=space, chain=place.chain))


def _grouped(rows: Sequence[Row]) -> dict[int, list[Place]]:
    links: dict[int, list[Place]] = {}
    for chain, parent_chain, parent_pos in rows:
        links.setdefault(chain, []).append(Place(parent_chain, parent_pos))
    return links


# The last condition belongs to the join: in a WHERE it would make an inner join of it, whose order SQLite chooses.
READ_MARKED = Query(
    "types, attributes and options of turns that lead to a place",
    f"""
    WITH RECURSIVE {REACH},
    {TOP}
    SELECT t.chain, t.pos, t.id, t.inherited, t.type, t.attributes FROM top
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = top.chain AND t.pos <= top.pos
      AND (t.type IS NOT NULL OR t.attributes IS NOT NULL OR t.inherited IS NOT NULL)
    """,
)


def read_marked(connection: Connection, space: int, end: Place) -> Sequence[Row]:
    """``(chain, pos, id, inherited, type, attributes)`` of the turns that lead to ``end`` and have any of the last
    three, in no order. A chain without such a turn gives a row of six None.

    Cost: one statement, which looks at every turn of the thread, without payloads.
    """
    return connection.rows(READ_MARKED, space=space, chain=end.chain, pos=end.pos)


READ_MARKED_WITHIN = Query(
    "types and attributes of turns of ranges of chains",
    **on_each(
        """
    WITH wanted AS MATERIALIZED (%s)
    SELECT t.type, t.attributes FROM wanted
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = wanted.chain AND t.pos >= wanted.low AND t.pos <= wanted.high
      AND (t.type IS NOT NULL OR t.attributes IS NOT NULL)
    """,
        WANTED_SEGMENTS,
    ),
)


def read_marked_within(connection: Connection, space: int, segments: Iterable[Segment]) -> list[Row]:
    """``(type, attributes)`` of the turns of these ranges that have either.

    Cost: one statement for each ``AT_ONCE`` ranges, which looks at every turn of them.
    """
    return [*rows_at(connection, READ_MARKED_WITHIN, space, segments)]


READ_NEWEST = Query(
    "the newest turns, with payloads",
    f"SELECT {PLACED} FROM turn AS t WHERE t.space = :space ORDER BY t.seq DESC LIMIT :limit",
)


def read_newest(connection: Connection, space: int, limit: int) -> list[PlacedTurn]:
    """The turns with the highest commit numbers, with payloads, in no order. Cost: one statement."""
    return connection.each(READ_NEWEST, PlacedTurn, space=space, limit=limit)
