"""Statements that remove content, and that check what else needs it. Every writer has locked the space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from headish.database.query import Connection, Query
from headish.database.revisions import TABLES
from headish.rows.counters import ERASED
from headish.rows.payloads import LEFT_JOIN_PAYLOAD, LOOKED_UP, WANTED, look_up
from headish.rows.threads.places import LISTED, WANTED_PLACES, WANTED_SEGMENTS, as_list, on_each, rows_at
from headish.rows.threads.ranges import check_gapless, of_range
from headish.rows.turns import T_COLUMNS, StoredTurn
from headish.values.ids import TurnId
from headish.values.places import Place, Segment

PAGE_PLACES = 5000
PORTION_TURNS = 500

LEFT_OF_A_SPACE = ("counter", "erasure", "space_log")
"""The tables that keep rows of an erased space, beside its row in ``space``."""


class Erasable(msgspec.Struct, frozen=True, gc=False):
    """A turn that may be erased, and the size of its payload in bytes."""

    turn: StoredTurn
    size: int


COUNT_ERASED_IN = Query(
    "how many turns of a range are erased",
    """
    SELECT count(*) FROM turn
    WHERE space = :space AND chain = :chain AND pos BETWEEN :low AND :high AND erased IS NOT NULL
    """,
)


def count_erased(connection: Connection, space: int, segments: Iterable[Segment]) -> int:
    """The number of erased turns in these ranges. Cost: one statement for each range."""
    ranges = (connection.row(COUNT_ERASED_IN, space=space, **each._asdict()) for each in segments)
    return sum(0 if row is None else int(row[0]) for row in ranges)


ERASABLE = Query(
    "turns of some ranges, with the sizes of what they hold",
    **on_each(
        f"""
    WITH wanted AS MATERIALIZED (%s)
    SELECT {T_COLUMNS}, coalesce(length(t.data), p.size, 0) FROM wanted
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = wanted.chain AND t.pos BETWEEN wanted.low AND wanted.high
    {LEFT_JOIN_PAYLOAD}
    """,
        WANTED_SEGMENTS,
    ),
)


def erasable(connection: Connection, space: int, segments: Iterable[Segment]) -> list[Erasable]:
    """The turns of these ranges, in order, with the sizes of their payloads.

    Cost: one statement for each 500 turns, in any number of ranges. Raises: CorruptTurn if one is missing.
    """
    return [each for portion in _in_turns(segments) for each in _erasable(connection, space, portion)]


def _erasable(connection: Connection, space: int, segments: Sequence[Segment]) -> Iterator[Erasable]:
    rows = connection.rows(ERASABLE, space=space, wanted=as_list(segments))
    turns = {(row[0], row[1]): Erasable(StoredTurn(*row[:-1]), int(row[-1])) for row in rows if row[0] is not None}
    for segment in segments:
        listed = of_range(turns, segment)
        check_gapless(segment, [each.turn for each in listed])
        yield from listed


def _in_turns(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Divide ranges into portions that have ``PORTION_TURNS`` turns together; a long range is cut."""
    portion: list[Segment] = []
    room = PORTION_TURNS
    for chain, low, high in segments:
        while low <= high:
            piece = Segment(chain, low, min(high, low + room - 1))
            portion.append(piece)
            room, low = room - (piece.high - low + 1), piece.high + 1
            if not room:
                yield portion
                portion, room = [], PORTION_TURNS
    if portion:
        yield portion


SAYING = Query(
    "where some addresses stand",
    f"SELECT seq, chain, pos, hash FROM turn WHERE space = :space AND hash IN ({WANTED}) AND erased IS NULL",
)
ALL_SAYING = Query(
    "where all addresses stand, a page in commit order",
    """
    SELECT seq, chain, pos, hash FROM turn WHERE space = :space AND seq > :seq AND erased IS NULL ORDER BY seq
    LIMIT :limit
    """,
)


