"""Collect garbage: remove rows that nothing refers to, and remove erased bytes from the disk."""

from __future__ import annotations

import time
from functools import partial

from msgspec.structs import replace

from headish.database.backend import Backend
from headish.database.query import Connection
from headish.history.tombstones import ErasureGrounds, begin_receipt
from headish.rows.counters import lock_counter
from headish.rows.spaces import space_numbers
from headish.rows.streams import count_ended, forget_ended
from headish.rows.upkeep.erasures import drop_payloads, unnamed_payloads
from headish.rows.upkeep.receipts import add_receipt, is_scrubbed, last_receipt, last_seq
from headish.rows.upkeep.whole import is_restoring
from headish.values.ids import Mint
from headish.values.results.erasures import SCRUB

KEPT_MILLISECONDS = 24 * 60 * 60 * 1000
"""How long the outcome of an ended stream is kept, so that a repeated ``finish`` returns the same turn."""


def collect(connection: Connection, space: int, *, dry_run: bool) -> tuple[int, int, int]:
    """Remove payloads that no turn or definition refers to, and streams that ended a day ago. Returns the number of
    payloads, their bytes, and the number of streams. The space is locked.

    Removes nothing while the space is being restored: its payloads arrive before the turns that refer to them.
    Cost: reads the payloads and turns of the space once.
    """
    if is_restoring(connection, space):
        return 0, 0, 0
    payloads = unnamed_payloads(connection, space)
    before = time.time_ns() // 1_000_000 - KEPT_MILLISECONDS
    ended = count_ended(connection, space, before)
    if not dry_run:
        drop_payloads(connection, space, [hash for hash, _ in payloads])
        forget_ended(connection, space, before)
    return len(payloads), sum(size for _, size in payloads), ended


def scrub(backend: Backend, mint: Mint, *, forced: bool = False) -> str:
    """Remove erased content from the disk, and record that in every space. Returns an empty text, or the reason why it
    was not possible now. Does nothing if nothing was erased since the last time, unless ``forced``.
    """
    waiting = backend.read(_unscrubbed)
    if not waiting and not forced:
        return ""
    why = backend.scrub()
    if why:
        return why
    # Each space with the number that was read before the scrub. If the process dies here, the next run scrubs again.
    for space, upto in waiting:
        backend.within(space).write(partial(_note_locked, space=space, upto=upto, mint=mint))
    return ""


def _unscrubbed(connection: Connection) -> list[tuple[int, int]]:
    """The spaces whose erased content may still be on the disk, each with the number of its last receipt."""
    spaces = [(space, connection.within(space)) for space, _ in space_numbers(connection)]
    return [
        (space, last_receipt(inside, space)[0])
        for space, inside in spaces
        if not is_restoring(inside, space) and not is_scrubbed(inside, space)
    ]


def _note_locked(connection: Connection, space: int, upto: int, mint: Mint) -> None:
    lock_counter(connection, space)
    note_scrubbed(connection, space, upto, mint)


def note_scrubbed(connection: Connection, space: int, upto: int, mint: Mint) -> None:
    """Write a receipt that everything erased up to receipt ``upto`` is off the disk; none if there is a later one."""
    # An erasure that committed after the scrub began may still be in the bytes that it left.
    if last_receipt(connection, space)[0] != upto:
        return
    begun, before = begin_receipt(connection, space, SCRUB, ErasureGrounds(), mint)
    # The counter of an erased space starts at 0 again, but a reader of its feed goes on from the last receipt.
    receipt = replace(begun, seq=max(begun.seq, last_seq(connection, space)), covers=upto)
    add_receipt(connection, space, receipt, before)
