"""Fetch and store answers that are incomplete here and that their provider still has.

Nothing here runs by itself: opening a store never reaches the network.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import CallError, CallRefused, CorruptRecord, HeadishError, InputError
from headish.history.definitions import find_pointer
from headish.history.reading.decode import complete_turn
from headish.history.writing.append import Appended
from headish.rows.threads import listings
from headish.rows.turns import turn_by_id
from headish.store.answers.journal import About
from headish.store.asking.origins import has_arrived
from headish.store.asking.reply import append_reply, with_own_names
from headish.store.reading.lists import heads
from headish.store.space import Space
from headish.values.ids import Mint
from headish.values.names import check_name
from headish.values.results.plain import PlainResult
from headish.values.turns import Turn

RUNNING = frozenset(("queued", "in_progress"))
"""States of an answer that is still being made."""
POLL_SECONDS = 2.0


class Fetched(PlainResult, frozen=True):
    """The result of a fetch: the turns that were stored, the incomplete ones whose answers are still being made, and
    those that could not be fetched, each with the reason."""

    turns: tuple[Turn, ...] = ()
    running: tuple[Turn, ...] = ()
    failed: tuple[tuple[Turn, HeadishError], ...] = ()


def fetch_all(space: Space, wait_seconds: float) -> Fetched:
    """Fetch the space's incomplete answers from their providers. Ask for answers that are still being made again and
    again, until ``wait_seconds`` have passed."""
    end = time.monotonic() + wait_seconds
    fetched, waiting = Fetched(), list(kept_elsewhere(space))
    while True:
        running: list[Turn] = []
        for turn in waiting:
            fetched = _fetch(space, turn, fetched, running)
        seconds_left = end - time.monotonic()
        if not running or seconds_left <= 0:
            return replace(fetched, running=tuple(running))
        waiting = running
        time.sleep(min(POLL_SECONDS, seconds_left))


def kept_elsewhere(space: Space) -> Iterator[Turn]:
    """The incomplete answers that nothing continues, and that their provider may keep under an id.

    Answers that came from elsewhere are left out: they may name anybody's server, which would then get a key from here.
    """
    from headish.calls.remote import KEEPING

    for turn in heads(space):
        reply = turn.meta.reply
        is_kept = reply.get("provider") in KEEPING and reply.get("incomplete") and reply.get("response_id")
        if is_kept and not has_arrived(space, turn.id) and not space._read(partial(_is_known, space=space, turn=turn)):
            yield turn


def _fetch(space: Space, turn: Turn, fetched: Fetched, running: list[Turn]) -> Fetched:
    try:
        response = _ask(space, turn)
        status = response.get("status")
        if isinstance(status, str) and status in RUNNING:
            running.append(turn)
            return fetched
        completed = _store(space, turn, response)
    except (CallError, InputError, CorruptRecord) as error:
        # The server is busy, which says nothing about the answer: it may still be there at the next look.
        if isinstance(error, CallRefused) and error.transient:
            running.append(turn)
            return fetched
        return replace(fetched, failed=(*fetched.failed, (turn, error)))
    return fetched if completed is None else replace(fetched, turns=(*fetched.turns, completed))


def _ask(space: Space, turn: Turn) -> Mapping[str, Any]:
    """Ask the provider for an answer as it is now, at the server and with the key of the first request."""
    from headish.calls.remote import fetch_answer

    reply = turn.meta.reply
    base_url, key_env, headers, cloud = reply.get("base_url"), reply.get("key_env"), {}, None
    if "ptr" in reply:
        name = check_name(reply["ptr"], "provider pointer")
        pointer = space._read_by(find_pointer, name)
        base_url, key_env, headers = pointer.base_url, key_env or pointer.key_env, pointer.headers
        cloud = pointer.cloud
    return fetch_answer(
        str(reply["provider"]), str(reply["response_id"]),
        base_url=base_url, key_env=key_env, headers=headers, cloud=cloud,
    )  # fmt: skip


def _store(space: Space, turn: Turn, response: Mapping[str, Any]) -> Turn | None:
    """Store a whole answer beside the incomplete one, and move the bookmark over; None if another process was
    quicker."""
    from headish.store.answers.reading import fitting_draft, read_response

    about = _about(turn)
    reply = with_own_names(space, about, read_response(about, response))
    draft = fitting_draft(about, reply, space._payload_limit_bytes)

    def work(connection: Connection, mint: Mint) -> Appended | None:
        # Looked at again under the lock: another process may have fetched it meanwhile.
        if _is_known(connection, space, turn):
            return None
        return append_reply(space, about, draft, connection, mint).built[0]

    appended = space._store(work)
    return None if appended is None else space._as_turn(appended)


def _about(turn: Turn) -> About:
    reply = turn.meta.reply
    return About(
        provider=str(reply["provider"]),
        turns=turn.meta.continues,
        bookmark=turn.meta.bookmark,
        model=reply.get("model"),
        ptr=reply.get("ptr"),
        replaces=turn.id,
        base_url=reply.get("base_url"),
        key_env=reply.get("key_env"),
        params=reply.get("params") or {},
    )


def _is_known(connection: Connection, space: Space, turn: Turn) -> bool:
    """Whether the whole answer is stored already, beside the incomplete one."""
    parent = turn_by_id(connection, space._number, turn.meta.continues[0])
    if parent is None:
        return False
    for child in listings.children(connection, space._number, parent.place):
        reply = complete_turn(connection, space._number, child, space._options_at).meta.reply
        if reply.get("response_id") == turn.meta.reply["response_id"] and not reply.get("incomplete"):
            return True
    return False
