"""A restore applies receipts: it removes what was erased since the backup before anybody can read it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import BinaryIO

import msgspec

from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidBackup, SpaceRestoring
from headish.history.erasing.choosing import Wish
from headish.history.erasing.erase import erase
from headish.history.erasing.names import erase_marked
from headish.history.tombstones import ErasureGrounds
from headish.rows.keys import turns_by_ids
from headish.rows.upkeep.whole import still_restores
from headish.values.checks.files import open_regular
from headish.values.ids import KeptIds, Mint
from headish.values.limits import IMPORT_LINE_BYTES
from headish.values.places import Place
from headish.values.results.erasures import SCRUB, SPACE, Receipt

_decode = msgspec.json.Decoder(Receipt).decode


def read_receipts(path: str | os.PathLike[str]) -> list[Receipt]:
    """Read the receipts of a file, one on each line, as ``headish erasures --export`` prints them. One file may list
    the receipts of several spaces.

    Raises: InvalidArgument if it cannot be read, for a line that is not a receipt, and for the receipt of a whole
    space, which leaves nothing to be restored.
    """
    name = os.fspath(path)
    try:
        with open_regular(path) as file:
            return list(_each_receipt(file, name))
    except OSError as error:
        raise InvalidArgument(f"the receipts in {name} cannot be read ({error.strerror})") from None


def _each_receipt(file: BinaryIO, name: str) -> Iterator[Receipt]:
    lines = iter(partial(file.readline, IMPORT_LINE_BYTES + 1), b"")
    for number, line in enumerate(lines, 1):
        if len(line) > IMPORT_LINE_BYTES:
            raise InvalidArgument(f"line {number} of {name} has more than {IMPORT_LINE_BYTES:,} bytes")
        if line.strip():
            yield _read(line, name, number)


def _read(line: bytes, name: str, number: int) -> Receipt:
    try:
        receipt = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"line {number} of {name} is not a receipt of an erasure ({error})") from None
    if receipt.scope == SPACE:
        raise InvalidArgument(
            f"line {number} of {name} says that its whole space was erased: restore the other spaces with only=, and"
            " take this line out"
        )
    return receipt


def apply_receipts(backend: Backend, space: int, mark: str, name: str, receipts: Sequence[Receipt], mint: Mint) -> int:
    """Erase the turns and names that the receipts list from a restored space; return how many were erased.

    Each erasure that removes something here gets a receipt of its own, with the reason and the author of the first one.
    What a receipt barred is barred here, too, if it lists a turn of this space.
    Cost: a transaction for each receipt that lists any: one statement for each 64 of them, then that of an erasure.
    Raises: InvalidBackup where a turn has another seal than its receipt says; SpaceRestoring.
    """
    erased = 0
    for receipt in receipts:
        if receipt.scope == SCRUB or not (receipt.turns or receipt.names):
            continue
        # If the database runs the transaction again, the new receipt gets the same id.
        kept = KeptIds(mint)

        def work(connection: Connection, receipt: Receipt = receipt, kept: KeptIds = kept) -> int:
            kept.rewind()
            if not still_restores(connection, space, mark):
                raise SpaceRestoring(backend.target, name)
            return _apply(connection, space, name, receipt, backend.not_reached, kept)

        erased += backend.write(work)
    return erased


def _apply(
    connection: Connection, space: int, name: str, receipt: Receipt, not_reached: tuple[str, ...], mint: Mint
) -> int:
    grounds = ErasureGrounds(receipt.reason, receipt.by, not_reached)
    names = erase_marked(connection, space, receipt, grounds, mint) if receipt.names else 0
    ends = _places(connection, space, name, receipt)
    if not ends:
        return names
    # A receipt never holds titles or names. If it counts some, look for them around its turns.
    wish = Wish(
        meta=receipt.meta,
        content=receipt.content,
        repeats="titles" in receipt.counts,
        names="records" in receipt.counts,
    )
    found, _ = erase(connection, space, ends, wish, grounds, mint)
    return names + len(found.turns)


def _places(connection: Connection, space: int, name: str, receipt: Receipt) -> list[Place]:
    turns = turns_by_ids(connection, space, [each.id for each in receipt.turns])
    for each in receipt.turns:
        if each.id in turns and turns[each.id].seal.hex() != each.seal:
            raise InvalidBackup(name, f"turn {each.id} has another seal than the receipt that erased it says")
    return [turns[each.id].place for each in receipt.turns if each.id in turns]
