"""Move names at a live remote. Each move carries a lease: the turn at which this store saw the name there.

A name moves forward. It also moves where that is not forward, if the bookmark here was once at the turn where it is
there: then whoever moved it here knew of that turn (as git's ``--force-if-includes`` judges). If both sides moved it,
it stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from headish.bundles.live import MOVES_AT_ONCE, LeaseAnswers, LiveHead, NameLease, NameLeases, Say
from headish.bundles.records import SentName, SentRecord
from headish.bundles.times import pack_times, unpack_times, without_times
from headish.database.query import Connection
from headish.errors import InvalidBundle
from headish.rows.elsewhere.remotes import (
    RemoteBookmark,
    bookmarks_of_device,
    forget_remote_bookmarks,
    write_remote_bookmarks,
)
from headish.rows.elsewhere.sealed import sealed_with
from headish.rows.moves import has_log, was_at
from headish.rows.turns import turn_by_id
from headish.syncing.departing import all_names, all_records
from headish.syncing.live.wire import Talk
from headish.syncing.meeting import hashes_of
from headish.syncing.naming import compare, count_apart, hash_said, names_first
from headish.syncing.remotes import OpenRemote
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import stored_name
from headish.values.results.sharing import AHEAD, DIVERGED, MADE, MOVED, REMOVED, SAME, UNKNOWN, ArrivedName


class NameWishes(NamedTuple):
    """What a push does with names beside moving them forward. ``delete`` removes there what was removed here. A name
    that is at one of ``leases`` there moves to its turn here in any direction."""

    delete: bool = False
    leases: frozenset[TurnId] = frozenset()

    def __bool__(self) -> bool:
        return self.delete or bool(self.leases)


class ChosenMoves(NamedTuple):
    """The moves and records to send, and the names that stay because both sides moved them. ``waits``: a record there
    was not read yet, and the next pull must merge it first."""

    moves: list[NameLease]
    says: list[Say]
    apart: list[ArrivedName]
    waits: bool = False


def choose_moves(
    connection: Connection, space: int, remote: OpenRemote, head: LiveHead, pattern: str, wishes: NameWishes
) -> ChosenMoves:
    """Choose the moves and records to send. ``pattern`` is that of the names that this store may move there.

    A name or record that changed there since it was last read stays: a pull, which compares all three states, comes
    first. Cost: about five statements for each name that is at another turn there.
    """
    chosen = ChosenMoves([], [], [])
    there = {each.name: each for each in head.names}
    seen = bookmarks_of_device(connection, space, remote.name, remote.name)
    own = all_names(connection, space)
    for name in own:
        # Removed there while it stayed here: pushing it would make it again, so the next pull reports it first.
        is_removed = name.name in seen and name.name not in there and seen[name.name].turn == name.turn
        if not is_removed and fnmatchcase(stored_name(name.name), pattern):
            _choose(connection, space, remote, name, there.get(name.name), wishes.leases, chosen)
    if wishes.delete:
        # A name without a log was never here (a pull's pattern kept it out), so nobody has removed it.
        names = {each.name for each in own}
        chosen.moves.extend(
            NameLease(name, None, each.turn)
            for name, each in seen.items()
            if each.turn and name in there and name not in names and has_log(connection, space, name)
        )
    records_there = {each.subject: each for each in unpack_times(head.records)}
    waits = False
    for record in names_first(unpack_times(all_records(connection, space))):
        other = records_there.get(record.subject)
        if (other is None or not _says_as_much(other, record)) and fnmatchcase(stored_name(record.subject), pattern):
            if other is None or _is_read(seen.get(record.subject), other):
                chosen.says.append(Say(record, hash_said(None if other is None else other.data)))
            else:
                waits = True
    return chosen._replace(waits=waits)


def _says_as_much(there: SentRecord, here: SentRecord) -> bool:
    """Whether the record there is the one here. Earlier editions keep no times of it."""
    return there.data in (here.data, without_times(here.data))


def _is_read(seen: RemoteBookmark | None, there: SentRecord) -> bool:
    """Whether the record there is the one that this store read or sent last, without its times in an earlier
    edition."""
    if seen is None or seen.record is None:
        return False
    return hashes_of(there.data) in (seen.record, without_times(seen.record))


def _choose(
    connection: Connection, space: int, remote: OpenRemote, name: SentName, there: SentName | None,
    leases: Collection[TurnId], chosen: ChosenMoves,
) -> None:  # fmt: skip
    if there is None:
        # Removed there, and not moved here since: to make it there again would undo that.
        if remote.state.gone.get(stored_name(name.name)) != name.turn:
            chosen.moves.append(NameLease(name.name, name.turn, None))
        return
    if there.turn == name.turn or there.digest == name.digest:  # equal digests are equal threads
        return
    at, here = as_turn_id(there.turn), turn_by_id(connection, space, TurnId(name.turn))
    other = None if at is None else turn_by_id(connection, space, at)
    if other is None or here is None:  # its turn there must come by a pull before the two can be compared
        chosen.apart.append(ArrivedName(stored_name(name.name), TurnId(there.turn), UNKNOWN))
        return
    outcome = compare(connection, space, other, here)
    if outcome == MOVED or other.id in leases or was_at(connection, space, name.name, other.place):
        chosen.moves.append(NameLease(name.name, name.turn, there.turn))
    elif outcome == DIVERGED:
        counts = count_apart(connection, space, here.place, other.place)
        chosen.apart.append(ArrivedName(stored_name(name.name), other.id, DIVERGED, *counts))


def only_sent(connection: Connection, space: int, chosen: ChosenMoves, end: int) -> ChosenMoves:
    """Return the same without names of turns above a commit number, which were not sent: the next push moves them.

    Cost: one statement.
    """
    turns = sealed_with(connection, space, [each.turn for each in chosen.moves if each.turn])
    newer = {turn.id for turn in turns.values() if turn.seq > end}
    return chosen._replace(moves=[each for each in chosen.moves if each.turn not in newer])


def send_moves(wire: Talk, chosen: ChosenMoves) -> Iterator[tuple[NameLeases, LeaseAnswers]]:
    """Send the moves and records. Yields each part with its answers, after a round trip for each ``MOVES_AT_ONCE``.

    Raises: InvalidBundle.
    """
    step = MOVES_AT_ONCE - 1  # one more is their times
    for start in range(0, max(len(chosen.moves), len(chosen.says)), step):
        part = slice(start, start + step)
        asked = NameLeases(tuple(chosen.moves[part]), _pack(chosen.says[part]))
        moved = wire.ask(asked, LeaseAnswers)
        if (len(moved.names), len(moved.said)) != (len(asked.moves), len(asked.says)):
            raise InvalidBundle(wire.name, "it tells of other names than it was told of")
        yield asked, moved


def _pack(says: Sequence[Say]) -> tuple[Say, ...]:
    seen = {each.record.subject: each.seen for each in says}
    return tuple(Say(each, seen.get(each.subject, b"")) for each in pack_times([say.record for say in says]))


def is_overtaken(asked: NameLeases, moved: LeaseAnswers, head: LiveHead) -> bool:
    """Whether a record was not taken although its conversation is there: it has changed there, and the next pull must
    merge it first. A name that was just made there takes over what was said of its conversation before."""
    made = {
        move.name for move, each in zip(asked.moves, moved.names, strict=True) if each.outcome in (MADE, MOVED, SAME)
    }
    names = made | {each.name for each in head.names}
    left = [say.record.subject for say, is_said in zip(asked.says, moved.said, strict=True) if not is_said]
    return any(each in names or as_turn_id(stored_name(each)) is not None for each in left)


def note_moved(
    connection: Connection, space: int, remote: OpenRemote, asked: NameLeases, moved: LeaseAnswers
) -> list[ArrivedName]:
    """Store where names are there now, and the records that were taken. Returns the names that moved or could not."""
    seen = bookmarks_of_device(connection, space, remote.name, remote.name)
    turns = {name: each.turn for name, each in seen.items()}
    records = {name: each.record for name, each in seen.items()}
    arrived: list[ArrivedName] = []
    gone: list[bytes] = []
    for move, there in zip(asked.moves, moved.names, strict=True):
        if move.turn is None and there.outcome == REMOVED:
            gone.append(move.name)
        elif move.turn is not None and there.outcome in (MADE, MOVED, SAME):
            turns[move.name] = TurnId(move.turn)
        if there.outcome not in (SAME, AHEAD):
            turn = TurnId(move.turn or move.seen or "")
            # The other store's ``here`` is ``there`` for this one.
            arrived.append(ArrivedName(stored_name(move.name), turn, there.outcome, there.there, there.here))
    said = {say.record.subject for say, is_said in zip(asked.says, moved.said, strict=True) if is_said}
    for record in unpack_times([say.record for say in asked.says]):
        if record.subject in said:
            records[record.subject] = hashes_of(record.data)
    rows = [
        (name, turns.get(name), records.get(name))
        for name in sorted({*turns, *records} - {*gone})
        if name not in seen or (seen[name].turn, seen[name].record) != (turns.get(name), records.get(name))
    ]
    write_remote_bookmarks(connection, space, remote.name, remote.name, rows)
    forget_remote_bookmarks(connection, space, remote.name, remote.name, gone)
    return arrived
