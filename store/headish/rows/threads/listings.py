"""Lists of turns: in commit order, by place, those that continue a turn, those that nothing continues; and counts."""

from __future__ import annotations

from typing import NamedTuple

from headish.database.query import Connection, Query
from headish.rows.bookmarks import ALL
from headish.rows.turns import StoredTurn, read_turns
from headish.values.places import Place

CHAINS_READ = 500

"""The ends of how many chains one statement reads."""

AFTER = Query("turns after a commit number")
CHILDREN = Query("turns that continue a place")
PAGE = Query("turns by place, a page, with the bytes in their rows")
LINKS_BETWEEN = Query("links of a range of chains")
ORPHANS = Query("turns without a payload")
UNRECEIPTED = Query("erased turns without a receipt")
LINKS_OF_NOTHING = Query("links of chains without a first turn")
COUNT_TURNS = Query("count turns")
HEADS_BY_TIP = Query("turns that nothing continues, the last stored first")
ENDS = Query("last turns of chains, the youngest chain first")
COUNT_HEADS = Query("count turns that nothing continues")
SUM_PAYLOADS = Query("bytes of the payloads of all turns")
COUNT_ROOTS = Query("count turns that continue nothing")


def turns_after(connection: Connection, space: int, seq: int, limit: int) -> list[StoredTurn]:
    """A page of turns in commit order."""
    return read_turns(connection.rows(AFTER, space=space, seq=seq, limit=limit))


def children(connection: Connection, space: int, place: Place, *, after: int = 0, limit: int = ALL) -> list[StoredTurn]:
    """The turns that continue the one at a place, in commit order, behind a commit number; ``limit`` at the most.

    Cost: one statement. PostgreSQL looks at an index entry for each of them.
    """
    rows = connection.rows(CHILDREN, space=space, chain=place.chain, pos=place.pos, seq=after, limit=limit)
    found = (stored for stored in read_turns(row for row in rows if row[0] is not None) if stored.seq > after)
    return sorted(found, key=lambda stored: stored.seq)[:limit]


def heads(connection: Connection, space: int, *, before: int = ALL, limit: int = ALL) -> list[StoredTurn]:
    """The turns that nothing continues, those of the youngest chain first; of chains below a number.

    Cost: one statement for as many chains as turns are wanted, ``CHAINS_READ`` at the most; more where chains have no
    head, since turns of other chains continue their ends.
    """
    found: list[StoredTurn] = []
    while len(found) < limit:
        wanted = min(limit - len(found), CHAINS_READ)
        rows = [row for row in connection.rows(ENDS, space=space, before=before, limit=wanted) if row[1] is not None]
        ends = sorted(read_turns(row[1:] for row in rows), key=lambda stored: -stored.chain)
        continued = {row[1] for row in rows if row[0] is not None}
        found += [stored for stored in ends if stored.chain not in continued]
        if len(ends) < wanted:
            break
        before = ends[-1].chain
    return found


def heads_by_tip(connection: Connection, space: int, *, before: int = ALL, limit: int = ALL) -> list[StoredTurn]:
    """The turns that nothing continues, the last stored first; those below a commit number.

    Cost: one statement, with a few index look-ups for each chain of the space.
    """
    return read_turns(connection.rows(HEADS_BY_TIP, space=space, before=before, limit=limit))


def turns_page(connection: Connection, space: int, after: Place, limit: int) -> list[tuple[StoredTurn, bytes | None]]:
    """A page of turns by place, each with the bytes that stand in its row."""
    rows = connection.rows(PAGE, space=space, chain=after.chain, pos=after.pos, limit=limit)
    return [(StoredTurn._make(row[:-1]), row[-1]) for row in rows]


class Counted(NamedTuple):
    """What a space holds, counted again."""

    turns: int
    roots: int
    heads: int
    given_bytes: int


def count_again(connection: Connection, space: int) -> Counted:
    """Count what the counter keeps. Cost: four statements that read the whole space."""
    counts = (connection.row(query, space=space) for query in (COUNT_TURNS, COUNT_ROOTS, COUNT_HEADS, SUM_PAYLOADS))
    return Counted(*(0 if row is None else int(row[0]) for row in counts))
