"""Set the name and the record of an imported conversation (rule R33, conversations).

Only the tip that the source shows gets a name. The record says which turn an import named last: while the name is still
there, a later import moves it to the source's new tip. Once somebody has moved it, imports leave it alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import UnknownConversation
from headish.history.conversations.changing import change_record
from headish.history.conversations.records import ListedConversation, read_conversation
from headish.history.conversations.subjects import find_by_key
from headish.history.reading.decode import read_mapping
from headish.history.reading.order import arrange
from headish.imports.imported import ImportedConversation
from headish.rows.bookmarks import find_bookmark, set_bookmark
from headish.rows.threads.walks import read_links
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.erasures import count_erased
from headish.rows.upkeep.receipts import has_erasures
from headish.values import shapes
from headish.values.results.conversations import Record
from headish.values.turns import said_of


def name_conversation(connection: Connection, space: int, about: ImportedConversation, tip: StoredTurn) -> bool:
    """Name the tip of a conversation, or move its name there. Returns whether a name was set or moved."""
    earlier = find_named(connection, space, about)
    if earlier is None:
        return _name_new(connection, space, about, tip)
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


def find_named(connection: Connection, space: int, about: ImportedConversation) -> ListedConversation | None:
    """Find the record that an earlier import made for the same conversation; None if there is none."""
    try:
        return None if about.key is None else find_by_key(connection, space, about.key.encode())
    except UnknownConversation:
        return None


def _name_new(connection: Connection, space: int, about: ImportedConversation, tip: StoredTurn) -> bool:
    # An erasure of a whole conversation takes its name and title along, and those of the source may repeat its words.
    if tip.erased is not None:
        return False
    title: dict[str, Any] = {"title": about.title}
    if _holds_erased(connection, space, tip):
        about, title = replace(about, title="", names=()), {}
    candidates = _candidates(about)
    name = next(candidates)
    while (taken_by := find_bookmark(connection, space, name.encode())) is not None:
        if about.key is None and taken_by == tip.place:
            return False  # without a key, only the name at the same tip shows that it was imported before
        name = next(candidates)
    set_bookmark(connection, space, name.encode(), tip, _recent(tip))
    changes = {
        "title": about.title, "tags": about.tags, "archived": about.archived, "pinned": about.pinned, "key": about.key,
        "app": {**about.app, "import": {"format": about.format, **title, "tip": tip.id}},
    }  # fmt: skip
    change_record(connection, space, ListedConversation(name.encode(), None, tip.id), changes, None)
    return True


def _holds_erased(connection: Connection, space: int, tip: StoredTurn) -> bool:
    """Whether a turn that leads to the tip is erased. Cost: one statement; more if anything in the space is."""
    if not has_erasures(connection, space):
        return False
    return count_erased(connection, space, arrange([tip.place], read_links(connection, space, tip.place))) > 0


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
