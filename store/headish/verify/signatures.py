"""Verify the rows of signatures: each is as it was written, and belongs to a turn that still has its whole record.

This does not judge the signatures themselves: ``ssh-keygen`` does (``store.signatures``).
"""

from __future__ import annotations

from collections.abc import Iterator

from headish.content.hashes import seal_signature
from headish.database.query import Connection
from headish.errors import InvalidContent
from headish.history.signatures import without_meta
from headish.rows.keys import turns_by_ids
from headish.rows.signatures import StoredSignature, all_signatures
from headish.rows.turns import StoredTurn
from headish.signing.sshsig import THREAD, TURN, read_signature
from headish.values.ids import TurnId
from headish.values.results.reports import Problem

_AT_ONCE = 500


def check_signatures(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the problems of the rows of signatures. Cost: one statement for each 500 of them, and one for 64 turns."""
    rows = list(all_signatures(connection, space))
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        turns = turns_by_ids(connection, space, [each.turn for each in part])
        bare = without_meta(connection, space, turns.values())
        for each in part:
            for what in _problems(each, turns, bare):
                yield Problem(f"signature {each.number} of {each.turn}", what)


def _problems(each: StoredSignature, turns: dict[TurnId, StoredTurn], bare: set[TurnId]) -> Iterator[str]:
    if seal_signature(*each[:-1]) != each.seal:
        yield "its row was altered: its seal disagrees"
        return
    if each.turn not in turns:
        yield "its turn is missing"
    elif each.turn in bare:
        yield "its turn lost its meta, and the signature is still there"
    try:
        fingerprint = read_signature(each.data).fingerprint
    except InvalidContent as error:
        yield error.reason
        return
    if fingerprint != each.key or each.kind not in (TURN, THREAD):
        yield "it is by another key, or of no turn"
