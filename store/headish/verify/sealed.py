"""Verify the rows with a seal of their own: calls that passed the gateway, what is known of other places, and
signatures.

This does not judge the signatures themselves: ``ssh-keygen`` does (``store.signatures``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import astuple

from headish.content.hashes import seal_arrival, seal_notice, seal_remote, seal_remote_bookmark, seal_signature
from headish.database.query import Connection, Row
from headish.errors import InvalidContent
from headish.history.signatures import without_meta
from headish.rows.calls import StoredCall, calls_page
from headish.rows.counters import read_counter
from headish.rows.elsewhere.arrivals import StoredArrival, all_arrivals
from headish.rows.elsewhere.notices import all_notices
from headish.rows.elsewhere.remotes import list_remote_bookmarks, list_remotes
from headish.rows.keys import known_ids, turns_by_ids
from headish.rows.signatures import StoredSignature, all_signatures
from headish.rows.turns import StoredTurn
from headish.signing.sshsig import THREAD, TURN, read_signature
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.results.calls import decode_facts
from headish.values.results.reports import Problem

PAGE_CALLS = PAGE_SIGNATURES = 500
_KINDS: tuple[Any, ...] = (
    str, int, bytes, bytes | None, bytes | None, str | None, str | None, bytes | None, bytes
)  # fmt: skip


def check_calls(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the calls that were altered, or that name turns which are missing. Cost: three statements for 64 calls."""
    page, after = None, ""
    while page is None or len(page) == PAGE_CALLS:
        page = calls_page(connection, space, after, PAGE_CALLS)
        named = [TurnId(each) for row in page for each in (row[5], row[6]) if isinstance(each, str)]
        known = known_ids(connection, space, named)
        for row in page:
            yield from (Problem(f"call {row[0]}", what) for what in _call_problems(row, known))
        after = page[-1][0] if page else ""


def _call_problems(row: Row, known: set[TurnId]) -> Iterator[str]:
    *values, seal = row
    if not all(isinstance(value, kind) for value, kind in zip(values, _KINDS, strict=True)):
        return  # reported by check_types
    call = StoredCall(*values)
    # The seal is the same for an empty column and one without a value; headish writes only the latter.
    if call.seal != seal or b"" in (call.session, call.lane, call.response):
        yield "it was altered: its seal disagrees"
    for what, turn in (("tip", call.tip), ("answer", call.answer)):
        if turn is not None and turn not in known:
            yield f"its {what} {turn} is missing"
    try:
        decode_facts(call.data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        yield "what its row says does not decode"


def check_arrivals(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the problems of the rows that say where turns came from. Cost: one statement for each 500 of them."""
    end = 0
    for arrival in all_arrivals(connection, space):
        for what in _arrival_problems(arrival, end):
            yield Problem(f"arrival {arrival.first}", what)
        end = max(end, arrival.last)
    last = read_counter(connection, space).seq
    if end > last:
        yield Problem("space", f"turns arrived up to {end}, and its last is {last}")


def _arrival_problems(arrival: StoredArrival, end: int) -> Iterator[str]:
    if arrival.first <= end or arrival.last < arrival.first:
        yield "its commit numbers are those of another one, or none"
    if seal_arrival(*astuple(arrival)[:-1]) != arrival.seal:
        yield "its row was altered: its seal disagrees"


def check_remotes(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the remotes, names of their devices and notices of erasures that were altered. Cost: one statement, and one
    for each thousand names."""
    for remote in list_remotes(connection, space):
        if seal_remote(*remote[:-1]) != remote.seal:
            yield Problem(f"remote {stored_name(remote.name)}", "its row was altered: its seal disagrees")
    for each in list_remote_bookmarks(connection, space):
        if seal_remote_bookmark(*each[:-1]) != each.seal:
            subject = f"bookmark {stored_name(each.device)}/{stored_name(each.name)}"
            yield Problem(subject, "its row was altered: its seal disagrees")
    for notice in all_notices(connection, space):
        if seal_notice(*notice[:-1]) != notice.seal:
            yield Problem(f"erasure {notice.id} of another store", "its row was altered: its seal disagrees")


def check_signatures(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield the problems of the rows of signatures. Cost: one statement for each 500 of them, and one for 64 turns."""
    rows = list(all_signatures(connection, space))
    for start in range(0, len(rows), PAGE_SIGNATURES):
        part = rows[start : start + PAGE_SIGNATURES]
        turns = turns_by_ids(connection, space, [each.turn for each in part])
        bare = without_meta(connection, space, turns.values())
        for each in part:
            for what in _signature_problems(each, turns, bare):
                yield Problem(f"signature {each.number} of {each.turn}", what)


def _signature_problems(each: StoredSignature, turns: dict[TurnId, StoredTurn], bare: set[TurnId]) -> Iterator[str]:
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
