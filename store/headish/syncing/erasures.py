"""Erasures that were made in other stores: apply them, keep them until a person confirms, or only note them.

Anybody who can erase at a distance can destroy. So headish erases what the user's own devices erased, and waits for
confirmation if the receipt comes from a place that anybody can write to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from headish.content.receipts import decode_receipt, encode_receipt
from headish.database.query import Connection
from headish.errors import InvalidBundle, UnknownErasure
from headish.history.erasing.choosing import Wish, barrable, names_without_turns
from headish.history.erasing.erase import erase
from headish.history.erasing.names import forget_name
from headish.history.tombstones import ErasureGrounds, begin_receipt
from headish.rows.elsewhere.arrivals import PLAIN, ArrivalOrigin
from headish.rows.elsewhere.notices import (
    APPLIED,
    IGNORED,
    PENDING,
    Notice,
    all_notices,
    count_notices,
    find_state,
    write_notice,
)
from headish.rows.keys import turns_by_ids
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.erasures import bar, barred, count_gone, places_saying
from headish.rows.upkeep.receipts import add_receipt, all_receipts
from headish.syncing.bundling.arriving import SyncTarget, write_locked
from headish.values.ids import KeptIds, Mint, TurnId
from headish.values.limits import PENDING_LIMIT, PENDING_LIMIT_BYTES
from headish.values.names import stored_name
from headish.values.results.erasures import ARRIVED, BOOKMARK, SCOPES, SCRUB, SPACE, Barred, Receipt

THREAD, BRANCH = SCOPES[1:]
STATES = {"apply": APPLIED, "ask": PENDING, "ignore": IGNORED}
"""The state that each setting of a remote gives to erasures from there."""
NOTICES_AT_ONCE = 100
"""The number of waiting or ignored erasures that one transaction notes: other writers wait for it."""


class ErasuresThere:
    """The erasures of the devices of a remote, while a pull reads their logs. ``count`` is the number of turns erased
    here."""

    def __init__(self, target: SyncTarget, policy: str) -> None:
        self._target, self._state = target, STATES[policy]
        self.count = 0
        self._origin = ArrivalOrigin(PLAIN)
        self._receipts: dict[TurnId, Receipt] = {}
        self.erased: dict[TurnId, TurnId] = {}
        self._known: set[str] = set()
        self._own: set[str] = set()
        for notice in target.backend.read(lambda connection: all_notices(connection, target.space)):
            self._note(decode_receipt(notice.receipt, 0), notice.state)
        self._own |= target.backend.read(lambda connection: set(ids_of_erasures(connection, target.space)))

    def come_from(self, origin: ArrivalOrigin) -> None:
        """Set the sender of the next receipts."""
        self._origin = origin

    def take(self, receipts: Sequence[Receipt]) -> None:
        """Take in the receipts of a bundle, each once.

        Each receipt that erases here has a transaction of its own; others share one for ``NOTICES_AT_ONCE``.
        Raises: InvalidBundle if no more may wait for confirmation.
        """
        new: dict[TurnId, Receipt] = {}
        for receipt in receipts:
            if receipt.id in self._own or receipt.id in self._known or not _erases(receipt):
                self._receipts.setdefault(receipt.id, receipt)
            else:
                new.setdefault(receipt.id, receipt)
        if self._state == APPLIED:
            self._apply(new.values())
        else:
            self._keep([*new.values()])

    def _apply(self, new: Iterable[Receipt]) -> None:
        for receipt in new:
            work = partial(self._apply_one, receipt=receipt, kept=KeptIds(self._target.mint))
            self.count += write_locked(self._target, work)
            self._note(receipt, APPLIED)

    def _apply_one(self, connection: Connection, receipt: Receipt, kept: KeptIds) -> int:
        kept.rewind()  # the transaction may run again, and must give the same ids then
        space = self._target.space
        self._write(connection, receipt, encode_receipt(receipt))
        return apply_receipt(connection, space, receipt, self._target.backend.not_reached, kept)

    def _keep(self, new: Sequence[Receipt]) -> None:
        for start in range(0, len(new), NOTICES_AT_ONCE):
            part = new[start : start + NOTICES_AT_ONCE]
            refused = write_locked(self._target, partial(self._keep_part, receipts=part))
            for receipt in part:
                if receipt is refused:
                    raise self._is_full()
                self._note(receipt, self._state)

    def _keep_part(self, connection: Connection, receipts: Sequence[Receipt]) -> Receipt | None:
        """Note erasures while there is room; return the first one that should wait but has no room, else None.

        Cost: one statement, one for each that is kept, and one for each that exceeds the first half of the room.
        """
        count, used = count_notices(connection, self._target.space, self._state)
        for receipt in receipts:
            data = encode_receipt(receipt)
            if self._has_room(connection, receipt, count, used + len(data)):
                self._write(connection, receipt, data)
                count, used = count + 1, used + len(data)
            elif self._state == PENDING:
                return receipt
            # An ignored one without room need not be noted: if it comes again, it changes nothing again.
        return None

    def _write(self, connection: Connection, receipt: Receipt, data: bytes) -> None:
        remote, device = self._origin.remote or b"", self._origin.by or b""
        write_notice(connection, self._target.space, receipt.id, remote, device, data, self._state)

    def _has_room(self, connection: Connection, receipt: Receipt, count: int, used: int) -> bool:
        """Whether one more may be kept beside ``count`` others; ``used`` is the size of all in bytes, with this one.

        Waiting erasures that list no turn here may use half of the room: their turns may arrive later, but made-up
        ones cannot keep out erasures that list a turn.
        """
        if self._state == PENDING and count < PENDING_LIMIT // 2 and used <= PENDING_LIMIT_BYTES // 2:
            return True
        if count >= PENDING_LIMIT or used > PENDING_LIMIT_BYTES:
            return False
        return self._state == IGNORED or bool(_listed_here(connection, self._target.space, receipt))

    def _is_full(self) -> InvalidBundle:
        by, space = stored_name(self._origin.by or self._origin.remote or b""), self._target.space
        pending, _ = self._target.backend.read(lambda connection: count_notices(connection, space, PENDING))
        reason = f"{pending:,} erasures wait here to be confirmed, and no more are taken"
        return InvalidBundle(f"what comes from {by!r}", f"{reason} ('headish erasures --apply' or '--dismiss')")

    def find(self, receipt: TurnId) -> Receipt | None:
        return self._receipts.get(receipt)

    def _note(self, receipt: Receipt, state: str) -> None:
        self._known.add(receipt.id)
        self._receipts[receipt.id] = receipt
        if state == APPLIED:
            self.erased |= {each.id: receipt.id for each in receipt.turns}


def apply_receipt(
    connection: Connection, space: int, receipt: Receipt, not_reached: tuple[str, ...], mint: Mint
) -> int:
    """Erase the turns that a receipt lists if they are here with the same seals, and those that say what it bars; then
    the names of which nothing is left. Bar the hashes that it bars. Returns how many turns were erased.

    Requires the lock of the space. Cost: one statement, and that of an erasure; where the receipt bars what is not
    barred here, it reads the space once more.
    """
    here = _listed_here(connection, space, receipt)
    grounds = ErasureGrounds(receipt.reason, receipt.by, not_reached)
    bars = _new_bars(connection, space, receipt)
    # A turn whose words are gone may still have its meta, and this receipt may take that, too.
    ends = {each.place for each in here if each.erased is None or receipt.meta}
    ends.update(place for place, _ in places_saying(connection, space, bars))
    erased = 0
    if ends:
        wish = Wish(meta=receipt.meta, content=receipt.content or bool(bars))
        effect, _ = erase(connection, space, sorted(ends), wish, grounds, mint)
        erased = len(effect.turns)
    if receipt.scope in (THREAD, BRANCH):
        for name in names_without_turns(connection, space, [each.place for each in here]):
            forget_name(connection, space, name, grounds, mint)
    if more := _new_bars(connection, space, receipt):  # read again: the erasure above has barred some
        _bar(connection, space, grounds, more, mint)
    return erased


def _new_bars(connection: Connection, space: int, receipt: Receipt) -> dict[bytes, int]:
    """The hashes that a receipt bars and that are not barred here, each with the size of its payload."""
    bars = {bytes.fromhex(each.hash): each.size for each in receipt.barred}
    already = barred(connection, space) if bars else {}
    return barrable(connection, space, {hash: size for hash, size in bars.items() if hash not in already})


def _listed_here(connection: Connection, space: int, receipt: Receipt) -> list[StoredTurn]:
    """The turns here that a receipt lists with the same seals. Cost: one statement for each 64.

    The seal must match: a receipt erases the record that its author saw, not another one under the same id.
    """
    seals = {each.id: each.seal for each in receipt.turns}
    same_ids = turns_by_ids(connection, space, seals).values()
    return [each for each in same_ids if each.seal.hex() == seals[each.id]]


def _bar(connection: Connection, space: int, said: ErasureGrounds, bars: dict[bytes, int], mint: Mint) -> None:
    """Bar content that no turn here has, and write a receipt of that: each erasure here has one in the chain."""
    begun, before = begin_receipt(connection, space, ARRIVED, said, mint)
    bar(connection, space, begun.number, bars)
    count_gone(connection, space, bytes=0, bars=len(bars))
    hashes = tuple(Barred(hash.hex(), size) for hash, size in sorted(bars.items()))
    add_receipt(connection, space, replace(begun, content=True, barred=hashes), before)


def pending_notices(connection: Connection, space: int) -> list[tuple[Notice, Receipt]]:
    """The erasures of other stores that wait for confirmation, each with its receipt."""
    pending = (each for each in all_notices(connection, space) if each.state == PENDING)
    return [(each, decode_receipt(each.receipt, 0)) for each in pending]


def apply_pending(target: SyncTarget, ids: Collection[str] | None = None) -> int:
    """Apply the pending erasures, or those with these ids, in one transaction each. Returns how many turns were erased.
    Raises: UnknownErasure."""
    erased = 0
    for notice, receipt in _chosen(target, ids):
        work = partial(_confirm, target=target, notice=notice, receipt=receipt, kept=KeptIds(target.mint))
        erased += write_locked(target, work)
    return erased


def dismiss_pending(target: SyncTarget, ids: Collection[str] | None = None) -> int:
    """Ignore the pending erasures, or those with these ids, in one transaction. Returns how many they were. Raises:
    UnknownErasure."""
    chosen = _chosen(target, ids)

    def work(connection: Connection) -> int:
        return sum(_settle(connection, target.space, notice, IGNORED) for notice, _ in chosen)

    return write_locked(target, work)


def _chosen(target: SyncTarget, ids: Collection[str] | None) -> list[tuple[Notice, Receipt]]:
    pending = target.backend.read(lambda connection: pending_notices(connection, target.space))
    if ids is None:
        return pending
    known, wanted = {notice.id for notice, _ in pending}, set(ids)
    for each in ids:
        if each not in known:
            raise UnknownErasure(each)
    return [each for each in pending if each[0].id in wanted]


def _confirm(connection: Connection, target: SyncTarget, notice: Notice, receipt: Receipt, kept: KeptIds) -> int:
    kept.rewind()
    if not _settle(connection, target.space, notice, APPLIED):
        return 0
    return apply_receipt(connection, target.space, receipt, target.backend.not_reached, kept)


def _settle(connection: Connection, space: int, notice: Notice, state: str) -> bool:
    """Set the state of a pending erasure, unless somebody else has decided meanwhile. Returns whether it was set."""
    if find_state(connection, space, notice.id) != PENDING:
        return False
    write_notice(connection, space, notice.id, notice.remote, notice.device, notice.receipt, state)
    return True


def ids_of_erasures(connection: Connection, space: int) -> list[str]:
    """The ids of this space's receipts whose erasures other stores should apply."""
    listed = (decode_receipt(each.receipt, each.number) for each in all_receipts(connection, space))
    return [each.id for each in listed if _erases(each)]


def made_here(connection: Connection, space: int, said: Collection[str]) -> tuple[str, ...]:
    """Return the erasures made here among those that another store lists.

    The list may have any length and name anything; only those made here matter, and only they are kept.
    """
    listed = {*said}
    if not listed:
        return ()
    return tuple(each for each in ids_of_erasures(connection, space) if each in listed)


def ids_of_applied(connection: Connection, space: int) -> list[str]:
    """The ids of the receipts of other stores that were applied here."""
    return [each.id for each in all_notices(connection, space) if each.state == APPLIED]


def _erases(receipt: Receipt) -> bool:
    # A scrub takes bytes off this store's disk, and a space or a name that is erased here stays elsewhere.
    return receipt.scope not in (SCRUB, SPACE, BOOKMARK) and bool(receipt.turns or receipt.barred)
