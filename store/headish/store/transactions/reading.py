"""``ReadTransaction``: one moment of a space, for a function that ``Store.read`` or ``Store.write`` runs."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from itertools import islice, takewhile
from typing import Concatenate, ParamSpec, TypeVar

from headish.content.hashes import hash_payload
from headish.content.records import read_record
from headish.database.query import Connection
from headish.errors import Closed, CorruptTurn, InvalidArgument, UnknownTurn
from headish.history.reading.documents import with_documents
from headish.history.reading.find import find_turn
from headish.history.reading.order import last_turns, segments_to
from headish.history.reading.walk import walk, walk_first_parents
from headish.history.windows.transcripts import kept_thread
from headish.rows.bookmarks import ALL, bookmarks_at, find_bookmark
from headish.rows.conversations import find_record, names_in, record_by_key
from headish.rows.keys import turn_by_key
from headish.rows.moves import has_log
from headish.rows.objects import find_object, list_objects, list_objects_backwards
from headish.rows.threads.ranges import SpokenTurn, ids_of_range, last_ids, said_range
from headish.rows.turns import StoredTurn, stored_at, turn_by_id
from headish.store.keeping.objects import read_object
from headish.store.space import STUMBLING, Space
from headish.values.checks.doors import STRING, TEXT, Kind, check, door
from headish.values.grammar import parse_headish
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import stored_name
from headish.values.places import Place, Segment
from headish.values.results.objects import Object, check_key, check_kind, encode_key
from headish.values.results.threads import TranscriptMessage

__all__ = ["ReadTransaction", "SpokenTurn", "step"]
P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="ReadTransaction")
PAGE = 100
"""How many names or objects a list gives unless it is asked for more."""
KINDS = {
    **dict.fromkeys(("end", "name"), STRING),
    **dict.fromkeys(("key", "turn"), TEXT),
    # Not a count, which has 63 bits: some frameworks pass a huge number for all.
    "limit": Kind(lambda value: isinstance(value, int) and value is not True and value >= 0, "a number from 0 on"),
    "known": Kind(lambda value: isinstance(value, Collection) and not isinstance(value, str), "a collection of ids"),
}
"""The kinds of arguments that no annotation says. A text that cannot be a name is the name of nothing."""


def step(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Decorate a method of a transaction: refuse calls after the function has ended and arguments of the wrong kind,
    and remember an error from inside."""
    checked = door(**KINDS)(method)

    @wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        # A function may leak its transaction; the connection serves another caller by now.
        if self._is_over:
            raise Closed("this transaction, which ended with the function that it was made for,")
        try:
            return checked(self, *args, **kwargs)
        except STUMBLING as error:
            # Remembered to tell it from an error of the caller's own code, which is not a sign of damage: see
            # ``running._run``.
            self._stumbled = error
            raise

    return run


