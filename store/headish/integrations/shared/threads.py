"""The turns of one session: added, read, popped and dropped under its name, each in one transaction.

The space is locked while somebody writes, so two threads, tasks or processes on one session lose nothing: what is
added together stays together, and a pop takes what it returns.

Like the verbs of ``store`` these are functions of a store that open its transactions. Call them in the block of
``Held.use``, and from a coroutine through ``headish.aio.threads.finish``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import islice

from headish.content.drafts import Draft
from headish.database.query import Connection
from headish.errors import BookmarkTaken
from headish.history.reading.documents import with_documents
from headish.history.reading.order import arrange
from headish.history.reading.walk import walk, walk_first_parents
from headish.history.windows.transcripts import kept_thread
from headish.history.writing.append import Written
from headish.history.writing.moves import Moved, remove_name
from headish.history.writing.tips import NOTHING, remember
from headish.integrations.shared.names import safe_name
from headish.integrations.shared.steps import Puts as Puts
from headish.integrations.shared.steps import Session as Session
from headish.integrations.shared.steps import (
    append,
    append_known,
    erase_all,
    find_end,
    find_name,
    id_of,
    is_moved,
    is_small,
    known_end,
    known_ids,
    last_ranges,
    place_of,
    put_all,
    read_puts,
    read_range,
    said_before,
    say_key,
    take_back,
)
from headish.rows.bookmarks import find_bookmark, set_bookmark
from headish.rows.conversations import names_in
from headish.rows.objects import find_object, remove_object
from headish.rows.threads.ranges import SpokenTurn
from headish.rows.threads.walks import read_links
from headish.rows.turns import turn_at
from headish.store.store import Store
from headish.values.ids import KeptIds, Mint, TurnId
from headish.values.messages import Kept
from headish.values.names import stored_name
from headish.values.places import Place


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
        store._write(lambda connection: put_all(connection, store, read_puts(connection, number, puts)))
        return []
    known = store._remembered or NOTHING
    quick = None
    if session.name in known.names and not puts and all(map(is_small, drafts)):
        quick = partial(append_known, store=store, drafts=drafts, session=session, known=known)

    def work(connection: Connection, mint: Mint) -> Written:
        listed = read_puts(connection, store._number, puts)
        written = append(connection, store, session, drafts, mint)
        put_all(connection, store, listed)
        return written

    written = store._store(work, quick)
    # Only what is committed is remembered, and what other threads wrote meanwhile is noticed by its numbers.
    store._remembered = remember(store._remembered or NOTHING, written)
    return [each.turn.id for each in written.built]


def read(store: Store, session: Session, limit: int | None = None) -> list[SpokenTurn]:
    """What the last ``limit`` turns of a session say, or all of them, oldest first. Empty where there is none.

    A turn that was erased has ``erased``, and no payload. Overlays are turns as any other: ``is_plain`` tells whether
    a thread is what a model sees.
    Cost: two statements for turns of the last chain; otherwise three, and one for each chain that they lie in. Up to
    two more where the session has another name.
    Raises: CorruptTurn where a payload is not what was stored.
    """
    return [each for each in read_unknown(store, session, limit) if isinstance(each, SpokenTurn)]


def read_unknown(
    store: Store, session: Session, limit: int | None = None, known: Collection[TurnId] = ()
) -> list[SpokenTurn | TurnId]:
    """``read`` for a caller that remembers turns, which never change: of those that are ``known``, up to the first in
    each chain that is not or was erased, the ids alone are read. Cost: one statement where all are known, and of one
    chain.
    """
    if limit == 0:
        return []

    def work(connection: Connection) -> list[SpokenTurn | TurnId]:
        if limit is not None and limit <= len(known):
            end = known_end(connection, store._number, session.name, limit, known)
            if end is not None:
                return [*end]
        place = find_end(connection, store._number, session)
        if place is None:
            return []
        found: list[SpokenTurn | TurnId] = []
        for each in last_ranges(connection, store._number, place, limit):
            ids = known_ids(connection, store._number, each, known) if known else []
            found += ids
            if len(ids) <= each.high - each.low:
                found += read_range(connection, store._number, each._replace(low=each.low + len(ids)))
        return found

    return store._read(work)


def see(store: Store, session: Session) -> list[Kept]:
    """The messages of a session as a model sees them: with the effect of overlays, without what is hidden from it.

    Cost: a walk of the thread.
    """

    def work(connection: Connection) -> list[Kept]:
        name = find_name(connection, store._number, session)
        place = None if name is None else find_bookmark(connection, store._number, name)
        if place is None:
            return []
        kept = kept_thread(walk(connection, store._number, [place]))
        filled = with_documents(connection, store._number, [message for message, _ in kept])
        return [each._replace(message=message) for each, message in zip(kept, filled, strict=True)]

    return store._read(work)


def name_of(store: Store, session: Session) -> str | None:
    """The bookmark that a session has now; None where nothing is in it."""
    name = store._read(lambda connection: find_name(connection, store._number, session))
    return None if name is None else name.decode()


def is_plain(turns: Sequence[SpokenTurn]) -> bool:
    """Whether turns are what a model sees: no overlay is among them, and none is hidden from it."""
    return not any(
        each.type == "overlay" or (each.attributes is not None and b'"hidden"' in each.attributes) for each in turns
    )


def pop(
    store: Store, session: Session, *, erase: bool = False, rest: Callable[[SpokenTurn], Sequence[Draft]] | None = None
) -> SpokenTurn | None:
    """Take the last turn off a session, and give what it says; None where nothing is in it.

    What another writer adds meanwhile stays. ``rest`` gives turns that take the place of the one that was taken: of a
    turn of several messages all but the last. With ``erase`` the turn is erased, unless something else leads to it.
    Cost: one transaction of about ten statements; with ``erase`` it reads the space a few times.
    """
    kept = KeptIds(store._database.mint)

    def work(connection: Connection) -> tuple[bytes, Moved, SpokenTurn] | None:
        kept.rewind()
        name = find_name(connection, store._number, session)
        if name is None:
            return None
        moved, [said] = take_back(connection, store, name, 1, kept, erase=erase)
        left = [] if rest is None else rest(said)
        if left:
            append(connection, store, session, left, kept)
        return name, moved, said

    done = store._write(work, partial(is_moved, store._number))
    return None if done is None else done[2]


def replace_last(
    store: Store,
    session: Session,
    last: Sequence[TurnId],
    drafts: Sequence[Draft],
    *,
    erase: bool = False,
    stay: Callable[[Sequence[SpokenTurn]], Sequence[Draft] | None] | None = None,
) -> bool:
    """Put other turns in the place of the last ones, which must be the ones with these ids; False, and nothing is
    changed, where they are not.

    What was there before is hidden, or with ``erase`` erased where nothing else leads to it. ``stay`` is given the
    turns before the last ones, and gives those that take their place; None leaves them as they are.
    Cost: one transaction; with ``stay`` it reads the whole thread.
    """
    kept = KeptIds(store._database.mint)

    def work(connection: Connection) -> tuple[bytes, Moved] | None:
        kept.rewind()
        name = find_name(connection, store._number, session)
        place = None if name is None else find_bookmark(connection, store._number, name)
        if name is None or place is None or not last:
            return None
        ends = [each.id for each in islice(walk_first_parents(connection, store._number, place), len(last))]
        if ends[::-1] != [*last]:
            return None
        before = [] if stay is None else said_before(connection, store._number, place, len(last))
        staying = None if stay is None or not before else stay(before)
        count = len(last) if staying is None else len(last) + len(before)
        moved, _ = take_back(connection, store, name, count, kept, erase=erase)
        made = [*(staying or ()), *drafts]
        if made:
            append(connection, store, session, made, kept)
        return name, moved

    return store._write(work, partial(is_moved, store._number)) is not None


def fork(store: Store, session: Session, to: Session, turns: int | None = None) -> bool:
    """Let another session begin with what this one says, or with its first ``turns`` turns; whether there was anything.

    Both share those turns, and each goes on by itself.
    Cost: one transaction, whatever is shared. Raises: BookmarkTaken where the other session has something.
    """

    def work(connection: Connection) -> tuple[bytes, Moved] | None:
        number = store._number
        taken = find_name(connection, number, to)
        place = None if taken is None else find_bookmark(connection, number, taken)
        holder = None if place is None else turn_at(connection, number, place)
        if taken is not None and holder is not None:
            raise BookmarkTaken(stored_name(taken), holder.id)
        name = find_name(connection, number, session)
        end = None if name is None else find_bookmark(connection, number, name)
        place = None if end is None else place_of(connection, number, end, turns)
        turn = None if place is None else turn_at(connection, number, place)
        if turn is None:
            return None
        move = set_bookmark(connection, number, to.name, turn)
        say_key(connection, number, to, turn.id)
        return to.name, Moved(move, turn.place, turn.id)

    return store._write(work, partial(is_moved, store._number)) is not None


def branches(store: Store, session: Session, limit: int = 1000) -> list[str]:
    """The sessions that begin with the same turn, this one too; each by its conversation's key, else by its name.

    Cost: one statement that looks at every name of the space, and one for each name that is found.
    """

    def work(connection: Connection) -> list[str]:
        name = find_name(connection, store._number, session)
        place = None if name is None else find_bookmark(connection, store._number, name)
        if place is None:
            return []
        root = arrange([place], read_links(connection, store._number, place))[0]
        found = names_in(connection, store._number, Place(root.chain, 0), limit)
        return [id_of(connection, store._number, each) for each in found]

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
        name = find_name(connection, number, session, erase=erase)
        if name is None:
            return None
        was_there = find_bookmark(connection, number, name) is not None
        if erase:
            erase_all(connection, store, name, kept)
        return name, remove_name(connection, number, name, None), was_there

    done = store._write(work, partial(is_moved, store._number))
    return done is not None and done[2]
