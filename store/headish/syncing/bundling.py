"""Write a bundle of a space or of some threads, apply one, and check one without a store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
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
from headish.errors import (
    CorruptRecord,
    ForeignConflict,
    InvalidBundle,
    MissingParents,
    QuotaExceeded,
    TooLarge,
)  # fmt: skip
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
"""The number of names that move in one transaction: other writers wait for it."""
PAGES_TOGETHER, BYTES_TOGETHER = 4, 1024 * 1024
"""How many pages are stored in one transaction, and the bytes of payloads from which on no more join them."""


class SentBundle(NamedTuple):
    """A bundle without its end yet: the numbers of turns, receipts and names, and the position of the space. The caller
    ends it with ``writer``, unless ``keys`` or ``said`` forbid that.

    ``keys`` are the turns, and ``said`` the names and conversations, that contain text that looks like a key; ``paths``
    counts documents that record their path.
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
    """Some threads: their last turns, and the bookmarks and records of conversations that go along."""

    ends: Sequence[Place]
    names: Sequence[SentName]
    records: Sequence[SentRecord]


class _Scanned:
    """Search pages on their way out for keys and paths."""

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
    """Write a whole space, or what came after a position: receipts, turns, names, records of conversations and
    signatures, but not the end of the bundle. ``signed`` announces a signature in the header.

    The bundle is a snapshot, that of the connection's transaction. Memory holds a page.
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
    # Receipts first: who applies the bundle must know what is erased before its turns arrive.
    for receipt in receipts_behind(connection, space, 0 if after is None else after.change):
        writer.receipt(receipt)
    for page in scanned.through(departing.since(span)):
        writer.page(page)
    # All of them, even after a position: one may be new on a turn that went with an earlier bundle.
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
    """Write the threads of ``part`` with the documents that they refer to, and nothing else; not the end of the bundle.
    ``signed`` announces a signature in the header."""
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
    """The receipts of erasures of turns and names after a change number, as they are stored."""
    for logged in all_receipts(connection, space):
        if logged.change > change and decode_receipt(logged.receipt, logged.number).scope not in (SCRUB, SPACE):
            yield bytes(logged.receipt)


def _receipts_of(connection: Connection, space: int, ends: Sequence[Place]) -> list[bytes]:
    """The receipts of erasures in the threads that lead to ``ends``."""
    segments = arrange(ends, read_links_of(connection, space, ends))
    wanted = {erased for _, erased in ids_of_ranges(connection, space, segments)} - {None}
    return [bytes(each.receipt) for each in all_receipts(connection, space) if each.number in wanted] if wanted else []


class SyncTarget(NamedTuple):
    """A space of an open database, to which a bundle is applied."""

    backend: Backend
    space: int
    mint: Mint
    payload_limit_bytes: int


class ErasurePolicy(Protocol):
    """What to do with the erasures of another store. A bundle's receipts are taken before anything else in it."""

    @property
    def erased(self) -> Mapping[TurnId, TurnId]:
        """The turns to erase when they arrive, each with the id of the receipt that erases it."""
        ...

    def take(self, receipts: Sequence[Receipt]) -> None:
        """Take in the receipts of a bundle."""
        ...

    def find(self, receipt: TurnId) -> Receipt | None:
        """A receipt that was taken in, by its id."""
        ...


class _ErasuresHere:
    """The policy for a file: its receipts explain why its turns are erased, and erase nothing here. Receipts of other
    stores that were applied here earlier still erase what arrives."""

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
    """Store the turns of a bundle, a few pages per transaction; then its names and records of conversations.

    If a bundle breaks off, the pages before that stay; their threads are complete.
    Raises: InvalidBundle, MissingParents, ForeignConflict, QuotaExceeded, TooLarge.
    """
    check_required(target, reader)
    policy = erasures or _ErasuresHere(target)
    pages = _Pages(target, Sender(reader.name, origin, policy.find, policy.erased), progress)
    try:
        said = _apply_parts(target, reader, origin, policy, pages)
    finally:
        pages.store()  # those before the break
    # Arriving turns leave ``@`` where it is. In a space that had no turn, it begins at the last one.
    write_locked(target, partial(begin_latest, space=target.space))
    return Applied(pages.stored, pages.known, tuple(said.names), said.records, said.signatures)


class _BesideTurns(NamedTuple):
    """What a bundle brought beside turns."""

    names: Sequence[ArrivedName]
    records: int
    signatures: int


