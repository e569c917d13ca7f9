"""The turns of one session: add, read, pop and drop them under its name, each in one transaction.

A writer locks the space, so two threads, tasks or processes on one session lose nothing: turns that are added together
stay together, and a pop removes exactly the turn that it returns.

Each function takes a store. Call it in the block of ``DatabaseHold.use``, and from a coroutine through ``finish``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from headish import ReadTransaction, Store, WriteTransaction
from headish.adapters.healing import heal_text
from headish.adapters.messages import Draft, SpokenTurn, TranscriptMessage, TurnId, is_plain, message_of
from headish.adapters.naming import key_of, safe_name, text_of
from headish.errors import BookmarkTaken

TAKEN_OUT = "taken out of its session"
DELETED = "its conversation was deleted"


class NamedSession(NamedTuple):
    """A session: the id from its framework, which may be any text, and its bookmark unless that was renamed."""

    id: str
    name: str

    @property
    def key(self) -> str | None:
        """The key of its conversation; None if the id cannot be a key."""
        return key_of(self.id)

    @property
    def app(self) -> dict[str, Any] | None:
        """The ``app`` of its conversation, which has the id if that cannot be the key; else None."""
        return {"id": heal_text(self.id)[0]} if self.key is None else None


def session_of(text: str) -> NamedSession:
    """The session with any text as its id. Its bookmark is ``safe_name`` of the text. A conversation with the text as
    its ``key`` is also the session's, whatever its name: so a session continues after a rename, and can continue an
    import.

    Raises: InvalidArgument if it is not text.
    """
    return NamedSession(text, safe_name(text))


def find_session(read: ReadTransaction, session: NamedSession, *, removed: bool = False) -> str | None:
    """The bookmark that a session has; None if the session is empty. With ``removed``, the one that it had last
    counts, too."""
    return read.conversation(session.name, session.key, removed=removed)


def add(store: Store, session: NamedSession, drafts: Sequence[Draft]) -> list[TurnId]:
    """Store turns at the end of a session, all or none, and move its bookmark to the last. Returns their ids.

    This sets what the drafts continue and which name they move. The first turn of a session gives its conversation the
    session's id as its key.
    Cost: one transaction; four statements for one small turn, if this process made the last change of the session.
    Raises: as ``WriteTransaction.extend``.
    """
    return store.write(lambda write: extend(write, session, drafts))


def extend(write: WriteTransaction, session: NamedSession, drafts: Sequence[Draft]) -> list[TurnId]:
    """``add`` inside a transaction."""
    return write.extend(session.name, drafts, key=session.key, app=session.app)


def read(store: Store, session: NamedSession, limit: int | None = None) -> list[SpokenTurn]:
    """The last ``limit`` turns of a session, or all of them, oldest first. Empty if there is no such session.

    A turn that was erased has ``erased`` and no payload. Overlays are listed like other turns: ``is_plain`` tells
    whether a model sees the turns as they are. Cost, Raises: as ``ReadTransaction.thread``.
    """
    return [each for each in read_unknown(store, session, limit) if isinstance(each, SpokenTurn)]


def read_unknown(
    store: Store, session: NamedSession, limit: int | None = None, known: Collection[TurnId] = ()
) -> list[SpokenTurn | TurnId]:
    """``read`` for a caller that remembers turns: those in ``known`` come as ids, as from
    ``ReadTransaction.thread_unless_known``."""

    def work(read: ReadTransaction) -> list[SpokenTurn | TurnId]:
        # By its name first, in one statement. Only a session that was renamed, or imported, is looked up by its key.
        found = read.thread_unless_known(session.name, known, limit)
        if found:
            return found
        name = find_session(read, session)
        return [] if name is None else read.thread_unless_known(name, known, limit)

    return [] if limit == 0 else store.read(work)


def see(store: Store, session: NamedSession) -> list[TranscriptMessage]:
    """The messages of a session as a model sees them: overlays applied, hidden messages left out.

    Cost: a walk of the thread.
    """

    def work(read: ReadTransaction) -> list[TranscriptMessage]:
        name = find_session(read, session)
        return [] if name is None else read.window(name)

    return store.read(work)


def read_messages(
    store: Store, session: NamedSession, limit: int | None = None
) -> list[tuple[TranscriptMessage, bytes | None]]:
    """The messages of a session as a model sees them, each with the ``app`` of its turn. Erased turns are left out.

    Only the last ``limit`` turns are read; if an overlay or a document is among them, the whole thread is.
    Cost: as ``read``, and then also as ``see``.
    """
    turns = read(store, session, limit)
    if is_plain(turns) and all(each.type is None for each in turns):
        return [(message_of(each), each.app) for each in turns if each.payload is not None]
    apps = {each.id: each.app for each in (turns if limit is None else read(store, session))}
    return [(kept, apps.get(kept.message.turn or TurnId(""))) for kept in see(store, session)]


def free_name(read: ReadTransaction, text: str) -> str:
    """A name for a text that no bookmark has: ``safe_name`` of the text or, if it is taken, of the text and a
    number."""
    number, name = 1, safe_name(text)
    while read.has_bookmark(name):
        number += 1
        name = safe_name(f"{text}-{number}")
    return name


def name_of(store: Store, session: NamedSession) -> str | None:
    """The bookmark that a session has now; None if the session is empty."""
    return store.read(lambda read: find_session(read, session))


def pop(
    store: Store,
    session: NamedSession,
    *,
    erase: bool = False,
    rest: Callable[[SpokenTurn], Sequence[Draft]] | None = None,
) -> SpokenTurn | None:
    """Take the last turn off a session and return it; None if the session is empty.

    ``rest`` gets the turn and returns drafts that take its place: for a turn of several messages, all but the last.
    With ``erase`` the turn is erased, unless something else leads to it.
    Cost: one transaction of about ten statements; with ``erase`` it also reads the space a few times.
    """

    def work(write: WriteTransaction) -> SpokenTurn | None:
        name = find_session(write, session)
        if name is None:
            return None
        [said] = write.undo(name, erase=TAKEN_OUT if erase else None)
        extend(write, session, [] if rest is None else rest(said))
        return said

    return store.write(work)


def replace_last(
    store: Store,
    session: NamedSession,
    last: Sequence[TurnId],
    drafts: Sequence[Draft],
    *,
    erase: bool = False,
    stay: Callable[[Sequence[SpokenTurn]], Sequence[Draft] | None] | None = None,
) -> bool:
    """Replace the last turns of a session, whose ids are ``last``. Returns False, and changes nothing, if other turns
    are the last ones now.

    The replaced turns are hidden, or with ``erase`` erased unless something else leads to them. ``stay`` gets the turns
    before them, and returns drafts that replace those, too, or None to leave them as they are.
    Cost: one transaction; with ``stay`` it reads the whole thread.
    """

    def work(write: WriteTransaction) -> bool:
        name = find_session(write, session)
        if name is None or not last or write.last(name, len(last)) != [*last]:
            return False
        before = [] if stay is None else _before(write, name, len(last))
        staying = None if stay is None or not before else stay(before)
        count = len(last) if staying is None else len(last) + len(before)
        write.undo(name, count, erase=TAKEN_OUT if erase else None)
        extend(write, session, [*(staying or ()), *drafts])
        return True

    return store.write(work)


def _before(read: ReadTransaction, name: str, count: int) -> list[SpokenTurn]:
    """The turns of a thread before its last ``count``. Empty if branches were merged in it: ``undo`` follows first
    parents only. Cost: reads the whole thread."""
    said = read.thread(name)
    is_one_line = len(read.last(name, len(said))) == len(said)
    return said[: max(0, len(said) - count)] if is_one_line else []


def fork(store: Store, session: NamedSession, to: NamedSession, turns: int | None = None) -> bool:
    """Begin another session with the turns of this one, or with its first ``turns``. False if this session is empty.

    Both share those turns, and then grow independently.
    Cost: one transaction, however many turns they share. Raises: BookmarkTaken if the other session is not empty.
    """

    def work(write: WriteTransaction) -> bool:
        taken = find_session(write, to)
        holder = None if taken is None else write.bookmark(taken)
        if taken is not None and holder is not None:
            raise BookmarkTaken(taken, holder)
        name = find_session(write, session)
        end = None if name is None else write.bookmark(name) if turns is None else write.first(name, turns)
        if end is None:
            return False
        write.begin(to.name, end, key=to.key, app=to.app)
        return True

    return store.write(work)


def branches(store: Store, session: NamedSession, limit: int = 1000) -> list[str]:
    """The sessions that begin with the same turn, including this one: the key of each conversation, else its name.

    Cost: one statement that looks at every name of the space, and one for each name that it finds.
    """

    def work(read: ReadTransaction) -> list[str]:
        name = find_session(read, session)
        root = None if name is None else read.first(name)
        found = [] if root is None else read.names_through(root, limit)
        return [read.key_of(each) or text_of(each) or each for each in found]

    return store.read(work)


def drop(store: Store, session: NamedSession, *, erase: bool = False) -> bool:
    """Take all turns out of a session, and free its name. False if the session was empty.

    ``erase`` also erases all turns that the name ever led to, including those that were popped or dropped before,
    unless another name or branch leads to them; and the conversation's title, tags, key and ``app``. The receipt lists
    them.
    Cost: one transaction; with ``erase`` it reads the space a few times and writes a row for each turn. On SQLite,
    the erased bytes are off the disk after ``Database.gc``, which rewrites the whole file: once for many sessions.
    """
    return store.write(lambda write: take_out(write, session, erase=erase))


def take_out(write: WriteTransaction, session: NamedSession, *, erase: bool) -> bool:
    """``drop`` inside a transaction."""
    name = find_session(write, session, removed=erase)
    if name is None:
        return False
    was_there = write.has_bookmark(name)
    if erase:
        write.erase_conversation(name, DELETED)
    else:
        write.remove_bookmark(name)
    return was_there
