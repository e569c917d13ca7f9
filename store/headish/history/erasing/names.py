"""Erase the name of a bookmark: it becomes ``erased-N``, and its moves stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from headish.content.hashes import mark_name
from headish.database.query import Connection
from headish.history.conversations.changing import change_record
from headish.history.conversations.records import ListedConversation
from headish.history.conversations.times import EMPTY
from headish.history.erasing.places import forget_imports
from headish.history.reading.decode import mapping_in
from headish.history.reading.find import unknown_bookmark
from headish.history.tombstones import ErasureGrounds, begin_receipt
from headish.history.writing.moves import remove_name
from headish.rows.bookmarks import find_bookmark
from headish.rows.conversations import find_record
from headish.rows.elsewhere.remotes import forget_name_of_devices
from headish.rows.moves import (
    count_moves,
    count_saying,
    first_move,
    first_moves,
    former_names,
    has_log,
    renamed_from,
    replace_name,
)
from headish.rows.streams import open_streams
from headish.rows.upkeep.receipts import add_receipt, last_receipt
from headish.values.ids import Mint, TurnId
from headish.values.names import stored_name
from headish.values.results.erasures import BOOKMARK, ErasedName, Found, Receipt

NOTHING_ELSE: Mapping[str, int] = {}
GONE_WITH_IT = {"bookmarks", "records"}
"""The counts in a receipt that show that a name was erased with its conversation: the bookmark and its record."""


def find_name(connection: Connection, space: int, name: bytes) -> Found:
    """Find what the erasure of a name removes, and where the name remains. Cost: reads the space once for each name
    that the bookmark had.

    Raises: UnknownBookmark if there never was such a bookmark.
    """
    if not has_log(connection, space, name):
        raise unknown_bookmark(connection, space, name, "there never was such a bookmark")
    had = [name, *former_names(connection, space, name)]
    return Found(
        names=tuple(map(stored_name, had)),
        streams=tuple(each.id for each in open_streams(connection, space) if _answered(each.about) in had),
        counts={"moves": count_moves(connection, space, name), "turns": count_saying(connection, space, had)},
    )


def erase_name(
    connection: Connection,
    space: int,
    name: bytes,
    said: ErasureGrounds,
    mint: Mint,
    taken: Mapping[str, int] = NOTHING_ELSE,
) -> tuple[Found, Receipt, str]:
    """Remove a name, and the earlier names of the bookmark, from everything but turns. The space is locked. ``taken``
    counts what was removed with it, for the receipt. Returns the report, the receipt, and the new name.
    Cost: that of ``find_name``, and about fifteen statements.
    Raises: UnknownBookmark.
    """
    report = find_name(connection, space, name)
    others = former_names(connection, space, name)
    marks = _marks(connection, space, name, others)
    became = _free_name(connection, space, last_receipt(connection, space)[0] + 1)
    replace_name(connection, space, name, others, became)
    for each in (name, *others):
        forget_name_of_devices(connection, space, each)
    forget_imports(connection, space)
    # After the move: the receipt takes the later number, so a reader of the feed learns the new name before it.
    begun, before = begin_receipt(connection, space, BOOKMARK, said, mint)
    receipt = replace(
        begun,
        counts={"moves": report.counts["moves"], **taken},
        stays={"turns": report.counts["turns"]} if report.counts["turns"] else {},
        not_reached=said.not_reached,
        names=(ErasedName(became.decode(), marks),),
    )
    add_receipt(connection, space, receipt, before)
    return report, receipt, became.decode()


def forget_name(connection: Connection, space: int, name: bytes, said: ErasureGrounds, mint: Mint) -> Receipt:
    """Remove a bookmark, unless it is removed already, and its conversation's record; then erase its name as
    ``erase_name`` does."""
    removed = {}
    if find_record(connection, space, name) is not None:
        removed["records"] = 1
        change_record(connection, space, ListedConversation(name, None, TurnId("")), EMPTY, None)
    if find_bookmark(connection, space, name) is not None:
        removed["bookmarks"] = 1
        remove_name(connection, space, name, None)
    return erase_name(connection, space, name, said, mint, removed)[1]


def erase_marked(connection: Connection, space: int, receipt: Receipt, said: ErasureGrounds, mint: Mint) -> int:
    """Erase in a restored space the names that a receipt marks. Returns their number.

    A bookmark that was removed with its conversation is removed again, with its record; the others are renamed.
    Cost: reads the first move of every bookmark, and takes that of ``erase_name`` for each marked one.
    """
    marks = {mark for each in receipt.names for mark in each.marks}
    take = forget_name if receipt.counts.keys() & GONE_WITH_IT else erase_name
    names = [name for name, first in first_moves(connection, space) if mark_name(name, first).hex() in marks]
    for name in names:
        take(connection, space, name, said, mint)
    return len(names)


def _answered(about: bytes) -> bytes:
    """The name that an arriving answer will move. Its journal is removed when its turn is stored."""
    name = mapping_in(about).get("bookmark")
    return name.encode(errors="surrogatepass") if isinstance(name, str) else b""


def _marks(connection: Connection, space: int, name: bytes, others: Sequence[bytes]) -> tuple[str, ...]:
    """The marks by which an older state of the space reveals which bookmarks had the erased names. Each is a hash over
    a name and the first move of a log, so that a receipt alone confirms no guess of a name."""
    marks = {mark_name(each, first_move(connection, space, name)).hex() for each in (name, *others)}
    # A backup may be older than a rename: there another bookmark's log has the name.
    for each in (name, *others):
        for other in renamed_from(connection, space, each):
            marks.add(mark_name(each, first_move(connection, space, other)).hex())
    return tuple(sorted(marks))


def _free_name(connection: Connection, space: int, number: int) -> bytes:
    """``erased-N`` with the number of the receipt, and dashes after it if another bookmark has that name."""
    name = b"erased-%d" % number
    while has_log(connection, space, name):
        name += b"-"
    return name
