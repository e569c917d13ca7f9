"""Write a bundle again without what was erased since: erased turns become tombstones, and their receipts are added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from msgspec.structs import replace

from headish.bundles.pages import TurnColumns, TurnRecord, from_page
from headish.bundles.records import BundleKind, SentName, SentRecord, SentSignature, WireLeft
from headish.bundles.streams import BundleReader, BundleWriter
from headish.bundles.times import pack_times, unpack_times
from headish.content.hashes import hash_key
from headish.content.receipts import encode_receipt
from headish.errors import InvalidArgument
from headish.history.writing.arriving import read_row
from headish.syncing.bundling.arriving import read_sent_receipt
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.results.erasures import SCOPES, ErasedTurn, Receipt
from headish.values.results.sharing import BundleRewritten
from headish.values.turns import OVERLAY

THREAD, BRANCH = SCOPES[1:]


class Rewriting:
    """Rewrite a bundle without what receipts list, in two passes: ``look``, then ``write``.

    Memory holds the receipts, and the ids of turns without words.
    """

    def __init__(self, receipts: Iterable[Receipt]) -> None:
        self._listed: dict[TurnId, tuple[Receipt, ErasedTurn]] = {}
        self._whole: set[tuple[TurnId, str]] = set()
        self._silent: set[TurnId] = set()
        self._gone: set[str] = set()
        self._needed: dict[str, Receipt] = {}
        for receipt in receipts:
            self._whole |= {(each.id, each.seal) for each in receipt.turns if receipt.scope in (THREAD, BRANCH)}
            for each in receipt.turns:
                known = self._listed.get(each.id)
                # A turn may have lost its words first and its meta later: the receipt that took more counts.
                if known is None or receipt.meta > known[0].meta:
                    self._listed[each.id] = receipt, each

    def look(self, reader: BundleReader) -> None:
        """Find the receipts that a bundle needs. This takes a pass of its own, because they must come before its turns.

        Raises: InvalidBundle, InvalidArgument.
        """
        if reader.header.device is not None:
            raise InvalidArgument(f"{reader.name} is of the log of a device, which writes that anew when it syncs")
        for kind, value in reader.parts():
            for record in from_page(value, reader.name) if kind is BundleKind.PAGE else ():
                self._look_at(record)

    def write(self, reader: BundleReader, file: BinaryIO) -> BundleRewritten:
        """Write the bundle after ``look``. Raises: InvalidBundle."""
        # The signature of the old bundle covers what is gone now.
        writer = BundleWriter(file, replace(reader.header, signed=False))
        for receipt in self._needed.values():
            writer.receipt(encode_receipt(receipt))
        names: list[SentName] = []
        records: list[SentRecord] = []
        signatures: list[SentSignature] = []
        erased = 0
        for kind, value in reader.parts():
            if kind is BundleKind.RECEIPT and read_sent_receipt(value, reader.name).id not in self._needed:
                writer.receipt(value)
            elif kind is BundleKind.PAGE:
                page = from_page(value, reader.name)
                rewritten = [self._without(record, reader.name) for record in page]
                # ``is``: ``_without`` returns the record itself unless it took something.
                erased += sum(now is not before for now, before in zip(rewritten, page, strict=True))
                writer.page(TurnColumns.of(rewritten), value.cursor)
            elif kind is BundleKind.NAMES:
                names = [each for each in value if each.turn not in self._gone]
                # The record of a conversation is found by its name, which goes with the name.
                self._gone |= {stored_name(each.name) for each in value if each.turn in self._gone}
            elif kind is BundleKind.RECORDS:
                kept = [each for each in unpack_times(value) if stored_name(each.subject) not in self._gone]
                records = pack_times(kept)
            elif kind is BundleKind.SIGNATURES:
                signatures += [each for each in value if not self._lost_meta(each.turn)]
        size = writer.end(names, records, signatures)
        return BundleRewritten(reader.name, writer.turns, erased, writer.receipts, len(names), size)

    def _look_at(self, record: TurnRecord) -> None:
        """Note the receipt that a turn needs, and whether the names at this turn go.

        A name goes with the last turn of an erased thread or branch. It also goes if that turn alone was erased and no
        turn that leads to it has words left. One pass is enough: parents come before children.
        """
        found = self._find(record)
        if found is not None:
            self._needed[found[0].id] = found[0]
        is_whole = (record.id, record.seal.hex()) in self._whole
        has_words = record.payload is not None and found is None
        if not has_words and self._silent.issuperset(record.parents):
            self._silent.add(record.id)
            is_gone = is_whole or not self._gone.isdisjoint(record.parents)
        else:
            is_gone = is_whole and found is not None
        if is_gone:
            self._gone.add(record.id)

    def _lost_meta(self, turn: str) -> bool:
        """Whether a receipt takes the meta of a turn, and with it its signatures."""
        receipt, _ = self._listed.get(TurnId(turn), (None, None))
        return receipt is not None and receipt.meta

    def _find(self, record: TurnRecord) -> tuple[Receipt, ErasedTurn] | None:
        """The receipt that erases something that the bundle still has of a turn, and its entry; else None."""
        receipt, listed = self._listed.get(record.id, (None, None))
        if receipt is None or listed is None or listed.seal != record.seal.hex():
            return None
        return None if record.left is not None or (record.erased and not receipt.meta) else (receipt, listed)

    def _without(self, record: TurnRecord, file: str) -> TurnRecord:
        found = self._find(record)
        if found is None:
            return record
        receipt, listed = found
        gone = record._replace(payload=None, erased=receipt.id)
        if not receipt.meta:
            return gone
        row = read_row(record, file)
        key = None if row.key is None else hash_key(row.key)
        return gone._replace(
            # An overlay's attributes say what it hides, and an erased overlay goes on hiding (rule R34, overlays).
            attributes=record.attributes if record.type == OVERLAY else None,
            inherited=None,
            system=None,
            app=None,
            head=None,
            left=WireLeft(bytes.fromhex(listed.digest), key, row.supersedes),
        )
