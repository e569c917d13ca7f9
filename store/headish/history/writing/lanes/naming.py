"""Name a lane: move its bookmark, and write the record of its conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from headish.content import strictjson
from headish.content.records import read_record
from headish.database.query import Connection
from headish.history.conversations.changing import change_record
from headish.history.conversations.records import ListedConversation
from headish.history.reading.decode import read_mapping
from headish.rows.bookmarks import find_bookmark, set_bookmark
from headish.rows.calls import list_calls_of_lane
from headish.rows.conversations import find_record, record_by_key, records_below_key
from headish.rows.moves import has_log
from headish.rows.turns import StoredTurn
from headish.values.names import new_refusal, stored_name
from headish.values.turns import said_of

LANES_COUNTED = 1000
"""The most lanes of a session that are counted for a name."""
FOLDED = "sub-agent"
"""The tag of conversations that lists fold."""
LAST = "z" * 25
"""Sorts after every id."""


class LaneName(NamedTuple):
    """How to name a lane that is stored for the first time.

    ``names`` are tried in order, plain and with the number of the lane in its session. ``beside`` is the key of the
    main conversation that this lane accompanies; it may be stored later, and the plain name is left to it. ``folds``
    keeps the lane out of lists. ``title`` and ``app`` go into its record; with ``follows`` also the lane before it.
    ``shorter`` are the keys of conversations that it may continue: each of a first message that the client has added
    texts to since.
    """

    key: str
    session_key: str
    names: tuple[str, ...]
    beside: str | None = None
    folds: bool = False
    follows: bool = False
    title: str = ""
    app: Mapping[str, Any] = {}
    shorter: tuple[str, ...] = ()


def grown_lane(connection: Connection, space: int, lane: LaneName) -> LaneName:
    """The lane of the conversation whose first message grew to that of ``lane``; ``lane``, if it is stored itself or
    there is no such conversation. Cost: a statement for each of these keys."""
    keys = (lane.beside or lane.key, *lane.shorter)
    main = next((each for each in keys if record_by_key(connection, space, each.encode()) is not None), keys[0])
    if lane.beside is None:
        return lane._replace(key=main)
    return lane._replace(key=f"{main}:beside", beside=main)


def name_lane(
    connection: Connection, space: int, lane: LaneName, last: StoredTurn, *, is_folded: bool
) -> tuple[str, bool]:
    """Move the bookmark of a lane to its last turn, or set it. Returns its name, and whether lists fold it from now
    on."""
    # By key, not by name: somebody may have renamed or erased the bookmark since.
    lane_record = record_by_key(connection, space, lane.key.encode())
    place = None if lane_record is None else find_bookmark(connection, space, lane_record.subject)
    is_new = lane_record is None or place is None
    name = _free_name(connection, space, lane) if lane_record is None or is_new else stored_name(lane_record.subject)
    encoded = name.encode()
    if place != last.place:
        set_bookmark(connection, space, encoded, last, said_of(read_mapping(last, "system")))
    listed = ListedConversation(encoded, None, last.id)
    if is_new:
        _say_of_new(connection, space, lane, listed)
        return name, lane.folds
    if is_folded and not lane.folds:
        record = find_record(connection, space, encoded)
        tags = () if record is None else read_record(record.data).tags
        change_record(connection, space, listed, {"tags": tuple(each for each in tags if each != FOLDED)}, None)
    return name, is_folded and lane.folds


def _say_of_new(connection: Connection, space: int, lane: LaneName, listed: ListedConversation) -> None:
    before = _lane_before(connection, space, lane) if lane.follows else None
    app = {**lane.app, **({} if before is None else {"before": before})}
    changes = {"key": lane.key, "app": app, "tags": (FOLDED,) if lane.folds else (), "title": lane.title}
    change_record(connection, space, listed, changes, None)


def _free_name(connection: Connection, space: int, lane: LaneName) -> str:
    """A valid name that no bookmark has or had."""
    others = records_below_key(connection, space, lane.session_key.encode(), LANES_COUNTED)
    number = len(others) + 1
    taken = {stored_name(each.subject) for each in others}
    begins = next((each for each in lane.names if each in taken or any(name.startswith(f"{each}/") for name in taken)),
                  None)  # fmt: skip
    for base in lane.names if begins is None else (begins, *lane.names):
        plain = [] if lane.folds or lane.beside is not None else [base]
        if begins is None and _is_taken(connection, space, base) and base != lane.names[-1]:
            continue  # another session took this name: try the next one
        for candidate in (*plain, *(f"{base}/{each}" for each in range(max(2, number), number + LANES_COUNTED))):
            if not _is_taken(connection, space, candidate):
                return candidate
    return f"{lane.names[-1]}/{strictjson.encode(lane.key).hex()[:32]}"


def _is_taken(connection: Connection, space: int, name: str) -> bool:
    return new_refusal(name) is not None or has_log(connection, space, name.encode())


def _lane_before(connection: Connection, space: int, lane: LaneName) -> str | None:
    """The name of the lane of the session that has the newest call; None if there is none."""
    newest: tuple[str, str] | None = None
    for record in records_below_key(connection, space, lane.session_key.encode(), LANES_COUNTED):
        key = read_record(record.data).key or ""
        calls = list_calls_of_lane(connection, space, key.encode(), LAST, 1)
        if calls and (newest is None or calls[0].id > newest[0]):
            newest = calls[0].id, stored_name(record.subject)
    return None if newest is None else newest[1]
