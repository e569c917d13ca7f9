"""``WriteTransaction``: the changes that a function of ``Store.write`` may make, all of them together or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec.structs import replace

from headish.content.drafts import Draft, make_draft
from headish.content.facts import NO_FACTS
from headish.content.records import read_record
from headish.database.query import Connection
from headish.errors import InvalidContent, KeyTaken
from headish.history.conversations.changing import change_record
from headish.history.conversations.records import ListedConversation
from headish.history.conversations.saying import check_changes
from headish.history.erasing.choosing import Wish
from headish.history.erasing.erase import erase as erase_turns
from headish.history.erasing.names import forget_name
from headish.history.reading.walk import walk_first_parents
from headish.history.tombstones import ErasureGrounds
from headish.history.writing.append import Appended, Written
from headish.history.writing.batches import read_item
from headish.history.writing.keys import write_once
from headish.history.writing.moves import Moved, is_logged, remove_name, undo_name
from headish.history.writing.tips import NOTHING, append_all_remembered
from headish.rows.bookmarks import set_bookmark
from headish.rows.conversations import find_record
from headish.rows.counters import lock_space
from headish.rows.moves import has_log, places_reached
from headish.rows.objects import find_object, object_is, put_object, remove_object, remove_objects
from headish.rows.turns import turn_by_id
from headish.rows.upkeep.receipts import has_receipt
from headish.store.keeping.erase import read_grounds
from headish.store.keeping.objects import make_put
from headish.store.space import Space
from headish.store.transactions.freeing import free_end, free_turns
from headish.store.transactions.reading import ReadTransaction, SpokenTurn, as_stored, step
from headish.values.checks.doors import LIST, check
from headish.values.grammar import parse_headish
from headish.values.ids import KeptIds, TurnId
from headish.values.limits import INLINE_BYTES
from headish.values.names import ABSENT, Absent, check_name, stored_name
from headish.values.places import Place, Segment
from headish.values.results.conversations import Record
from headish.values.results.erasures import Receipt
from headish.values.results.objects import check_key, check_kind, encode_key

Turns = Iterable[Draft | Mapping[str, Any] | str]


class WriteTransaction(ReadTransaction):
    """One transaction that has the space to itself: what it read cannot change before it is stored. It reads as a
    ``ReadTransaction`` does, and sees what it wrote.

    No reader sees a part of it. headish may run the function again, so the function must have no other effect.
    """

    def __init__(self, connection: Connection, space: Space, mint: KeptIds) -> None:
        super().__init__(connection, space)
        self._mint, self._is_locked = mint, False
        self._failed: Exception | None = None
        """The error that left a half-made change behind: nothing may be stored then."""
        self._written: list[Written] = []
        """The appends of this transaction; the store remembers their ends once they are stored."""
        self._is_stored: Callable[[Connection], bool] | None = None
        """Finds out from a new transaction whether this one was stored; None if it changed nothing."""

    @property
    def _connection(self) -> Connection:
        # As late as possible: an append to a remembered name takes the lock in its own statement.
        if not self._is_locked:
            lock_space(self._open, self._number)
            self._is_locked = True
        return self._open

    # Turns

    @step
    def add_turns(self, turns: Turns) -> list[TurnId]:
        """Store turns, and return their ids.

        A turn is an item of ``Store.add_turns``, or a draft (``headish.adapters.messages``). It may continue an earlier
        one of the same call by index. Only the names that a turn gives are moved.
        Cost, Raises: as ``Store.add_turns``; after an error nothing of the transaction is stored.
        """
        drafts = self._drafts(turns)
        return self._append(drafts) if drafts else []

    @step
    def extend(
        self, name: str, turns: Turns, *, key: str | None = None, app: Mapping[str, Any] | None = None
    ) -> list[TurnId]:
        """Store turns one after the other at the end of a conversation, and move its name there, once. Returns their
        ids.

        The conversation is the one that ``conversation(name, key)`` finds. If there is none, it is made under ``name``;
        it gets the key and ``app`` unless it has a record already or another conversation has the key.
        Cost: three statements and one for each turn, if this comes first, this store moved the name last, and the turns
        are small; otherwise those of ``add_turns`` and four more.
        Raises: as ``add_turns``.
        """
        drafts = self._drafts(turns)
        if not drafts:
            return []
        written = self._extend_remembered(name, drafts)
        if written is not None:
            return self._added(written)
        bookmark = self.conversation(name, key)
        ids = self._append(_linked(drafts, bookmark, name))
        # There is no such name even now if the key of the last turn was known: no name moves for it.
        if bookmark is None and self._named(name) is not None:
            self._say_first(name, key, app, ids[-1])
        return ids

    @step
    def undo(self, name: str, turns: int = 1, *, erase: str | None = None) -> list[SpokenTurn]:
        """Move a name back by some turns along first parents; return those turns, oldest first. Past the root the name
        is removed.

        ``erase`` is a reason to erase the turns as well; turns that something else leads to stay.
        Raises: UnknownBookmark.
        """
        encoded, place = check_name(name), self._named(name)
        walked = () if place is None else walk_first_parents(self._connection, self._number, place)
        places = [each.place for each in islice(walked, turns)]
        undone = [self._read(Segment(chain, pos, pos))[0] for chain, pos in places]
        grounds = None if erase is None else self._grounds(erase)
        going = [] if grounds is None else free_end(self._connection, self._number, places, encoded)
        moved, _ = undo_name(self._connection, self._number, encoded, turns, None)
        self._note_move(name, moved)
        if grounds is not None:
            self._erase(going, Wish("turn", meta=True), grounds)
        return undone[::-1]

    # Names

    @step
    def set_bookmark(self, name: str, headish: str) -> TurnId:
        """Set a name, or move it anywhere; return the turn that it points to now. Does nothing if it points there
        already."""
        encoded, turn = check_name(name, is_new=True), self.turn(headish)
        place = self._places[turn]
        if self._named(name) != place:
            number = set_bookmark(self._connection, self._number, encoded, self._stored(place))
            self._note_move(name, Moved(number, place, turn))
        return turn

    @step
    def begin(self, name: str, headish: str, *, key: str | None = None, app: Mapping[str, Any] | None = None) -> TurnId:
        """``set_bookmark`` for a new conversation; gives it the key and ``app`` as ``extend`` does."""
        turn = self.set_bookmark(name, headish)
        self._say_first(name, key, app, turn)
        return turn

    @step
    def remove_bookmark(self, name: str) -> bool:
        """Remove a name; return whether it existed. Its turns and its history stay."""
        if self._named(name) is None:
            return False
        self._note_move(name, remove_name(self._connection, self._number, check_name(name), None))
        return True

    # Objects

    @step
    def put(self, kind: str, key: str, data: bytes, *, expect: int | Absent | None = None) -> int:
        """As ``store.objects.put``. The function may catch its errors and go on: they changed nothing."""
        put, space = make_put(kind, key, data, expect, self._space._payload_limit_bytes), self._number
        revision = put_object(self._connection, space, put)
        self._note_object(lambda connection: object_is(connection, space, put, revision))
        return revision

    @step
    def remove(self, kind: str, key: str) -> bool:
        """Remove an object; return whether it existed."""
        kind, encoded, space = check_kind(kind), check_key(key), self._number
        if find_object(self._connection, space, kind, encoded) is None:
            return False
        revision = remove_object(self._connection, space, kind, encoded, None)

        def is_gone(connection: Connection) -> bool:
            row = find_object(connection, space, kind, encoded)
            return row is None or row[2] > revision

        self._note_object(is_gone)
        return True

    @step
    def remove_all(self, kind: str, prefix: str) -> int:
        """Remove the objects of a kind whose keys begin with ``prefix``; return how many were removed.

        Cost: three statements.
        """
        return remove_objects(self._connection, self._number, check_kind(kind), encode_key(prefix))

    # Erasing

    @step
    def erase_unshared(
        self, ends: Iterable[str], reason: str, *, keeping: Iterable[str] = (), name: str | None = None
    ) -> int:
        """Erase the turns that lead to ``ends`` and to nothing else; return how many were erased.

        Keeps those that lead to one of ``keeping``, to another branch, or to a current or former position of a bookmark
        other than ``name``. Cost: two statements for each turn; then as ``Store.erase``.
        """
        own, grounds = None if name is None else as_stored(name), self._grounds(reason)
        places = free_turns(self._connection, self._number, self._ends(ends), self._ends(keeping), own)
        self._erase(places, Wish("turn", meta=True), grounds)
        return len(places)

    @step
    def erase_conversation(self, name: str, reason: str) -> None:
        """Erase the turns that a name ever led to and that nothing else leads to, the record of the conversation
        (title, tags, key, ``app``), and the name, as ``erase_bookmark`` does. Turns that stay keep the name.

        Cost: reads the space a few times; a row for each turn.
        """
        encoded, number, grounds = check_name(name), self._number, self._grounds(reason)
        ends, place = places_reached(self._connection, number, encoded), self._named(name)
        if place is not None:
            ends.append(place)
        elif ends:
            # The history of a name keeps turns, except that of a name at one of the ends. So set the removed name there
            # again.
            set_bookmark(self._connection, number, encoded, self._stored(ends[-1]))
        if not ends:
            return
        self._erase(ends, Wish("branch", meta=True), grounds)
        self.erase_bookmark(name, reason)

    @step
    def erase_bookmark(self, name: str, reason: str) -> bool:
        """Erase a name, even one that was removed before, with its conversation's record; return whether it ever
        existed.

        Its history stays under another name, as with ``store.bookmarks.erase``.

        Cost: reads the space once for each name that it had.
        """
        encoded, connection, space = check_name(name), self._connection, self._number
        grounds = self._grounds(reason)
        if not has_log(connection, space, encoded):
            return False
        self._places.pop(name, None)
        self._change(lambda: forget_name(connection, space, encoded, grounds, self._mint))
        return True

    # How

    def _drafts(self, turns: Turns) -> list[Draft]:
        check("turns", turns, LIST)
        limit_bytes, author = self._space._payload_limit_bytes, self._space._author
        return [
            each if isinstance(each, Draft) else make_draft(*read_item(each), limit_bytes, author) for each in turns
        ]

    def _append(self, drafts: Sequence[Draft]) -> list[TurnId]:
        try:
            written, turns = write_once(self._connection, self._number, drafts, self._mint, carries_names=False)
        except Exception as error:
            self._failed = error
            raise
        if written is not None:
            self._added(written)
        return [self._seen(each.turn if isinstance(each, Appended) else each) for each in turns]

    def _extend_remembered(self, name: str, drafts: Sequence[Draft]) -> Written | None:
        """Append after the turn where this store left the name: the shortest way, which locks the space itself. Returns
        None, and changes nothing, where that is not possible."""
        remembered = self._space._remembered or NOTHING
        left = remembered.names.get(check_name(name))
        # If the space is locked already, something was read under the lock, and the short way would save nothing.
        if self._is_locked or left is None or not all(map(_is_small, drafts)):
            return None
        written = append_all_remembered(self._number, drafts, left, remembered.numbers, self._open, self._mint)
        self._is_locked = written is not None
        return written

    def _added(self, written: Written) -> list[TurnId]:
        self._written.append(written)
        # Not only the name at the last turn: any turn of a batch may have moved one.
        for turn in (each.turn for each in written.built):
            if turn.head is not None:
                self._places[stored_name(turn.head)] = turn.place
        ids = [self._seen(each.turn) for each in written.built]
        first, space = ids[0], self._number
        self._is_stored = lambda connection: turn_by_id(connection, space, first) is not None
        return ids

    def _note_move(self, name: str, moved: Moved) -> None:
        self._places.pop(name, None)
        if moved.place is not None:
            self._places[name] = moved.place
        space, encoded = self._number, name.encode()
        # The first turn is the better proof, where there is one: it never changes, while a name may move on.
        if not self._written:
            self._is_stored = lambda connection: is_logged(connection, space, encoded, moved)

    def _note_object(self, is_stored: Callable[[Connection], bool]) -> None:
        if not self._written:
            self._is_stored = is_stored

    def _erase(self, places: Sequence[Place], wish: Wish, grounds: ErasureGrounds) -> None:
        if not places:
            return
        connection = self._connection
        self._change(lambda: erase_turns(connection, self._number, places, wish, grounds, self._mint)[1])

    def _grounds(self, reason: str) -> ErasureGrounds:
        return read_grounds(reason, None, self._space._backend)

    def _change(self, erase: Callable[[], Receipt | None]) -> None:
        """Run an erasure; its receipt then shows whether the transaction was stored."""
        try:
            receipt = erase()
        except Exception as error:
            self._failed = error
            raise
        if receipt is not None and not self._written:
            space = self._number
            self._is_stored = lambda connection: has_receipt(connection, space, receipt.id)

    def _say_first(self, name: str, key: str | None, app: Mapping[str, Any] | None, turn: TurnId) -> None:
        """Give a conversation that was just made its key and ``app``."""
        encoded = name.encode()
        record = find_record(self._connection, self._number, encoded)
        changes = {field: value for field, value in (("key", key), ("app", app)) if value is not None}
        if not changes or (record is not None and read_record(record.data) != Record()):
            return  # its name was removed once: it keeps its old record
        try:
            change_record(
                self._connection, self._number, ListedConversation(encoded, None, turn), check_changes(changes), None
            )
        except (KeyTaken, InvalidContent):
            return  # a conversation without a name has the key, or ``app`` is too large: do without


def _linked(drafts: Sequence[Draft], found: str | None, name: str) -> list[Draft]:
    """Link the drafts into one line that continues ``found``. The last one moves or makes the name, so that its log has
    one entry for turns that were added together."""
    begins = () if found is None else (parse_headish(found),)
    linked = [
        replace(draft, continues=(index - 1,) if index else begins, moves=False) for index, draft in enumerate(drafts)
    ]
    is_new = found is None
    linked[-1] = replace(linked[-1], bookmark=(found or name).encode(), expect=ABSENT if is_new else None)
    return linked


def _is_small(draft: Draft) -> bool:
    """Whether the turn's own row can hold the whole draft."""
    return len(draft.payload) <= INLINE_BYTES and (draft.facts is NO_FACTS or not draft.facts.is_looked_up)
