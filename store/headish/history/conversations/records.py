"""A conversation and its record."""

from __future__ import annotations

import msgspec

from headish.content.records import read_record
from headish.database.query import Connection
from headish.errors import CorruptRecord
from headish.rows.conversations import StoredRecord, find_record
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.results.conversations import Conversation, Record


class ListedConversation(msgspec.Struct, frozen=True, gc=False):
    """A conversation: its name, or else its first turn; and its last turn."""

    name: bytes | None
    first: TurnId | None
    turn: TurnId

    @property
    def subject(self) -> bytes:
        """The key of its record: its name, or the id of its first turn."""
        return self.name or str(self.first).encode()


def read_conversation(connection: Connection, space: int, found: ListedConversation) -> Conversation:
    """Read a conversation with its record. Raises: CorruptRecord."""
    return as_conversation(found, find_record(connection, space, found.subject))


def as_conversation(found: ListedConversation, stored: StoredRecord | None) -> Conversation:
    """Make the value that callers get of a conversation and its stored record. Raises: CorruptRecord."""
    return Conversation(
        name=None if found.name is None else stored_name(found.name),
        first=found.first,
        turn=found.turn,
        record=Record() if stored is None else record_of(stored),
        revision=None if stored is None else stored.revision,
    )


def record_of(stored: StoredRecord) -> Record:
    """Decode the record of a row. Raises: CorruptRecord."""
    try:
        return read_record(stored.data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        what = f"what is said of the conversation {stored_name(stored.subject)!r}"
        raise CorruptRecord(what, f"it does not decode ({error})") from None
