"""Apply a bundle: its receipts, then its turns, then what it says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from functools import partial
from typing import Any, Protocol

from headish.bundles.pages import TurnColumns, read_page
from headish.bundles.records import BundleKind
from headish.bundles.streams import BundleReader
from headish.content.receipts import decode_receipt
from headish.database.query import Connection
from headish.errors import ForeignConflict, InvalidBundle, MissingParents, QuotaExceeded, TooLarge
from headish.history.writing.arrive import PageStored, Sender, store_page
from headish.rows.counters import begin_latest
from headish.rows.elsewhere.arrivals import ArrivalOrigin
from headish.rows.elsewhere.notices import APPLIED, all_notices
from headish.syncing.bundling.arriving import (
    SyncTarget,
    check_required,
    read_sent_receipt,
    settle_names,
    store_arrived_signatures,
    write_locked,
)
from headish.syncing.bundling.writing import Progress
from headish.syncing.naming import settle_records
from headish.values.ids import KeptIds, TurnId
from headish.values.results.erasures import Receipt
from headish.values.results.sharing import Applied, ArrivedName

PAGES_TOGETHER, BYTES_TOGETHER = 4, 1024 * 1024
"""How many pages are stored in one transaction, and the bytes of payloads from which on no more join them."""


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
        self.erased = {turn.id: each.id for each in applied for turn in each.turns}

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
    pages = BundlePages(target, Sender(reader.name, origin, policy.find, policy.erased), progress)
    parts = _Parts(target, reader, origin, policy, pages)
    try:
        parts.take_all()
    finally:
        pages.store()  # those before the break
    # Arriving turns leave ``@`` where it is. In a space that had no turn, it begins at the last one.
    write_locked(target, partial(begin_latest, space=target.space))
    return Applied(pages.stored, pages.known, tuple(parts.names), parts.records, parts.signatures)


class _Parts:
    """Takes the parts of a bundle as they come: its turns go to ``pages``. ``names``, ``records`` and ``signatures``
    are what it brought beside turns."""

    def __init__(
        self, target: SyncTarget, reader: BundleReader, origin: ArrivalOrigin, policy: ErasurePolicy, pages: BundlePages
    ) -> None:
        self._target, self._reader, self._origin, self._policy, self._pages = target, reader, origin, policy, pages
        self._receipts: list[Receipt] = []
        self.names: list[ArrivedName] = []
        self.records = self.signatures = 0

    def take_all(self) -> None:
        for kind, value in self._reader.parts():
            if kind is BundleKind.RECEIPT:
                self._receipts.append(read_sent_receipt(value, self._reader.name))
                continue
            self._take_receipts()
            if kind is BundleKind.PAGE:
                self._pages.add(read_page(value, self._reader.name))
            else:
                self._take_beside(kind, value)
        self._take_receipts()  # of a bundle of receipts alone

    def _take_receipts(self) -> None:
        """Take all receipts: they come first in a bundle."""
        if self._receipts:
            self._policy.take(self._receipts)
            self._receipts = []

    def _take_beside(self, kind: IntEnum, value: Any) -> None:
        target, reader = self._target, self._reader
        # In a bundle they would pass by the remote's pattern of names and the merge of a head (``meeting``).
        if kind in (BundleKind.NAMES, BundleKind.RECORDS) and reader.header.device is not None:
            raise InvalidBundle(reader.name, "it lies in a log and has names or records, which stand in its head")
        self._pages.store()  # what comes behind them may speak of their turns
        if kind is BundleKind.SIGNATURES:
            self.signatures += store_arrived_signatures(target, value, reader.name, self._origin.bringer)
        elif kind is BundleKind.NAMES:
            self.names = settle_names(target, value)
        elif kind is BundleKind.RECORDS:
            self.records = write_locked(target, partial(settle_records, space=target.space, records=value))


class BundlePages:
    """Stores the pages of a bundle, small ones together: a commit writes each page of the database that it changed, and
    the index of digests changes all over. Other writers wait for one.

    ``stored`` and ``known`` count the turns that were new, and those that were here already.
    """

    def __init__(self, target: SyncTarget, sender: Sender, progress: Progress | None) -> None:
        self._target, self._sender, self._progress = target, sender, progress
        self._held: list[TurnColumns] = []
        self._held_bytes = 0
        self.stored = self.known = 0

    def add(self, page: TurnColumns) -> None:
        self._held.append(page)
        self._held_bytes += page.size_bytes()
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

    def _store(self, pages: Sequence[TurnColumns]) -> None:
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