class ReadTransaction:
    """One moment of a space, which all of its reads see. Valid inside the function that it was given to.

    An *end* names where a thread ends: a bookmark, or the whole id of a turn. Prefixes, handles and suffixes are not
    ends: only ``turn`` takes those.
    """

    _is_over = False
    _stumbled: Exception | None = None

    def __init__(self, connection: Connection, space: Space) -> None:
        self._open, self._space, self._number = connection, space, space._number
        # A turn keeps its place, and a name keeps its turn until this transaction moves it.
        self._places: dict[str, Place] = {}

    @property
    def _connection(self) -> Connection:
        return self._open

    # Turns

    @step
    def turn(self, headish: str) -> TurnId:
        """The id of the turn that a headish names. Raises: UnknownTurn, Ambiguous, InvalidHeadish."""
        return self._seen(find_turn(self._connection, self._number, parse_headish(headish)))

    @step
    def turn_of_key(self, key: str) -> TurnId | None:
        """The turn that has a key, even if another one supersedes it; None if there is none, or it was erased."""
        turn = turn_by_key(self._connection, self._number, key.encode())
        return None if turn is None or turn.erased is not None else self._seen(turn)

    @step
    def first(self, end: str, turns: int = 1) -> TurnId | None:
        """The id of the thread's turn number ``turns``, counted from 1, or of its last turn if it is shorter; None if
        there is none."""
        place, remaining = self._end(end), turns
        for chain, low, high in [] if place is None else segments_to(self._connection, self._number, place):
            place = Place(chain, high)
            if remaining <= high - low + 1:
                place = Place(chain, low + remaining - 1)
                break
            remaining -= high - low + 1
        if place is None or turns < 1:
            return None
        return self._seen(self._stored(place))

    @step
    def last(self, end: str, turns: int) -> builtins.list[TurnId]:
        """The last ``turns`` turns along first parents, oldest first. Cost: a statement for each chain."""
        place = self._end(end)
        walked = () if place is None else walk_first_parents(self._connection, self._number, place)
        return [self._seen(each) for each in islice(walked, turns)][::-1]

    @step
    def thread(self, end: str, limit: int | None = None) -> builtins.list[SpokenTurn]:
        """The turns that lead to an end, or the last ``limit`` of them, parents first; empty where there is none.

        A turn that was erased has ``erased``, and no payload. Overlays are listed as turns; ``window`` applies them.
        Cost: two statements for turns of the last chain; otherwise one more, and one for each chain.
        Raises: CorruptTurn if a payload is not what was stored; UnknownTurn for an id that no turn has.
        """
        return [each for each in self._thread(end, limit, ()) if not isinstance(each, str)]

    @step
    def thread_unless_known(
        self, end: str, known: Collection[TurnId], limit: int | None = None
    ) -> builtins.list[SpokenTurn | TurnId]:
        """``thread`` for a caller that remembers turns, since turns never change: gives only the ids of ``known``
        turns.

        In each chain this applies up to the first turn that is unknown or erased; that turn and the rest are read
        whole.
        Cost: one statement if all are known, and of one chain.
        """
        # With fewer known turns than are asked for, not all of them can be known.
        if limit is not None and limit <= len(known):
            ids = self._known_end(end, limit, known)
            if ids is not None:
                return [*ids]
        return self._thread(end, limit, known)

    @step
    def window(self, end: str) -> builtins.list[TranscriptMessage]:
        """The messages of a thread as a model sees them, each with headish's own keys beside it (``system``): overlays
        apply, and hidden turns are left out. Cost: a walk of the thread."""
        place = self._end(end)
        if place is None:
            return []
        entries = kept_thread(walk(self._connection, self._number, [place]))
        filled = with_documents(self._connection, self._number, [message for message, _ in entries])
        return [each._replace(message=message) for each, message in zip(entries, filled, strict=True)]

    # Names

    @step
    def bookmark(self, name: str) -> TurnId | None:
        """The turn that a name points to; None if there is no such name."""
        place = self._named(name)
        return None if place is None else self._seen(self._stored(place))

    @step
    def has_bookmark(self, name: str) -> bool:
        """Whether there is such a name. Cost: one statement."""
        return self._named(name) is not None

    @step
    def conversation(self, name: str, key: str | None = None, *, removed: bool = False) -> str | None:
        """The bookmark of a conversation: ``name`` if it exists, else that of the conversation with the key; None if
        there is neither.

        So a conversation is found after a rename, and an import by its key. ``removed`` also finds a removed name.
        """
        if self._named(name) is not None:
            return name
        record = None if key is None else record_by_key(self._connection, self._number, key.encode())
        subject = None if record is None else stored_name(record.subject)
        if subject is not None and as_turn_id(subject) is None and (removed or self._named(subject) is not None):
            return subject if self._was_named(subject) else None
        return name if removed and self._was_named(name) else None

    @step
    def key_of(self, name: str) -> str | None:
        """The key of the conversation that has a name; None if it has none. Raises: CorruptRecord."""
        record = find_record(self._connection, self._number, as_stored(name))
        return None if record is None else read_record(record.data).key

    @step
    def names_at(self, turn: TurnId, limit: int = PAGE) -> builtins.list[str]:
        """The names that point to a turn."""
        stored = turn_by_id(self._connection, self._number, turn)
        if stored is None:
            return []
        names = bookmarks_at(self._connection, self._number, stored.place, stored.head, min(limit, ALL))
        return [stored_name(each) for each in names]

    @step
    def names_through(self, turn: TurnId, limit: int = PAGE) -> builtins.list[str]:
        """The names whose threads hold a turn. Cost: looks at every name of the space."""
        place = self._end(turn)
        names = [] if place is None else names_in(self._connection, self._number, place, min(limit, ALL))
        return [stored_name(each) for each in names]

    # Objects

    @step
    def object(self, kind: str, key: str) -> Object | None:
        """The object of a kind that has this key; None if there is none."""
        row = find_object(self._connection, self._number, check_kind(kind), check_key(key))
        return None if row is None else read_object(row)

    @step
    def objects(
        self,
        kind: str,
        prefix: str = "",
        *,
        after: str | None = None,
        before: str | None = None,
        backwards: bool = False,
        limit: int | None = None,
    ) -> builtins.list[Object]:
        """The objects of a kind whose keys begin with ``prefix``, in the order of their keys' bytes; all of them unless
        there is a ``limit``.

        Forwards those after the key ``after``, ``backwards`` those before the key ``before``. Cost: one statement.
        """
        kind, begins, most = check_kind(kind), encode_key(prefix), ALL if limit is None else min(limit, ALL)
        if (before is not None) > backwards or (after is not None and backwards):
            raise InvalidArgument("after goes with a list forwards, and before with one backwards")
        if backwards:
            behind = None if before is None else encode_key(before)
            rows = list_objects_backwards(
                self._connection, self._number, kind, prefix=begins, before=behind, limit=most
            )
        else:
            behind = b"" if after is None else encode_key(after)
            rows = list_objects(self._connection, self._number, kind, prefix=begins, after=behind, limit=most)
        return [read_object(row) for row in rows]

    # How

    def _seen(self, stored: StoredTurn) -> TurnId:
        self._places[stored.id] = stored.place
        return stored.id

    def _stored(self, place: Place) -> StoredTurn:
        return stored_at(self._connection, self._number, place)

    def _named(self, name: str) -> Place | None:
        if name not in self._places:
            place = find_bookmark(self._connection, self._number, as_stored(name))
            if place is None:
                return None
            self._places[name] = place
        return self._places[name]

    def _was_named(self, name: str) -> bool:
        return has_log(self._connection, self._number, as_stored(name))

    def _end(self, end: str) -> Place | None:
        """The place where a thread ends; None if there is no such bookmark. Raises: UnknownTurn."""
        place = self._places.get(end)
        if place is not None:
            return place
        turn_id = as_turn_id(end)
        if turn_id is None:
            return self._named(end)
        turn = turn_by_id(self._connection, self._number, turn_id)
        if turn is None:
            raise UnknownTurn(end)
        return self._places.setdefault(end, turn.place)

    def _ends(self, ends: Iterable[str]) -> builtins.list[Place]:
        listed = list(ends)
        for each in listed:
            check("an end", each, STRING)
        return [place for place in map(self._end, dict.fromkeys(listed)) if place is not None]

    def _thread(self, end: str, limit: int | None, known: Collection[TurnId]) -> builtins.list[SpokenTurn | TurnId]:
        place = None if limit == 0 else self._end(end)
        turns: builtins.list[SpokenTurn | TurnId] = []
        for each in [] if place is None else self._last_segments(place, limit):
            ids = self._known_ids(each, known) if known else []
            turns += ids
            if len(ids) <= each.high - each.low:
                turns += self._read(each._replace(low=each.low + len(ids)))
        return turns

    def _last_segments(self, end: Place, limit: int | None) -> builtins.list[Segment]:
        """The ranges of the last ``limit`` turns that lead to ``end``, or of all, in walk order."""
        # A walk ends with the chain of its end (rule I7, parents first): if that is long enough, no statement is
        # needed.
        if limit is not None and limit <= end.pos + 1:
            return [Segment(end.chain, end.pos + 1 - limit, end.pos)]
        segments = segments_to(self._connection, self._number, end)
        return segments if limit is None else last_turns(segments, limit)

    def _known_end(self, end: str, count: int, known: Collection[TurnId]) -> builtins.list[TurnId] | None:
        """The ids of the last ``count`` turns of a name, if its last chain has as many, all are known and none was
        erased. Cost: one statement."""
        if as_turn_id(end) is not None:
            return None
        rows = last_ids(self._connection, self._number, as_stored(end), count)
        ids: builtins.list[TurnId] = [turn for turn, erased in rows if erased is None]
        return ids if len(ids) == count and all(map(known.__contains__, ids)) else None

    def _known_ids(self, segment: Segment, known: Collection[TurnId]) -> builtins.list[TurnId]:
        """The ids of the turns of a range up to the first that is not known, or was erased."""
        rows = ids_of_range(self._connection, self._number, segment)
        if len(rows) != segment.high - segment.low + 1:
            raise _missing(segment)
        ids: builtins.list[TurnId] = [turn for turn, erased in rows if erased is None]
        if len(ids) == len(rows) and all(map(known.__contains__, ids)):  # nearly always
            return ids
        return [turn for turn, _ in takewhile(lambda each: each[1] is None and each[0] in known, rows)]

    def _read(self, segment: Segment) -> builtins.list[SpokenTurn]:
        turns = said_range(self._connection, self._number, segment)
        if len(turns) != segment.high - segment.low + 1:
            raise _missing(segment)
        for turn in turns:
            if turn.erased is None and (turn.payload is None or hash_payload(turn.payload) != turn.hash):
                raise CorruptTurn(turn.id, "its payload disagrees with its hash, or is missing")
        return turns


def as_stored(name: str) -> bytes:
    """The stored bytes of a name."""
    # An invalid name is simply not found: names are checked where they are set.
    return name.encode(errors="surrogatepass")


def _missing(segment: Segment) -> CorruptTurn:
    return CorruptTurn(f"{segment.chain}/{segment.high}", "it or one before it in its chain is missing")
