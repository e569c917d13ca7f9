"""The steps of ``threads``, inside a transaction that has the space to itself: a Connection in, values out."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.content.facts import NO_FACTS
from headish.content.hashes import hash_payload
from headish.database.query import Connection
from headish.erasing.choosing import Wish
from headish.erasing.erase import Said as Reason
from headish.erasing.erase import erase as erase_turns
from headish.errors import CorruptTurn, InvalidContent, KeyTaken, TooLarge
from headish.history.conversations import Found, change_record, check_changes, read_record
from headish.history.reading.order import arrange
from headish.history.reading.walk import walk_first_parents
from headish.history.writing.append import Written, append_batch
from headish.history.writing.moves import Moved, is_logged, undo_name
from headish.history.writing.tips import Remembered, append_all_remembered
from headish.integrations.shared.healing import heal_text
from headish.integrations.shared.names import key_of, text_of
from headish.limits import INLINE_BYTES
from headish.rows.bookmarks import ALL, find_bookmark, set_bookmark
from headish.rows.conversations import find_record, names_in, record_by_key
from headish.rows.moves import has_log, places_reached
from headish.rows.objects import Put, put_object
from headish.rows.threads.listings import children
from headish.rows.threads.ranges import SpokenTurn, ids_of_range, last_ids, said_range
from headish.rows.threads.walks import read_links
from headish.rows.turns import turn_at
from headish.rows.upkeep.erasures import names_logged
from headish.store.store import Store
from headish.values.grammar import parse_headish
from headish.values.ids import KeptIds, Mint, TurnId
from headish.values.names import ABSENT, stored_name
from headish.values.places import Place, Segment
from headish.values.results.conversations import Record

Puts = Sequence[Put] | Callable[[Connection, int], Sequence[Put]]
"""Objects to store, or a function of the connection and the space's number that tells them."""


class Session(NamedTuple):
    """A session: the text that its framework knows it by, and the bookmark that it has where it has no other."""

    id: str
    name: bytes


def read_puts(connection: Connection, space: int, puts: Puts) -> Sequence[Put]:
    return puts(connection, space) if callable(puts) else puts


def put_all(connection: Connection, store: Store, puts: Sequence[Put]) -> None:
    """Raises: TooLarge for an object past the database's limit; RecordChanged."""
    for put in puts:
        if len(put.data) > store._payload_limit_bytes:
            raise TooLarge(f"the object of kind {put.kind}", len(put.data), store._payload_limit_bytes)
        put_object(connection, store._number, put)


def is_small(draft: Draft) -> bool:
    """Whether the row of a draft holds all of it."""
    return len(draft.payload) <= INLINE_BYTES and (draft.facts is NO_FACTS or not draft.facts.is_looked_up)


def append_known(
    connection: Connection, mint: Mint, *, store: Store, drafts: Sequence[Draft], session: Session, known: Remembered
) -> Written | None:
    return append_all_remembered(connection, store._number, drafts, session.name, known, mint)


def append(connection: Connection, store: Store, session: Session, drafts: Sequence[Draft], mint: Mint) -> Written:
    name = find_name(connection, store._number, session)
    written = append_batch(connection, store._number, _linked(drafts, name, session), mint)
    if name is None:
        say_key(connection, store._number, session, written.built[-1].turn.id)
    return written


def take_back(
    connection: Connection, store: Store, name: bytes, count: int, mint: KeptIds, *, erase: bool
) -> tuple[Moved, list[SpokenTurn]]:
    """Move a name back; what the turns say that left it, oldest first."""
    number = store._number
    place = find_bookmark(connection, number, name)
    assert place is not None  # whoever calls has found the name
    places = [each.place for each in islice(walk_first_parents(connection, number, place), count)]
    said = [read_range(connection, number, Segment(chain, pos, pos))[0] for chain, pos in places]
    # Erased are the turns from the last one on, up to the first that something else leads to.
    going = [*takewhile(lambda each: not _leads_on(connection, number, each, name), places)] if erase else []
    moved, _ = undo_name(connection, number, name, count, None)
    if going:
        erase_turns(
            connection, number, going, Wish("turn", meta=True), _reason(store, "taken out of its session"), mint
        )
    return moved, said[::-1]


