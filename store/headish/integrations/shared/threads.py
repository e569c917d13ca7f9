"""The turns of one session: added, read, popped and dropped under its name, each in one transaction.

The space is locked while somebody writes, so two threads, tasks or processes on one session lose nothing: what is
added together stays together, and a pop takes what it returns.

Like the verbs of ``store/verbs`` these are functions of a store that open its transactions. Call them in the block of
``Held.use``, and from a coroutine through ``headish.aio.threads.finish``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.content.hashes import hash_payload
from headish.database.query import Connection
from headish.erasing.choosing import Wish
from headish.erasing.erase import Said as Reason
from headish.erasing.erase import erase as erase_turns
from headish.errors import BookmarkTaken, CorruptTurn, InvalidContent, KeyTaken
from headish.history.conversations import Found, change_record, check_changes, read_record
from headish.history.reading.documents import with_documents
from headish.history.reading.order import arrange
from headish.history.reading.resolve import kept_thread
from headish.history.reading.walk import walk, walk_first_parents
from headish.history.writing.append import Written, append_batch
from headish.history.writing.moves import Moved, is_logged, remove_name, undo_name
from headish.history.writing.remembered import NOTHING, Remembered, append_all_remembered, remember
from headish.integrations.shared.healing import heal_text
from headish.integrations.shared.names import key_of, safe_name, text_of
from headish.limits import INLINE_BYTES
from headish.rows.bookmarks import ALL, find_bookmark, has_log, places_reached, set_bookmark
from headish.rows.conversations import find_record, names_in, record_by_key
from headish.rows.objects import Put, find_object, put_object, remove_object
from headish.rows.threads.listings import children
from headish.rows.threads.ranges import Said, ids_of_range, said_range
from headish.rows.threads.walks import read_links
from headish.rows.turns import turn_at
from headish.rows.upkeep.erasures import names_logged
from headish.store.store import Store
from headish.values.grammar import parse_headish
from headish.values.ids import KeptIds, Mint, TurnId
from headish.values.messages import Kept
from headish.values.names import ABSENT, stored_name
from headish.values.places import Place, Segment
from headish.values.results.conversations import Record

Puts = Sequence[Put] | Callable[[Connection, int], Sequence[Put]]
"""Objects to store, or a function of the connection and the space's number that tells them."""


class Session(NamedTuple):
    """A session: the text that its framework knows it by, and the bookmark that it has where it has no other."""

    id: str
    name: bytes


def session_of(text: str) -> Session:
    """The session of any text. Its bookmark is ``safe_name`` of it; a conversation that has the text as its ``key``
    is the session's under any other name, too: so a session goes on after a rename, and goes on with an import.

    Raises: InvalidArgument for what is no text.
    """
    return Session(text, safe_name(text).encode())


def add(store: Store, session: Session, drafts: Sequence[Draft], puts: Puts = ()) -> list[TurnId]:
    """Store turns at the end of a session, and objects with them; all, or nothing. The ids of the turns.

    ``puts`` may be a function that reads what is there in the same transaction, and may refuse by raising.
    What the drafts continue, and which name they move, is decided here. The first turn of a session gives its
    conversation the session's id as its key.
    Cost: one transaction; for one small turn of a session that this process used last four statements.
    Raises: BarredContent, QuotaExceeded, TooLarge; RecordChanged for an object with ``expect``.
    """
    if not drafts:
        number = store._number
        store._write(lambda connection: _put_all(connection, number, _listed(connection, number, puts)))
        return []
    known = store._remembered or NOTHING
    quick = None
    if session.name in known.names and not puts and all(map(_is_small, drafts)):
        quick = partial(_append_known, store=store, drafts=drafts, session=session, known=known)

    def work(connection: Connection, mint: Mint) -> Written:
        listed = _listed(connection, store._number, puts)
        written = _append(connection, store, session, drafts, mint)
        _put_all(connection, store._number, listed)
        return written

    written = store._store(work, quick)
    # Only what is committed is remembered, and what other threads wrote meanwhile is noticed by its numbers.
    store._remembered = remember(store._remembered or NOTHING, written)
    return [each.turn.id for each in written.built]