def places_saying(connection: Connection, space: int, hashes: Iterable[bytes]) -> list[tuple[Place, bytes]]:
    """The places of the turns that have one of these addresses and are not erased, in commit order, with the address.

    Cost: reads the space once, however many addresses there are.
    """
    wanted = set(hashes)
    # No index has the addresses, because each append would pay for it, and erasing is rare. So each statement reads
    # the whole space, and beyond one portion a single pass in pages is cheaper.
    if len(wanted) <= LOOKED_UP:
        found = sorted(look_up(connection, SAYING, space, wanted))
        return [(Place(chain, pos), hash) for _, chain, pos, hash in found]
    places: list[tuple[Place, bytes]] = []
    seq = 0
    while rows := list(connection.rows(ALL_SAYING, space=space, seq=seq, limit=PAGE_PLACES)):
        places += [(Place(chain, pos), hash) for _, chain, pos, hash in rows if hash in wanted]
        seq = rows[-1][0]
    return places


COUNT_DEFINED = Query(
    "how many definitions have each of some addresses",
    f"SELECT hash, count(*) FROM definition WHERE space = :space AND hash IN ({WANTED}) GROUP BY hash",
)


def count_defined(connection: Connection, space: int, hashes: Iterable[bytes]) -> dict[bytes, int]:
    """The number of definitions, past ones included, that have each of these addresses."""
    rows = look_up(connection, COUNT_DEFINED, space, dict.fromkeys(hashes))
    return {hash: int(count) for hash, count in rows}


LINKS_INTO = Query(
    "links into some chains",
    **on_each(
        """
    WITH wanted AS MATERIALIZED (%s)
    SELECT l.parent_chain, l.parent_pos, l.chain FROM wanted
    LEFT JOIN link AS l ON l.space = :space AND l.parent_chain = wanted.chain AND l.parent_pos <= wanted.pos
    """,
        WANTED_PLACES,
    ),
)


def links_into(connection: Connection, space: int, ends: Iterable[Place]) -> list[tuple[Place, int]]:
    """The turns that another chain continues, in the chains of ``ends`` up to these, each with that other chain.

    Cost: one statement for each ``AT_ONCE`` ends.
    """
    rows = rows_at(connection, LINKS_INTO, space, ends)
    return [(Place(row[0], row[1]), row[2]) for row in rows if row[0] is not None]


_GROWN_LIVING = """
    WITH RECURSIVE wanted AS (%s),
    grown(from_chain, from_pos, chain, low) AS (
      SELECT chain, pos, chain, pos FROM wanted
      UNION SELECT grown.from_chain, grown.from_pos, l.chain, 0 FROM grown CROSS JOIN link AS l
      WHERE l.space = :space AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low
    ),
    living(chain, pos) AS (
      SELECT grown.from_chain, grown.from_pos FROM grown
      WHERE EXISTS (
        SELECT 1 FROM turn AS t
        WHERE t.space = :space AND t.chain = grown.chain AND t.pos >= grown.low AND t.erased IS NULL
      ) OR :named = 1 AND EXISTS (
        SELECT 1 FROM bookmark AS b WHERE b.space = :space AND b.chain = grown.chain AND b.pos >= grown.low
      )
    )
"""
LIVING = Query(
    "whether anything that was not erased grew from a place of a chain, or a name lies there",
    _GROWN_LIVING % "SELECT CAST(:chain AS BIGINT) AS chain, CAST(:low AS BIGINT) AS pos"
    + "SELECT 1 FROM living LIMIT 1",
)
LIVING_AMONG = Query(
    "the places from which anything that was not erased grew, or where a name lies",
    **on_each(_GROWN_LIVING + "SELECT DISTINCT chain, pos FROM living", WANTED_PLACES),
)


def is_living(connection: Connection, space: int, place: Place, *, named: bool = True) -> bool:
    """Whether a place or what grew from it has a turn that was not erased or, with ``named``, a name.

    Cost: one statement.
    """
    return connection.row(LIVING, space=space, chain=place.chain, low=place.pos, named=int(named)) is not None


def living_among(connection: Connection, space: int, places: Iterable[Place]) -> set[Place]:
    """The places for which ``is_living`` is true. Cost: one statement for each ``AT_ONCE`` places."""
    return {Place(*row) for row in rows_at(connection, LIVING_AMONG, space, places, named=1)}


