"""Set the name and the record of an imported conversation (rule R33, conversations).

Only the tip that the source shows gets a name. The record says which turn an import named last: while the name is still
there, a later import moves it to the source's new tip. Once somebody has moved, renamed or removed it, imports leave it
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from msgspec.structs import replace

from headish.database.query import Connection
from headish.history.conversations.changing import change_record
from headish.history.conversations.records import ListedConversation, read_conversation
from headish.history.conversations.subjects import find_subject
from headish.history.reading.decode import read_mapping
from headish.history.reading.order import segments_to
from headish.imports.imported import ImportedConversation
from headish.rows.bookmarks import bookmarks_at, find_bookmark, set_bookmark
from headish.rows.conversations import StoredRecord, record_by_key
from headish.rows.moves import was_named
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.erasures import count_erased
from headish.rows.upkeep.receipts import has_erasures, is_erased_name
from headish.values import shapes
from headish.values.results.conversations import Record
from headish.values.turns import said_of


def may_name(connection: Connection, space: int, name: bytes, tip: StoredTurn | None) -> bool:
    """Whether an import may set a name of its own choice: no bookmark has it, and nobody took it from here before.

    ``tip`` is the turn to name, if it was stored before.
    """
    if find_bookmark(connection, space, name) is not None:
        return False
    if tip is None:
        return True
    return not (was_named(connection, space, name, tip.place) or is_erased_name(connection, space, name))


def name_conversation(
    connection: Connection, space: int, about: ImportedConversation, tip: StoredTurn, *, is_new: bool
) -> bool:
    """Name the tip of a conversation, or move its name there. Returns whether a name was set or moved.

    ``is_new``: the tip was stored just now.
    """
    stored = find_record(connection, space, about)
    if stored is None:
        return _name_new(connection, space, about, tip, is_new=is_new)
    earlier = find_subject(connection, space, stored.subject)
    if earlier is None:
        return False  # somebody removed the name
    conversation = read_conversation(connection, space, earlier)
    record = conversation.record
    noted = shapes.record(record.app.get("import"))
    # The name is where the last import left it: nobody has moved it since.
    moves = earlier.name is not None and noted.get("tip") == earlier.turn != tip.id
    if moves and earlier.name is not None:
        set_bookmark(connection, space, earlier.name, tip, _recent(tip))
    changes = _changes(about, record, noted, tip if moves else None)
    if changes:
        change_record(connection, space, earlier, changes, None)
    return moves


def find_record(connection: Connection, space: int, about: ImportedConversation) -> StoredRecord | None:
    """Find the record that an earlier import made for the same conversation; None if there is none."""
    return None if about.key is None else record_by_key(connection, space, about.key.encode())


def _name_new(
    connection: Connection, space: int, about: ImportedConversation, tip: StoredTurn, *, is_new: bool
) -> bool:
    # An erasure of a whole conversation takes its name and title along, and those of the source may repeat its words.
    if tip.erased is not None:
        return False
    title: dict[str, Any] = {"title": about.title}
    if _holds_erased(connection, space, tip):
        about, title = replace(about, title="", names=()), {}
    if about.key is None and not is_new and is_named_already(connection, space, about, tip):
        return False
    name = next(each for each in _candidates(about) if find_bookmark(connection, space, each.encode()) is None)
    set_bookmark(connection, space, name.encode(), tip, _recent(tip))
    changes = {
        "title": about.title, "tags": about.tags, "archived": about.archived, "pinned": about.pinned, "key": about.key,
        "app": {**about.app, "import": {"format": about.format, **title, "tip": tip.id}},
    }  # fmt: skip
    change_record(connection, space, ListedConversation(name.encode(), None, tip.id), changes, None)
    return True


def is_named_already(connection: Connection, space: int, about: ImportedConversation, tip: StoredTurn) -> bool:
    """Whether a conversation without a key was named before: only a name that is or was at its tip shows that."""
    if bookmarks_at(connection, space, tip.place, tip.head, 1):
        return True
    for name in _candidates(about):
        if was_named(connection, space, name.encode(), tip.place):
            return True
        if find_bookmark(connection, space, name.encode()) is None:
            break
    return False


def _holds_erased(connection: Connection, space: int, tip: StoredTurn) -> bool:
    """Whether a turn that leads to the tip is erased. Cost: one statement; more if anything in the space is."""
    if not has_erasures(connection, space):
        return False
    return count_erased(connection, space, segments_to(connection, space, tip.place)) > 0


def _candidates(about: ImportedConversation) -> Iterator[str]:
    """Yield names for a conversation, without end: after its own candidates, numbered ones."""
    names = about.names or (about.format,)
    yield from names
    longest = max(names, key=len)
    yield from (f"{longest}-{number}" for number in count(2))


def _changes(
    about: ImportedConversation, record: Record, noted: Mapping[str, Any], tip: StoredTurn | None
) -> dict[str, Any]:
    """Return the changes to a record: the tip, the title unless somebody changed it here, and the state of a
    conversation that goes on."""
    changes: dict[str, Any] = {}
    again = dict(noted)
    if about.title and about.title != record.title == noted.get("title"):
        changes["title"] = again["title"] = about.title
    if tip is not None:
        again["tip"] = tip.id
    state = about.app if about.is_state else {}
    if again != noted or any(record.app.get(key) != value for key, value in state.items()):
        changes["app"] = {**record.app, **state, "import": again}
    return changes


def _recent(tip: StoredTurn) -> int | None:
    return said_of(read_mapping(tip, "system"))
