"""Verbs that sign turns, and that report who signed them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import partial

from headish.bundles.records import SentSignature
from headish.database.query import Connection
from headish.errors import SigningFailed, TurnErased
from headish.history.signatures import message_of, seals_of, store_signatures, without_meta
from headish.rows.keys import turns_by_ids
from headish.rows.signatures import StoredSignature, all_signatures, signatures_of
from headish.rows.turns import StoredTurn
from headish.signing.judging import BAD, Judgement, TrustLists, judge, read_trust
from headish.signing.keygen import sign_message
from headish.signing.sshsig import THREAD, TURN, read_signature, signed_message
from headish.store.space import Space
from headish.values.checks.doors import PATH, door
from headish.values.ids import TurnId, known_id
from headish.values.limits import SIGNATURES_LIMIT
from headish.values.results.reports import JudgedSignature, Signed
from headish.values.times import from_milliseconds

_AT_ONCE = 64
"""How many signatures are read in one transaction."""


@door(key=PATH)
def sign(
    space: Space, headish: str = "@", *, thread: bool = False, key: str | os.PathLike[str] | None = None
) -> Signed:
    """Sign a turn with ``ssh-keygen``; with ``thread``, all that leads to it.

    A signature covers the turn's own record and, by its digest, all that was *said* before it. Only ``thread`` covers
    the options and meta of the turns before it. ``key`` is a private key, or the public key of one that an agent or a
    hardware key holds; else ``HEADISH_SIGNING_KEY`` names it. ``ssh-keygen`` may ask for a passphrase at the terminal.
    The signature travels with its turn, and goes with ``erase(meta=True)``.
    Cost: two transactions; the first one reads a thread's seals.
    Raises: SigningFailed; TurnErased for a turn that lost its meta.
    """
    kind, number = THREAD if thread else TURN, space._number

    def find(connection: Connection, stored: StoredTurn) -> tuple[StoredTurn, list[bytes]]:
        if stored.erased is not None and without_meta(connection, number, [stored]):
            raise TurnErased(stored.id, stored.erased, "erased with its meta")
        return stored, seals_of(connection, number, stored) if thread else [stored.seal]

    turn, seals = space._read_at(headish, find)
    # Outside of a transaction: a person may have to touch a key, and writers would wait for it.
    data = sign_message(signed_message(kind, seals), key)
    signature = SentSignature(turn.id, kind, data, time.time_ns() // 1_000_000)

    def write(connection: Connection) -> StoredSignature | None:
        store_signatures(connection, number, [signature])
        of_turn = signatures_of(connection, number, [turn.id])
        return next((each for each in of_turn if (each.kind, each.data) == (kind, data)), None)

    stored_signature = space._write(write)
    if stored_signature is None:
        raise SigningFailed(f"the turn was erased, or has {SIGNATURES_LIMIT} signatures from here, and takes no more")
    signed_at = from_milliseconds(stored_signature.milliseconds)
    return Signed(turn.id, kind, read_signature(data).fingerprint, signed_at, len(seals))


@door(signers=PATH, revoked=PATH)
def signatures(
    space: Space, ids: Iterable[TurnId] | None = None, *, signers: str | os.PathLike[str] | None = None,
    revoked: str | os.PathLike[str] | None = None,
) -> list[JudgedSignature]:  # fmt: skip
    """The signatures of turns, or of all turns of the space, each with what it proves; in the order in which they came.

    ``signers`` is a file of allowed signers, as ``ssh-keygen`` and git know it (else ``HEADISH_SIGNERS``): without one
    every good signature is by an unknown key. A key must be valid when the signature was made, as the signer says.
    ``revoked`` is a KRL or a list of public keys (else ``HEADISH_REVOKED_KEYS``).
    Cost: one statement for each 64 turns, those of a thread for each signature of one, and up to four runs of
    ``ssh-keygen`` for each that this process has not judged before.
    Raises: SigningFailed where ``ssh-keygen`` cannot be run or a list cannot be read; InvalidArgument.
    """
    listed, number = None if ids is None else [known_id(each, "signatures") for each in ids], space._number
    trust = read_trust(signers, revoked)

    def find(connection: Connection) -> list[StoredSignature]:
        if listed is None:
            return list(all_signatures(connection, number))
        return signatures_of(connection, number, listed)

    found = space._read(find)
    judged: list[JudgedSignature] = []
    for start in range(0, len(found), _AT_ONCE):
        part = found[start : start + _AT_ONCE]
        messages = space._read(partial(_messages, space=number, signatures=part))
        # Outside of the transaction: each may take several runs of ``ssh-keygen``.
        judged += [_judged(each, message, trust) for each, message in zip(part, messages, strict=True)]
    return judged


def _messages(connection: Connection, space: int, signatures: Sequence[StoredSignature]) -> list[bytes | None]:
    """The message that each signature covers; None if its turn is not here."""
    turns = turns_by_ids(connection, space, [each.turn for each in signatures])
    return [
        None if (turn := turns.get(each.turn)) is None else message_of(connection, space, each.kind, turn)
        for each in signatures
    ]


def _judged(each: StoredSignature, message: bytes | None, trust: TrustLists) -> JudgedSignature:
    judgement = Judgement(BAD, reason="its turn is not here")
    if message is not None:
        judgement = judge(each.data, message, each.milliseconds, trust)
    return JudgedSignature(each.turn, each.kind, each.key, from_milliseconds(each.milliseconds), *judgement)