def read(store: Store, session: Session, limit: int | None = None) -> list[Said]:
    """What the last ``limit`` turns of a session say, or all of them, oldest first. Empty where there is none.

    A turn that was erased has ``erased``, and no payload. Overlays are turns as any other: ``is_plain`` tells whether
    a thread is what a model sees.
    Cost: two statements, and one for each chain that the turns lie in; one more where the session has another name.
    Raises: CorruptTurn where a payload is not what was stored.
    """
    return [each for each in read_unknown(store, session, limit) if isinstance(each, Said)]


def read_unknown(
    store: Store, session: Session, limit: int | None = None, known: Container[TurnId] = ()
) -> list[Said | TurnId]:
    """``read`` for a caller that remembers turns, which never change: of those that are ``known``, up to the first in
    each chain that is not or was erased, the ids alone are read.
    """
    if limit == 0:
        return []

    def work(connection: Connection) -> list[Said | TurnId]:
        name = _find_name(connection, store._number, session)
        place = None if name is None else find_bookmark(connection, store._number, name)
        if place is None:
            return []
        found: list[Said | TurnId] = []
        for each in _last(arrange([place], read_links(connection, store._number, place)), limit):
            ids = _known_ids(connection, store._number, each, known) if known else []
            found += ids
            if len(ids) <= each.high - each.low:
                found += _read_range(connection, store._number, each._replace(low=each.low + len(ids)))
        return found

    return store._read(work)


def see(store: Store, session: Session) -> list[Kept]:
    """The messages of a session as a model sees them: with the effect of overlays, without what is hidden from it.

    Cost: a walk of the thread.
    """

    def work(connection: Connection) -> list[Kept]:
        name = _find_name(connection, store._number, session)
        place = None if name is None else find_bookmark(connection, store._number, name)
        if place is None:
            return []
        kept = kept_thread(walk(connection, store._number, [place]))
        filled = with_documents(connection, store._number, [message for message, _ in kept])
        return [each._replace(message=message) for each, message in zip(kept, filled, strict=True)]

    return store._read(work)


def name_of(store: Store, session: Session) -> str | None:
    """The bookmark that a session has now; None where nothing is in it."""
    name = store._read(lambda connection: _find_name(connection, store._number, session))
    return None if name is None else name.decode()


def is_plain(turns: Sequence[Said]) -> bool:
    """Whether turns are what a model sees: no overlay is among them, and none is hidden from it."""
    return not any(
        each.type == "overlay" or (each.attributes is not None and b'"hidden"' in each.attributes) for each in turns
    )


def pop(
    store: Store, session: Session, *, erase: bool = False, rest: Callable[[Said], Sequence[Draft]] | None = None
) -> Said | None:
    """Take the last turn off a session, and give what it says; None where nothing is in it.

    What another writer adds meanwhile stays. ``rest`` gives turns that take the place of the one that was taken: of a
    turn of several messages all but the last. With ``erase`` the turn is erased, unless something else leads to it.
    Cost: one transaction of about ten statements; with ``erase`` it reads the space a few times.
    """
    kept = KeptIds(store._database.mint)

    def work(connection: Connection) -> tuple[bytes, Moved, Said] | None:
        kept.rewind()
        name = _find_name(connection, store._number, session)
        if name is None:
            return None
        moved, [said] = _take_back(connection, store, name, 1, kept, erase=erase)
        left = [] if rest is None else rest(said)
        if left:
            _append(connection, store, session, left, kept)
        return name, moved, said

    done = store._write(work, partial(_is_moved, store._number))
    return None if done is None else done[2]


def replace_last(
    store: Store, session: Session, last: Sequence[TurnId], drafts: Sequence[Draft], *, erase: bool = False
) -> bool:
    """Put other turns in the place of the last ones, which must be the ones with these ids; False, and nothing is
    changed, where they are not.

    What was there before is hidden, or with ``erase`` erased where nothing else leads to it.
    Cost: one transaction.
    """
    kept = KeptIds(store._database.mint)

    def work(connection: Connection) -> tuple[bytes, Moved] | None:
        kept.rewind()
        name = _find_name(connection, store._number, session)
        place = None if name is None else find_bookmark(connection, store._number, name)
        if name is None or place is None or not last:
            return None
        ends = [each.id for each in islice(walk_first_parents(connection, store._number, place), len(last))]
        if ends[::-1] != [*last]:
            return None
        moved, _ = _take_back(connection, store, name, len(last), kept, erase=erase)
        if drafts:
            _append(connection, store, session, drafts, kept)
        return name, moved

    return store._write(work, partial(_is_moved, store._number)) is not None


