"""Verbs that read turns: one, a thread, a tree, a context window. Each reads in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Literal, overload

from headish.database.query import Connection
from headish.errors import CorruptTurn, InvalidArgument, InvalidRole, shown
from headish.history.edits.ranges import find_segments, parse_range
from headish.history.reading.decode import complete_turn, complete_turns, read_blocks, read_payload, thread_records
from headish.history.reading.halves import hidden_in_space
from headish.history.reading.handles import make_handles
from headish.history.reading.selection import Selection, select_turns
from headish.history.reading.trees import read_part, read_whole_tree
from headish.history.reading.versions import NOTHING_UNLISTED, unlisted_in_space
from headish.history.reading.walk import read_backwards, walk, walk_messages
from headish.history.twins import folded_twins
from headish.rows.bookmarks import ALL
from headish.rows.threads import listings
from headish.rows.threads.places import has_at_most
from headish.rows.turns import StoredTurn
from headish.store.paging import check_limit, check_order, position
from headish.store.space import Headishes, Space
from headish.values.blocks import ContentBlock, join_texts
from headish.values.checks.doors import door
from headish.values.ids import TurnId, as_turn_id
from headish.values.messages import ROLES, Message, TranscriptMessage
from headish.values.results.threads import Thread, Tree
from headish.values.times import read_moment
from headish.values.turns import TreeTurn, Turn

PAGE_TURNS = 500


def get(space: Space, headish: str) -> Turn:
    """The turn that a headish names."""
    return space._read_at(
        headish,
        lambda connection, stored: complete_turn(connection, space._number, stored, space._options_at),
    )


def find(space: Space, key: str) -> Turn | None:
    """The turn with a key, None if there is none. If ``KEY;2``, ``KEY;3`` … supersede it, the newest of them.

    Cost: two statements, and one more for each version. Raises: InvalidArgument for what cannot be a key.
    """
    from headish.content.facts import read_key
    from headish.history.writing.keys import find_by_key

    wanted = read_key(key)

    def work(connection: Connection) -> Turn | None:
        stored = find_by_key(connection, space._number, wanted)
        return stored and complete_turn(connection, space._number, stored, space._options_at)

    return space._read(work)


def payload(space: Space, headish: str) -> bytes:
    """The stored bytes of a turn, checked against its hash. Raises: CorruptTurn."""
    return space._read_at(headish, lambda connection, stored: read_payload(connection, space._number, stored))


def blocks(space: Space, headish: str) -> tuple[ContentBlock, ...]:
    """The content blocks of a turn. Raises: CorruptTurn."""
    return space._read_at(
        headish,
        lambda connection, stored: read_blocks(stored, read_payload(connection, space._number, stored)),
    )


def text(space: Space, headish: str) -> str:
    """What a turn says as text: its text blocks joined, never its reasoning or calls. Raises: CorruptTurn."""
    return join_texts(blocks(space, headish))


@door()
def abbreviate(space: Space, ids: Iterable[TurnId]) -> dict[TurnId, str]:
    """The handle of each turn, for lists that a person reads: the shortest that is unique at this moment.

    A handle is the beginning of the turn's digest in the letters k to z, at least 6 of them; for turns with equal
    digests, a colon and the last digits of the id follow. Every headish may begin with one. An id that is not stored is
    its own handle.
    Cost: two statements for each 64 turns, and one for each digest that several turns share.
    Raises: InvalidArgument for what is no id.
    """
    listed = [_known_id(each) for each in ids]
    return space._read(lambda connection: make_handles(connection, space._number, listed))


@door()
def children(
    space: Space, headish: str, *, limit: int | None = None, after: str | None = None, versions: bool = False
) -> list[Turn]:
    """The turns that continue this one, in commit order; ``limit`` of them, after the turn ``after``.

    An answer that an import met again when it had grown is left out unless something else continues it; ``versions``
    shows it, too.

    Cost: three statements, and one for each 64 turns; three more for each 64 answers that grew.
    Raises: InvalidArgument for a ``limit`` below 1.
    """
    wanted, start = check_limit(limit), position(after, lambda stored: stored.seq, 0)

    def work(connection: Connection, stored: StoredTurn) -> list[Turn]:
        behind, hidden = (
            start(connection, space._number),
            () if versions else hidden_in_space(connection, space._number),
        )
        # Each of the hidden turns may stand in the page: so many more are asked for.
        asked = min(wanted + len(hidden), ALL)
        page = listings.children(connection, space._number, stored.place, after=behind, limit=asked)
        found = [each for each in page if each.id not in hidden][:wanted]
        return complete_turns(connection, space._number, found, space._options_at)

    return space._read_at(headish, work)


@door()
def heads(
    space: Space,
    *,
    limit: int | None = None,
    after: str | None = None,
    by: Literal["start", "tip"] = "start",
    erased: bool = False,
    versions: bool = False,
    twins: bool = False,
) -> list[Turn]:
    """The turns that nothing continues, the branch that began last first; ``limit`` of them, after ``after``.
    ``erased`` shows those that were erased, too.

    ``by="tip"`` lists the last stored first. ``after`` is the last head of the page before; by start, the next page is
    the same even if a turn has continued that head meanwhile. An answer that an import met again when it had grown is
    none; with ``versions`` it is. Nor is a turn that came from another store and says what was said here behind the
    same turns; with ``twins`` it is.
    Cost: a page by start costs the same however many heads there are. By tip, every branch of the space is looked at.
    Raises: InvalidArgument for a ``limit`` below 1 or another order.
    """
    check_order(by, ("start", "tip"), "heads")
    wanted = check_limit(limit)
    start = position(after, lambda stored: stored.chain if by == "start" else stored.seq, ALL)
    read = listings.heads if by == "start" else listings.heads_by_tip

    def work(connection: Connection) -> list[Turn]:
        before, found = start(connection, space._number), list[StoredTurn]()
        unlisted = NOTHING_UNLISTED if versions and twins else unlisted_in_space(connection, space._number)
        halves = set[TurnId]() if versions else unlisted.halves
        folds = unlisted.has_arrivals and not twins
        while len(found) < wanted:
            page = read(connection, space._number, before=before, limit=wanted - len(found), erased=erased)
            same = folded_twins(connection, space._number, [each.id for each in page]) if folds else set[TurnId]()
            left_out = halves | same
            found += [each for each in page if each.id not in left_out]
            if not left_out or not page:
                break
            before = page[-1].chain if by == "start" else page[-1].seq
        return complete_turns(connection, space._number, found, space._options_at)

    return space._read(work)


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

    As git means them: ``A..B`` gives the turns that lead to B and not to A, ``A...B`` those that lead to one of the two
    and not to both; a side that is left out is ``@``. A bookmark whose name holds ``..`` is that bookmark.

    ``since`` and ``until`` choose those that were said from a time on and before one: a datetime with a zone, RFC 3339,
    a date, ``yesterday``, ``2 hours ago`` (UTC where it has no offset; ``until`` a date holds that day). ``role``
    chooses those of a role, ``grep`` those whose text holds this one, in upper or lower case. ``limit`` then counts
    the chosen ones, and every turn before the last of them is looked at.
    Raises: InvalidArgument, InvalidRole; CorruptTurn.
    """
    if role is not None and role not in ROLES:
        raise InvalidRole(role)
    wanted = Selection(
        role=role,
        since=read_moment(since, "since"),
        until=read_moment(until, "until", ends=True),
        grep=None if grep is None else grep.casefold(),
    )

    asked = parse_range(headish)

    def work(connection: Connection) -> list[Turn]:
        segments = find_segments(connection, space._number, asked)
        walked: Iterator[StoredTurn] = read_backwards(connection, space._number, segments)
        if not wanted.is_all:
            walked = select_turns(connection, space._number, walked, wanted)
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
    space: Space,
    headish: str = "@",
    *,
    limit: int | None = None,
    form: str | None = None,
    drop: Collection[str] = (),
) -> Any:
    """The stored turns of a thread in walk order, each with its message; with ``limit``, the last ones.

    Nothing is left out or merged: what was cut off is there as it was stored. Only the returned turns are read. With
    ``form`` (``chat``, ``responses``, ``anthropic``, ``gemini``, ``cohere``): the messages alone, as a client of that
    API holds them. What was recorded in the form is equal to what was given; all else is written from the blocks, and
    ``drop`` names what may be lost. Instructions that stood before the list stand at its head. A thread with overlays
    is given as a model sees it, so that ``record`` recognises the list when it is sent back.
    Cost: a statement or two for the links, and two for each chain that the turns lie in, however long the thread. With
    ``form`` one more, that looks at every turn; with overlays a walk.
    Raises: CorruptTurn where stored bytes do not decode; InvalidArgument for a limit below 0; UnknownFormat;
    Unmappable for what the form cannot say.
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

    def work(connection: Connection, stored: StoredTurn) -> list[TranscriptMessage]:
        if holds_overlays(connection, space._number, stored.place):
            kept = kept_thread(walk(connection, space._number, [stored.place]))
            kept = kept if limit is None else kept[max(0, len(kept) - limit) :]
        else:
            found = walk_messages(connection, space._number, stored.place, limit, space._options_at)
            kept = [TranscriptMessage(message, turn.meta.system) for turn, message in found]
        filled = with_documents(connection, space._number, [message for message, _ in kept])
        return [each._replace(message=message) for each, message in zip(kept, filled, strict=True)]

    target, words = find_form(form), drop_words(drop)
    written = write_thread(target, space._read_at(headish, work), words)
    return [*(entry for _, entry in written.instructions), *written.entries]


@door()
def turns(space: Space, after: str | None = None) -> Iterator[Turn]:
    """All turns of the space in commit order, after ``after``; read in pages, each when it is reached."""
    seq = 0 if after is None else space._read_at(after, lambda _, stored: stored.seq)
    while page := space._read(partial(_page, space=space, seq=seq, limit=PAGE_TURNS)):
        yield from (turn for _, turn in page)
        seq = page[-1][0]


def read_range(space: Space, seq: int, count: int) -> list[Turn]:
    """``count`` turns from a commit number on. Raises: CorruptTurn where one is missing."""
    found: list[Turn] = []
    while len(found) < count:
        start, limit = seq - 1 + len(found), min(PAGE_TURNS, count - len(found))
        page = space._read(partial(_page, space=space, seq=start, limit=limit))
        if [number for number, _ in page] != list(range(start + 1, start + 1 + limit)):
            raise CorruptTurn(f"with commit number {start + 1}", "it or one behind it is missing")
        found += [turn for _, turn in page]
    return found


def thread(space: Space, headish: Headishes = "@") -> Thread:
    """The schema reference's thread records of a walk, as a list."""
    return Thread(
        space._read_from(headish, lambda connection, places: thread_records(walk(connection, space._number, places)))
    )