def said_before(connection: Connection, space: int, end: Place, count: int) -> list[SpokenTurn]:
    """What the turns of a thread before its last ``count`` say, oldest first. Nothing where branches were merged in it:
    ``take_back`` walks first parents alone. Cost: the whole thread."""
    segments = arrange([end], read_links(connection, space, end))
    said = [each for segment in segments for each in read_range(connection, space, segment)]
    is_one_line = sum(1 for _ in walk_first_parents(connection, space, end)) == len(said)
    return said[: max(0, len(said) - count)] if is_one_line else []


def known_ids(connection: Connection, space: int, segment: Segment, known: Container[TurnId]) -> list[TurnId]:
    """The ids of the turns of a range up to the first that is not known, or was erased."""
    found = ids_of_range(connection, space, segment)
    if len(found) != segment.high - segment.low + 1:
        raise _missing(segment)
    ids: list[TurnId] = [turn for turn, erased in found if erased is None]
    if len(ids) == len(found) and all(map(known.__contains__, ids)):
        return ids
    return [turn for turn, _ in takewhile(lambda each: each[1] is None and each[0] in known, found)]


def known_end(
    connection: Connection, space: int, name: bytes, count: int, known: Container[TurnId]
) -> list[TurnId] | None:
    """The ids of the last ``count`` turns of a name, if its last chain has as many, all are known and none was erased.
    A walk ends with the chain of its end (rule I7, parents first). Cost: one statement."""
    ids: list[TurnId] = [turn for turn, erased in last_ids(connection, space, name, count) if erased is None]
    return ids if len(ids) == count and all(map(known.__contains__, ids)) else None


def place_of(connection: Connection, space: int, end: Place, turns: int | None) -> Place | None:
    """Where the first ``turns`` turns of a thread end; None where there is none."""
    left = turns
    if left is None:
        return end
    for chain, low, high in arrange([end], read_links(connection, space, end)):
        if left <= high - low + 1:
            return Place(chain, low + left - 1) if left > 0 else None
        left -= high - low + 1
    return end


def id_of(connection: Connection, space: int, name: bytes) -> str:
    stored = find_record(connection, space, name)
    key = None if stored is None else read_record(stored.data).key
    return key or text_of(stored_name(name)) or stored_name(name)


def find_name(connection: Connection, space: int, session: Session, *, erase: bool = False) -> bytes | None:
    """The bookmark of a session: its own, or that of the conversation which has its id as key. None where there is
    none; with ``erase`` also one that was removed."""
    if find_bookmark(connection, space, session.name) is not None:
        return session.name
    key = key_of(session.id)
    record = None if key is None else record_by_key(connection, space, key.encode())
    if record is not None and (erase or find_bookmark(connection, space, record.subject) is not None):
        return record.subject if has_log(connection, space, record.subject) else None
    return session.name if erase and has_log(connection, space, session.name) else None


def _linked(drafts: Sequence[Draft], name: bytes | None, session: Session) -> list[Draft]:
    """The drafts, each behind the one before, the first behind the name. The name moves once, with the last of them,
    or is made there: its log has one line for what was added together."""
    begins = () if name is None else (parse_headish(name.decode()),)
    linked = [
        replace(draft, continues=(index - 1,) if index else begins, moves=False) for index, draft in enumerate(drafts)
    ]
    expect = ABSENT if name is None else None
    linked[-1] = replace(linked[-1], bookmark=name or session.name, expect=expect)
    return linked