COUNT_LIVING = Query(
    "how many of some turns were not erased",
    f"SELECT count(*) FROM turn WHERE space = :space AND erased IS NULL AND id IN ({WANTED})",
)


def count_living(connection: Connection, space: int, ids: Iterable[TurnId]) -> int:
    """The number of these turns that the space has and has not erased. Cost: one statement for each 64 ids."""
    return sum(int(row[0]) for row in look_up(connection, COUNT_LIVING, space, ids))


# No index has the chains of the log, so it is read once for all of them.
LOGGED_IN = Query(
    "names whose logs lead into some chains",
    **{
        database: f"""
    SELECT DISTINCT name, chain, pos FROM bookmark_log WHERE space = :space AND chain IN ({each % "chains"})
    """
        for database, each in LISTED.items()
    },
)


def names_logged(connection: Connection, space: int, ends: Iterable[Place]) -> list[tuple[bytes, Place]]:
    """Each name that ever pointed into the chains of ``ends``, up to these places, with the place that it pointed at.

    Cost: one statement, which reads the log once.
    """
    tops = dict(ends)
    rows = connection.rows(LOGGED_IN, space=space, chains=as_list(list(tops))) if tops else ()
    return [(name, Place(chain, pos)) for name, chain, pos in rows if pos <= tops[chain]]


OVERLAYS = Query("overlays", "SELECT id, attributes FROM turn WHERE space = :space AND type = :overlay")


def overlays(connection: Connection, space: int) -> Sequence[tuple[TurnId, bytes | None]]:
    """The overlays of a space with their attributes. Cost: reads the space once."""
    return [(row[0], row[1]) for row in connection.rows(OVERLAYS, space=space, overlay="overlay")]


COPIES = Query(
    "turns that say they are copies",
    sqlite="SELECT id, system FROM turn WHERE space = :space AND system IS NOT NULL AND instr(system, :says) > 0",
    postgresql="""
    SELECT id, system FROM turn
    WHERE space = :space AND system IS NOT NULL AND position(:says IN system) > 0
    """,
)


def copies(connection: Connection, space: int) -> Sequence[tuple[TurnId, bytes]]:
    """The turns whose system metadata call them copies, with these metadata. Cost: reads the space once."""
    return [(row[0], row[1]) for row in connection.rows(COPIES, space=space, says=b'"copy_of":')]


EMPTY = Query(
    "empty a turn",
    "UPDATE turn SET data = NULL, erased = :number WHERE space = :space AND chain = :chain AND pos = :pos",
)
# The attributes of an overlay, what it does and what it covers, are not content. They stay, so that it still hides what
# it covers (rule R34, overlays).
EMPTY_WHOLE = Query(
    "empty a turn and its meta",
    """
    UPDATE turn
    SET attributes = CASE WHEN type = 'overlay' THEN attributes ELSE NULL END, inherited = NULL, system = NULL,
      data = NULL, head = NULL, app = NULL, erased = :number, key = :key_hash
    WHERE space = :space AND chain = :chain AND pos = :pos
    """,
)
# An erased turn no longer has the name in ``head``, so from now on the name must be found by its place.
DISOWN = Query(
    "a name that its turn no longer says it moved",
    "UPDATE bookmark SET own = 0 WHERE space = :space AND name = :head AND chain = :chain AND pos = :pos",
)


def empty_turns(
    connection: Connection, space: int, number: int, turns: Iterable[tuple[StoredTurn, bytes | None]], *, meta: bool
) -> None:
    """Erase the payloads of turns, with ``meta`` also their metadata. Each turn comes with the new value of its key."""
    listed = list(turns)
    at = [{"space": space, "chain": each.chain, "pos": each.pos, "number": number} for each, _ in listed]
    if not listed:
        return
    if not meta:
        connection.run_many(EMPTY, at)
        return
    connection.run_many(EMPTY_WHOLE, [{**where, "key_hash": key} for where, (_, key) in zip(at, listed, strict=True)])
    moved = [
        {"space": space, "head": each.head, "chain": each.chain, "pos": each.pos}
        for each, _ in listed
        if each.head is not None
    ]
    if moved:
        connection.run_many(DISOWN, moved)


