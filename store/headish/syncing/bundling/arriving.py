"""What arrives beside turns, in a bundle or by a live connection, and the space that takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from headish.bundles.records import SentName, SentSignature, check_signature
from headish.bundles.streams import BundleReader
from headish.content.receipts import decode_receipt
from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import CorruptRecord, InvalidBundle, MissingParents
from headish.history.signatures import store_signatures
from headish.history.writing.arrive import missing_parents
from headish.rows.counters import lock_space
from headish.syncing.naming import settle_name, tell_apart
from headish.values.ids import Mint, TurnId, as_turn_id
from headish.values.limits import LAST_NUMBER
from headish.values.results.erasures import Receipt
from headish.values.results.sharing import DIVERGED, ArrivedName

T = TypeVar("T")
NAMES_AT_ONCE = 200
"""The number of names that move in one transaction: other writers wait for it."""


class SyncTarget(NamedTuple):
    """A space of an open database, to which a bundle is applied."""

    backend: Backend
    space: int
    mint: Mint
    payload_limit_bytes: int


def write_locked(target: SyncTarget, work: Callable[[Connection], T]) -> T:
    """Run ``work`` in a write transaction that holds the lock of the space, and return its result."""

    def locked(connection: Connection) -> T:
        lock_space(connection, target.space)
        return work(connection)

    return target.backend.write(locked)


def check_required(target: SyncTarget, reader: BundleReader) -> None:
    """Check that this space has the turns that a bundle continues. Raises: MissingParents."""
    requires = [TurnId(each) for each in reader.header.requires]
    missing = target.backend.read(lambda connection: missing_parents(connection, target.space, requires))
    if missing:
        raise MissingParents(reader.name, tuple(missing))


def read_sent_receipt(data: bytes, file: str) -> Receipt:
    """Decode and check a receipt of a bundle. Raises: InvalidBundle."""
    try:
        receipt = decode_receipt(data, 0)
        if as_turn_id(receipt.id) != receipt.id or any(len(bytes.fromhex(each.hash)) != 32 for each in receipt.barred):
            raise ValueError("its id or a hash is malformed")
        if not all(0 <= each <= LAST_NUMBER for each in _numbers(receipt)):
            raise ValueError("it counts what no store counts to")
    except (CorruptRecord, ValueError) as error:
        raise InvalidBundle(file, f"a receipt of an erasure cannot be read ({error})") from None
    return receipt


def _numbers(receipt: Receipt) -> Iterator[int]:
    yield from (receipt.number, receipt.seq, receipt.change, receipt.bytes, receipt.covers or 0)
    yield from (*receipt.counts.values(), *receipt.stays.values(), *(each.size for each in receipt.barred))


def store_arrived_signatures(target: SyncTarget, sent: Sequence[SentSignature], file: str, bringer: bytes) -> int:
    """Store signatures that arrived, in one transaction. Returns how many are new. Raises: InvalidBundle."""
    for each in sent:
        check_signature(each, file)
    return write_locked(target, partial(store_signatures, space=target.space, sent=sent, remote=bringer))


def settle_names(target: SyncTarget, sent: Sequence[SentName]) -> list[ArrivedName]:
    """Move bookmarks forward to where they are elsewhere, in one transaction for each ``NAMES_AT_ONCE``."""

    def settle(connection: Connection, part: Sequence[SentName]) -> list[ArrivedName]:
        return [settle_name(connection, target.space, each) for each in part]

    parts = (sent[start : start + NAMES_AT_ONCE] for start in range(0, len(sent), NAMES_AT_ONCE))
    settled = [each for part in parts for each in write_locked(target, partial(settle, part=part))]
    return tell_diverged(target, settled)


def tell_diverged(target: SyncTarget, names: Sequence[ArrivedName]) -> list[ArrivedName]:
    """Run ``tell_apart`` in a read transaction of its own if any name diverged."""
    if not any(each.outcome == DIVERGED for each in names):
        return list(names)
    return target.backend.read(partial(tell_apart, space=target.space, names=names))
