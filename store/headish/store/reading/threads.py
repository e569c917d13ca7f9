"""Verbs that read the turns of a thread: its log, its messages, its records. Each reads in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

from headish.database.query import Connection
from headish.errors import InvalidRole
from headish.history.edits.ranges import find_segments, parse_range
from headish.history.reading.contents import Selection, select_turns
from headish.history.reading.decode import complete_turns, thread_records
from headish.history.reading.walk import read_backwards, walk, walk_messages
from headish.rows.turns import StoredTurn
from headish.store.space import Headishes, Space
from headish.values.checks.doors import door
from headish.values.messages import ROLES, Message
from headish.values.times import read_moment
from headish.values.turns import Turn

if TYPE_CHECKING:
    from headish.values.results.threads import Thread, TranscriptMessage


@door()
def log(
    space: Space,
    headish: str = "@",
    *,
    limit: int | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    role: str | None = None,
    grep: str | None = None,
) -> list[Turn]:
    """The turns of a thread, newest first: its walk read backwards. Only ``limit`` turns are read.

    The headish may be a range (docs/reference/headish.md).

    ``since`` and ``until`` choose those that were said from a time on and before one: a datetime with a zone, or a text
    (docs/reference/headish.md; UTC if it has no offset). ``role`` chooses those of a role, ``grep`` those whose text
    contains this one, in upper or lower case. ``limit`` then counts the chosen ones, and every turn before the last of
    them is looked at.
    Raises: InvalidArgument, InvalidRole; CorruptTurn.
    """
    if role is not None and role not in ROLES:
        raise InvalidRole(role)
    selection = Selection(
        role=role,
        since=read_moment(since, "since"),
        until=read_moment(until, "until", ends=True),
        grep=None if grep is None else grep.casefold(),
    )

    parsed = parse_range(headish)

    def work(connection: Connection) -> list[Turn]:
        segments = find_segments(connection, space._number, parsed)
        walked: Iterator[StoredTurn] = read_backwards(connection, space._number, segments)
        if not selection.is_all:
            walked = select_turns(connection, space._number, walked, selection)
        return complete_turns(connection, space._number, islice(walked, limit), space._options_at)

    return space._read(work)


@overload
def messages(
    space: Space, headish: str = "@", *, limit: int | None = None, form: None = None
) -> list[tuple[Turn, Message]]: ...


@overload
def messages(
    space: Space, headish: str = "@", *, limit: int | None = None, form: str, drop: Collection[str] = ()
) -> list[dict[str, Any]]: ...


@door()
def messages(
    space: Space, headish: str = "@", *, limit: int | None = None, form: str | None = None, drop: Collection[str] = ()
) -> Any:
    """The stored turns of a thread in walk order, each with its message; with ``limit``, the last ones.

    Nothing is left out or merged. Only the returned turns are read. With ``form`` (``chat``, ``responses``,
    ``anthropic``, ``gemini``, ``cohere``): the messages alone, as a client of that API holds them. What was recorded in
    the form is equal to what was given; all else is written from the blocks, and ``drop`` names what may be lost.
    Instructions that the client sent beside its list come first in this one. A thread with overlays is given as a model
    sees it.
    Cost: a statement or two for the links, and two for each chain that the turns lie in, however long the thread. With
    ``form`` one more, that looks at every turn; with overlays a walk.
    Raises: CorruptTurn where stored bytes do not decode; InvalidArgument for a limit below 0; UnknownFormat; Unmappable
    for what the form cannot express.
    """
    if form is None:
        return space._read_at(
            headish,
            lambda connection, stored: walk_messages(connection, space._number, stored.place, limit, space._options_at),
        )
    # Late: most processes write none.
    from headish.content.forms.table import find_form
    from headish.content.forms.writing import write_thread
    from headish.history.reading.documents import with_documents
    from headish.history.windows.resolve import holds_overlays
    from headish.history.windows.transcripts import kept_thread
    from headish.transcripts.drops import drop_words
    from headish.values.results.threads import TranscriptMessage

    def work(connection: Connection, stored: StoredTurn) -> list[TranscriptMessage]:
        if holds_overlays(connection, space._number, stored.place):
            entries = kept_thread(walk(connection, space._number, [stored.place]))
            entries = entries if limit is None else entries[max(0, len(entries) - limit) :]
        else:
            pairs = walk_messages(connection, space._number, stored.place, limit, space._options_at)
            entries = [TranscriptMessage(message, turn.meta.system) for turn, message in pairs]
        filled = with_documents(connection, space._number, [message for message, _ in entries])
        return [each._replace(message=message) for each, message in zip(entries, filled, strict=True)]

    target, words = find_form(form), drop_words(drop)
    written = write_thread(target, space._read_at(headish, work), words)
    return [*(entry for _, entry in written.instructions), *written.entries]


def thread(space: Space, headish: Headishes = "@") -> Thread:
    """The schema reference's thread records of a walk, as a list."""
    from headish.values.results.threads import Thread

    return Thread(
        space._read_from(headish, lambda connection, places: thread_records(walk(connection, space._number, places)))
    )
