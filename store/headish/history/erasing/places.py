"""The places that can contain content: every column of bytes or text, and every index that repeats words of turns.

Both are listed here. A test fails for a column that is not listed, and looks for erased words in each index.
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
    """A place that repeats the words of turns.

    An erasure calls ``forget_turns`` in its transaction, before it empties the turns, with the space's number and the
    ids. The erasure of a space calls ``forget_space`` with the space's number.
    """

    name: str
    forget_turns: Callable[[Connection, int, Sequence[TurnId]], None]
    forget_space: Callable[[Connection, int], None]


def _forget_words(connection: Connection, space: int, ids: Sequence[TurnId]) -> None:
    forget_entries(connection, space, turns_by_ids(connection, space, ids).values())


def _forget_no_more(connection: Connection, space: int) -> None:
    """Do nothing: the rows of this table are removed with their space."""


def forget_imports(connection: Connection, space: int) -> None:
    """Forget which exports were imported: the hashes of their words, and keys. The next import compares each
    message."""
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

_FATES = {
    NAMED: (
        "space.name space_log.name remote.name remote.url remote.settings remote_bookmark.remote "
        "remote_bookmark.device notice.remote notice.device arrival.remote arrival.by signature.remote token.label"
    ),
    PROOF: (
        "space_log.running counter.epoch counter.state payload.hash turn.id turn.role turn.type turn.content_type "
        "turn.digest turn.hash turn.seal turn.supersedes bookmark.running bookmark_log.running call.id call.tip "
        "call.answer call.seal record_log.seal definition.kind definition.hash definition.running erasure.id "
        "erasure.before erasure.hash conversation.seal remote.state remote.seal remote_bookmark.turn "
        "remote_bookmark.record remote_bookmark.seal notice.id notice.state notice.seal arrival.kind arrival.device "
        "arrival.seal signature.turn signature.kind signature.seal object.seal stream.id stream.outcome stream.turn "
        "stream_chunk.stream token.hash token.rights"
    ),
    GOES: "payload.data turn.data",
    GOES_WITH_META: "turn.attributes turn.inherited turn.system turn.head turn.app turn.key signature.bytes",
    WHOLE: (
        "bookmark.name bookmark_log.name bookmark_log.was record_log.subject conversation.subject remote_bookmark.name"
    ),
    OF_CALLS: "call.client call.session call.lane call.response call.data",
    DEFINED: "definition.name definition.data",
    RECEIPTS: "erasure.receipt notice.receipt",
    OF_PEOPLE: "conversation.key conversation.data",
    OF_A_KEY: "signature.key",
    OF_PROGRAMS: "object.kind object.key object.data",
    ANSWERS: "stream.about stream_chunk.data",
}
COLUMNS = {column: fate for fate, columns in _FATES.items() for column in columns.split()}
"""What an erasure of turns does to each column of bytes or text. All of them go with their space."""


def forget_turns(connection: Connection, space: int, ids: Sequence[TurnId]) -> None:
    """Make every repeating place forget the words of these turns."""
    for place in REPEATING:
        place.forget_turns(connection, space, ids)


def forget_space(connection: Connection, space: int) -> None:
    """Make every repeating place forget a space."""
    for place in REPEATING:
        place.forget_space(connection, space)
