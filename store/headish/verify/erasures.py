"""Verify erasures: receipts are chained, and distinguish erased content from damaged content."""

from __future__ import annotations

from collections.abc import Iterator

from headish.content.hashes import chain_receipt
from headish.content.receipts import decode_receipt
from headish.database.query import Connection
from headish.errors import CorruptRecord
from headish.history.tombstones import as_erased
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.erasures import barred
from headish.rows.upkeep.receipts import Logged, all_receipts
from headish.values.ids import TurnId
from headish.values.results.erasures import SPACE, Barred, ErasedTurn, Receipt
from headish.values.results.reports import Problem
from headish.values.turns import OVERLAY

_META = ("attributes", "inherited", "system", "app", "head")


class Receipted:
    """What the receipts of a space say about its turns. For each erased turn, the last receipt that lists it counts."""

    def __init__(self) -> None:
        self._last = 0
        self._said: dict[TurnId, tuple[int, bool, ErasedTurn]] = {}

    def read(self, connection: Connection, space: int) -> None:
        """Read the receipts that are new since the last call. ``check_receipts`` reports those that do not decode."""
        for logged in all_receipts(connection, space, self._last):
            self._last = logged.number
            receipt = _decoded(logged)
            if receipt is not None:
                self._said |= {each.id: (logged.number, receipt.meta, each) for each in receipt.turns}

    def lost_meta(self, stored: StoredTurn) -> bool:
        """Whether an erasure took the meta of a turn, too."""
        receipted = self._said.get(stored.id)
        return receipted is not None and receipted[1] and receipted[0] == stored.erased

    def check(self, stored: StoredTurn, data: object) -> Iterator[Problem]:
        """Yield what disagrees between a turn and the receipts."""
        for what in self._problems(stored, data):
            yield Problem(f"turn {stored.id}", what)

    def _problems(self, stored: StoredTurn, data: object) -> Iterator[str]:
        number, meta, listed = self._said.get(stored.id, (None, False, None))
        if stored.erased != number:
            if number is None:
                yield f"it is erased, and receipt {stored.erased} does not say so"
            else:
                yield f"receipt {number} says that it is erased, and it says {stored.erased}"
        elif listed is not None and as_erased(stored, meta=meta) != listed:
            yield "what is left of it is not what its receipt says"
        if stored.erased is not None and data is not None:
            yield "it is erased, and what it said is there"
        if number == stored.erased and meta and _says_something(stored):
            yield "it is erased, and what it said of itself is there"


def check_receipts(connection: Connection, space: int) -> Iterator[Problem]:
    """Check that receipts follow one another and are as they were written, and that what they bar is barred.

    Cost: two statements, and one for each 100 receipts.
    """
    before, number = b"", 0
    expected: dict[bytes, tuple[int, int]] = {}
    for logged in all_receipts(connection, space):
        number += 1
        for what in _problems(logged, number, before):
            yield Problem(f"erasure {logged.number}", what)
        before, number = logged.hash, logged.number
        receipt = _decoded(logged)
        if receipt is not None and receipt.scope == SPACE:
            expected = {}  # the erasure of a whole space removes every payload row, those of barred content too
        elif receipt is not None:
            expected |= {
                bytes.fromhex(each.hash): (each.size, logged.number) for each in receipt.barred if _is_hex(each)
            }
    present = barred(connection, space)
    for hash in sorted(expected.keys() | present.keys()):
        if expected.get(hash) != present.get(hash):
            yield Problem(f"payload {hash.hex()}", "whether it is barred disagrees with the receipts")


def erased_names(connection: Connection, space: int) -> set[bytes]:
    """The present names of bookmarks whose names were erased, by the receipts."""
    receipts = filter(None, map(_decoded, all_receipts(connection, space)))
    return {each.became.encode(errors="surrogatepass") for receipt in receipts for each in receipt.names}


def _problems(logged: Logged, number: int, before: bytes) -> Iterator[str]:
    if logged.number != number:
        yield "receipts before it are missing"
    if logged.before != before or chain_receipt(logged.before, logged.receipt) != logged.hash:
        yield "it was altered, or the one before it: its hash disagrees"
    receipt = _decoded(logged)
    if receipt is None:
        yield "it does not decode"
        return
    columns = (receipt.number, receipt.change, receipt.seq, receipt.id, int(receipt.time.timestamp() * 1000))
    if columns != (logged.number, logged.change, logged.seq, logged.id, logged.milliseconds):
        yield "its columns disagree with the receipt"


def _decoded(logged: Logged) -> Receipt | None:
    try:
        return decode_receipt(logged.receipt, logged.number)
    except CorruptRecord:
        return None


def _is_hex(each: Barred) -> bool:
    try:
        return len(bytes.fromhex(each.hash)) == 32
    except ValueError:
        return False


def _says_something(stored: StoredTurn) -> bool:
    """Whether a turn that lost its meta still has some. An overlay keeps its attributes, which say what it covers."""
    going = _META if stored.type != OVERLAY else [name for name in _META if name != "attributes"]
    return any(getattr(stored, name) is not None for name in going)
