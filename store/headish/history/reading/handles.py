"""Handles of turns: the shortest that are unique in the space, and how to describe the candidates of an ambiguous one
(rule R25, handles)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from headish.database.query import Connection
from headish.rows.keys import NearDigests, digests_around, names_with_log, twins_of
from headish.values.handles import HANDLE_LETTERS, HANDLE_MINIMUM, TWIN_DIGITS, letters_of, shared_letters
from headish.values.ids import ID_DIGITS, TurnId
from headish.values.names import stored_name
from headish.values.turns import DOCUMENT, said_at_of

if TYPE_CHECKING:
    from headish.rows.turns import StoredTurn

TWINS_READ = 1000
"""The most turns of one digest that are compared. If there are more, handles show ``MANY_DIGITS`` of the id."""
MANY_DIGITS = 10
WORDS_SHOWN = 40


def make_handles(connection: Connection, space: int, ids: Iterable[TurnId]) -> dict[TurnId, str]:
    """The shortest handle of each turn that is unique in the space now, in the order of the ids. An id that is not
    stored is its own handle.
    Cost: two statements for each 64 ids, and one for each digest that several turns share.
    """
    listed = list(dict.fromkeys(ids))
    around = digests_around(connection, space, listed)
    letters = {turn_id: _letters(each) for turn_id, each in around.items()}
    alone = {turn_id for turn_id, each in around.items() if each.twin is None}
    _avoid_names(connection, space, letters, alone)
    ends = _ends_of_twins(connection, space, {turn_id: around[turn_id] for turn_id in around if turn_id not in alone})
    handles = {each: letters[each] + (f":{ends[each]}" if each in ends else "") for each in letters}
    return {turn_id: handles.get(turn_id, turn_id) for turn_id in listed}


def describe_candidates(connection: Connection, space: int, found: Sequence[StoredTurn]) -> tuple[str, ...]:
    """One line for each turn: its handle, its id, when it was said, its role, its names, and its first words."""
    from headish.rows.threads.names import names_of_turns  # late, as below: listing handles does not need it

    ids = [turn.id for turn in found]
    handles, names = make_handles(connection, space, ids), names_of_turns(connection, space, ids)
    return tuple(
        " ".join([handles[each.id], each.id, *_facts(connection, space, each, names.get(each.id, ()))])
        for each in found
    )


def _facts(connection: Connection, space: int, stored: StoredTurn, names: Iterable[bytes]) -> list[str]:
    from headish.content.excerpts import one_line, words_of_payload
    from headish.history.reading.decode import read_mapping
    from headish.rows.payloads import read_payload_at

    said_at = said_at_of(read_mapping(stored, "system"), stored.id)
    when = said_at.isoformat(" ", "minutes").replace("+00:00", "Z")
    listed = [f"[{', '.join(map(stored_name, names))}]"] if names else []
    payload = None if stored.type == DOCUMENT else read_payload_at(connection, space, stored.place)
    words = one_line(words_of_payload(payload))[:WORDS_SHOWN] if payload is not None else ""
    return [when, stored.role or "-", *listed, *([repr(words)] if words else [])]


def _letters(around: NearDigests) -> str:
    """As many letters of the digest as tell it from its neighbours in sorted order, at least ``HANDLE_MINIMUM``."""
    whole = letters_of(around.digest)[:HANDLE_LETTERS]
    shared = [shared_letters(whole, letters_of(other)) for other in (around.before, around.after) if other is not None]
    return whole[: max(max(shared, default=0) + 1, HANDLE_MINIMUM)]


def _avoid_names(connection: Connection, space: int, letters: dict[TurnId, str], alone: set[TurnId]) -> None:
    """Lengthen the handles that are names of bookmarks: a headish would find the bookmark."""
    waiting = alone
    while waiting:
        taken = names_with_log(connection, space, {letters[turn_id].encode() for turn_id in waiting})
        waiting = {turn_id for turn_id in waiting if letters[turn_id].encode() in taken}
        around = digests_around(connection, space, waiting)
        for turn_id in waiting:
            longer = len(letters[turn_id]) + 1
            letters[turn_id] = letters_of(around[turn_id].digest)[:longer]
            if longer > 2 * HANDLE_LETTERS:  # the whole digest is used up; without this it would loop forever
                return


def _ends_of_twins(connection: Connection, space: int, twins: Mapping[TurnId, NearDigests]) -> dict[TurnId, str]:
    """The end of each id, long enough to tell it from the ids of its twins."""
    groups: dict[bytes, list[str]] = {}
    ends: dict[TurnId, str] = {}
    for turn_id, each in twins.items():
        if each.digest not in groups:
            # One more than the limit, to see whether it was reached.
            ids = twins_of(connection, space, each.digest, TWINS_READ + 1)
            # Reversed, because handles show the end of an id: in sorted order, neighbours share the most digits.
            groups[each.digest] = sorted(other[::-1] for other in ids)
        others = groups[each.digest]
        fewest = TWIN_DIGITS if len(others) <= TWINS_READ else MANY_DIGITS
        ends[turn_id] = turn_id[-min(max(_shared_with(turn_id[::-1], others) + 1, fewest), ID_DIGITS) :]
    return ends


def _shared_with(text: str, others: Sequence[str]) -> int:
    """The length of the longest prefix that ``text`` shares with another text; ``others`` are sorted."""
    place = bisect_left(others, text)
    beside = others[max(place - 1, 0) : place + 2]
    return max((shared_letters(text, other) for other in beside if other != text), default=0)
