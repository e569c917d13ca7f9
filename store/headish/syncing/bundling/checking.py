"""Check a bundle without a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from headish.bundles.pages import TurnColumns, TurnRecord, from_page
from headish.bundles.records import BundleKind, check_signature
from headish.bundles.streams import BundleReader
from headish.errors import InvalidBundle, MissingParents
from headish.history.tombstones import as_erased
from headish.history.writing.arriving import RecordProver, check_payloads
from headish.rows.turns import StoredTurn
from headish.syncing.bundling.arriving import read_sent_receipt
from headish.values.ids import TurnId
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from headish.values.results.erasures import ErasedTurn
from headish.values.results.sharing import BundleChecked

_COUNTED = (BundleKind.RECEIPT, BundleKind.NAMES, BundleKind.SIGNATURES)


def check_bundle(reader: BundleReader, path: str) -> BundleChecked:
    """Read a bundle to its end and prove its turns, without a store.

    Memory holds the receipts, and an id and a digest for each turn. Raises: InvalidBundle.
    """
    checking = _Checking(path)
    for kind, value in reader.parts():
        checking.take(kind, value)
    return checking.result(reader.header.requires)


def check_beginning(reader: BundleReader, path: str) -> None:
    """Check what a store without turns would refuse of a bundle before it stores anything: turns that are missing, and
    what is wrong up to the first page. Raises: MissingParents, InvalidBundle."""
    if reader.header.requires:
        raise MissingParents(path, tuple(reader.header.requires))
    checking = _Checking(path)
    for kind, value in reader.parts():
        checking.take(kind, value)
        if kind is BundleKind.PAGE:
            return


class _Checking:
    """What was read and proven of a bundle so far."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._digests: dict[TurnId, bytes] = {}
        self._prover = RecordProver(self._digests, path, PAYLOAD_LIMIT_BYTES)
        self._seen: set[TurnId] = set()
        self._listed: dict[str, dict[TurnId, ErasedTurn]] = {}
        self._counts = Counter[IntEnum]()

    def take(self, kind: IntEnum, value: Any) -> None:
        """Check a part. Raises: InvalidBundle."""
        if kind is BundleKind.PAGE:
            self._take_page(from_page(value, self._path))
        elif kind is BundleKind.RECEIPT:
            receipt = read_sent_receipt(value, self._path)
            self._listed[receipt.id] = {each.id: each for each in receipt.turns}
            self._counts[kind] += 1
        elif kind in (BundleKind.NAMES, BundleKind.SIGNATURES):
            for each in value if kind is BundleKind.SIGNATURES else ():
                check_signature(each, self._path)
            self._counts[kind] += len(value)

    def _take_page(self, page: Sequence[TurnRecord]) -> None:
        check_payloads(TurnColumns.of(page), self._path)
        for record in page:
            if record.id in self._seen:
                raise InvalidBundle(self._path, f"it has turn {record.id} twice")
            self._seen.add(record.id)
        proven = {each.id: each for each in self._prover.prove(_find_provable(page, self._digests))}
        for record in page:
            _check_listed(record, proven.get(record.id), self._listed, self._path)

    def result(self, requires: Sequence[str]) -> BundleChecked:
        receipts, names, signatures = (self._counts[kind] for kind in _COUNTED)
        needed = tuple(map(TurnId, requires))
        return BundleChecked(self._path, len(self._seen), len(self._digests), receipts, names, needed, signatures)


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
