"""Check a bundle without a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headish.bundles.records import BundleKind, TurnRecord, check_signature, from_page
from headish.bundles.streams import BundleReader
from headish.errors import InvalidBundle
from headish.history.tombstones import as_erased
from headish.history.writing.arriving import RecordProver, check_payloads
from headish.rows.turns import StoredTurn
from headish.syncing.bundling.arriving import read_sent_receipt
from headish.values.ids import TurnId
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from headish.values.results.erasures import ErasedTurn
from headish.values.results.sharing import BundleChecked


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
