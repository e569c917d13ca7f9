"""Names that arrive: ``compare`` says how one stands to the bookmark here, ``settle_name`` moves that forward or leaves
it. Only ``meeting`` may move it sideways: if nobody has moved it here since this store saw it there.

A bookmark may move forward to a turn whose thread contains the *digest* of its present turn: equal digests are equal
threads. So if two stores imported the same session and one continued it, their names have not diverged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from blake3 import blake3
from msgspec.structs import replace

from headish.bundles.records import SentName, SentRecord
from headish.bundles.times import unpack_times, without_times
from headish.database.query import Connection
from headish.history.conversations.changing import write_arrived_record
from headish.history.reading.order import arrange
from headish.history.reading.versions import find_firsts
from headish.history.reading.walk import leads_to
from headish.rows.bookmarks import find_bookmark, set_bookmark
from headish.rows.conversations import find_record, names_in
from headish.rows.keys import turns_by_handle
from headish.rows.threads.ranges import turns_of
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import StoredTurn, places_by_digest, turn_at, turn_by_id, turns_by_prefix
from headish.rows.upkeep.receipts import is_erased_name
from headish.syncing.remotes import read_remotes
from headish.values.grammar import Headish
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import new_refusal, stored_name
from headish.values.places import Place
from headish.values.results.sharing import AHEAD, DIVERGED, MADE, MOVED, REFUSED, SAME, UNKNOWN, ArrivedName


def settle_name(connection: Connection, space: int, sent: SentName) -> ArrivedName:
    """Move a bookmark to the turn that it has elsewhere, if that is forward. Requires the lock of the space.

    Cost: about eight statements.
    """
    name, turn = stored_name(sent.name), as_turn_id(sent.turn)
    # Anybody may have written this name. If it breaks the rules for names, it alone is refused.
    if turn is None or new_refusal(sent.name.decode(errors="surrogateescape")) is not None:
        return ArrivedName(name, TurnId(sent.turn), REFUSED)
    there = turn_by_id(connection, space, turn)
    if there is None:
        return ArrivedName(name, turn, UNKNOWN)
    place = find_bookmark(connection, space, sent.name)
    here = None if place is None else turn_at(connection, space, place)
    if here is None:
        if _hides_another(connection, space, name) or is_erased_name(connection, space, sent.name):
            return ArrivedName(name, turn, REFUSED)
        set_bookmark(connection, space, sent.name, there)
        return ArrivedName(name, turn, MADE)
    outcome = compare(connection, space, here, there)
    if outcome == MOVED:
        set_bookmark(connection, space, sent.name, there)
    return ArrivedName(name, turn, outcome)


def _hides_another(connection: Connection, space: int, name: str) -> bool:
    """Whether a bookmark of this name would hide what the name means here without one: a turn (as its handle or the
    prefix of its id), or a name at a device of a remote (``laptop/main``).

    A bookmark wins over a handle and a prefix (rule R11, names for turns), so another store could redirect what users
    type here.
    """
    headish = Headish(name, name=name)
    handle, prefix, device = headish.handle, headish.prefix, name.partition("/")[0].encode()
    if handle is not None and turns_by_handle(connection, space, handle.bounds, handle.end, 1):
        return True
    if prefix is not None and turns_by_prefix(connection, space, prefix, 1):
        return True
    if "/" not in name:
        return False
    remotes = read_remotes(connection, space)
    return any(device in {each.name, each.settings.label.encode(), *each.labels} for each in remotes)


def compare(connection: Connection, space: int, here: StoredTurn, there: StoredTurn) -> str:
    """Compare the turn of a name elsewhere with its turn here: SAME, MOVED (its thread continues ours), AHEAD (ours
    continues its thread) or DIVERGED."""
    if here.digest == there.digest:
        return SAME
    if _holds(connection, space, here, there.place):
        return MOVED
    return AHEAD if _holds(connection, space, there, here.place) else DIVERGED


def _holds(connection: Connection, space: int, turn: StoredTurn, end: Place) -> bool:
    """Whether the thread of ``end`` contains ``turn`` or a twin of it (a turn with the same digest)."""
    if leads_to(connection, space, turn.place, end):
        return True
    twins = [each.place for each in places_by_digest(connection, space, [turn.digest]) if each.place != turn.place]
    return any(leads_to(connection, space, each, end) for each in twins)


def tell_apart(connection: Connection, space: int, names: Sequence[ArrivedName]) -> list[ArrivedName]:
    """Return the same names; diverged ones with the number of turns that only each side has.

    Call it without the lock of the space: the threads may be long, and writers would wait.
    Cost: for each diverged name, three statements, and those that read both threads.
    """
    return [_count(connection, space, each) if each.outcome == DIVERGED else each for each in names]


def _count(connection: Connection, space: int, name: ArrivedName) -> ArrivedName:
    # ``name.name`` is text for people: for bytes that are not UTF-8 it finds no bookmark, and nothing is counted.
    place, there = find_bookmark(connection, space, name.name.encode()), turn_by_id(connection, space, name.turn)
    if place is None or there is None:  # without the lock, another writer may have removed it meanwhile
        return name
    here, elsewhere = count_apart(connection, space, place, there.place)
    return replace(name, here=here, there=elsewhere)


def count_apart(connection: Connection, space: int, here: Place, there: Place) -> tuple[int, int]:
    """Return how many turns only the thread of ``here`` has, and how many only that of ``there``, by their digests."""
    ours, theirs = (_digests(connection, space, each) for each in (here, there))
    return len(ours - theirs), len(theirs - ours)


def _digests(connection: Connection, space: int, end: Place) -> set[bytes]:
    segments = arrange([end], read_links_of(connection, space, [end]))
    return {each.digest for segment in segments for each in turns_of(connection, space, segment)}


def settle_records(connection: Connection, space: int, records: Sequence[SentRecord]) -> int:
    """Store the records of conversations that have no record here; return how many.

    A file gives no last seen state to merge with (``meet_records`` has one), so a record that is here stays.
    """
    return sum(_settle_record(connection, space, each) for each in names_first(unpack_times(records)))


def names_first(records: Iterable[SentRecord]) -> list[SentRecord]:
    """The records of bookmarks, then those of conversations without one: these may go to a bookmark that has none."""
    return sorted(records, key=lambda each: as_turn_id(stored_name(each.subject)) is not None)


def _settle_record(connection: Connection, space: int, sent: SentRecord) -> bool:
    subject = subject_here(connection, space, sent.subject)
    if subject is None or find_record(connection, space, subject) is not None:
        return False
    return write_arrived_record(connection, space, subject, sent.revision, sent.milliseconds, sent.data)


def subject_here(connection: Connection, space: int, subject: bytes) -> bytes | None:
    """The subject that a record from elsewhere has here: a bookmark, or the original first turn of its conversation,
    which the sender may not have. None if this space does not have the conversation.

    If the conversation has a bookmark here, its first one takes the record unless it has one: as a bookmark that is
    made later does (``take_record_over``). Cost: a few statements; for a first turn, a look at every bookmark, too.
    """
    first = as_turn_id(stored_name(subject))
    if first is None:
        return subject if find_bookmark(connection, space, subject) is not None else None
    turn = turn_by_id(connection, space, first)
    firsts = [] if turn is None else find_firsts(connection, space, turn.place)
    # Another turn of the conversation is not a subject: no store writes such a record.
    if first not in {each.id for each in firsts}:
        return None
    name = min((name for each in firsts for name in names_in(connection, space, each.place, 1)), default=None)
    if name is not None and find_record(connection, space, name) is None:
        return name
    return firsts[0].id.encode()


def hash_said(data: bytes | None) -> bytes:
    """Return a hash of a conversation's record, to compare it with another one; empty if there is no record. Its times
    have no part in it: earlier editions do not read them."""
    return b"" if data is None else blake3(without_times(data)).digest()
