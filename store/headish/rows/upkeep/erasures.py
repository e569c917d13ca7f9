"""Rows of ``erasure``, and the statements that take content away. Every writer has locked the space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from headish.content.hashes import chain_receipt
from headish.content.receipts import ErasureNotice, decode_receipt, decode_told, encode_receipt
from headish.database.query import Connection, Query
from headish.database.revisions import TABLES
from headish.errors import CorruptRecord
from headish.rows.counters import ERASED
from headish.rows.payloads import LOOKED_UP, in_portions
from headish.rows.threads.places import place_portions
from headish.rows.turns import StoredTurn
from headish.values.blocks import Erased
from headish.values.ids import TurnId
from headish.values.places import Place, Segment
from headish.values.results.erasures import SCRUB, SPACE, Receipt

PAGE_RECEIPTS, PAGE_PLACES = 100, 5000

ADD_RECEIPT = Query("add receipt")
LAST_RECEIPT = Query("last receipt")
LAST_SEQ = Query("commit number of the last receipt")
HAS_RECEIPTS = Query("whether anything was ever erased")
RECEIPT_AT = Query("receipt of an erasure")
RECEIPT_BY_ID = Query("receipt by id")
RECEIPTS_AFTER = Query("receipts after a number")
ERASABLE = Query("turns of a range, with the sizes of what they hold")
SAYING = Query("where some addresses stand")
ALL_SAYING = Query("where all addresses stand, a page in commit order")
COUNT_DEFINED = Query("how many definitions have each of some addresses")
ERASED_AT = Query("erasures of turns at places")
COUNT_ERASED_IN = Query("how many turns of a range are erased")
LINKS_INTO = Query("links into a chain")
LOGGED_IN = Query("names whose logs lead into a chain")
OVERLAYS = Query("overlays")
COPIES = Query("turns that say they are copies")
EMPTY = Query("empty a turn")
EMPTY_WHOLE = Query("empty a turn and its meta")
DISOWN = Query("a name that its turn no longer says it moved")
DROP_PAYLOAD = Query("drop a payload")
BAR = Query("bar content")
BARRED = Query("barred addresses")
GIVE_BACK = Query("count what was erased")
UNNAMED = Query("payloads that nothing names")
LEFT_OF_A_SPACE = ("counter", "erasure", "space_log")
"""The tables that keep rows of a space that was erased, beside its line."""
EMPTY_TABLES = {
    table: Query(f"erase all rows of a space in {table}") for table in reversed(TABLES) if table not in LEFT_OF_A_SPACE
}
"""Each table before those that it refers to."""
FORGET_NAMES = Query("forget the names of a space")
END_COUNTER = Query("end the counter of an erased space")


class Erasable(NamedTuple):
    """A turn that may be erased, and how many bytes it holds."""

    turn: StoredTurn
    size: int


class Logged(NamedTuple):
    """A row of ``erasure``; ``receipt`` and the hashes as stored bytes. Fields in column order, without the space."""

    number: int
    change: int
    seq: int
    id: TurnId
    receipt: bytes
    before: bytes
    hash: bytes
    milliseconds: int


def last_receipt(connection: Connection, space: int) -> tuple[int, bytes, ErasureNotice | None]:
    """The number and hash of the last receipt, and what it tells; 0 and empty where there is none."""
    row = connection.row(LAST_RECEIPT, space=space)
    return (0, b"", None) if row is None else (int(row[0]), row[1], decode_told(row[2], int(row[0])))


def last_seq(connection: Connection, space: int) -> int:
    """How far the turns of a space were at its last receipt; 0 where there is none."""
    row = connection.row(LAST_SEQ, space=space)
    return 0 if row is None else int(row[0])


def is_scrubbed(connection: Connection, space: int) -> bool:
    """Whether nothing was erased since the last time that it was taken off the disk."""
    _, _, told = last_receipt(connection, space)
    return told is None or told.scope == SCRUB


def add_receipt(connection: Connection, space: int, receipt: Receipt, before: bytes) -> None:
    """Store a receipt behind the one whose hash is ``before``."""
    data = encode_receipt(receipt)
    connection.run(
        ADD_RECEIPT,
        space=space,
        number=receipt.number,
        change=receipt.change,
        seq=receipt.seq,
        id=receipt.id,
        receipt=data,
        before=before,
        hash=chain_receipt(before, data),
        milliseconds=int(receipt.time.timestamp() * 1000),
    )


def has_erasures(connection: Connection, space: int) -> bool:
    """Whether anything was ever erased."""
    return connection.row(HAS_RECEIPTS, space=space) is not None


def was_erased(connection: Connection, space: int) -> bool:
    """Whether a receipt says that the whole space was erased; one that does not decode says nothing."""
    return any(map(_says_all, all_receipts(connection, space)))


def _says_all(logged: Logged) -> bool:
    try:
        return decode_told(logged.receipt, logged.number).scope == SPACE
    except CorruptRecord:
        return False  # reported by ``verify``


def has_receipt(connection: Connection, space: int, id: TurnId) -> bool:
    """Whether a receipt is stored: what is asked if the answer to its commit was lost."""
    return connection.row(RECEIPT_BY_ID, space=space, id=id) is not None


def read_receipt(connection: Connection, space: int, number: int) -> Receipt | None:
    """The receipt of an erasure. Raises: CorruptRecord."""
    row = connection.row(RECEIPT_AT, space=space, number=number)
    return None if row is None else decode_receipt(row[0], number)


def receipts_after(connection: Connection, space: int, number: int, limit: int = PAGE_RECEIPTS) -> list[Logged]:
    """A page of receipts, in their order."""
    rows = connection.rows(RECEIPTS_AFTER, space=space, number=number, limit=limit)
    return [Logged._make(row[1:]) for row in rows]


def all_receipts(connection: Connection, space: int, after: int = 0) -> Iterator[Logged]:
    """All receipts behind a number, in their order, read in pages."""
    while page := receipts_after(connection, space, after):
        yield from page
        after = page[-1].number


def marks_of(connection: Connection, space: int, numbers: Iterable[int]) -> dict[int, Erased]:
    """What stands in place of content, by the number of the erasure. Cost: one statement for each number.

    Raises: CorruptRecord.
    """
    found: dict[int, Erased] = {}
    for number in dict.fromkeys(numbers):
        row = connection.row(RECEIPT_AT, space=space, number=number)
        if row is not None:
            told = decode_told(row[0], number)
            found[number] = Erased(number, told.time, told.reason)
    return found


def erased_at(connection: Connection, space: int, places: Iterable[Place]) -> dict[Place, Erased]:
    """What stands in place of the content of the turns at some places, of those that are erased.

    Cost: one statement for each ``LOOKED_UP`` places, and one for each erasure.
    """
    numbers: dict[Place, int] = {}
    for portion in place_portions(places):
        for chain, pos, number in connection.rows(ERASED_AT, space=space, **portion):
            if number is not None:
                numbers[Place(chain, pos)] = number
    marks = marks_of(connection, space, numbers.values())
    return {place: marks[number] for place, number in numbers.items() if number in marks}


def count_erased(connection: Connection, space: int, segments: Iterable[Segment]) -> int:
    """How many turns of some ranges are erased. Cost: one statement for each range."""
    ranges = (connection.row(COUNT_ERASED_IN, space=space, **each._asdict()) for each in segments)
    return sum(0 if row is None else int(row[0]) for row in ranges)


def erasable(connection: Connection, space: int, segment: Segment) -> list[Erasable]:
    """The turns of a range of a chain, by position, with the sizes of what they hold."""
    rows = connection.rows(ERASABLE, space=space, **segment._asdict())
    return [Erasable(StoredTurn._make(row[:-1]), int(row[-1])) for row in rows]


def places_saying(connection: Connection, space: int, hashes: Iterable[bytes]) -> list[tuple[Place, bytes]]:
    """Where the turns with one of the addresses are that are not erased, in commit order, each with its address.

    Cost: reads the space once, however many addresses there are: erasing is rare, and an index would cost every append.
    """
    wanted = set(hashes)
    if len(wanted) <= LOOKED_UP:
        rows = [row for portion in in_portions(wanted) for row in connection.rows(SAYING, space=space, **portion)]
        return [(Place(chain, pos), hash) for _, chain, pos, hash in sorted(rows)]
    found: list[tuple[Place, bytes]] = []
    seq = 0
    while rows := list(connection.rows(ALL_SAYING, space=space, seq=seq, limit=PAGE_PLACES)):
        found += [(Place(chain, pos), hash) for _, chain, pos, hash in rows if hash in wanted]
        seq = rows[-1][0]
    return found


def count_defined(connection: Connection, space: int, hashes: Iterable[bytes]) -> dict[bytes, int]:
    """How many pointers and tools, past ones too, have each address."""
    return {
        hash: int(count)
        for portion in in_portions(dict.fromkeys(hashes))
        for hash, count in connection.rows(COUNT_DEFINED, space=space, **portion)
    }


def links_into(connection: Connection, space: int, end: Place) -> list[tuple[int, int]]:
    """``(position, chain)`` of each chain that continues a turn of a chain, up to a position."""
    return [(row[0], row[1]) for row in connection.rows(LINKS_INTO, space=space, chain=end.chain, pos=end.pos)]


def names_logged(connection: Connection, space: int, end: Place) -> list[tuple[bytes, int]]:
    """``(name, position)`` of each name that ever pointed into a chain, up to a position. Cost: reads the log once."""
    return [(row[0], row[1]) for row in connection.rows(LOGGED_IN, space=space, chain=end.chain, pos=end.pos)]


def overlays(connection: Connection, space: int) -> Sequence[tuple[TurnId, bytes | None]]:
    """The overlays of a space with their attributes. Cost: reads the space once."""
    return [(row[0], row[1]) for row in connection.rows(OVERLAYS, space=space, overlay="overlay")]


def copies(connection: Connection, space: int) -> Sequence[tuple[TurnId, bytes]]:
    """The turns that say they are copies, with what they say. Cost: reads the space once."""
    return [(row[0], row[1]) for row in connection.rows(COPIES, space=space, says=b'"copy_of":')]


def empty_turns(
    connection: Connection, space: int, number: int, turns: Iterable[tuple[StoredTurn, bytes | None]], *, meta: bool
) -> None:
    """Take what turns hold; with ``meta`` also what they say of themselves. Each comes with what its key becomes."""
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


def drop_payloads(connection: Connection, space: int, hashes: Iterable[bytes]) -> None:
    """Delete large payloads. Nothing that stays may need them."""
    rows = [{"space": space, "hash": hash} for hash in sorted(hashes)]
    if rows:
        connection.run_many(DROP_PAYLOAD, rows)


def bar(connection: Connection, space: int, number: int, sizes: dict[bytes, int]) -> None:
    """Refuse these addresses from now on; what a large one held goes."""
    rows = [{"space": space, "hash": hash, "size": sizes[hash], "erased": number} for hash in sorted(sizes)]
    if rows:
        connection.run_many(BAR, rows)


def barred(connection: Connection, space: int) -> dict[bytes, tuple[int, int]]:
    """The barred addresses, each with its size and the number of the erasure that barred it."""
    return {hash: (size, number) for hash, size, number in connection.rows(BARRED, space=space)}


def count_gone(connection: Connection, space: int, *, bytes: int, bars: int) -> None:
    """Let the counter know what went, and how many more addresses are barred."""
    connection.run(GIVE_BACK, space=space, more_bars=bars, less_bytes=bytes)


def unnamed_payloads(connection: Connection, space: int) -> list[tuple[bytes, int]]:
    """The large payloads that no turn and no definition names, with their sizes."""
    return [(row[0], int(row[1])) for row in connection.rows(UNNAMED, space=space)]


def empty_space(connection: Connection, space: int, epoch: bytes) -> None:
    """Delete every row of a space but its receipts; it takes nothing any more, and readers of it learn of that."""
    for query in EMPTY_TABLES.values():
        connection.run(query, space=space)
    connection.run(FORGET_NAMES, space=space)
    connection.run(END_COUNTER, space=space, random=epoch, became=ERASED)
