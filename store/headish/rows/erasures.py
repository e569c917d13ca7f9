"""Rows of ``erasure``, and the statements that take content away. Every writer has locked the space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import (
    BindParameter,
    LargeBinary,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    null,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from headish.content.hashes import chain_receipt
from headish.content.receipts import Told, decode_receipt, decode_told, encode_receipt
from headish.database.dialects import holds
from headish.database.query import Connection, Query
from headish.database.schema import (
    bookmark,
    bookmark_log,
    counter,
    definition,
    erasure,
    link,
    metadata,
    payload,
    space_log,
    turn,
)
from headish.database.schema import space as space_table
from headish.rows.counters import ERASED
from headish.rows.payloads import LOOKED_UP, OF_TURN, PORTION, in_portions
from headish.rows.places import place_portions, wanted_places
from headish.rows.turns import COLUMNS, StoredTurn
from headish.values.blocks import Erased
from headish.values.erasures import SCRUB, Receipt
from headish.values.ids import TurnId
from headish.values.places import Place, Segment

PAGE_RECEIPTS, PAGE_PLACES = 100, 5000
_space: BindParameter[int] = bindparam("space")
_number: BindParameter[int] = bindparam("number")
_at = (turn.c.space == _space, turn.c.chain == bindparam("chain"), turn.c.pos == bindparam("pos"))
_hashes: list[BindParameter[bytes]] = [bindparam(each) for each in PORTION]
_row = counter.c.space == _space
_wanted = wanted_places()

ADD_RECEIPT = Query("add receipt", insert(erasure).values({each.name: bindparam(each.name) for each in erasure.c}))
LAST_RECEIPT = Query(
    "last receipt",
    select(erasure.c.number, erasure.c.hash, erasure.c.receipt)
    .where(erasure.c.space == _space)
    .order_by(erasure.c.number.desc())
    .limit(1),
)
HAS_RECEIPTS = Query(
    "whether anything was ever erased", select(erasure.c.number).where(erasure.c.space == _space).limit(1)
)
RECEIPT_AT = Query(
    "receipt of an erasure", select(erasure.c.receipt).where(erasure.c.space == _space, erasure.c.number == _number)
)
RECEIPT_BY_ID = Query(
    "receipt by id", select(erasure.c.number).where(erasure.c.space == _space, erasure.c.id == bindparam("id"))
)
RECEIPTS_AFTER = Query(
    "receipts after a number",
    select(*erasure.c)
    .where(erasure.c.space == _space, erasure.c.number > _number)
    .order_by(erasure.c.number)
    .limit(bindparam("limit")),
)
ERASABLE = Query(
    "turns of a range, with the sizes of what they hold",
    select(*COLUMNS, func.coalesce(func.length(turn.c.data), payload.c.size, literal_column("0")))
    .select_from(turn.outerjoin(payload, OF_TURN & turn.c.data.is_(None)))
    .where(
        turn.c.space == _space,
        turn.c.chain == bindparam("chain"),
        turn.c.pos.between(bindparam("low"), bindparam("high")),
    )
    .order_by(turn.c.pos),
)
SAYING = Query(
    "where some addresses stand",
    select(turn.c.seq, turn.c.chain, turn.c.pos, turn.c.hash).where(
        turn.c.space == _space, turn.c.hash.in_(_hashes), turn.c.erased.is_(None)
    ),
)
ALL_SAYING = Query(
    "where all addresses stand, a page in commit order",
    select(turn.c.seq, turn.c.chain, turn.c.pos, turn.c.hash)
    .where(turn.c.space == _space, turn.c.seq > bindparam("seq"), turn.c.erased.is_(None))
    .order_by(turn.c.seq)
    .limit(bindparam("limit")),
)
COUNT_DEFINED = Query(
    "how many definitions have each of some addresses",
    select(definition.c.hash, func.count())
    .where(definition.c.space == _space, definition.c.hash.in_(_hashes))
    .group_by(definition.c.hash),
)
ERASED_AT = Query(
    "erasures of turns at places",
    select(_wanted.c.chain, _wanted.c.pos, turn.c.erased).select_from(
        _wanted.outerjoin(
            turn, and_(turn.c.space == _space, turn.c.chain == _wanted.c.chain, turn.c.pos == _wanted.c.pos)
        )
    ),
)
COUNT_ERASED_IN = Query(
    "how many turns of a range are erased",
    select(func.count()).where(
        turn.c.space == _space,
        turn.c.chain == bindparam("chain"),
        turn.c.pos.between(bindparam("low"), bindparam("high")),
        turn.c.erased.is_not(None),
    ),
)
LINKS_INTO = Query(
    "links into a chain",
    select(link.c.parent_pos, link.c.chain).where(
        link.c.space == _space, link.c.parent_chain == bindparam("chain"), link.c.parent_pos <= bindparam("pos")
    ),
)
LOGGED_IN = Query(
    "names whose logs lead into a chain",
    select(bookmark_log.c.name, bookmark_log.c.pos)
    .where(bookmark_log.c.space == _space, bookmark_log.c.chain == bindparam("chain"))
    .where(bookmark_log.c.pos <= bindparam("pos"))
    .distinct(),
)
OVERLAYS = Query(
    "overlays", select(turn.c.id, turn.c.attributes).where(turn.c.space == _space, turn.c.type == bindparam("overlay"))
)
COPIES = Query(
    "turns that say they are copies",
    select(turn.c.id, turn.c.system).where(
        turn.c.space == _space, turn.c.system.is_not(None), holds(turn.c.system, bindparam("says", type_=LargeBinary))
    ),
)
VERSIONS = Query(
    "turns that supersede some turns",
    select(turn.c.id, turn.c.supersedes).where(
        turn.c.space == _space, turn.c.supersedes.in_([bindparam(each) for each in PORTION])
    ),
)
EMPTY = Query("empty a turn", update(turn).where(*_at).values(erased=_number, data=null()))
_without_meta = {name: null() for name in ("data", "attributes", "inherited", "system", "app", "head")}
EMPTY_WHOLE = Query(
    "empty a turn and its meta",
    update(turn).where(*_at).values(**_without_meta, erased=_number, key=bindparam("key_hash")),
)
# The turn no longer says that it moved the name: from now on the name is found by its place.
DISOWN = Query(
    "a name that its turn no longer says it moved",
    update(bookmark)
    .where(
        bookmark.c.space == _space,
        bookmark.c.name == bindparam("head"),
        bookmark.c.chain == bindparam("chain"),
        bookmark.c.pos == bindparam("pos"),
    )
    .values(own=literal_column("0")),
)
DROP_PAYLOAD = Query(
    "drop a payload",
    delete(payload).where(payload.c.space == _space, payload.c.hash == bindparam("hash"), payload.c.erased.is_(None)),
)
_barred = upsert(payload).values(
    space=_space, hash=bindparam("hash"), size=bindparam("size"), data=null(), erased=bindparam("erased")
)
BAR = Query(
    "bar content",
    _barred.on_conflict_do_update(
        index_elements=[payload.c.space, payload.c.hash], set_={"data": null(), "erased": _barred.excluded.erased}
    ),
)
BARRED = Query(
    "barred addresses",
    select(payload.c.hash, payload.c.size, payload.c.erased).where(
        payload.c.space == _space, payload.c.erased.is_not(None)
    ),
)
GIVE_BACK = Query(
    "count what was erased",
    update(counter)
    .where(_row)
    .values(bars=counter.c.bars + bindparam("more_bars"), given_bytes=counter.c.given_bytes - bindparam("less_bytes")),
)
UNNAMED = Query(
    "payloads that nothing names",
    text(
        "SELECT p.hash, p.size FROM payload AS p WHERE p.space = :space AND p.erased IS NULL AND NOT EXISTS ("
        "SELECT 1 FROM turn AS t WHERE t.space = :space AND t.hash = p.hash AND t.erased IS NULL) AND NOT EXISTS ("
        "SELECT 1 FROM definition AS d WHERE d.space = :space AND d.hash = p.hash)"
    ),
)
LEFT_OF_A_SPACE = (space_table.name, space_log.name, counter.name, erasure.name)
"""The tables that keep rows of a space that was erased."""
EMPTY_TABLES = [
    Query(f"erase all rows of a space in {table.name}", delete(table).where(table.c.space == _space))
    for table in reversed(metadata.sorted_tables)
    if table.name not in LEFT_OF_A_SPACE
]
FORGET_NAMES = Query("forget the names of a space", delete(space_log).where(space_log.c.space == _space))
END_COUNTER = Query(
    "end the counter of an erased space",
    update(counter)
    .where(_row)
    .values(
        seq=literal_column("0"),
        latest=literal_column("0"),
        roots=literal_column("0"),
        heads=literal_column("0"),
        given_bytes=literal_column("0"),
        bars=literal_column("0"),
        limit_turns=null(),
        limit_bytes=null(),
        epoch=bindparam("random"),
        state=bindparam("became"),
    ),
)


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


def last_receipt(connection: Connection, space: int) -> tuple[int, bytes, Told | None]:
    """The number and hash of the last receipt, and what it tells; 0 and empty where there is none."""
    row = connection.row(LAST_RECEIPT, space=space)
    return (0, b"", None) if row is None else (int(row[0]), row[1], decode_told(row[2], int(row[0])))


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


def versions_of(connection: Connection, space: int, ids: Iterable[TurnId]) -> list[TurnId]:
    """The turns that take the place of one of these."""
    rows = (row for portion in in_portions(ids) for row in connection.rows(VERSIONS, space=space, **portion))
    return list(dict.fromkeys(row[0] for row in rows))


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
    for query in EMPTY_TABLES:
        connection.run(query, space=space)
    connection.run(FORGET_NAMES, space=space)
    connection.run(END_COUNTER, space=space, random=epoch, became=ERASED)
