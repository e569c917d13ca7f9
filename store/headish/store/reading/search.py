"""The verb that searches, and the one that builds its index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from headish.content.searching.pieces import FIELDS, SHOWN
from headish.content.searching.questions import EVERYTHING, parse_question, phrases_of
from headish.content.searching.snippets import snippet_of
from headish.database.query import Connection
from headish.errors import DatabaseCorrupt, HeadishError, InvalidArgument, InvalidRole, shown
from headish.history.reading.decode import complete_turns
from headish.history.reading.versions import NOTHING_UNLISTED, unlisted_in_space
from headish.history.searching.candidates import Criteria, state_of
from headish.history.searching.hits import HitFilter, Match, find_matches
from headish.history.searching.index import Progress, catch_up, index_anew
from headish.history.searching.reaching import Reached, reach
from headish.history.searching.scopes import of_names, of_tag
from headish.history.twins import folded_twins
from headish.rows.searching.matches import page_of
from headish.store.paging import check_limit, check_order
from headish.store.space import STUMBLING, Space
from headish.values.checks.doors import TEXT, door
from headish.values.messages import ROLES
from headish.values.results.searches import Hit
from headish.values.times import bound_of

LIMIT = 1000
"""The most hits of a search."""
_NOWHERE = Reached((), ())


@door(name=TEXT)
def search(
    space: Space,
    query: str = "",
    *,
    role: str | None = None,
    model: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    name: str | None = None,
    tag: str | None = None,
    tool: str | None = None,
    fields: Collection[str] = SHOWN,
    order: str = "rank",
    limit: int = 20,
    versions: bool = False,
    twins: bool = False,
    progress: Progress | None = None,
) -> list[Hit]:
    """Find the turns of the space that match a query; the best first, or with ``order="time"`` the newest.

    ``query``: words, all of which must be there; ``"a phrase"``; ``begin*``; ``a OR b``; ``a NOT b``; parentheses.
    Case, accents and punctuation do not count. A query with a syntax error is taken as words. Without words, the
    filters alone choose, newest first. ``fields`` are those of ``text``, ``reasoning``, ``calls``, ``results`` and
    ``documents`` to search; all but reasoning by default.

    Filters: ``role``; ``model``, a name with or without the path before it, or a pattern; ``since`` and ``until``
    (exclusive), the time when a turn was said; ``name``, a pattern of the bookmarks that it leads to (``project-*``);
    ``tag``, one of its conversation; ``tool``, one that it calls or has the result of.

    New turns are indexed first (``progress`` is called with their number) or, where nothing can be written, read. Turns
    are searched as they were stored, even if an overlay hides or rewords them, or another turn supersedes them. If an
    answer grew between two imports, its last version is found (``versions``: all); if equal turns came from two stores,
    one of them (``twins``: all).
    Cost: six statements, and that of the turns that match; again while the page is not full because turns are left out.
    A ranked search weighs the newest 1,000 matches. One by time also looks at what was stored since its last hit was
    said.
    Raises: InvalidArgument for a query without words and filters, another field or order, a ``limit`` that is not from
    1 to 1,000; InvalidRole.
    """
    wanted_fields = _check_fields(fields)
    check_order(order, ("rank", "time"), "hits")
    check_limit(limit, LIMIT)
    if role is not None and role not in ROLES:
        raise InvalidRole(role)
    filters = (role, model, since, until, name, tag, tool)
    is_empty = not query.strip() and any(each is not None for each in filters)
    criteria = Criteria(EVERYTHING if is_empty else parse_question(query), wanted_fields, role, model, tool)
    times = _milliseconds("since", since), _milliseconds("until", until)
    number, waits = space._number, not space._open_backend().read_only

    def work(connection: Connection) -> list[Hit] | None:
        state = state_of(connection, number)
        # Indexing writes, and this transaction reads: it ends here, and the search begins again after the indexing.
        if waits and state.indexed < state.turns:
            return None
        within = [of_names(connection, number, name)] if name is not None else []
        within += [of_tag(connection, number, tag)] if tag is not None else []
        sought = HitFilter(criteria, *times, within, order, limit)
        found = find_matches(connection, number, sought, state)
        unlisted = unlisted_in_space(connection, number) if found and not (versions and twins) else NOTHING_UNLISTED

        def listed_of(found: Sequence[Match]) -> list[Match]:
            left_out = set() if versions else unlisted.halves
            if unlisted.has_arrivals and not twins:
                left_out = left_out | folded_twins(connection, number, [match.source.id for match in found])
            return [match for match in found if match.source.id not in left_out]

        # Fill the page up, as often as those that move up are left out, too: all that came with a sync may be.
        while len(listed := listed_of(found)) < limit and len(found) == sought.limit:
            sought = sought._replace(limit=limit + 2 * (len(found) - len(listed)))
            found = find_matches(connection, number, sought, state)
        return _hits(connection, space, criteria, listed[:limit])

    try:
        hits = space._read(work)
        if hits is None:
            bring_up_to_date(space, progress)
            waits = False  # turns that others store meanwhile are read instead
            hits = space._read(work)
    except DatabaseCorrupt as error:
        raise _advised(error) from error
    assert hits is not None
    return hits


@door()
def reindex(space: Space, progress: Progress | None = None) -> None:
    """Rebuild the search index of the space, from its first turn on; ``progress`` is called with turns.

    On SQLite, the other spaces of the file build theirs at their next search. If it is cut short, the next search
    continues. Does nothing if the database keeps no index. Cost: some 30 µs for each turn, in portions between which
    others write; memory for one portion.
    Raises: ReadOnly.
    """
    space._check_writable()
    index_anew(space._open_backend(), space._number, progress)


def bring_up_to_date(space: Space, progress: Progress | None = None) -> None:
    """Index what was stored since the last time. Raises: DatabaseCorrupt for a damaged value."""
    backend = space._open_backend()
    try:
        catch_up(backend, space._number, progress)
    except STUMBLING as error:
        space._find_damage(backend, error)
        raise
    except DatabaseCorrupt as error:
        raise _advised(error) from error


def bring_up_to_date_quietly(space: Space) -> None:
    """``bring_up_to_date`` after a verb that has done its work: an error here is left to the next search, which tries
    again and reports it."""
    try:
        bring_up_to_date(space)
    except HeadishError:
        return


def _advised(error: DatabaseCorrupt) -> DatabaseCorrupt:
    advice = "'headish verify --all' says where; if it is the search index alone, 'headish search --reindex' mends it"
    return DatabaseCorrupt(error.target, f"{error.reason}; {advice}")


def _hits(connection: Connection, space: Space, asked: Criteria, found: Sequence[Match]) -> list[Hit]:
    if not found:
        return []
    page = page_of(connection, space._number, [match.source.seq for match in found])
    matched = [page[match.source.seq] for match in found]
    # The page knows the parents of most turns. Those of a chain that continues other turns are left out, and read
    # later.
    parents = {
        turn.place: (before,) if before else () for turn, before, is_linked in matched if before or not is_linked
    }
    turns = complete_turns(connection, space._number, [each.turn for each in matched], space._options_at, parents)
    reached = reach(connection, space._number, [match.source.place for match in found])
    phrases = phrases_of(asked.question)
    hits = []
    for match, turn in zip(found, turns, strict=True):
        shown_in = [(snippet_of(piece.text, phrases), piece.field) for piece in match.pieces]
        snippet, field = max(shown_in, key=lambda each: len(each[0].marks))
        names, heads = reached.get(match.source.place, _NOWHERE)
        hits.append(Hit(turn, field, snippet.text, snippet.marks, match.score, names, heads))
    return hits


def _check_fields(given: Collection[str]) -> frozenset[str]:
    listed = [given] if isinstance(given, str) else list(given)
    unknown = [each for each in listed if each not in FIELDS]
    if unknown or not listed:
        raise InvalidArgument(f"fields are of {', '.join(FIELDS)}, not {shown(unknown[0] if unknown else listed)}")
    return frozenset(listed)


def _milliseconds(what: str, given: object) -> int | None:
    if given is None:
        return None
    if not isinstance(given, datetime) or given.tzinfo is None or given.utcoffset() is None:
        raise InvalidArgument(f"{what} takes a datetime with a zone, not {shown(given)}")
    return bound_of(given)