def _apply_parts(
    target: SyncTarget, reader: BundleReader, origin: ArrivalOrigin, policy: ErasurePolicy, pages: _Pages
) -> _BesideTurns:
    receipts: list[Receipt] = []
    records = signatures = 0
    names: list[ArrivedName] = []
    for kind, value in reader.parts():
        if kind is BundleKind.RECEIPT:
            receipts.append(read_sent_receipt(value, reader.name))
            continue
        if receipts:  # receipts come first in a bundle, so all have been read
            policy.take(receipts)
            receipts = []
        # In a bundle they would pass by the remote's pattern of names and the merge of a head (``meeting``).
        if kind in (BundleKind.NAMES, BundleKind.RECORDS) and reader.header.device is not None:
            raise InvalidBundle(reader.name, "it lies in a log and has names or records, which stand in its head")
        if kind is BundleKind.PAGE:
            pages.add(from_page(value, reader.name))
            continue
        pages.store()  # what comes behind them may speak of their turns
        if kind is BundleKind.SIGNATURES:
            signatures += store_arrived_signatures(target, value, reader.name, origin.bringer)
        elif kind is BundleKind.NAMES:
            names = settle_names(target, value)
        elif kind is BundleKind.RECORDS:
            records = write_locked(target, partial(settle_records, space=target.space, records=value))
    if receipts:  # a bundle of receipts alone
        policy.take(receipts)
    return _BesideTurns(names, records, signatures)


class _Pages:
    """Stores the pages of a bundle, small ones together: a commit writes each page of the database that it changed, and
    the index of digests changes all over. Other writers wait for one.

    ``stored`` and ``known`` count the turns that were new, and those that were here already.
    """

    def __init__(self, target: SyncTarget, sender: Sender, progress: Progress | None) -> None:
        self._target, self._sender, self._progress = target, sender, progress
        self._held: list[list[TurnRecord]] = []
        self._held_bytes = 0
        self.stored = self.known = 0

    def add(self, page: list[TurnRecord]) -> None:
        self._held.append(page)
        self._held_bytes += sum([len(each.payload) for each in page if each.payload is not None])
        if len(self._held) == PAGES_TOGETHER or self._held_bytes > BYTES_TOGETHER:
            self.store()

    def store(self) -> None:
        """Store the pages that are held. If one is faulty, those before it stay, and its fault is raised."""
        held, self._held, self._held_bytes = self._held, [], 0
        if len(held) > 1:
            with suppress(InvalidBundle, MissingParents, ForeignConflict, QuotaExceeded, TooLarge):
                self._store(held)
                return
        for page in held:
            self._store([page])

    def _store(self, pages: Sequence[Sequence[TurnRecord]]) -> None:
        kept = KeptIds(self._target.mint)
        space, limit_bytes = self._target.space, self._target.payload_limit_bytes

        def work(connection: Connection) -> list[PageStored]:
            # A transaction may run again, and must give the same ids then.
            kept.rewind()
            return [store_page(connection, space, each, self._sender, kept, limit_bytes) for each in pages]

        for done in write_locked(self._target, work):
            self.stored, self.known = self.stored + done.stored, self.known + done.known
            if self._progress:
                self._progress(done.stored + done.known)


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


def write_locked(target: SyncTarget, work: Callable[[Connection], T]) -> T:
    """Run ``work`` in a write transaction that holds the lock of the space, and return its result."""

    def locked(connection: Connection) -> T:
        lock_space(connection, target.space)
        return work(connection)

    return target.backend.write(locked)


def check_bundle(reader: BundleReader, path: str) -> BundleChecked:
    """Read a bundle to its end and prove its turns, without a store.

    Memory holds the receipts, and an id and a digest for each turn. Raises: InvalidBundle.
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
    """The turns of a page that can be proven: those whose ancestors are all in the bundle. A digest covers the parents'
    digests, and only the store has those of turns outside."""
    provable: dict[TurnId, TurnRecord] = {}
    for record in page:
        if all(each in digests or each in provable for each in record.parents):
            provable[record.id] = record
    return [*provable.values()]


def _check_listed(
    record: TurnRecord, stored: StoredTurn | None, listed: Mapping[str, Mapping[TurnId, ErasedTurn]], path: str
) -> None:
    """Check that a receipt of the bundle lists an erased turn as it is. A turn that could not be proven only has to be
    listed. Raises: InvalidBundle."""
    if record.erased is None:
        return
    entry = listed.get(record.erased, {}).get(record.id)
    if entry is None or (stored is not None and entry != as_erased(stored, meta=record.left is not None)):
        raise InvalidBundle(path, f"turn {record.id} is erased, and no receipt lists it so")
