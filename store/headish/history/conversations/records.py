"""A conversation, and the row that is about it."""

from __future__ import annotations

import msgspec

from headish.database.query import Connection
from headish.errors import CorruptRecord
from headish.rows.conversations import StoredRecord, find_record
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.results.conversations import Conversation, Record, read_record


class ListedConversation(msgspec.Struct, frozen=True, gc=False):
    """A conversation: its name or its first turn, and what was said last."""

    name: bytes | None
    first: TurnId | None
    turn: TurnId

    @property
    def subject(self) -> bytes:
        return self.name or str(self.first).encode()


def read_conversation(connection: Connection, space: int, found: ListedConversation) -> Conversation:
    """A conversation with what is said of it. Raises: CorruptRecord."""
    return as_conversation(found, find_record(connection, space, found.subject))


def as_conversation(found: ListedConversation, stored: StoredRecord | None) -> Conversation:
    """A conversation with the row that is about it. Raises: CorruptRecord."""
    return Conversation(
        name=None if found.name is None else stored_name(found.name),
        first=found.first,
        turn=found.turn,
        record=Record() if stored is None else record_of(stored),
        revision=None if stored is None else stored.revision,
    )


def record_of(stored: StoredRecord) -> Record:
    """What a row says of a conversation. Raises: CorruptRecord."""
    try:
        return read_record(stored.data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        what = f"what is said of the conversation {stored_name(stored.subject)!r}"
        raise CorruptRecord(what, f"it does not decode ({error})") from None