@door()
def tree(space: Space, headish: str = "@", *, limit: int | None = None, versions: bool = False) -> Tree:
    """All turns of the tree that a turn belongs to, with all branches and their names, in commit order.

    ``limit`` takes a part of a larger tree: half of these turns lead to the turn, the last of its thread (or all of it
    if they are fewer), and the others grew from it, the nearest first. ``TreeTurn.more`` counts the turns that continue
    one and are not in the part; where ``continues`` names a turn that is not, the part is cut off above. Of an answer
    that an import met again when it had grown, the last version is shown; with ``versions`` all are.
    Cost: three statements for a whole tree; of a part, about ten, and a few more for each 1,024 turns; with a
    ``limit``, one more that counts the tree so far.
    Raises: CorruptTurn; InvalidArgument for a ``limit`` below 1.
    """
    wanted = check_limit(limit)

    def work(connection: Connection, stored: StoredTurn) -> list[TreeTurn]:
        if limit is None or has_at_most(connection, space._number, stored.place, wanted):
            return read_whole_tree(connection, space._number, stored.place, halves=versions)
        return read_part(connection, space._number, stored.place, wanted, halves=versions)

    return Tree(space._read_at(headish, work))


def _known_id(given: object) -> TurnId:
    id = as_turn_id(given) if isinstance(given, str) else None
    if id is None:
        raise InvalidArgument(f"a turn is abbreviated by its whole id, not by {shown(given)}")
    return id


def _page(connection: Connection, space: Space, seq: int, limit: int) -> list[tuple[int, Turn]]:
    page = listings.turns_after(connection, space._number, seq, limit)
    turns = complete_turns(connection, space._number, page, space._options_at)
    return list(zip([stored.seq for stored in page], turns, strict=True))
