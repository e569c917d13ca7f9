"""Look for keys in what is about to leave the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headish.bundles.records import SentName, SentRecord, TurnRecord
from headish.content.secrecy import has_shape, hide_secrets
from headish.values.ids import TurnId
from headish.values.names import stored_name


def find_keys(turns: Iterable[TurnRecord]) -> Iterator[TurnId]:
    """The ids of the turns in which something has the shape of a key: in their content or their record.

    Cost: nearly every text is ruled out by the few letters that each kind of key has.
    """
    for turn in turns:
        said = turn.payload, turn.attributes, turn.inherited, turn.system, turn.app, turn.head
        if any(map(_holds_key, filter(None, said))):
            yield turn.id


def find_said_keys(names: Iterable[SentName], records: Iterable[SentRecord]) -> Iterator[str]:
    """The bookmarks and conversations whose name, title, tags or marks have the shape of a key, with the key masked."""
    for name in names:
        if _holds_key(name.name):
            yield hide_secrets(stored_name(name.name))
    for record in records:
        if _holds_key(record.data) or _holds_key(record.subject):
            yield hide_secrets(stored_name(record.subject))


def keeps_path(turn: TurnRecord) -> bool:
    """Whether a document says where it lay on the machine that stored it."""
    return turn.system is not None and b'"original_path"' in turn.system


def _holds_key(data: bytes) -> bool:
    return has_shape(data.decode(errors="replace"))
