"""Add, read, pop and drop the turns of a session under its name, each in one transaction.

Writers of one session lose nothing: turns that are added together stay together, and a pop removes exactly the turn
that it returns.

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
    """A session: the id that its framework uses, and the bookmark that it has unless it was renamed or imported."""

    id: str
    name: str

    @property
    def key(self) -> str | None:
        """The key of its conversation; None if the id cannot be a key."""
        return key_of(self.id)

    @property
    def app(self) -> dict[str, Any] | None:
        """What the conversation's ``app`` keeps of the id if that cannot be the key; else None."""
        return {"id": heal_text(self.id)[0]} if self.key is None else None


def session_of(text: str) -> NamedSession:
    """Return the session of any text. Its bookmark is ``safe_name`` of the text. A conversation whose ``key`` is the
    text belongs to the session under any other name, too: so a session survives a rename, and continues an import.

    Raises: InvalidArgument if it is not text.
    """
    return NamedSession(text, safe_name(text))


def find_session(read: ReadTransaction, session: NamedSession, *, removed: bool = False) -> str | None:
    """The bookmark of a session; None if it is empty. ``removed``: also a bookmark that was removed."""
    return read.conversation(session.name, session.key, removed=removed)


def add(store: Store, session: NamedSession, drafts: Sequence[Draft]) -> list[TurnId]:
    """Append turns to a session, all or none, and return their ids.

    This function sets what the drafts continue and which name they move. The first turn of a session gives its
    conversation the session's id as its key.
    Cost: one transaction; for one small turn of a session that this process used last four statements.
    Raises: as ``WriteTransaction.extend``.
    """
    return store.write(lambda write: extend(write, session, drafts))


def extend(write: WriteTransaction, session: NamedSession, drafts: Sequence[Draft]) -> list[TurnId]:
    """``add`` inside a transaction."""
    return write.extend(session.name, drafts, key=session.key, app=session.app)


def read(store: Store, session: NamedSession, limit: int | None = None) -> list[SpokenTurn]:
    """Return the last ``limit`` turns of a session, or all, oldest first. Empty if there is none.

    An erased turn has ``erased`` and no payload. Overlays are turns like any other: ``is_plain`` tells whether a thread
    is what a model sees. Cost, Raises: as ``ReadTransaction.thread``.
    """
    return [each for each in read_unknown(store, session, limit) if isinstance(each, SpokenTurn)]


def read_unknown(
    store: Store, session: NamedSession, limit: int | None = None, known: Collection[TurnId] = ()
) -> list[SpokenTurn | TurnId]:
    """``read`` for a caller that remembers turns: of ``known`` ones it returns only the ids. As
    ``ReadTransaction.thread_unless_known``."""

    def work(read: ReadTransaction) -> list[SpokenTurn | TurnId]:
        # By its name first, in one statement. Only a session that was renamed, or imported, is looked up by its key.
        turns = read.thread_unless_known(session.name, known, limit)
        if turns:
            return turns
        name = find_session(read, session)
        return [] if name is None else read.thread_unless_known(name, known, limit)

    return [] if limit == 0 else store.read(work)


def see(store: Store, session: NamedSession) -> list[TranscriptMessage]:
    """The messages of a session as a model sees them: overlays applied, and without what is hidden from models.

    Cost: a walk of the thread.
    """

    def work(read: ReadTransaction) -> list[TranscriptMessage]:
        name = find_session(read, session)
        return [] if name is None else read.window(name)

    return store.read(work)


def read_messages(
    store: Store, session: NamedSession, limit: int | None = None
) -> list[tuple[TranscriptMessage, bytes | None]]:
    """The messages that a model sees of a session, each with the ``app`` of its turn, without erased ones.

    With ``limit``, only the last turns are looked at; if overlays or documents are among them, the whole thread.
    Cost: as ``read``, or as ``see`` for a whole thread.
    """
    turns = read(store, session, limit)
    if is_plain(turns) and all(each.type is None for each in turns):
        return [(message_of(each), each.app) for each in turns if each.payload is not None]
    apps = {each.id: each.app for each in (turns if limit is None else read(store, session))}
    return [(kept, apps.get(kept.message.turn or TurnId(""))) for kept in see(store, session)]


