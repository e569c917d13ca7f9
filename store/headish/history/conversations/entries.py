"""Make the lines of conversations in a list."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from headish.content.excerpts import first_words_or_kinds, one_line, words_of_beginning
from headish.database.query import Connection
from headish.errors import CorruptTurn, InvalidContent
from headish.history.conversations.records import ListedConversation, as_conversation
from headish.history.reading.decode import decode_mapping
from headish.rows.conversations import StoredRecord, find_records
from headish.rows.threads.entries import Listed, ListedTurn, spoken_before
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.results.conversations import Entry
from headish.values.turns import DOCUMENT, OVERLAY, PREAMBLE, reply_of, said_at_of


def leave_out_gone(connection: Connection, space: int, listed: list[Listed]) -> list[Listed]:
    """The conversations of which something is left. Cost: a few statements for each whose first and last turns were
    erased."""
    if all(each.last.erased is None for each in listed):
        return listed
    from headish.history.conversations.gone import is_gone  # late: few conversations are erased

    return [each for each in listed if not is_gone(connection, space, each)]


def make_entries(connection: Connection, space: int, listed: list[Listed]) -> list[Entry]:
    """Make the line of each conversation.

    Cost: one statement for each 64, and one more for each 64 that end with a system turn.
    Raises: CorruptTurn, CorruptRecord.
    """
    conversations = [_found(each) for each in listed]
    records = find_records(connection, space, [each.subject for each in conversations])
    # A thread may end with instructions, for example if a call failed after them: show the last words before them.
    silent = [
        conversation.turn
        for each, conversation in zip(listed, conversations, strict=True)
        if each.last.role in PREAMBLE and each.last.type != OVERLAY
    ]
    spoken = spoken_before(connection, space, silent) if silent else {}
    return [
        _entry(each, conversation, spoken.get(conversation.turn, each.last), records.get(conversation.subject))
        for each, conversation in zip(listed, conversations, strict=True)
    ]


def _found(listed: Listed) -> ListedConversation:
    if listed.last.id is None:
        raise CorruptTurn(f"of the conversation {stored_name(listed.name or b'')!r}", "it is missing")
    first = None if listed.start is None else TurnId(listed.start)
    return ListedConversation(listed.name, first, TurnId(listed.last.id))


def _entry(listed: Listed, found: ListedConversation, last: ListedTurn, stored: StoredRecord | None) -> Entry:
    conversation = as_conversation(found, stored)
    # Without a name, the time when the last turn was said counts: an import stores today what was said years ago.
    moved = (
        datetime.fromtimestamp(listed.recent / 1000, UTC)
        if found.name is not None
        else said_at_of(_system(listed.last), found.turn)
    )
    model = reply_of(_system(last)).get("model")
    return Entry(
        conversation=conversation,
        title=conversation.record.title or _words(listed.first),
        last=_words(last),
        role=last.role or None,
        model=model if isinstance(model, str) else None,
        time=moved,
        branches=listed.branches,
        turns=listed.turns,
    )


def _words(words: ListedTurn) -> str:
    """The first words of a turn, a document's name, or the kinds of blocks without words. Empty if there is no turn."""
    if words.id is None:
        return ""
    if words.overlay is not None:
        return one_line(f"(overlay: {_does(words)}) {_said(words)}")
    return "(erased)" if words.erased is not None else _said(words)


def _does(words: ListedTurn) -> str:
    from headish.history.windows.states import describe  # late: few lists show an overlay
    from headish.values.messages import Attributes

    try:
        overlay = msgspec.json.decode(words.overlay or b"", type=Attributes).overlay
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptTurn(str(words.id), f"its attributes do not decode ({error})") from None
    return "" if overlay is None else describe(overlay)


def _said(words: ListedTurn) -> str:
    if words.payload is None:
        return ""
    if words.type == DOCUMENT:
        return one_line(str(_system(words).get("document_name", "")))
    payload = bytes(words.payload)
    if words.cut:
        return words_of_beginning(payload)
    try:
        return first_words_or_kinds(payload)
    except InvalidContent as error:
        raise CorruptTurn(str(words.id), str(error)) from None


def _system(words: ListedTurn) -> dict[str, Any]:
    return {} if words.system is None else decode_mapping(words.system, str(words.id), "system")
