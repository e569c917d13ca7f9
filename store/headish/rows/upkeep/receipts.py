"""Rows of ``erasure``: the receipts of erasures, and the marks that readers get in place of erased content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headish.content.hashes import chain_receipt, mark_name
from headish.content.receipts import ErasureNotice, decode_receipt, decode_told, encode_receipt
from headish.database.query import Connection, Query
from headish.errors import CorruptRecord
from headish.rows.moves import first_move
from headish.rows.threads.places import WANTED_PLACES, on_each, rows_at
from headish.values.blocks import Erased
from headish.values.ids import TurnId
from headish.values.places import Place
from headish.values.results.erasures import SCRUB, SPACE, Receipt

PAGE_RECEIPTS = 100


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


LAST_RECEIPT = Query(
    "last receipt", "SELECT number, hash, receipt FROM erasure WHERE space = :space ORDER BY number DESC LIMIT 1"
)


def last_receipt(connection: Connection, space: int) -> tuple[int, bytes, ErasureNotice | None]:
    """The number, hash and content of the last receipt; 0, empty and None if there is none."""
    row = connection.row(LAST_RECEIPT, space=space)
    return (0, b"", None) if row is None else (int(row[0]), row[1], decode_told(row[2], int(row[0])))


LAST_SEQ = Query(
    "commit number of the last receipt", "SELECT seq FROM erasure WHERE space = :space ORDER BY number DESC LIMIT 1"
)


def last_seq(connection: Connection, space: int) -> int:
    """The commit number of a space at its last receipt; 0 if there is none."""
    row = connection.row(LAST_SEQ, space=space)
    return 0 if row is None else int(row[0])


def is_scrubbed(connection: Connection, space: int) -> bool:
    """Whether everything that was erased has been taken off the disk: a scrub is the last receipt."""
    _, _, last = last_receipt(connection, space)
    return last is None or last.scope == SCRUB


ADD_RECEIPT = Query(
    "add receipt",
    """
    INSERT INTO erasure (space, number, change, seq, id, receipt, before, hash, milliseconds)
    VALUES (:space, :number, :change, :seq, :id, :receipt, :before, :hash, :milliseconds)
    """,
)


def add_receipt(connection: Connection, space: int, receipt: Receipt, before: bytes) -> None:
    """Store a receipt after the one whose hash is ``before``."""
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


HAS_RECEIPTS = Query("whether anything was ever erased", "SELECT number FROM erasure WHERE space = :space LIMIT 1")


def has_erasures(connection: Connection, space: int) -> bool:
    """Whether anything was ever erased."""
    return connection.row(HAS_RECEIPTS, space=space) is not None


def was_erased(connection: Connection, space: int) -> bool:
    """Whether a receipt says that the whole space was erased. Receipts that do not decode are passed over."""
    return any(map(_says_all, all_receipts(connection, space)))


def _says_all(logged: Logged) -> bool:
    try:
        return decode_told(logged.receipt, logged.number).scope == SPACE
    except CorruptRecord:
        return False  # reported by ``verify``


RECEIPT_BY_ID = Query("receipt by id", "SELECT number FROM erasure WHERE space = :space AND id = :id")


def has_receipt(connection: Connection, space: int, id: TurnId) -> bool:
    """Whether the receipt with this id is stored. For a commit whose answer was lost."""
    return connection.row(RECEIPT_BY_ID, space=space, id=id) is not None


RECEIPT_AT = Query("receipt of an erasure", "SELECT receipt FROM erasure WHERE space = :space AND number = :number")


def read_receipt(connection: Connection, space: int, number: int) -> Receipt | None:
    """The receipt of an erasure; None if there is none. Raises: CorruptRecord."""
    row = connection.row(RECEIPT_AT, space=space, number=number)
    return None if row is None else decode_receipt(row[0], number)


RECEIPTS_AFTER = Query(
    "receipts after a number",
    """
    SELECT space, number, change, seq, id, receipt, before, hash, milliseconds FROM erasure
    WHERE space = :space AND number > :number ORDER BY number LIMIT :limit
    """,
)


def named_by_erasures(connection: Connection, space: int, names: Iterable[bytes]) -> set[bytes]:
    """The names among these that an erasure gave to bookmarks in place of their own.

    Cost: one statement for each name that looks like one.
    """
    erased_names: set[bytes] = set()
    for name in names:
        # The form of the name proves nothing: anybody may call a bookmark ``erased-1``. So the receipt decides.
        number = _ERASED_NAME.fullmatch(name)
        receipt = None if number is None else read_receipt(connection, space, int(number[1]))
        if receipt is not None and any(each.became.encode() == name for each in receipt.names):
            erased_names.add(name)
    return erased_names


_ERASED_NAME = re.compile(rb"erased-([0-9]{1,18})-*")


def receipts_after(connection: Connection, space: int, number: int) -> list[Logged]:
    """A page of the receipts after a number, in order."""
    rows = connection.rows(RECEIPTS_AFTER, space=space, number=number, limit=PAGE_RECEIPTS)
    return [Logged._make(row[1:]) for row in rows]


def all_receipts(connection: Connection, space: int, after: int = 0) -> Iterator[Logged]:
    """All receipts after a number, in order, read in pages."""
    while page := receipts_after(connection, space, after):
        yield from page
        after = page[-1].number


def marks_of(connection: Connection, space: int, numbers: Iterable[int]) -> dict[int, Erased]:
    """The mark in place of erased content, by the number of the erasure. Cost: one statement for each number.

    Raises: CorruptRecord.
    """
    marks: dict[int, Erased] = {}
    for number in dict.fromkeys(numbers):
        row = connection.row(RECEIPT_AT, space=space, number=number)
        if row is not None:
            notice = decode_told(row[0], number)
            marks[number] = Erased(number, notice.time, notice.reason)
    return marks


ERASED_AT = Query(
    "erasures of turns at places",
    **on_each(
        """
    WITH wanted AS MATERIALIZED (%s)
    SELECT wanted.chain, wanted.pos, t.erased FROM wanted
    LEFT JOIN turn AS t ON t.space = :space AND t.chain = wanted.chain AND t.pos = wanted.pos
    """,
        WANTED_PLACES,
    ),
)


def erased_at(connection: Connection, space: int, places: Iterable[Place]) -> dict[Place, Erased]:
    """The marks of the erased turns at these places. A place with a turn that is not erased has no entry.

    Cost: one statement for each ``AT_ONCE`` places, and one for each erasure.
    """
    numbers: dict[Place, int] = {}
    for chain, pos, number in rows_at(connection, ERASED_AT, space, places):
        if number is not None:
            numbers[Place(chain, pos)] = number
    marks = marks_of(connection, space, numbers.values())
    return {place: marks[number] for place, number in numbers.items() if number in marks}


def is_erased_name(connection: Connection, space: int, name: bytes) -> bool:
    """Whether a bookmark of this name was erased here, so that it does not come back.

    Cost: a statement for each 100 receipts, and one for each erased name.
    """
    for logged in all_receipts(connection, space):
        # The receipt does not contain the erased name, only a hash over the name and its first move.
        for each in decode_receipt(logged.receipt, logged.number).names:
            first = first_move(connection, space, each.became.encode())
            if first is not None and mark_name(name, first).hex() in each.marks:
                return True
    return False
