"""Store bundles that continue each other's turns: of each as many turns as can be, in turns, until all are stored."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice

from headish.bundles.pages import TurnColumns, read_page
from headish.bundles.records import BundleKind
from headish.bundles.streams import BundleReader
from headish.errors import ForeignConflict, HeadishError, InvalidBundle, MissingParents, QuotaExceeded, TooLarge
from headish.history.writing.arrive import Sender, missing_parents
from headish.rows.counters import begin_latest
from headish.rows.elsewhere.arrivals import ArrivalOrigin
from headish.syncing.bundling.applying import BundlePages, ErasurePolicy
from headish.syncing.bundling.arriving import SyncTarget, read_sent_receipt, write_locked
from headish.values.ids import TurnId


class WaitingBundle:
    """A bundle that continues turns which are not here, in memory. ``stored`` counts its turns that were new; ``error``
    is why no more of them can be stored."""

    def __init__(
        self, target: SyncTarget, reader: BundleReader, origin: ArrivalOrigin, erasures: ErasurePolicy
    ) -> None:
        """Takes the receipts of the bundle, which come before its turns. Raises: InvalidBundle."""
        receipts, self._pages = [], list[TurnColumns]()
        for kind, value in reader.parts():
            if kind is BundleKind.RECEIPT:
                receipts.append(read_sent_receipt(value, reader.name))
            elif kind is BundleKind.PAGE:
                self._pages.append(read_page(value, reader.name))
        erasures.take(receipts)
        self._store = BundlePages(target, Sender(reader.name, origin, erasures.find, erasures.erased), None)
        self._page = self._turn = 0
        self.error: HeadishError | None = None

    @property
    def stored(self) -> int:
        return self._store.stored

    @property
    def named(self) -> set[TurnId]:
        """The ids of its turns and of those that they continue."""
        return {id for page in self._pages for ids in (page.ids, *page.parents) for id in ids}

    def go_on(self, here: set[TurnId]) -> bool:
        """Store the next turns, up to one that continues a turn which is not ``here``. Returns whether there were any.

        In the order of its log, without skipping any: of all next turns, one was said before the others, and waits for
        none of them.
        """
        before = self._page, self._turn
        try:
            while self._page < len(self._pages) and self._store_part(self._pages[self._page], here):
                self._page, self._turn = self._page + 1, 0
            self._store.store()
        except (InvalidBundle, MissingParents, ForeignConflict, QuotaExceeded, TooLarge) as error:
            self._page, self.error = len(self._pages), error
        return (self._page, self._turn) > before and self.error is None

    def _store_part(self, page: TurnColumns, here: set[TurnId]) -> bool:
        """Store the next turns of a page. Returns whether it is stored to its end."""
        start, turns = self._turn, zip(page.ids, page.parents, strict=True)
        for id, parents in islice(turns, start, None):
            if id not in here and not here.issuperset(parents):
                break
            here.add(id)
            self._turn += 1
        if self._turn > start:
            self._store.add(page.part(start, page.payloads[start : self._turn]))
        return self._turn == len(page)


def store_entangled(target: SyncTarget, bundles: Sequence[WaitingBundle]) -> int:
    """Store the turns of bundles that wait for each other, as far as nothing else is missing. Returns how many were
    new. The bundles can be applied then; here their names, records and signatures are left out.

    Memory holds all of them. Cost: one statement, and a transaction for each time that one log continues another.
    """
    if not bundles:
        return 0
    named = sorted(set[TurnId]().union(*[each.named for each in bundles]))
    missing = target.backend.read(lambda connection: missing_parents(connection, target.space, named))
    here = set(named).difference(missing)
    while sum(each.go_on(here) for each in bundles):
        pass
    write_locked(target, partial(begin_latest, space=target.space))
    return sum(each.stored for each in bundles)
