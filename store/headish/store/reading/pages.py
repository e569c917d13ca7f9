"""Verbs that show a thread to people: write a page, whole or in pieces, and read a stretch of a thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from headish.database.query import Connection
from headish.errors import Ambiguous, CorruptTurn, InvalidArgument, UnknownConversation, UnknownFormat, UnknownTurn
from headish.history.conversations.subjects import title_of
from headish.history.reading.decode import read_all_blocks
from headish.history.reading.find import find_turn
from headish.history.reading.options import fold_options, resolve_options
from headish.history.reading.trees import build_thread, newest_end, read_conversation_tree, read_stretch
from headish.history.reading.walk import order_inherited, walk
from headish.history.windows.resolve import is_covered, is_marked, is_overlaid
from headish.rows.threads.walks import Walked, read_links, read_marked
from headish.rows.turns import StoredTurn, turn_at, turn_by_id
from headish.store.paging import check_limit
from headish.store.reading.export import model_of
from headish.store.space import Space
from headish.values.checks.doors import door
from headish.values.grammar import parse_headish
from headish.values.ids import TurnId
from headish.values.messages import Face
from headish.values.places import Place
from headish.values.results.threads import Stretch
from headish.values.turns import TreeTurn

if TYPE_CHECKING:
    from headish.renderings.pages import PageMessage, ThreadPage

PIECE_TURNS = 512
"""How many turns are read, and kept in memory, at a time."""


class _PageFacts(NamedTuple):
    """What a page is made of, in addition to its turns."""

    head: TurnId
    end: Place
    links: Mapping[int, Sequence[Place]]
    title: str | None
    model: str | None


@door()
def stretch(
    space: Space,
    headish: str = "@",
    *,
    around: str | None = None,
    start: int | None = None,
    limit: int = 50,
    onward: bool = False,
    faces: bool = False,
) -> Stretch:
    """Read ``limit`` consecutive turns of a thread: the last ones, those from ``start`` on, or those around a turn.

    ``around`` is a turn of the thread, to be in the middle or, near an end, as near as it can be. ``start`` counts from
    0. ``onward``: the thread continues after the headish, to the end of the branch that began last, and the stretch
    lies around the headish. Turns are as they were stored; ``faces`` also reads how overlays show them.
    Cost: a statement or two for the links and about ten for each 1,024 turns, however long the thread is; two more for
    ``onward``. ``faces`` looks at every turn of the thread from the stretch on (where branches were merged, at all of
    them), and walks the thread if a turn of the stretch is hidden, or an overlay covers it. Every payload and digest is
    compared with what was stored.
    Raises: UnknownTurn if ``around`` is not in the thread; InvalidArgument for ``start`` with ``around`` or ``onward``,
    and for numbers out of range; CorruptTurn.
    """
    length = check_limit(limit)
    if start is not None and (around is not None or onward):
        raise InvalidArgument("a stretch begins at start, or lies around a turn: not both")
    if start is not None and (type(start) is not int or start < 0):
        raise InvalidArgument(f"start counts turns from 0, so it is not {start}")
    middle = None if around is None else parse_headish(around)

    def work(connection: Connection, stored: StoredTurn) -> Stretch:
        at = stored if onward else None
        at = at if middle is None else find_turn(connection, space._number, middle)
        end = newest_end(connection, space._number, stored.place) if onward else stored.place
        place = None if at is None else (at.id, at.place)
        piece, digests, onwards = read_stretch(connection, space._number, end, length, around=place, start=start)
        if not faces or not (
            any(turn.attributes.hidden for turn in piece.turns)
            or is_covered(connection, space._number, digests, onwards)
        ):
            return piece
        seen = _faces(walk(connection, space._number, [end]))
        return replace(piece, faces={turn.id: seen[turn.id] for turn in piece.turns if turn.id in seen})

    return space._read_at(headish, work)


@door()
def render(
    space: Space,
    headish: str = "@",
    format: str = "html",
    *,
    branches: bool = False,
    debug: bool = False,
    title: str | None = None,
) -> str:
    """Write a thread for people, as ``html`` (one self-contained page), ``markdown`` or ``text``.

    The page holds only what an end user may see, and only the thread that leads to the headish. ``branches`` adds every
    other branch of its conversation (``text`` counts them) and the bookmarks. ``debug`` shows system and tool messages,
    calls, reasoning and the bookmarks too. Documents are named, not shown. Without ``title`` the page has the
    conversation's title or, if there is none, the first words of the user. The head of a page says which model the
    thread asks, each reply which one answered. Turns that are hidden from people are left out, replaced words are
    shown, and a line reports each, as it does for a summary.
    Raises: UnknownFormat; CorruptTurn.
    """
    return "".join(render_pieces(space, headish, format, branches=branches, debug=debug, title=title))


@door()
def render_pieces(
    space: Space,
    headish: str = "@",
    format: str = "html",
    *,
    branches: bool = False,
    debug: bool = False,
    title: str | None = None,
) -> Iterator[str]:
    """``render`` in pieces, each when it is reached: an HTML page without ``branches`` is never in memory as a whole.

    Such a page is read in stretches of 512 turns, each in a transaction of its own; what is erased meanwhile may be
    shown as erased.
    Raises: as ``render``, before the first piece where it can be known.
    """
    from headish.renderings.formats import RENDERINGS  # late, as below

    if format not in RENDERINGS:
        raise UnknownFormat(format, tuple(RENDERINGS))
    if branches or format != "html":
        return iter((_render_whole(space, headish, format, branches, debug, title),))

    def work(connection: Connection, stored: StoredTurn) -> tuple[_PageFacts, dict[TurnId, Face]]:
        rows = read_marked(connection, space._number, stored.place)
        links = read_links(connection, space._number, stored.place)
        setting = [row[:4] for row in rows if row[3] is not None]
        options = fold_options(order_inherited([stored.place], links, setting))
        facts = _describe(connection, space, headish, stored, title, options, links)
        if not any(map(is_marked, rows)):
            return facts, {}
        return facts, _faces(walk(connection, space._number, [stored.place], links))

    return _stream(space, *space._read_at(headish, work), debug)


def _render_whole(space: Space, headish: str, format: str, branches: bool, debug: bool, title: str | None) -> str:
    from headish.renderings.formats import render
    from headish.renderings.pages import make_page

    def work(connection: Connection, stored: StoredTurn) -> ThreadPage:
        links = read_links(connection, space._number, stored.place)
        walked = walk(connection, space._number, [stored.place], links)
        facts = _describe(connection, space, headish, stored, title, resolve_options(walked), links)
        if branches:
            tree = read_conversation_tree(connection, space._number, stored.place)
            faces = _faces_of_tree(connection, space, walked, tree)
        else:
            # A bookmark's name may reveal a branch that is not on the page.
            tree, faces = (
                build_thread(connection, space._number, walked, stored.place, links, named=debug),
                _faces(walked),
            )
        thread = [each.id for each in walked]
        return make_page(thread, tree, title=facts.title, debug=debug, model=facts.model, faces=faces)

    return render(space._read_at(headish, work), format)


def _stream(space: Space, shown: _PageFacts, faces: Mapping[TurnId, Face], debug: bool) -> Iterator[str]:
    from headish.renderings.html import CLOSE_SECTION, open_section, stream_html, write_entry
    from headish.renderings.pages import FIRST_SECTION, ThreadPage, find_title, read_entries

    def entries(start: int = 0) -> Iterator[list[PageMessage]]:
        for each in _stretches(space, shown, start, named=debug):
            yield list(read_entries(each, faces, debug))

    # Without a title, look for the first words of the user before anything is written. They are nearly always in the
    # first stretch, which is read only once.
    following = entries()
    first = next(following)
    title = shown.title or find_title(chain(first, chain.from_iterable(entries(PIECE_TURNS))))
    page = ThreadPage(title, shown.head, (), debug, shown.model)
    pieces = ("".join(map(write_entry, each)) for each in chain([first], following))
    return stream_html(page, chain([open_section(FIRST_SECTION)], pieces, [CLOSE_SECTION]))


def _stretches(space: Space, shown: _PageFacts, start: int, *, named: bool) -> Iterator[tuple[TreeTurn, ...]]:
    # The total is known after the first read; until then, assume one turn.
    total = start + 1
    while start < total:
        piece = space._read_by(_read_piece, shown, start, named)
        yield piece.turns
        start, total = start + PIECE_TURNS, piece.total


def _read_piece(connection: Connection, space: int, shown: _PageFacts, start: int, named: bool) -> Stretch:
    # Without names: a bookmark's may reveal a branch that is not on the page. The links never change between two reads.
    try:
        return read_stretch(
            connection, space, shown.end, PIECE_TURNS, start=start, links=shown.links, beside=named
        ).stretch
    except CorruptTurn:
        if turn_at(connection, space, shown.end) is None:  # a replica lags, or the space was erased meanwhile
            raise UnknownTurn(shown.head) from None
        raise


def _describe(
    connection: Connection,
    space: Space,
    headish: str,
    stored: StoredTurn,
    title: str | None,
    options: Mapping[str, Any],
    links: Mapping[int, Sequence[Place]],
) -> _PageFacts:
    page_title = title or _title(connection, space, headish)
    return _PageFacts(stored.id, stored.place, links, page_title, model_of(connection, space, options))


def _title(connection: Connection, space: Space, headish: str) -> str | None:
    """The title of a headish's conversation; None if it has no title, or if there are several conversations or none."""
    parsed = parse_headish(headish)
    subject = parse_headish(parsed.name) if parsed.name is not None and parsed.bookmark is None else parsed
    try:
        return title_of(connection, space._number, subject)
    except (UnknownConversation, UnknownTurn, Ambiguous, InvalidArgument):
        return None


def _faces(walked: Sequence[Walked]) -> dict[TurnId, Face]:
    """The faces of the turns that overlays of the thread change for people, by id."""
    if not is_overlaid(walked):
        return {}
    from headish.history.windows.faces import see_faces  # late: few threads need it

    return see_faces(walked, read_all_blocks(walked))


def _faces_of_tree(
    connection: Connection, space: Space, walked: Sequence[Walked], tree: Sequence[TreeTurn]
) -> dict[TurnId, Face]:
    """``_faces`` of a thread, with those of the turns beside it: the strictest that any of their branches gives.

    Cost: a walk for each other branch, if there is anything hidden or covered on one.
    """
    thread = {each.id for each in walked}
    others = [turn for turn in tree if turn.id not in thread]
    if not any(turn.attributes.overlay or turn.attributes.hidden for turn in others):
        return _faces(walked)
    from headish.history.windows.faces import strictest

    ends = [turn_by_id(connection, space._number, turn.id) for turn in others if not turn.children]
    faces = [_faces(walk(connection, space._number, [end.place])) for end in ends if end is not None]
    return {turn: face for turn, face in strictest(faces).items() if turn not in thread} | _faces(walked)
