"""Verbs that list turns: what continues one, the heads, a tree, all turns of a space. Each page is one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal

from headish.database.query import Connection
from headish.errors import CorruptTurn
from headish.history.reading.decode import complete_turns
from headish.history.reading.halves import hidden_in_space
from headish.history.reading.trees import read_conversation_part, read_part, read_whole_tree
from headish.history.reading.versions import NOTHING_UNLISTED, unlisted_in_space
from headish.history.twins import folded_twins
from headish.rows.bookmarks import ALL
from headish.rows.threads import listings
from headish.rows.threads.places import has_at_most
from headish.rows.turns import StoredTurn
from headish.store.paging import check_limit, check_order, position
from headish.store.space import Space
from headish.values.checks.doors import door
from headish.values.ids import TurnId
from headish.values.results.threads import Tree
from headish.values.turns import TreeTurn, Turn

PAGE_TURNS = 500


@door()
def children(
    space: Space, headish: str, *, limit: int | None = None, after: str | None = None, versions: bool = False
) -> list[Turn]:
    """The turns that continue this one, in commit order; ``limit`` of them, after the turn ``after``.

    Half an answer, which a later import replaced by a longer version, is left out unless something else continues it;
    ``versions`` includes it.

    Cost: three statements, and one for each 64 turns; three more for each 64 answers that grew.
    Raises: InvalidArgument for a ``limit`` below 1.
    """
    page_size, start = check_limit(limit), position(after, lambda stored: stored.seq, 0)

    def work(connection: Connection, stored: StoredTurn) -> list[Turn]:
        behind, hidden = (
            start(connection, space._number),
            () if versions else hidden_in_space(connection, space._number),
        )
        # Any of the hidden turns may be on the page, so ask for as many more.
        read_limit = min(page_size + len(hidden), ALL)
        page = listings.children(connection, space._number, stored.place, after=behind, limit=read_limit)
        listed = [each for each in page if each.id not in hidden][:page_size]
        return complete_turns(connection, space._number, listed, space._options_at)

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
    the same even if a turn has continued that head meanwhile. The list leaves out halves of answers that a later import
    replaced (``versions`` includes them), and turns from another store that repeat turns of this one after the same
    turns (``twins`` includes them).
    Cost: a page by start costs the same however many heads there are. By tip, every branch of the space is looked at.
    Raises: InvalidArgument for a ``limit`` below 1 or another order.
    """
    check_order(by, ("start", "tip"), "heads")
    page_size = check_limit(limit)
    # A branch is a chain, and chains are numbered as they begin.
    start = position(after, lambda stored: stored.chain if by == "start" else stored.seq, ALL)
    read_heads = listings.heads if by == "start" else listings.heads_by_tip

    def work(connection: Connection) -> list[Turn]:
        before, listed = start(connection, space._number), list[StoredTurn]()
        unlisted = NOTHING_UNLISTED if versions and twins else unlisted_in_space(connection, space._number)
        halves = set[TurnId]() if versions else unlisted.halves
        folds = unlisted.has_arrivals and not twins
        while len(listed) < page_size:
            page = read_heads(connection, space._number, before=before, limit=page_size - len(listed), erased=erased)
            same = folded_twins(connection, space._number, [each.id for each in page]) if folds else set[TurnId]()
            left_out = halves | same
            listed += [each for each in page if each.id not in left_out]
            # Nothing was left out, so the page is as long as was asked for, or it is the last one.
            if not left_out or not page:
                break
            before = page[-1].chain if by == "start" else page[-1].seq
        return complete_turns(connection, space._number, listed, space._options_at)

    return space._read(work)


@door()
def turns(space: Space, after: str | None = None) -> Iterator[Turn]:
    """All turns of the space in commit order, after ``after``; read in pages, each when it is reached."""
    seq = 0 if after is None else space._read_at(after, lambda _, stored: stored.seq)
    while page := space._read(partial(_page, space=space, seq=seq, limit=PAGE_TURNS)):
        yield from (turn for _, turn in page)
        seq = page[-1][0]


def read_range(space: Space, seq: int, count: int) -> list[Turn]:
    """Read ``count`` turns from a commit number on. Raises: CorruptTurn if one is missing."""
    result: list[Turn] = []
    while len(result) < count:
        start, limit = seq - 1 + len(result), min(PAGE_TURNS, count - len(result))
        page = space._read(partial(_page, space=space, seq=start, limit=limit))
        # Commit numbers have no gaps (ADR 0008), so a missing one is damage.
        if [number for number, _ in page] != list(range(start + 1, start + 1 + limit)):
            raise CorruptTurn(f"with commit number {start + 1}", "it or one behind it is missing")
        result += [turn for _, turn in page]
    return result


@door()
def tree(space: Space, headish: str = "@", *, limit: int | None = None, versions: bool = False) -> Tree:
    """All turns of the tree that a turn belongs to, with all branches and their names, in commit order.

    ``limit`` returns a part: the conversation of the turn, without others that only begin with the same system turns
    (rule R33, conversations). If the conversation is larger than ``limit``, half of the part are the last turns of the
    thread that leads to the turn (or all of them if they are fewer); the rest grew from the turn, the nearest first.
    ``TreeTurn.more`` counts the turns that continue a turn and are not in the part. If ``continues`` names a turn that
    is not in the part, the part is cut off above. If an answer grew between two imports, its last version is shown;
    ``versions`` shows all.
    Cost: three statements for a whole tree; for a part, about fifteen, and a few more for each 1,024 turns; with a
    ``limit``, one more that counts the tree up to it.
    Raises: CorruptTurn; InvalidArgument for a ``limit`` below 1.
    """
    most = check_limit(limit)

    def work(connection: Connection, stored: StoredTurn) -> list[TreeTurn]:
        where = (connection, space._number, stored.place)
        if limit is not None and (part := read_conversation_part(*where, most, halves=versions)) is not None:
            return part
        if limit is None or has_at_most(*where, most):
            return read_whole_tree(*where, halves=versions)
        return read_part(*where, most, halves=versions)

    return Tree(space._read_at(headish, work))


def _page(connection: Connection, space: Space, seq: int, limit: int) -> list[tuple[int, Turn]]:
    page = listings.turns_after(connection, space._number, seq, limit)
    turns = complete_turns(connection, space._number, page, space._options_at)
    return list(zip([stored.seq for stored in page], turns, strict=True))