def free_name(read: ReadTransaction, text: str) -> str:
    """``safe_name`` of a text. If a bookmark has that name already, a number is added to the text."""
    number, name = 1, safe_name(text)
    while read.has_bookmark(name):
        number += 1
        name = safe_name(f"{text}-{number}")
    return name


def name_of(store: Store, session: NamedSession) -> str | None:
    """The bookmark of a session now; None if it is empty."""
    return store.read(lambda read: find_session(read, session))


def pop(
    store: Store,
    session: NamedSession,
    *,
    erase: bool = False,
    rest: Callable[[SpokenTurn], Sequence[Draft]] | None = None,
) -> SpokenTurn | None:
    """Take the last turn off a session, and return it; None if the session is empty.

    Turns that another writer adds meanwhile stay. ``rest`` returns drafts to put in place of the removed turn: for a
    turn of several messages, all but the last one. With ``erase`` the turn is erased, unless something else leads to
    it.
    Cost: one transaction of about ten statements; with ``erase`` it reads the space a few times.
    """

    def work(write: WriteTransaction) -> SpokenTurn | None:
        name = find_session(write, session)
        if name is None:
            return None
        [last] = write.undo(name, erase=TAKEN_OUT if erase else None)
        extend(write, session, [] if rest is None else rest(last))
        return last

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
    """Replace the last turns, whose ids must be ``last``. Returns False and changes nothing if they are not.

    The old turns are hidden, or with ``erase`` erased unless something else leads to them. ``stay`` receives the turns
    before the last ones, and returns drafts that replace those; None leaves them as they are.
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
    """The turns of a thread before its last ``count``. Empty if branches were merged in it: ``undo`` goes back along
    first parents alone, and would leave the others out. Cost: the whole thread."""
    turns = read.thread(name)
    is_one_line = len(read.last(name, len(turns))) == len(turns)
    return turns[: max(0, len(turns) - count)] if is_one_line else []


def fork(store: Store, session: NamedSession, to: NamedSession, turns: int | None = None) -> bool:
    """Begin the session ``to`` with all turns of this one, or with its first ``turns``. Returns whether there were any.

    Both sessions share those turns, and each continues by itself.
    Cost: one transaction, however many turns are shared. Raises: BookmarkTaken if the other session is not empty.
    """

    def work(write: WriteTransaction) -> bool:
        other = find_session(write, to)
        holder = None if other is None else write.bookmark(other)
        if other is not None and holder is not None:
            raise BookmarkTaken(other, holder)
        name = find_session(write, session)
        end = None if name is None else write.bookmark(name) if turns is None else write.first(name, turns)
        if end is None:
            return False
        write.begin(to.name, end, key=to.key, app=to.app)
        return True

    return store.write(work)


def branches(store: Store, session: NamedSession, limit: int = 1000) -> list[str]:
    """The sessions that begin with the same turn, this one included, each by its conversation's key, else by its name.

    Cost: one statement that looks at every name of the space, and one for each name that it finds.
    """

    def work(read: ReadTransaction) -> list[str]:
        name = find_session(read, session)
        root = None if name is None else read.first(name)
        names = [] if root is None else read.names_through(root, limit)
        return [read.key_of(each) or text_of(each) or each for each in names]

    return store.read(work)


def drop(store: Store, session: NamedSession, *, erase: bool = False) -> bool:
    """Empty a session, and free its name. Returns whether anything was in it.

    ``erase`` also erases all turns that the name ever led to and nothing else leads to (other names, other branches),
    including those popped and dropped before, and the conversation's title, tags, key and ``app``. The receipt lists
    them. Cost: one transaction; with ``erase`` it reads the space a few times and writes a row for each turn. The
    erased bytes leave a SQLite file with ``Database.gc``, which writes the whole file, once for many sessions.
    """
    return store.write(lambda write: take_out(write, session, erase=erase))


def take_out(write: WriteTransaction, session: NamedSession, *, erase: bool) -> bool:
    """``drop`` inside a transaction."""
    # To erase, a name that was removed counts too: what it led to is still in the database.
    name = find_session(write, session, removed=erase)
    if name is None:
        return False
    was_there = write.has_bookmark(name)
    if erase:
        write.erase_conversation(name, DELETED)
    else:
        write.remove_bookmark(name)
    return was_there
