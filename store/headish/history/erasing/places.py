"""The places that can contain content: every column of bytes or text, and every index that repeats words of turns.

Erasure walks both lists. A test fails for a column that is not in the first, and looks for erased words in the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from headish.database.query import Connection
from headish.history.searching.index import forget_entries
from headish.history.searching.index import forget_space as forget_index
from headish.rows.calls import forget_calls
from headish.rows.keys import turns_by_ids
from headish.rows.objects import KNOWN, remove_objects
from headish.values.ids import TurnId


class Repeating(NamedTuple):
    """A place outside the tables that repeats what turns say.

    ``forget_turns`` is called in the transaction of an erasure, before anything goes, with the space's number and the
    ids of its turns, ``forget_space`` with the number of a space whose rows all go.
    """

    name: str
    forget_turns: Callable[[Connection, int, Sequence[TurnId]], None]
    forget_space: Callable[[Connection, int], None]


def _forget_words(connection: Connection, space: int, ids: Sequence[TurnId]) -> None:
    forget_entries(connection, space, turns_by_ids(connection, space, ids).values())


def _forget_no_more(connection: Connection, space: int) -> None:
    """The rows of a table go with their space."""


def forget_imports(connection: Connection, space: int) -> None:
    """Forget which exports were imported: hashes of their words, and keys. An import then looks at each message."""
    remove_objects(connection, space, KNOWN, b"")


REPEATING: tuple[Repeating, ...] = (
    Repeating("search index", _forget_words, forget_index),
    Repeating("known exports", lambda connection, space, ids: forget_imports(connection, space), forget_imports),
    Repeating("calls", forget_calls, _forget_no_more),
)
"""The places that repeat a turn's words. If you add an index over words, add it here."""

GOES, GOES_WITH_META = "goes", "goes with `--meta`"
OF_A_KEY = "the fingerprint of a key; goes with `--meta`"
OF_CALLS = "goes with the turn that the call sent last, or got as its answer"
OF_PEOPLE = "goes when nothing is left of the conversation; `--repeats` takes a title that repeats a turn"
OF_PROGRAMS = "stays: a program keeps it beside its turns, and removes it"
DEFINED = "stays in the history of pointers and tools, also when it is removed; it goes with its space"
ANSWERS = "stays until the answer that is arriving is stored; the preview names it"
NAMED = "a name; its own command takes it (`spaces rm --erase`, `token remove`), or it goes with its space"
WHOLE = "goes when nothing is left of the conversation (`--thread`, `--branch`), or with `erase --bookmark`"
PROOF = "stays: a hash, an id or a word of headish"
RECEIPTS = "stays: a receipt holds no content"

COLUMNS: dict[str, str] = {
    "space.name": NAMED,
    "space_log.name": NAMED,
    "space_log.running": PROOF,
    "counter.epoch": PROOF,
    "counter.state": PROOF,
    "payload.hash": PROOF,
    "payload.data": GOES,
    "turn.id": PROOF,
    "turn.role": PROOF,
    "turn.type": PROOF,
    "turn.content_type": PROOF,
    "turn.attributes": GOES_WITH_META,
    "turn.inherited": GOES_WITH_META,
    "turn.system": GOES_WITH_META,
    "turn.digest": PROOF,
    "turn.hash": PROOF,
    "turn.data": GOES,
    "turn.seal": PROOF,
    "turn.head": GOES_WITH_META,
    "turn.app": GOES_WITH_META,
    "turn.key": GOES_WITH_META,
    "turn.supersedes": PROOF,
    "bookmark.name": WHOLE,
    "bookmark.running": PROOF,
    "bookmark_log.name": WHOLE,
    "bookmark_log.running": PROOF,
    "bookmark_log.was": WHOLE,
    "call.id": PROOF,
    "call.client": OF_CALLS,
    "call.session": OF_CALLS,
    "call.lane": OF_CALLS,
    "call.tip": PROOF,
    "call.answer": PROOF,
    "call.response": OF_CALLS,
    "call.data": OF_CALLS,
    "call.seal": PROOF,
    "record_log.subject": WHOLE,
    "record_log.seal": PROOF,
    "definition.kind": PROOF,
    "definition.name": DEFINED,
    "definition.hash": PROOF,
    "definition.data": DEFINED,
    "definition.running": PROOF,
    "erasure.id": PROOF,
    "erasure.receipt": RECEIPTS,
    "erasure.before": PROOF,
    "erasure.hash": PROOF,
    "conversation.subject": WHOLE,
    "conversation.key": OF_PEOPLE,
    "conversation.data": OF_PEOPLE,
    "conversation.seal": PROOF,
    "remote.name": NAMED,
    "remote.url": NAMED,
    "remote.settings": NAMED,
    "remote.state": PROOF,
    "remote.seal": PROOF,
    "remote_bookmark.remote": NAMED,
    "remote_bookmark.device": NAMED,
    "remote_bookmark.name": WHOLE,
    "remote_bookmark.turn": PROOF,
    "remote_bookmark.record": PROOF,
    "remote_bookmark.seal": PROOF,
    "notice.id": PROOF,
    "notice.remote": NAMED,
    "notice.device": NAMED,
    "notice.receipt": RECEIPTS,
    "notice.state": PROOF,
    "notice.seal": PROOF,
    "arrival.kind": PROOF,
    "arrival.remote": NAMED,
    "arrival.device": PROOF,
    "arrival.by": NAMED,
    "arrival.seal": PROOF,
    "signature.turn": PROOF,
    "signature.kind": PROOF,
    "signature.key": OF_A_KEY,
    "signature.bytes": GOES_WITH_META,
    "signature.remote": NAMED,
    "signature.seal": PROOF,
    "object.kind": OF_PROGRAMS,
    "object.key": OF_PROGRAMS,
    "object.data": OF_PROGRAMS,
    "object.seal": PROOF,
    "stream.id": PROOF,
    "stream.about": ANSWERS,
    "stream.outcome": PROOF,
    "stream.turn": PROOF,
    "stream_chunk.stream": PROOF,
    "stream_chunk.data": ANSWERS,
    "token.label": NAMED,
    "token.hash": PROOF,
    "token.rights": PROOF,
}
"""What becomes of each column that holds bytes or text when a turn is erased. All of them go with their space."""


def forget_turns(connection: Connection, space: int, ids: Sequence[TurnId]) -> None:
    """Have every other place forget what these turns said."""
    for place in REPEATING:
        place.forget_turns(connection, space, ids)


def forget_space(connection: Connection, space: int) -> None:
    """Have every other place forget a space."""
    for place in REPEATING:
        place.forget_space(connection, space)
