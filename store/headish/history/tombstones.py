"""Begin the receipt of an erasure; copy tombstones (what an erasure leaves of a turn) with their receipts into another
space."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from headish.content.receipts import rest_of
from headish.database.query import Connection
from headish.errors import CorruptTurn
from headish.rows.counters import take_change
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.receipts import add_receipt, last_receipt
from headish.values.ids import Mint, TurnId
from headish.values.results.erasures import ARRIVED, ErasedTurn, Receipt


class ErasureGrounds(NamedTuple):
    """Why and by whom something was erased, and the places that no erasure reaches. All of it is in the receipt."""

    reason: str = ""
    by: str | None = None
    not_reached: tuple[str, ...] = ()


def begin_receipt(
    connection: Connection, space: int, scope: str, said: ErasureGrounds, mint: Mint
) -> tuple[Receipt, bytes]:
    """Return a receipt for an erasure that begins now, and the hash of the receipt before it. Cost: two statements."""
    seq, change = take_change(connection, space)
    number, before, _ = last_receipt(connection, space)
    receipt = Receipt(
        number=number + 1, id=mint(), time=now(), seq=seq, change=change, scope=scope, reason=said.reason, by=said.by
    )
    return receipt, before


def as_erased(stored: StoredTurn, *, meta: bool) -> ErasedTurn:
    """The entry of an erased turn in its receipt. ``stored`` is the row as the erasure leaves it; ``meta`` tells
    whether the meta was erased, too."""
    rest = None
    if meta:
        rest = rest_of(stored.role, stored.type, stored.content_type, stored.cache, stored.key, stored.supersedes)
    return ErasedTurn(stored.id, stored.hash.hex(), stored.digest.hex(), stored.seal.hex(), rest)


K = TypeVar("K", bound=Hashable)


class Tombstones(Generic[K]):
    """Verify the erased turns of a copy, and list them in receipts of the target space.

    ``find`` looks up a receipt of the source by the key that its turns carry: its number there, or its id.
    """

    def __init__(self, target: tuple[Connection, int], mint: Mint, find: Callable[[K], Receipt | None]) -> None:
        self._target, self._mint, self._find = target, mint, find
        self._receipts: dict[K, tuple[Receipt, dict[TurnId, ErasedTurn]]] = {}
        self._numbers: dict[K, int] = {}
        self._arrived: dict[K, list[ErasedTurn]] = {}
        self._last: int | None = None

    def is_proven(self, stored: StoredTurn, erased: K) -> bool:
        """Compare a turn with its receipt. True if nothing else is left to verify it by, because its meta was erased.

        Raises: CorruptTurn if the receipt does not list it, or lists it differently.
        """
        receipt, listed = self._receipt(stored, erased)
        if listed.get(stored.id) != as_erased(stored, meta=receipt.meta):
            raise CorruptTurn(stored.id, "it is erased, and its receipt does not say so")
        return receipt.meta

    def take(self, stored: StoredTurn, erased: K) -> StoredTurn:
        """Return the turn to store, with the number of the target's receipt that will list it."""
        # Turns are written before their receipts, so the receipts' numbers are assigned now.
        if self._last is None:
            self._last = last_receipt(*self._target)[0]
        if erased not in self._numbers:
            self._last += 1
            self._numbers[erased] = self._last
        receipt, _ = self._receipt(stored, erased)
        self._arrived.setdefault(erased, []).append(as_erased(stored, meta=receipt.meta))
        return replace(stored, erased=self._numbers[erased])

    def write_receipts(self) -> None:
        """Write the receipts, one for each erasure of the source that erased a turn of the copy. Call it after the last
        ``take``."""
        for erased, arrived in self._arrived.items():
            receipt, _ = self._receipts[erased]
            # Begun one by one: a receipt covers the hash of the one before it, and that was written just now.
            grounds = ErasureGrounds(receipt.reason, receipt.by)
            begun, before = begin_receipt(*self._target, ARRIVED, grounds, self._mint)
            filled = replace(begun, number=self._numbers[erased], meta=receipt.meta, turns=tuple(arrived))
            add_receipt(*self._target, filled, before)

    def _receipt(self, stored: StoredTurn, erased: K) -> tuple[Receipt, dict[TurnId, ErasedTurn]]:
        if erased not in self._receipts:
            receipt = self._find(erased)
            if receipt is None:
                raise CorruptTurn(stored.id, "it is erased, and no receipt says so")
            self._receipts[erased] = receipt, {each.id: each for each in receipt.turns}
        return self._receipts[erased]


def now() -> datetime:
    """The current time to the millisecond, as in receipts."""
    moment = datetime.now(UTC)
    # Databases store milliseconds, and a receipt is hashed: what is written must equal what is read back.
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
