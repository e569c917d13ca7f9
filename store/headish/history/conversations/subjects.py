"""Find the conversation that a headish, a key or a record belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from headish.database.query import Connection
from headish.errors import CorruptRecord, InvalidArgument, UnknownBookmark, UnknownConversation
from headish.history.conversations.records import ListedConversation, read_conversation, record_of
from headish.history.reading.find import find_turn
from headish.history.reading.versions import find_firsts
from headish.rows.bookmarks import find_bookmark
from headish.rows.conversations import First, names_in, newest_in, record_by_key, record_of_bookmark, records_below_key
from headish.rows.turns import parent_at, turn_by_id
from headish.values.grammar import Headish
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import stored_name

NAMES_SHOWN = 5


def find_conversation(connection: Connection, space: int, headish: Headish) -> ListedConversation:
    """The conversation of a bookmark or a turn. A turn's conversation has the only bookmark in it as its name, or no
    name.

    Raises: UnknownTurn, Ambiguous, UnknownConversation; InvalidArgument if it has several bookmarks.
    """
    if headish.bookmark is not None:
        found = _find_named(connection, space, headish.bookmark.encode())
        if found is not None:
            return found
    turn = find_turn(connection, space, headish)
    firsts = find_firsts(connection, space, turn.place)
    if not firsts:
        raise UnknownConversation(headish.text, "only system turns lead to this one")
    lying = (names_in(connection, space, each.place, NAMES_SHOWN) for each in firsts)
    names = sorted({name for each in lying for name in each})[:NAMES_SHOWN]
    if len(names) > 1:
        listed = ", ".join(map(stored_name, names))
        raise InvalidArgument(f"several bookmarks lie in the conversation of {headish.text!r}: say which ({listed} …)")
    found = _find_named(connection, space, names[0]) if names else None
    return found or ListedConversation(None, firsts[0].id, _newest(connection, space, firsts) or turn.id)


def find_by_key(connection: Connection, space: int, key: bytes) -> ListedConversation:
    """The conversation that has a key. Raises: UnknownConversation."""
    stored = record_by_key(connection, space, key)
    found = None if stored is None else find_subject(connection, space, stored.subject)
    if found is None:
        raise UnknownConversation(stored_name(key), "none has this key")
    return found


def find_parts(connection: Connection, space: int, key: bytes, limit: int) -> list[ListedConversation]:
    """The conversations whose keys are ``KEY:…``: parts of the conversation with the key."""
    records = records_below_key(connection, space, key, limit)
    conversations = (find_subject(connection, space, each.subject) for each in records)
    return [each for each in conversations if each is not None]


def title_of(connection: Connection, space: int, headish: Headish) -> str | None:
    """The title of the conversation that a headish belongs to; None if it has none.

    Cost: one statement for a bookmark. Raises: as ``find_conversation``; CorruptRecord.
    """
    # A bookmark and its record take one statement together; finding the conversation would take several.
    if headish.bookmark is not None:
        is_there, stored = record_of_bookmark(connection, space, headish.bookmark.encode())
        if is_there:
            return None if stored is None else record_of(stored).title
    return read_conversation(connection, space, find_conversation(connection, space, headish)).record.title


def find_subject(connection: Connection, space: int, subject: bytes) -> ListedConversation | None:
    """The conversation of a record; None if its name was removed."""
    first = as_turn_id(stored_name(subject))
    if first is None:
        return _find_named(connection, space, subject)
    turn = turn_by_id(connection, space, first)
    if turn is None:
        raise CorruptRecord(f"what is said of the conversation {first}", "its first turn is missing")
    return ListedConversation(
        None, first, _newest(connection, space, find_firsts(connection, space, turn.place)) or first
    )


def first_digest(connection: Connection, space: int, subject: bytes) -> bytes | None:
    """The digest of the first turn of a conversation; None if its name was removed, or it has no first turn."""
    conversation = find_subject(connection, space, subject)
    turn = None if conversation is None else turn_by_id(connection, space, conversation.turn)
    firsts = [] if turn is None else find_firsts(connection, space, turn.place)
    first = turn_by_id(connection, space, firsts[0].id) if firsts else None
    return None if first is None else first.digest


def _find_named(connection: Connection, space: int, name: bytes) -> ListedConversation | None:
    place = find_bookmark(connection, space, name)
    if place is None:
        return None
    turn = parent_at(connection, space, place)
    if turn is None:
        raise UnknownBookmark(stored_name(name))
    return ListedConversation(name, None, turn.id)


def _newest(connection: Connection, space: int, firsts: Sequence[First]) -> TurnId | None:
    """The end of the newest branch that grew from any version of a first turn; None if none has an end."""
    ends = [turn_id for each in firsts if (turn_id := newest_in(connection, space, each.place)) is not None]
    if len(ends) < 2:
        return next(iter(ends), None)
    turns = [each for turn_id in ends if (each := turn_by_id(connection, space, turn_id)) is not None]
    # A chain's number is the commit number of its first turn, so the highest is the branch that was begun last.
    return max(turns, key=lambda each: each.chain).id
