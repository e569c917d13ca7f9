"""Store an overlay: find the turns that it covers and append it, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from headish.content.drafts import Reference, make_overlay_draft
from headish.database.query import Connection
from headish.errors import InvalidArgument
from headish.history.overlays.covering import cover, cover_those, digests
from headish.history.reading.decode import read_all_blocks
from headish.history.reading.find import find_turn
from headish.history.reading.walk import walk
from headish.history.windows.states import REPLACE, SUMMARIZE, would_change
from headish.history.windows.view import SeenThread, read_thread
from headish.history.writing.append import Appended, append
from headish.history.writing.planning import check_draft
from headish.rows.bookmarks import find_bookmark
from headish.rows.threads.places import is_forked
from headish.rows.turns import StoredTurn, tip_of, turn_by_id
from headish.values.blocks import ContentBlock
from headish.values.grammar import Headish, parse_headish
from headish.values.ids import Mint, TurnId
from headish.values.messages import Overlay
from headish.values.places import Place

Blocks = tuple[ContentBlock, ...]
Write = Callable[[SeenThread, list[int]], Blocks]
"""Makes the blocks that replace the covered turns."""

PUTS_WORDS = (SUMMARIZE, REPLACE)
"""The kinds of overlays that contain words of their own."""


class OverlayPlan(NamedTuple):
    """An overlay to lay: what it does to the turns from ``first`` to ``last``, and on which branch.

    Without ``branch`` it is the branch that ``last`` is named by: ``main~3`` means ``main``. ``among`` names the turns
    one by one instead, by their ids or the ids of overlays that replace them; then ``first`` and ``last`` are ignored.
    """

    does: str
    first: Headish
    last: Headish
    branch: Headish | None = None
    viewer: str | None = None
    expect: object = None
    system: dict[str, Any] | None = None
    author: str | None = None
    among: tuple[TurnId, ...] | None = None


class Covering(NamedTuple):
    """A thread, the indexes of its turns that an overlay is to cover, and the turn or bookmark that the overlay
    continues."""

    thread: SeenThread
    indexes: list[int]
    tip: Reference


def find_covered(connection: Connection, space: int, wanted: OverlayPlan) -> Covering:
    """Find the turns that an overlay would cover now. Raises: UnknownTurn; as ``cover`` and ``cover_those``."""
    if wanted.among is None:
        first, last = (find_turn(connection, space, each) for each in (wanted.first, wanted.last))
    else:
        first = last = find_turn(connection, space, parse_headish(wanted.among[-1]))
    tip, place = _find_branch(connection, space, wanted, last.place)
    walked = walk(connection, space, [place])
    thread = read_thread(walked, read_all_blocks(walked))
    if wanted.among is not None:
        return Covering(thread, cover_those(thread, wanted.among), tip)
    return Covering(thread, cover(thread, wanted.does, first.id, last.id), tip)


def lay(
    connection: Connection, space: int, wanted: OverlayPlan, write: Write, limit_bytes: int, mint: Mint
) -> Appended | StoredTurn | None:
    """Append an overlay. If the same words are there already, return the overlay that has them; None if the overlay
    would change nothing.

    Cost: that of a walk of the branch, and of an append.
    Raises: as ``find_covered`` and ``append``; TooLarge if its blocks or its list of digests are too large.
    """
    thread, indexes, tip = find_covered(connection, space, wanted)
    overlay = Overlay(does=wanted.does, covers=digests(thread, indexes), viewer=wanted.viewer)
    blocks = write(thread, indexes)
    draft = make_overlay_draft(
        overlay, blocks, limit_bytes, continues=(tip,), expect=wanted.expect, system=wanted.system, author=wanted.author
    )
    # Words that a model wrote are stored in any case: the turn records the cost of the reply.
    looks = wanted.does in PUTS_WORDS and wanted.system is None
    before = _standing(thread, indexes, overlay, blocks) if looks else None
    if before is not None or _changes_nothing(thread, indexes, overlay):
        check_draft(connection, space, draft)  # ``expect`` is checked even if nothing is stored
        return None if before is None else turn_by_id(connection, space, before)
    [appended] = append(connection, space, [draft], mint).built
    return appended


def _find_branch(connection: Connection, space: int, wanted: OverlayPlan, last: Place) -> tuple[Reference, Place]:
    """The turn or bookmark that the overlay continues, and its place."""
    if wanted.branch is not None:
        return wanted.branch, find_turn(connection, space, wanted.branch).place
    # On another branch the overlay would silently do nothing, so a branch is never guessed.
    base = _base(wanted.last)
    tip = None if base.bookmark is None else find_bookmark(connection, space, base.bookmark.encode())
    if tip is not None:
        return base, tip
    if base.name == "@":
        place = find_turn(connection, space, base).place
        return place, place
    place = _only_end(connection, space, last, wanted.last)
    return place, place


def _only_end(connection: Connection, space: int, place: Place, named: Headish) -> Place:
    """The end of the only branch that continues a turn. Raises: InvalidArgument if several do."""
    end = Place(place.chain, tip_of(connection, space, place).pos)
    if is_forked(connection, space, place):
        raise InvalidArgument(
            f"several branches grew from {named.text!r}: say on which it counts, with continues= or -c"
        )
    return end


def _base(headish: Headish) -> Headish:
    """A headish without its steps back."""
    if headish.id is not None:
        return parse_headish(headish.id)
    if headish.past is not None:
        return headish
    return parse_headish(str(headish.name))


def _changes_nothing(thread: SeenThread, indexes: Iterable[int], overlay: Overlay) -> bool:
    """Whether the covered turns are seen at the end of the thread as the overlay would show them. Such an overlay is
    not stored, so repeating a command does not make the thread longer."""
    states = (thread.states[index] for index in indexes)
    return not any(state is not None and would_change(state, overlay) for state in states)


def _standing(
    thread: SeenThread, indexes: Iterable[int], overlay: Overlay, content: tuple[ContentBlock, ...]
) -> TurnId | None:
    """The overlay that already shows the same words in place of the same turns; None if there is none."""
    states = [thread.states[index] for index in indexes]
    first = states[0].by if states and states[0] is not None else None
    if first is None:
        return None
    at, before = thread.overlays[first]
    is_seen = all(
        state is not None and state.by == first and not (state.summarized and state.model) for state in states
    )
    is_same = (before.does, before.covers) == (overlay.does, overlay.covers)
    return first if is_seen and is_same and thread.messages[at].content == content else None
