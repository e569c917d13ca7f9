"""Signatures: compute what one covers, and store those made here or received."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from headish.bundles.records import SentSignature
from headish.database.query import Connection
from headish.history.reading.order import segments_to
from headish.rows.keys import turns_by_ids
from headish.rows.signatures import StoredSignature, add_signatures, signatures_of
from headish.rows.threads.ranges import seals_of_range
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.receipts import read_receipt
from headish.signing.sshsig import THREAD, read_signature, signed_message
from headish.values.ids import TurnId
from headish.values.limits import SIGNATURES_LIMIT


def message_of(connection: Connection, space: int, kind: str, stored: StoredTurn) -> bytes:
    """The bytes that a signature covers: the turn's own seal, or for the kind ``THREAD`` the seals of its whole thread
    in walk order.

    Cost: none for a turn; for a thread one statement, and one for each range of its walk.
    """
    return signed_message(kind, seals_of(connection, space, stored) if kind == THREAD else [stored.seal])


def seals_of(connection: Connection, space: int, stored: StoredTurn) -> list[bytes]:
    """The seals of the turns that lead to ``stored``, in walk order. Cost: as ``message_of`` for a thread."""
    segments = segments_to(connection, space, stored.place)
    return [seal for segment in segments for seal in seals_of_range(connection, space, segment)]


def store_signatures(connection: Connection, space: int, sent: Sequence[SentSignature], remote: bytes = b"") -> int:
    """Store the signatures that are not stored yet, and return how many. The caller has locked the space.

    Skips signatures of turns that are missing, or whose meta was erased (their signatures were erased with it). Also
    skips further ones of a turn that has ``SIGNATURES_LIMIT`` of the same ``remote`` (see ``StoredSignature``): the
    limit counts per remote, so that no remote can use up the room of the others or of this store.
    Cost: two statements, and two for each 64 turns.
    """
    ids = [TurnId(each.turn) for each in sent]
    turns = turns_by_ids(connection, space, ids)
    bare = without_meta(connection, space, turns.values())
    present = signatures_of(connection, space, turns)
    stored = {(each.turn, each.kind, each.data) for each in present}
    counts = Counter(each.turn for each in present if each.remote == remote)
    new: list[StoredSignature] = []
    for turn, each in zip(ids, sent, strict=True):
        entry = turn, each.kind, each.data
        if turn in turns and turn not in bare and entry not in stored and counts[turn] < SIGNATURES_LIMIT:
            stored.add(entry)
            counts[turn] += 1
            key = read_signature(each.data).fingerprint
            new.append(StoredSignature(0, turn, each.kind, key, each.data, each.milliseconds, remote, b""))
    add_signatures(connection, space, new)
    return len(new)


def as_sent(stored: StoredSignature) -> SentSignature:
    """The signature in the form that is sent to another store."""
    return SentSignature(stored.turn, stored.kind, stored.data, stored.milliseconds)


def without_meta(connection: Connection, space: int, turns: Collection[StoredTurn]) -> set[TurnId]:
    """The ids of those turns whose erasure removed their meta. Cost: one statement for each erasure."""
    numbers = {each.erased for each in turns if each.erased is not None}
    receipts = {number: read_receipt(connection, space, number) for number in numbers}
    bare = {number for number, receipt in receipts.items() if receipt is not None and receipt.meta}
    return {each.id for each in turns if each.erased in bare}