def fork(store: Store, session: Session, to: Session, turns: int | None = None) -> bool:
    """Let another session begin with what this one says, or with its first ``turns`` turns; whether there was anything.

    Both share those turns, and each goes on by itself.
    Cost: one transaction, whatever is shared. Raises: BookmarkTaken where the other session has something.
    """

    def work(connection: Connection) -> tuple[bytes, Moved] | None:
        number = store._number
        taken = _find_name(connection, number, to)
        place = None if taken is None else find_bookmark(connection, number, taken)
        holder = None if place is None else turn_at(connection, number, place)
        if taken is not None and holder is not None:
            raise BookmarkTaken(stored_name(taken), holder.id)
        name = _find_name(connection, number, session)
        end = None if name is None else find_bookmark(connection, number, name)
        place = None if end is None else _place_of(connection, number, end, turns)
        turn = None if place is None else turn_at(connection, number, place)
        if turn is None:
            return None
        move = set_bookmark(connection, number, to.name, turn)
        _say_key(connection, number, to, turn.id)
        return to.name, Moved(move, turn.place, turn.id)

    return store._write(work, partial(_is_moved, store._number)) is not None


def branches(store: Store, session: Session, limit: int = 1000) -> list[str]:
    """The sessions that begin with the same turn, this one too; each by its conversation's key, else by its name.

    Cost: one statement that looks at every name of the space, and one for each name that is found.
    """

    def work(connection: Connection) -> list[str]:
        name = _find_name(connection, store._number, session)
        place = None if name is None else find_bookmark(connection, store._number, name)
        if place is None:
            return []
        root = arrange([place], read_links(connection, store._number, place))[0]
        found = names_in(connection, store._number, Place(root.chain, 0), limit)
        return [_session_id(connection, store._number, each) for each in found]

    return store._read(work)


def drop(store: Store, session: Session, *, erase: bool = False, objects: Sequence[tuple[str, bytes]] = ()) -> bool:
    """Take everything out of a session; whether anything was in it. Its name is free from then on.

    ``objects``, by kind and key, are removed with it.

    With ``erase`` goes what the name ever led to and nothing else leads to (other names, other branches), also what was
    popped and dropped before, and what was said of the conversation: title, tags, key, ``app``. The receipt says so.
    Cost: one transaction; with ``erase`` it reads the space a few times and writes a row for each turn. What was erased
    is off a SQLite file's disk after ``Database.gc``: that writes the whole file, once for many sessions.
    """
    kept = KeptIds(store._database.mint)

    def work(connection: Connection) -> tuple[bytes, Moved, bool] | None:
        kept.rewind()
        number = store._number
        for kind, key in objects:
            if find_object(connection, number, kind, key) is not None:
                remove_object(connection, number, kind, key, None)
        name = _find_name(connection, number, session, erase=erase)
        if name is None:
            return None
        was_there = find_bookmark(connection, number, name) is not None
        if erase:
            _erase_all(connection, store, name, kept)
        return name, remove_name(connection, number, name, None), was_there

    done = store._write(work, partial(_is_moved, store._number))
    return done is not None and done[2]


def _listed(connection: Connection, space: int, puts: Puts) -> Sequence[Put]:
    return puts(connection, space) if callable(puts) else puts


def _put_all(connection: Connection, space: int, puts: Sequence[Put]) -> None:
    for put in puts:
        put_object(connection, space, put)


def _is_small(draft: Draft) -> bool:
    """Whether the row of a draft holds all of it."""
    return len(draft.payload) <= INLINE_BYTES and not draft.facts.is_looked_up


