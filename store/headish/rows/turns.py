"""Read rows of ``turn`` and ``link``: one or a range, one statement a function. ``adding`` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import starmap

import msgspec

from headish.database.query import Connection, Query, Row
from headish.errors import CorruptTurn
from headish.rows.payloads import PORTION, in_portions, look_up
from headish.values.ids import TurnId
from headish.values.places import Place


class StoredTurn(msgspec.Struct, frozen=True, gc=False):
    """A row of ``turn`` without its payload; hashes and JSON as stored bytes. Fields in column order.

    ``head`` is the bookmark that moved with the turn.
    """

    chain: int
    pos: int
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
    seal: bytes
    head: bytes | None
    app: bytes | None
    erased: int | None
    key: bytes | None
    supersedes: TurnId | None

    @property
    def place(self) -> Place:
        return Place(self.chain, self.pos)


class ParentTurn(msgspec.Struct, frozen=True, gc=False):
    """The part of a stored turn that a child needs. ``head`` leads to the names that point at the turn."""

    id: TurnId
    digest: bytes
    head: bytes | None


class At(msgspec.Struct, frozen=True, gc=False):
    """The place and commit number of a turn that was looked up by its digest."""

    digest: bytes
    seq: int
    chain: int
    pos: int

    @property
    def place(self) -> Place:
        return Place(self.chain, self.pos)


class Tip(msgspec.Struct, frozen=True, gc=False):
    """The last position of a chain, and whether any turn continues the place that the caller gave."""

    pos: int
    continued: bool


COLUMNS = ", ".join(StoredTurn.__struct_fields__)

T_COLUMNS = ", ".join(f"t.{name}" for name in StoredTurn.__struct_fields__)
"""``COLUMNS``, each of the table ``t``."""

AT_PLACE = Query(
    "turn at a place", f"SELECT {COLUMNS} FROM turn WHERE space = :space AND chain = :chain AND pos = :pos"
)


def turn_at(connection: Connection, space: int, place: Place) -> StoredTurn | None:
    """The turn at a place; None if there is none."""
    return _read_turn(connection.row(AT_PLACE, space=space, chain=place.chain, pos=place.pos))


def stored_at(connection: Connection, space: int, place: Place) -> StoredTurn:
    """The turn at a place where one must be. Raises: CorruptTurn if it is missing."""
    turn = turn_at(connection, space, place)
    if turn is None:
        raise CorruptTurn(f"{place.chain}/{place.pos}", "it is missing")
    return turn


PARENT_AT = Query(
    "what a child needs of a turn at a place",
    "SELECT id, digest, head FROM turn WHERE space = :space AND chain = :chain AND pos = :pos",
)


def parent_at(connection: Connection, space: int, place: Place) -> ParentTurn | None:
    """The turn at a place, as far as a child needs it. Cost: a third of ``turn_at``."""
    row = connection.row(PARENT_AT, space=space, chain=place.chain, pos=place.pos)
    return None if row is None else ParentTurn(*row)


BY_ID = Query("turn by id", f"SELECT {COLUMNS} FROM turn WHERE space = :space AND id = :id")


def turn_by_id(connection: Connection, space: int, turn_id: TurnId) -> StoredTurn | None:
    """The turn with this id; None if there is none."""
    return _read_turn(connection.row(BY_ID, space=space, id=turn_id))


BY_SEQ = Query("turn by commit number", f"SELECT {COLUMNS} FROM turn WHERE space = :space AND seq = :seq")


def turn_by_seq(connection: Connection, space: int, seq: int) -> StoredTurn | None:
    """The turn with this commit number; None if there is none."""
    return _read_turn(connection.row(BY_SEQ, space=space, seq=seq))


BY_PREFIX = Query(
    "turns by id prefix",
    f"SELECT {COLUMNS} FROM turn WHERE space = :space AND id >= :low AND id < :high ORDER BY id LIMIT :limit",
)


def turns_by_prefix(connection: Connection, space: int, prefix: str, limit: int) -> list[StoredTurn]:
    """The turns whose ids begin with ``prefix``, by id; at most ``limit``."""
    # "{" follows "z" in ASCII, so it ends the range of ids that begin with the prefix.
    return read_turns(connection.rows(BY_PREFIX, space=space, low=prefix, high=prefix + "{", limit=limit))


# Not the highest commit number: turns that arrive from another store take numbers too, and ``@`` must not name them.
NEWEST = Query(
    "newest turn",
    f"""
    SELECT {T_COLUMNS} FROM turn AS t
    WHERE t.space = :space AND t.seq = (SELECT n.latest FROM counter AS n WHERE n.space = :space)
    """,
)


def newest_turn(connection: Connection, space: int) -> StoredTurn | None:
    """The turn that was written last in this store, not one that arrived from another; None if there is none."""
    return _read_turn(connection.row(NEWEST, space=space))


NO_DIGEST = b""
"""Fills up a portion: no turn has this digest. A hundred thousand turns may share a real one, which would return them
again for each time that it is repeated."""

# The first join finds places in the index alone, the second one the turns. Asked for whole turns at once, SQLite rates
# the index no better than the primary key and reads the whole space.
# The index has only the first eight bytes of a digest (``turn_digest``), so the whole digest is compared as well.
_WANTED_DIGESTS = " UNION ALL ".join(f"SELECT :{each} AS digest" for each in PORTION)
BY_DIGEST = Query(
    "turns by digests",
    f"""
    WITH wanted AS ({_WANTED_DIGESTS})
    SELECT {T_COLUMNS} FROM wanted
    LEFT JOIN turn AS other ON other.space = :space AND substr(other.digest, 1, 8) = substr(wanted.digest, 1, 8)
      AND other.digest = wanted.digest
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = other.chain AND t.pos = other.pos
    """,
)


def turns_by_digest(connection: Connection, space: int, digests: Iterable[bytes]) -> list[StoredTurn]:
    """All turns with one of the digests, in commit order. One statement for each ``LOOKED_UP`` digests."""
    rows = look_up(connection, BY_DIGEST, space, digests, filler=NO_DIGEST)
    by_seq = {turn.seq: turn for turn in read_turns(row for row in rows if row[0] is not None)}
    return [by_seq[seq] for seq in sorted(by_seq)]


AT_DIGEST = Query(
    "places of turns by digests",
    f"""
    WITH wanted AS ({_WANTED_DIGESTS})
    SELECT other.digest, other.seq, other.chain, other.pos FROM wanted CROSS JOIN turn AS other
    WHERE other.space = :space AND substr(other.digest, 1, 8) = substr(wanted.digest, 1, 8)
      AND other.digest = wanted.digest
    """,
)


def places_by_digest(connection: Connection, space: int, digests: Sequence[bytes]) -> list[At]:
    """The places of the turns with one of the digests, of which there are 1 to ``LOOKED_UP``; in no order.

    Cost: one statement.
    """
    [portion] = in_portions(digests, filler=NO_DIGEST)
    # A set: a digest that was given twice finds its turns twice.
    rows = {(bytes(digest), *place) for digest, *place in connection.rows(AT_DIGEST, space=space, **portion)}
    return [At(*row) for row in rows]


# A place in the middle of a chain is continued by the next position, so only its end needs a look at the links.
TIP = Query(
    "last position of a chain, and whether a place of it is continued",
    """
    SELECT chain_end.pos,
      CASE WHEN chain_end.pos = :pos THEN EXISTS (
        SELECT 1 FROM link AS l WHERE l.space = :space AND l.parent_chain = :chain AND l.parent_pos = :pos
      ) ELSE true END
    FROM (SELECT max(t.pos) AS pos FROM turn AS t WHERE t.space = :space AND t.chain = :chain) AS chain_end
    """,
)


def tip_of(connection: Connection, space: int, place: Place) -> Tip:
    """The end of a place's chain, and whether a turn continues the place."""
    row = connection.row(TIP, space=space, chain=place.chain, pos=place.pos)
    return Tip(-1, False) if row is None or row[0] is None else Tip(int(row[0]), bool(row[1]))