DROP_PAYLOAD = Query("drop a payload", "DELETE FROM payload WHERE space = :space AND hash = :hash AND erased IS NULL")


def drop_payloads(connection: Connection, space: int, hashes: Iterable[bytes]) -> None:
    """Delete large payloads. The caller has checked that nothing that stays needs them."""
    # In the order of ``add_payloads``, so that writers cannot deadlock.
    rows = [{"space": space, "hash": hash} for hash in sorted(hashes)]
    if rows:
        connection.run_many(DROP_PAYLOAD, rows)


BAR = Query(
    "bar content",
    """
    INSERT INTO payload (space, hash, size, data, erased) VALUES (:space, :hash, :size, NULL, :erased)
    ON CONFLICT (space, hash) DO UPDATE SET data = NULL, erased = excluded.erased
    """,
)


def bar(connection: Connection, space: int, number: int, sizes: dict[bytes, int]) -> None:
    """Bar these addresses: appends refuse them from now on. Deletes their large payloads."""
    rows = [{"space": space, "hash": hash, "size": sizes[hash], "erased": number} for hash in sorted(sizes)]
    if rows:
        connection.run_many(BAR, rows)


BARRED = Query("barred addresses", "SELECT hash, size, erased FROM payload WHERE space = :space AND erased IS NOT NULL")


def barred(connection: Connection, space: int) -> dict[bytes, tuple[int, int]]:
    """The barred addresses, each with its size and the number of the erasure that barred it."""
    return {hash: (size, number) for hash, size, number in connection.rows(BARRED, space=space)}


GIVE_BACK = Query(
    "count what was erased",
    "UPDATE counter SET given_bytes = given_bytes - :less_bytes, bars = bars + :more_bars WHERE space = :space",
)


def count_gone(connection: Connection, space: int, *, bytes: int, bars: int) -> None:
    """Subtract erased bytes from the counter, and add newly barred addresses to it."""
    connection.run(GIVE_BACK, space=space, more_bars=bars, less_bytes=bytes)


UNNAMED = Query(
    "payloads that nothing names",
    """
    SELECT p.hash, p.size FROM payload AS p
    WHERE p.space = :space AND p.erased IS NULL
      AND NOT EXISTS (SELECT 1 FROM turn AS t WHERE t.space = :space AND t.hash = p.hash AND t.erased IS NULL)
      AND NOT EXISTS (SELECT 1 FROM definition AS d WHERE d.space = :space AND d.hash = p.hash)
    """,
)


def unnamed_payloads(connection: Connection, space: int) -> list[tuple[bytes, int]]:
    """The large payloads that no turn and no definition has, with their sizes in bytes."""
    return [(row[0], int(row[1])) for row in connection.rows(UNNAMED, space=space)]


EMPTY_TABLES = {
    table: Query(f"erase all rows of a space in {table}", f"DELETE FROM {table} WHERE space = :space")
    for table in reversed(TABLES)
    if table not in LEFT_OF_A_SPACE
}
"""The statements in the reverse order of ``TABLES``, so that no row goes while another still refers to it."""
FORGET_NAMES = Query("forget the names of a space", "DELETE FROM space_log WHERE space = :space")
END_COUNTER = Query(
    "end the counter of an erased space",
    """
    UPDATE counter
    SET seq = 0, latest = 0, epoch = :random, state = :became, roots = 0, heads = 0, given_bytes = 0, bars = 0,
      limit_turns = NULL, limit_bytes = NULL
    WHERE space = :space
    """,
)


def empty_space(connection: Connection, space: int, epoch: bytes) -> None:
    """Delete every row of a space except its receipts, and close it to writers. Readers notice by the new epoch."""
    for query in EMPTY_TABLES.values():
        connection.run(query, space=space)
    connection.run(FORGET_NAMES, space=space)
    connection.run(END_COUNTER, space=space, random=epoch, became=ERASED)
