"""Write what leaves a space as a bundle, and apply one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import BinaryIO, NamedTuple, Protocol, TypeVar

from headish.bundles.records import (
    BundleHeader,
    BundleKind,
    SentName,
    SentRecord,
    SentSignature,
    TurnRecord,
    check_signature,
    from_page,
)
from headish.bundles.streams import BundleReader, BundleWriter
from headish.content.receipts import decode_receipt
from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import CorruptRecord, InvalidBundle, MissingParents
from headish.history.feeds.cursors import Position, find_end
from headish.history.reading.order import arrange
from headish.history.signatures import as_sent, store_signatures
from headish.history.tombstones import as_erased
from headish.history.writing.arrive import PageStored, Sender, missing_parents, store_page
from headish.history.writing.arriving import RecordProver, check_payloads
from headish.rows.counters import begin_latest, lock_space
from headish.rows.elsewhere.arrivals import ArrivalOrigin
from headish.rows.elsewhere.notices import APPLIED, all_notices
from headish.rows.signatures import all_signatures, signatures_of
from headish.rows.threads.ranges import ids_of_ranges
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.receipts import all_receipts
from headish.syncing.departing import Departing, Span, all_names, all_records, find_keys, find_said_keys, keeps_path
from headish.syncing.naming import settle_name, settle_records, tell_apart
from headish.values.ids import KeptIds, Mint, TurnId, as_turn_id
from headish.values.limits import LAST_NUMBER, PAYLOAD_LIMIT_BYTES
from headish.values.places import Place
from headish.values.results.erasures import SCRUB, SPACE, ErasedTurn, Receipt
from headish.values.results.sharing import DIVERGED, Applied, ArrivedName, BundleChecked

T = TypeVar("T")
Progress = Callable[[int], None]
"""Called with the number of turns since the last call."""
NAMES_AT_ONCE = 200
"""How many names move in one transaction: other writers wait for it."""


class SentBundle(NamedTuple):
    """What goes out: how many turns, receipts and names, and how far the space was. ``writer`` ends it.

    ``keys`` are the turns, and ``said`` the conversations, in which something looks like a key; ``paths`` counts
    documents that say where they lay.
    """

    turns: int
    receipts: int
    names: int
    writer: BundleWriter
    end: Position
    keys: tuple[TurnId, ...]
    said: tuple[str, ...]
    paths: int


class BundlePart(NamedTuple):
    """Some threads: their ends, and the names and conversations that go along."""

    ends: Sequence[Place]
    names: Sequence[SentName]
    records: Sequence[SentRecord]


class _Scanned:
    """Pages on their way out, each looked through."""

    def __init__(self, progress: Progress | None) -> None:
        self.keys: list[TurnId] = []
        self.paths = 0
        self._progress = progress

    def through(self, pages: Iterator[list[TurnRecord]]) -> Iterator[list[TurnRecord]]:
        for page in pages:
            self.keys += find_keys(page)
            self.paths += sum([keeps_path(each) for each in page if each.system is not None])
            yield page
            if self._progress:
                self._progress(len(page))


def write_all(
    connection: Connection,
    space: int,
    file: BinaryIO,
    after: Position | None,
    progress: Progress | None = None,
    *,
    signed: bool = False,
) -> SentBundle:
    """Write all that a space holds, or what came after a position: turns, receipts, names, records of conversations;
    all but the end. ``signed``: that will be signed.

    The connection's transaction is the moment. Memory holds a page.
    """
    end = find_end(connection, space)
    span = Span(0 if after is None else after.seq, end.seq)
    departing, scanned = Departing(connection, space), _Scanned(progress)
    header = BundleHeader(
        made_at=time.time_ns() // 1_000_000,
        requires=tuple(departing.required_by(span)),
        after=None if after is None else str(after.cursor),
        signed=signed,
    )
    writer = BundleWriter(file, header)
    for receipt in receipts_behind(connection, space, 0 if after is None else after.change):
        writer.receipt(receipt)
    for page in scanned.through(departing.since(span)):
        writer.page(page)
    signatures = map(as_sent, all_signatures(connection, space))
    return _list(writer, end, scanned, all_names(connection, space), all_records(connection, space), signatures)


def write_part(
    connection: Connection,
    space: int,
    file: BinaryIO,
    part: BundlePart,
    progress: Progress | None = None,
    *,
    signed: bool = False,
) -> SentBundle:
    """Write the threads that lead to some turns, with the documents that they refer to, and nothing else; all but the
    end. ``signed``: that will be signed."""
    end = find_end(connection, space)
    departing, scanned = Departing(connection, space), _Scanned(progress)
    writer = BundleWriter(file, BundleHeader(made_at=time.time_ns() // 1_000_000, signed=signed))
    for receipt in _receipts_of(connection, space, part.ends):
        writer.receipt(receipt)
    signatures: list[SentSignature] = []
    for page in scanned.through(departing.leading_to(part.ends)):
        writer.page(page)
        signatures += map(as_sent, signatures_of(connection, space, [each.id for each in page]))
    return _list(writer, end, scanned, part.names, part.records, signatures)


def _list(
    writer: BundleWriter,
    end: Position,
    scanned: _Scanned,
    names: Sequence[SentName],
    records: Sequence[SentRecord],
    signatures: Iterable[SentSignature],
) -> SentBundle:
    writer.lists(names, records, signatures)
    said, keys = tuple(find_said_keys(names, records)), tuple(scanned.keys)
    return SentBundle(writer.turns, writer.receipts, len(names), writer, end, keys, said, scanned.paths)


def receipts_behind(connection: Connection, space: int, change: int) -> Iterator[bytes]:
    """The receipts of the erasures of turns and names after a change, as they are stored."""
    for logged in all_receipts(connection, space):
        if logged.change > change and decode_receipt(logged.receipt, logged.number).scope not in (SCRUB, SPACE):
            yield bytes(logged.receipt)


def _receipts_of(connection: Connection, space: int, ends: Sequence[Place]) -> list[bytes]:
    """The receipts of erasures in the threads that lead to some turns."""
    segments = arrange(ends, read_links_of(connection, space, ends))
    wanted = {erased for _, erased in ids_of_ranges(connection, space, segments)} - {None}
    return [bytes(each.receipt) for each in all_receipts(connection, space) if each.number in wanted] if wanted else []


class SyncTarget(NamedTuple):
    """Where a bundle is applied: a space of an open database."""

    backend: Backend
    space: int
    mint: Mint
    payload_limit_bytes: int


class ErasurePolicy(Protocol):
    """What to do with the erasures of another store, before anything else in a bundle."""

    @property
    def erased(self) -> Mapping[TurnId, TurnId]:
        """The turns that are erased when they arrive, each with the id of the receipt that says so."""
        ...

    def take(self, receipts: Sequence[Receipt]) -> None:
        """Take in the receipts of a bundle."""
        ...

    def find(self, receipt: TurnId) -> Receipt | None:
        """A receipt that was taken in, by its id."""
        ...


class _ErasuresHere:
    """The receipts of a file explain why its turns are erased, and erase nothing here; receipts of other stores that
    were taken over here still do."""

    def __init__(self, target: SyncTarget) -> None:
        notices = target.backend.read(lambda connection: all_notices(connection, target.space))
        applied = [decode_receipt(each.receipt, 0) for each in notices if each.state == APPLIED]
        self._receipts = {each.id: each for each in applied}
        self._erased = {turn.id: each.id for each in applied for turn in each.turns}

    @property
    def erased(self) -> Mapping[TurnId, TurnId]:
        return self._erased

    def take(self, receipts: Sequence[Receipt]) -> None:
        for each in receipts:
            self._receipts.setdefault(each.id, each)

    def find(self, receipt: TurnId) -> Receipt | None:
        return self._receipts.get(receipt)


def apply_bundle(
    target: SyncTarget,
    reader: BundleReader,
    origin: ArrivalOrigin,
    progress: Progress | None = None,
    erasures: ErasurePolicy | None = None,
) -> Applied:
    """Store what a bundle brings, one page per transaction; then names and records of conversations.

    A bundle that breaks off leaves the pages before, which are a whole history.
    Raises: InvalidBundle, MissingParents, ForeignConflict, QuotaExceeded, TooLarge.
    """
    check_required(target, reader)
    taken = erasures or _ErasuresHere(target)
    sender = Sender(reader.name, origin, taken.find, taken.erased)
    receipts: list[Receipt] = []
    stored = known = records = signatures = 0
    names: list[ArrivedName] = []
    for kind, value in reader.parts():
        if kind is BundleKind.RECEIPT:
            receipts.append(read_sent_receipt(value, reader.name))
            continue
        if receipts:  # they come first, so all are here
            taken.take(receipts)
            receipts = []
        if kind in (BundleKind.NAMES, BundleKind.RECORDS) and reader.header.device is not None:
            raise InvalidBundle(reader.name, "it lies in a log and has names or records, which stand in its head")
        if kind is BundleKind.PAGE:
            done = _store(target, from_page(value, reader.name), sender)
            stored, known = stored + done.stored, known + done.known
            if progress:
                progress(len(value.turns))
        elif kind is BundleKind.SIGNATURES:
            signatures += store_arrived_signatures(target, value, reader.name, origin.bringer)
        elif kind is BundleKind.NAMES:
            names = settle_names(target, value)
        elif kind is BundleKind.RECORDS:
            records = write_locked(target, partial(settle_records, space=target.space, records=value))
    if receipts:
        taken.take(receipts)
    write_locked(target, partial(begin_latest, space=target.space))
    return Applied(stored, known, tuple(names), records, signatures)


def check_required(target: SyncTarget, reader: BundleReader) -> None:
    """Check that all that a bundle continues is here. Raises: MissingParents."""
    requires = [TurnId(each) for each in reader.header.requires]
    missing = target.backend.read(lambda connection: missing_parents(connection, target.space, requires))
    if missing:
        raise MissingParents(reader.name, tuple(missing))


def read_sent_receipt(data: bytes, file: str) -> Receipt:
    """A receipt of a bundle. Raises: InvalidBundle."""
    try:
        receipt = decode_receipt(data, 0)
        if as_turn_id(receipt.id) != receipt.id or any(len(bytes.fromhex(each.hash)) != 32 for each in receipt.barred):
            raise ValueError("its id or a hash is none")
        if not all(0 <= each <= LAST_NUMBER for each in _numbers(receipt)):
            raise ValueError("it counts what no store counts to")
    except (CorruptRecord, ValueError) as error:
        raise InvalidBundle(file, f"a receipt of an erasure cannot be read ({error})") from None
    return receipt


def _numbers(receipt: Receipt) -> Iterator[int]:
    yield from (receipt.number, receipt.seq, receipt.change, receipt.bytes, receipt.covers or 0)
    yield from (*receipt.counts.values(), *receipt.stays.values(), *(each.size for each in receipt.barred))


def store_arrived_signatures(target: SyncTarget, sent: Sequence[SentSignature], file: str, bringer: bytes) -> int:
    """Store signatures that arrived; how many are new. One transaction. Raises: InvalidBundle."""
    for each in sent:
        check_signature(each, file)
    return write_locked(target, partial(store_signatures, space=target.space, sent=sent, remote=bringer))


def settle_names(target: SyncTarget, sent: Sequence[SentName]) -> list[ArrivedName]:
    """Move names forward to where they are elsewhere. One transaction for each ``NAMES_AT_ONCE``."""

    def settle(connection: Connection, part: Sequence[SentName]) -> list[ArrivedName]:
        return [settle_name(connection, target.space, each) for each in part]

    parts = (sent[start : start + NAMES_AT_ONCE] for start in range(0, len(sent), NAMES_AT_ONCE))
    settled = [each for part in parts for each in write_locked(target, partial(settle, part=part))]
    return tell_diverged(target, settled)


def tell_diverged(target: SyncTarget, names: Sequence[ArrivedName]) -> list[ArrivedName]:
    """``tell_apart`` in a transaction of its own, where any name went apart."""
    if not any(each.outcome == DIVERGED for each in names):
        return list(names)
    return target.backend.read(partial(tell_apart, space=target.space, names=names))


def write_locked(target: SyncTarget, work: Callable[[Connection], T]) -> T:
    """Run work that has the space to itself, and return its result."""

    def locked(connection: Connection) -> T:
        lock_space(connection, target.space)
        return work(connection)

    return target.backend.write(locked)


def _store(target: SyncTarget, turns: Sequence[TurnRecord], sender: Sender) -> PageStored:
    kept = KeptIds(target.mint)

    def work(connection: Connection) -> PageStored:
        # A transaction may run again, and must give the same ids then.
        kept.rewind()
        return store_page(connection, target.space, turns, sender, kept, target.payload_limit_bytes)

    return write_locked(target, work)


def check_bundle(reader: BundleReader, path: str) -> BundleChecked:
    """Read a bundle to its end and prove its turns, without a store. Memory holds an id and a digest for each, and the
    receipts.

    Raises: InvalidBundle.
    """
    digests: dict[TurnId, bytes] = {}
    prover = RecordProver(digests, path, PAYLOAD_LIMIT_BYTES)
    seen: set[TurnId] = set()
    listed: dict[str, dict[TurnId, ErasedTurn]] = {}
    receipts = names = signatures = 0
    for kind, value in reader.parts():
        if kind is BundleKind.PAGE:
            page = from_page(value, path)
            check_payloads(page, path)
            for record in page:
                if record.id in seen:
                    raise InvalidBundle(path, f"it has turn {record.id} twice")
                seen.add(record.id)
            proven = {each.id: each for each in prover.prove(_find_provable(page, digests))}
            for record in page:
                _check_listed(record, proven.get(record.id), listed, path)
        elif kind is BundleKind.RECEIPT:
            receipt = read_sent_receipt(value, path)
            listed[receipt.id] = {each.id: each for each in receipt.turns}
            receipts += 1
        elif kind is BundleKind.NAMES:
            names = len(value)
        elif kind is BundleKind.SIGNATURES:
            for each in value:
                check_signature(each, path)
            signatures += len(value)
    requires = tuple(TurnId(each) for each in reader.header.requires)
    return BundleChecked(path, len(seen), len(digests), receipts, names, requires, signatures)


def _find_provable(page: Sequence[TurnRecord], digests: Mapping[TurnId, bytes]) -> list[TurnRecord]:
    """The turns of a page that can be proven. One that continues a turn outside of the bundle cannot, without the store
    that has it; nor can what continues that one."""
    found: dict[TurnId, TurnRecord] = {}
    for record in page:
        if all(each in digests or each in found for each in record.parents):
            found[record.id] = record
    return [*found.values()]


def _check_listed(
    record: TurnRecord, stored: StoredTurn | None, listed: Mapping[str, Mapping[TurnId, ErasedTurn]], path: str
) -> None:
    """Whether a receipt of the bundle lists an erased turn as it is; one that was not proven only has to be listed."""
    if record.erased is None:
        return
    said = listed.get(record.erased, {}).get(record.id)
    if said is None or (stored is not None and said != as_erased(stored, meta=record.left is not None)):
        raise InvalidBundle(path, f"turn {record.id} is erased, and no receipt lists it so")