class OnlyParent(msgspec.Struct, frozen=True, gc=False):
    """What a turn with a single parent needs to know of that parent.

    ``last`` is the last position of the parent's chain. ``linked`` is 1 if another chain continues the parent, and
    ``named`` is 1 if a name points at it; otherwise 0.
    """

    chain: int
    pos: int
    digest: bytes
    last: int
    linked: int
    named: int


# ``TIP`` and ``bookmarks.FIND_AT`` in one statement: an append to a turn by its id needs all of these answers.
ONLY_PARENT = Query(
    "what a child needs of its only parent",
    """
    SELECT t.chain, t.pos, t.digest, (SELECT max(o.pos) FROM turn AS o WHERE o.space = :space AND o.chain = t.chain),
      CASE WHEN EXISTS (
        SELECT 1 FROM link AS l WHERE l.space = :space AND l.parent_chain = t.chain AND l.parent_pos = t.pos
      ) THEN 1 ELSE 0 END,
      CASE WHEN EXISTS (
        SELECT 1 FROM bookmark AS b INDEXED BY bookmark_place
        WHERE b.space = :space AND b.chain = t.chain AND b.pos = t.pos AND b.own = 0
      ) OR EXISTS (
        SELECT 1 FROM bookmark AS b
        WHERE b.space = :space AND b.name = t.head AND b.chain = t.chain AND b.pos = t.pos AND b.own = 1
      ) THEN 1 ELSE 0 END
    FROM turn AS t WHERE t.space = :space AND t.id = :id
    """,
)


def only_parent(connection: Connection, space: int, turn_id: TurnId) -> OnlyParent | None:
    """Look up a turn by its id, as the only parent of a new turn. None if it is not stored."""
    row = connection.row(ONLY_PARENT, space=space, id=turn_id)
    return None if row is None else OnlyParent(*row)


LINKS_OF = Query(
    "links of a chain",
    "SELECT parent_chain, parent_pos FROM link WHERE space = :space AND chain = :chain ORDER BY ordinal",
)


def links_of(connection: Connection, space: int, chain: int) -> list[Place]:
    """The places that the first turn of a chain continues, in order."""
    return [Place(*row) for row in connection.rows(LINKS_OF, space=space, chain=chain)]


def _read_turn(row: Row | None) -> StoredTurn | None:
    return None if row is None else StoredTurn(*row)


def read_turns(rows: Iterable[Row]) -> list[StoredTurn]:
    """Rows of ``COLUMNS`` as values."""
    return list(starmap(StoredTurn, rows))
