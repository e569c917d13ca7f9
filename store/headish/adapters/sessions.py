"""The turns of one session: added, read, popped and dropped under its name, each in one transaction.

The space is locked while somebody writes, so two threads, tasks or processes on one session lose nothing: what is
added together stays together, and a pop takes what it returns.

Each is a function of a store. Call it in the block of ``DatabaseHold.use``, and from a coroutine through ``finish``.
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
    """A session: the text that its framework knows it by, and the bookmark that it has where it has no other."""

    id: str
    name: str

    @property
    def key(self) -> str | None:
        """The key of its conversation; None where the text cannot be one."""
        return key_of(self.id)

    @property
    def app(self) -> dict[str, Any] | None:
        """What its conversation keeps of the text where that cannot be the key."""
        return {"id": heal_text(self.id)[0]} if self.key is None else None


def session_of(text: str) -> NamedSession:
    """The session of any text. Its bookmark is ``safe_name`` of it; a conversation that has the text as its ``key``
    is the session's under any other name, too: so a session goes on after a rename, and goes on with an import.

    Raises: InvalidArgument for what is no text.
    """
    return NamedSession(text, safe_name(text))


def find_session(read: ReadTransaction, session: NamedSession, *, removed: bool = False) -> str | None:
    """The bookmark that a session has; None where nothing is in it. ``removed``: also one that it had last."""
    return read.conversation(session.name, session.key, removed=removed)


def add(store: Store, session: NamedSession, drafts: Sequence[Draft]) -> list[TurnId]:
    """Store turns at the end of a session; all, or nothing. The ids of the turns.

    What the drafts continue, and which name they move, is decided here. The first turn of a session gives its
    conversation the session's id as its key.
    Cost: one transaction; for one small turn of a session that this process used last four statements.
    Raises: as ``WriteTransaction.extend``.
    """
    return store.write(lambda write: extend(write, session, drafts))


def extend(write: WriteTransaction, session: NamedSession, drafts: Sequence[Draft]) -> list[TurnId]:
    """``add`` inside a transaction."""
    return write.extend(session.name, drafts, key=session.key, app=session.app)


def read(store: Store, session: NamedSession, limit: int | None = None) -> list[SpokenTurn]:
    """What the last ``limit`` turns of a session say, or all of them, oldest first. Empty where there is none.

    A turn that was erased has ``erased``, and no payload. Overlays are turns as any other: ``is_plain`` tells whether
    a thread is what a model sees. Cost, Raises: as ``ReadTransaction.thread``.
    """
    return [each for each in read_unknown(store, session, limit) if isinstance(each, SpokenTurn)]


def read_unknown(
    store: Store, session: NamedSession, limit: int | None = None, known: Collection[TurnId] = ()
) -> list[SpokenTurn | TurnId]:
    """``read`` for a caller that remembers turns, as ``ReadTransaction.thread_unless_known``."""

    def work(read: ReadTransaction) -> list[SpokenTurn | TurnId]:
        # By its name first, in one statement. Only a session that was renamed, or imported, is looked up by its key.
        found = read.thread_unless_known(session.name, known, limit)
        if found:
            return found
        name = find_session(read, session)
        return [] if name is None else read.thread_unless_known(name, known, limit)

    return [] if limit == 0 else store.read(work)


def see(store: Store, session: NamedSession) -> list[TranscriptMessage]:
    """The messages of a session as a model sees them: with the effect of overlays, without what is hidden from it.

    Cost: a walk of the thread.
    """

    def work(read: ReadTransaction) -> list[TranscriptMessage]:
        name = find_session(read, session)
        return [] if name is None else read.window(name)

    return store.read(work)


def read_messages(
    store: Store, session: NamedSession, limit: int | None = None
) -> list[tuple[TranscriptMessage, bytes | None]]:
    """What a model sees of a session, each message with the ``app`` of its turn; what was erased is left out.

    ``limit`` are the last turns that are looked at. Where overlays or documents are among them, it is the whole thread.
    Cost: as ``read``, and as ``see`` there.
    """
    turns = read(store, session, limit)
    if is_plain(turns) and all(each.type is None for each in turns):
        return [(message_of(each), each.app) for each in turns if each.payload is not None]
    apps = {each.id: each.app for each in (turns if limit is None else read(store, session))}
    return [(kept, apps.get(kept.message.turn or TurnId(""))) for kept in see(store, session)]


def free_name(read: ReadTransaction, text: str) -> str:
    """``safe_name`` of a text; where another bookmark has that name, of the text with a number behind it."""
    number, name = 1, safe_name(text)
    while read.has_bookmark(name):
        number += 1
        name = safe_name(f"{text}-{number}")
    return name


def name_of(store: Store, session: NamedSession) -> str | None:
    """The bookmark that a session has now; None where nothing is in it."""
    return store.read(lambda read: find_session(read, session))


def pop(
    store: Store,
    session: NamedSession,
    *,
    erase: bool = False,
    rest: Callable[[SpokenTurn], Sequence[Draft]] | None = None,
) -> SpokenTurn | None:
    """Take the last turn off a session, and give what it says; None where nothing is in it.

    What another writer adds meanwhile stays. ``rest`` gives turns that take the place of the one that was taken: of a
    turn of several messages all but the last. With ``erase`` the turn is erased, unless something else leads to it.
    Cost: one transaction of about ten statements; with ``erase`` it reads the space a few times.
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
    """Put other turns in the place of the last ones, which must be the ones with these ids; False, and nothing is
    changed, where they are not.

    What was there before is hidden, or with ``erase`` erased where nothing else leads to it. ``stay`` is given the
    turns before the last ones, and gives those that take their place; None leaves them as they are.
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
    """What the turns of a thread before its last ``count`` say. Nothing where branches were merged in it: first parents
    alone are taken back. Cost: the whole thread."""
    said = read.thread(name)
    is_one_line = len(read.last(name, len(said))) == len(said)
    return said[: max(0, len(said) - count)] if is_one_line else []


def fork(store: Store, session: NamedSession, to: NamedSession, turns: int | None = None) -> bool:
    """Begin another session with what this one says, or with its first ``turns`` turns; whether there was anything.

    Both share those turns, and each goes on by itself.
    Cost: one transaction, whatever is shared. Raises: BookmarkTaken where the other session has something.
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
    """The sessions that begin with the same turn, this one too; each by its conversation's key, else by its name.

    Cost: one statement that looks at every name of the space, and one for each name that is found.
    """

    def work(read: ReadTransaction) -> list[str]:
        name = find_session(read, session)
        root = None if name is None else read.first(name)
        found = [] if root is None else read.names_through(root, limit)
        return [read.key_of(each) or text_of(each) or each for each in found]

    return store.read(work)


def drop(store: Store, session: NamedSession, *, erase: bool = False) -> bool:
    """Take everything out of a session; whether anything was in it. Its name is free from then on.

    ``erase`` also erases what the name ever led to and nothing else does (other names, other branches), including what
    was popped and dropped before, and the conversation's title, tags, key and ``app``. The receipt lists it.
    Cost: one transaction; with ``erase`` it reads the space a few times and writes a row for each turn. What was erased
    is off a SQLite file's disk after ``Database.gc``: that writes the whole file, once for many sessions.
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
