"""Verbs that store many turns: a stream of items in batches, and the whole list that a client sends again."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from headish.content.drafts import Draft, make_draft
from headish.content.encoding import Content
from headish.database.query import Connection
from headish.errors import InvalidArgument
from headish.history.writing.append import Appended, append
from headish.history.writing.batches import DraftBatch, StoredTurns, read_item
from headish.history.writing.keys import write_once
from headish.history.writing.messages import message_drafts
from headish.history.writing.planning import BatchPlace, Earlier
from headish.history.writing.record import record_list
from headish.history.writing.tips import append_all_remembered, is_line
from headish.rows.objects import Put, put_object
from headish.rows.turns import StoredTurn
from headish.store.keeping.objects import read_puts
from headish.store.reading.lists import read_range
from headish.store.space import Space
from headish.store.writing.add import store_remembered
from headish.values.checks.doors import FLAG, LIST, LIST_OR_BODY, check, door
from headish.values.grammar import parse_headish
from headish.values.ids import Mint
from headish.values.messages import Message
from headish.values.names import check_name
from headish.values.turns import Recorded


@door()
def add_turns(
    space: Space,
    items: Iterable[Mapping[str, Any] | Content],
    *,
    moves: bool = True,
    objects: Iterable[Mapping[str, Any]] = (),
) -> StoredTurns:
    """Store a stream of turns of any length, in bounded memory.

    An item is a mapping of ``content`` and ``add_turn``'s arguments, or content alone; its ``continues`` may also be
    the index of an earlier item. headish takes the stream in batches of at most 1,000 turns; a batch is one
    transaction, all or nothing. What an earlier batch stored stays when a later item is refused. ``moves=False``: no
    name moves along, whatever an item says.

    ``objects`` are mappings of the arguments of ``store.objects.put``. With them the whole stream is drained first, and
    all turns and objects are one transaction: both are stored, or nothing. The result's ``revisions`` are theirs.
    Raises: as ``add_turn`` and ``objects.put``.
    """
    adder = TurnAdder(space, moves=moves, objects=objects)
    for item in items:
        adder.add(item)
    return adder.finish()


class TurnAdder:
    """``add_turns``, item by item: ``add`` each, then ``finish``. So asyncio can add items as they come, without a
    thread that waits for them."""

    def __init__(self, space: Space, *, moves: bool = True, objects: Iterable[Mapping[str, Any]] = ()) -> None:
        check("moves", moves, FLAG)
        check("objects", objects, LIST)
        self._space, self._carries_names = space, moves
        self._puts = read_puts(objects, space._payload_limit_bytes)
        self._batch = DraftBatch()
        self._unstored: list[list[Draft]] = []
        self._stored: list[Earlier] = []
        self._count = 0

    def add(self, item: Mapping[str, Any] | Content) -> None:
        """Take an item. If the batch is full without it, store the batch, unless objects have to be stored with it."""
        draft = make_draft(*read_item(item), self._space._payload_limit_bytes, self._space._author)
        if ended := self._batch.add(draft):
            self._end(ended)

    def finish(self) -> StoredTurns:
        """Store the rest, and return all that was stored."""
        if last := self._batch.take():
            self._end(last)
        read_turns = partial(read_range, self._space)
        if self._puts:
            return StoredTurns(
                read_turns, *_add_together(self._space, self._unstored, self._puts, carries_names=self._carries_names)
            )
        return StoredTurns(read_turns, self._stored, self._count)

    def _end(self, drafts: list[Draft]) -> None:
        if self._puts:
            self._unstored.append(drafts)
            return
        stream = BatchPlace(self._count, self._stored)
        self._stored.append(_earlier(self._count, _append(self._space, drafts, stream, self._carries_names)))
        self._count += len(drafts)


def _add_together(
    space: Space, portions: Sequence[list[Draft]], puts: Sequence[Put], *, carries_names: bool
) -> tuple[list[Earlier], int, list[int]]:
    """Store turns and objects in one transaction, however many there are; return the batches, the number of turns and
    the objects' revisions."""

    def work(connection: Connection, mint: Mint) -> tuple[list[Earlier], int, list[int]]:
        batches: list[Earlier] = []
        count = 0
        for portion in portions:
            stream = BatchPlace(count, batches)
            _, stored = write_once(connection, space._number, portion, mint, stream=stream, carries_names=carries_names)
            batches.append(_earlier(count, stored))
            count += len(portion)
        return batches, count, [put_object(connection, space._number, put) for put in puts]

    return space._store(work)