def say_key(connection: Connection, space: int, session: Session, turn: TurnId) -> None:
    """Give the conversation of a new name the session's id: as its key, whole in ``app`` where it can be none."""
    stored, key = find_record(connection, space, session.name), key_of(session.id)
    if stored is not None and read_record(stored.data) != Record():
        return  # it was popped or dropped, and goes on
    said = {"app": {"id": heal_text(session.id)[0]}} if key is None else {"key": key}
    try:
        change_record(connection, space, Found(session.name, None, turn), check_changes(said), None)
    except (KeyTaken, InvalidContent):
        return  # a conversation without a name has the key, or the id is larger than a record: its name is enough


def find_end(connection: Connection, space: int, session: Session) -> Place | None:
    """Where a session ends; None where nothing is in it. One statement, unless it has another name than its own."""
    place = find_bookmark(connection, space, session.name)
    name = None if place is not None else find_name(connection, space, session)
    return place if name is None else find_bookmark(connection, space, name)


def last_ranges(connection: Connection, space: int, end: Place, limit: int | None) -> list[Segment]:
    """The ranges of the last ``limit`` turns that lead to ``end``, or of all, in walk order.

    A walk ends with the chain of its end (rule I7, parents first): where that has as many turns, nothing is read.
    """
    if limit is not None and limit <= end.pos + 1:
        return [Segment(end.chain, end.pos + 1 - limit, end.pos)]
    segments = arrange([end], read_links(connection, space, end))
    left, last = sum(high - low + 1 for _, low, high in segments) if limit is None else limit, list[Segment]()
    for chain, low, high in reversed(segments):
        if left <= 0:
            break
        last.append(Segment(chain, max(low, high - left + 1), high))
        left -= high - low + 1
    return last[::-1]


def read_range(connection: Connection, space: int, segment: Segment) -> list[SpokenTurn]:
    turns = said_range(connection, space, segment)
    if len(turns) != segment.high - segment.low + 1:
        raise _missing(segment)
    for turn in turns:
        if turn.erased is None and (turn.payload is None or hash_payload(turn.payload) != turn.hash):
            raise CorruptTurn(turn.id, "its payload disagrees with its hash, or is missing")
    return turns


def _missing(segment: Segment) -> CorruptTurn:
    return CorruptTurn(f"{segment.chain}/{segment.high}", "it or one before it in its chain is missing")


def _leads_on(connection: Connection, space: int, place: Place, name: bytes) -> bool:
    """Whether something that is not this session's leads to a turn: another name, one that was there once, or a turn
    that continues it and never was the session's."""
    if any(other != name for other in names_in(connection, space, place, 2)):
        return True
    logged = names_logged(connection, space, Place(place.chain, ALL))
    if any(other != name and pos >= place.pos for other, pos in logged):
        return True
    reached = max((pos for other, pos in logged if other == name), default=-1)
    return any(
        each.erased is None and not (each.chain == place.chain and each.pos <= reached)
        for each in children(connection, space, place, after=0, limit=ALL)
    )


def erase_all(connection: Connection, store: Store, name: bytes, mint: KeptIds) -> None:
    """Erase what a name ever led to. It is laid there once more: what the names of the ends remember is no reason for
    turns to stay."""
    number = store._number
    ends, place = places_reached(connection, number, name), find_bookmark(connection, number, name)
    if place is not None:
        ends.append(place)
    elif ends:
        turn = turn_at(connection, number, ends[-1])
        assert turn is not None
        set_bookmark(connection, number, name, turn)
    wish = Wish("branch", meta=True)
    erase_turns(connection, number, ends, wish, _reason(store, "its conversation was deleted"), mint)
    stored = find_record(connection, number, name)
    if stored is not None and ends:
        blank = {field: getattr(Record(), field) for field in Record.__struct_fields__}
        change_record(connection, number, Found(name, None, TurnId("")), blank, None)


def _reason(store: Store, why: str) -> Reason:
    return Reason(why, None, store._backend.not_reached)


def is_moved(space: int, connection: Connection, done: tuple[Any, ...] | None) -> bool:
    """Whether a move is stored, where the answer to its commit was lost."""
    return done is not None and is_logged(connection, space, done[0], done[1])