def _append_known(
    connection: Connection, mint: Mint, *, store: Store, drafts: Sequence[Draft], session: Session, known: Remembered
) -> Written | None:
    return append_all_remembered(connection, store._number, drafts, session.name, known, mint)


def _append(connection: Connection, store: Store, session: Session, drafts: Sequence[Draft], mint: Mint) -> Written:
    name = _find_name(connection, store._number, session)
    written = append_batch(connection, store._number, _linked(drafts, name, session), mint)
    if name is None:
        _say_key(connection, store._number, session, written.built[-1].turn.id)
    return written


def _take_back(
    connection: Connection, store: Store, name: bytes, count: int, mint: KeptIds, *, erase: bool
) -> tuple[Moved, list[Said]]:
    """Move a name back; what the turns say that left it, oldest first."""
    number = store._number
    place = find_bookmark(connection, number, name)
    assert place is not None  # whoever calls has found the name
    places = [each.place for each in islice(walk_first_parents(connection, number, place), count)]
    said = [_read_range(connection, number, Segment(chain, pos, pos))[0] for chain, pos in places]
    # Erased are the turns from the last one on, up to the first that something else leads to.
    going = [*takewhile(lambda each: not _leads_on(connection, number, each, name), places)] if erase else []
    moved, _ = undo_name(connection, number, name, count, None)
    if going:
        erase_turns(
            connection, number, going, Wish("turn", meta=True), _reason(store, "taken out of its session"), mint
        )
    return moved, said[::-1]


def _known_ids(connection: Connection, space: int, segment: Segment, known: Container[TurnId]) -> list[TurnId]:
    """The ids of the turns of a range up to the first that is not known, or was erased."""
    found = ids_of_range(connection, space, segment)
    if len(found) != segment.high - segment.low + 1:
        raise _missing(segment)
    return [turn for turn, _ in takewhile(lambda each: each[1] is None and each[0] in known, found)]


def _place_of(connection: Connection, space: int, end: Place, turns: int | None) -> Place | None:
    """Where the first ``turns`` turns of a thread end; None where there is none."""
    left = turns
    if left is None:
        return end
    for chain, low, high in arrange([end], read_links(connection, space, end)):
        if left <= high - low + 1:
            return Place(chain, low + left - 1) if left > 0 else None
        left -= high - low + 1
    return end


def _session_id(connection: Connection, space: int, name: bytes) -> str:
    stored = find_record(connection, space, name)
    key = None if stored is None else read_record(stored.data).key
    return key or text_of(stored_name(name)) or stored_name(name)


def _find_name(connection: Connection, space: int, session: Session, *, erase: bool = False) -> bytes | None:
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


def _say_key(connection: Connection, space: int, session: Session, turn: TurnId) -> None:
    """Give the conversation of a new name the session's id: as its key, whole in ``app`` where it can be none."""
    stored, key = find_record(connection, space, session.name), key_of(session.id)
    if stored is not None and read_record(stored.data) != Record():
        return  # it was popped or dropped, and goes on
    said = {"app": {"id": heal_text(session.id)[0]}} if key is None else {"key": key}
    try:
        change_record(connection, space, Found(session.name, None, turn), check_changes(said), None)
    except (KeyTaken, InvalidContent):
        return  # a conversation without a name has the key, or the id is larger than a record: its name is enough


def _last(segments: Sequence[Segment], limit: int | None) -> list[Segment]:
    """The ranges of the last ``limit`` turns."""
    left, last = sum(high - low + 1 for _, low, high in segments) if limit is None else limit, list[Segment]()
    for chain, low, high in reversed(segments):
        if left <= 0:
            break
        last.append(Segment(chain, max(low, high - left + 1), high))
        left -= high - low + 1
    return last[::-1]


def _read_range(connection: Connection, space: int, segment: Segment) -> list[Said]:
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


def _erase_all(connection: Connection, store: Store, name: bytes, mint: KeptIds) -> None:
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


def _is_moved(space: int, connection: Connection, done: tuple[Any, ...] | None) -> bool:
    """Whether a move is stored, where the answer to its commit was lost."""
    return done is not None and is_logged(connection, space, done[0], done[1])