def _earlier(first_index: int, stored: Sequence[Appended | StoredTurn]) -> Earlier:
    """Note how later items find the turns of a batch."""
    # An array: eight bytes for each turn, however long the stream is.
    seqs = array("q", [each.turn.seq if isinstance(each, Appended) else each.seq for each in stored])
    # Turns that were stored before have other numbers. Without any, the first number is enough for the whole batch.
    follow = seqs == array("q", range(seqs[0], seqs[0] + len(seqs)))
    return Earlier(first_index, seqs[0], None if follow else seqs)


def _append(
    space: Space, drafts: list[Draft], stream: BatchPlace, carries_names: bool
) -> Sequence[Appended | StoredTurn]:
    options: dict[str, Any] = {"stream": stream, "carries_names": carries_names}
    # Most drafts have no key and name no other turn: they are not looked up.
    if any(draft.facts.is_looked_up for draft in drafts):
        _, stored = space._store(
            lambda connection, mint: write_once(connection, space._number, drafts, mint, **options)
        )
        return stored
    end = is_line(drafts, stream.first_index) if carries_names else None
    return store_remembered(
        space,
        end,
        drafts,
        append_all_remembered,
        lambda connection, mint: append(connection, space._number, drafts, mint, **options),
    ).built


@door(messages=LIST_OR_BODY)
def record(
    space: Space,
    messages: Iterable[Message | Mapping[str, Any]] | Mapping[str, Any],
    *,
    continues: str | None = None,
    bookmark: str | None = None,
    form: str | None = None,
) -> Recorded:
    """Store a whole message list that a client sends again and again: only its new tail becomes turns.

    The longest stored part is recognised by its digests: below ``continues``, or in the tree of ``bookmark``; without
    either, among threads that set no options, the oldest of equals. Only ``bookmark`` moves, to the returned tip. If
    the list differs from its thread only in the words of the instructions at its beginning, the new ones are laid over
    the old ones: ``added`` counts an overlay for each.

    A message is a ``Message``, or a mapping of ``content`` and, of ``add_turn``'s arguments, ``role``, ``cache``,
    ``attributes``, ``meta``, ``said_at`` and ``key``; what is stored already keeps its own. It may also be what the
    client of an API sends, and ``messages`` the body that holds the list and its instructions: ``form`` is ``chat``,
    ``responses``, ``anthropic``, ``gemini`` or ``cohere``, else the shape tells it. ``messages(form=)`` gives it back
    equal. To add options to such an entry, wrap it: ``{"message": entry, …}``.

    Cost: about twenty statements, however long the list, if the last known message is where it belongs; a few
    microseconds for each known message. Erased messages are recognised, and not stored again: ``Recorded.erased``
    counts them.
    Raises: InvalidArgument for an empty list; KeyTaken if a new message has the key of a turn; BarredContent;
    CorruptTurn if the thread has to be read.
    """
    drafts = message_drafts(messages, form, space._payload_limit_bytes, space._author)
    if not drafts:
        raise InvalidArgument("record needs at least one message")
    base = None if continues is None else parse_headish(continues)
    name = None if bookmark is None else check_name(bookmark, is_new=True)
    appended, added, erased = space._store(
        lambda connection, mint: record_list(connection, space._number, drafts, base, name, mint)
    )
    return Recorded(space._as_turn(appended), added, erased)
