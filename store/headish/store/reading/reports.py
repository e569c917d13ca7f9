"""Verbs that report on a whole space or thread: the tokens that replies cost, counts, and what ``verify`` finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any

from headish.database.backend import Backend
from headish.database.query import Connection
from headish.history.reading.halves import hidden_in_space
from headish.history.reading.usage import Count, CountedReply, count_usage, read_later_page, read_page, read_replies
from headish.history.reading.versions import outgrown_in_space
from headish.rows.bookmarks import count_bookmarks
from headish.rows.counters import read_counter
from headish.store.space import Headishes, Space
from headish.values.checks.doors import door
from headish.values.results.reports import Problem, Report, Stats
from headish.values.times import read_moment
from headish.verify.space import Progress, verify_space
from headish.verify.spaces import check_spaces

if TYPE_CHECKING:
    from headish.content.prices import Prices
    from headish.history.reading.costs import Cost


@door()
def usage(space: Space, headish: Headishes | None = "@", *, by: str | None = None) -> list[Count]:
    """Count the tokens of the replies that lead to a headish or to several; None counts those of the whole space.

    ``by`` counts them by ``model``, ``provider``, ``day`` (UTC) or ``bookmark``. A turn that several branches share
    counts once.
    Cost: a statement or two, three for the first 336 turns of a thread and one for each 512 more, or one for each 1,000
    replies of the space.
    Raises: InvalidArgument; CorruptTurn.
    """
    return count_usage(_replies(space, headish), by)


@door()
def cost(
    space: Space,
    headish: Headishes | None = "@",
    *,
    prices: str | PathLike[str] | Mapping[str, Any] | Prices,
    by: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
) -> list[Cost]:
    """Count what the replies that lead to a headish or to several cost; None counts those of the whole space.

    ``prices`` is the path of a table (TOML or JSON), or the table as a mapping: what a million tokens cost, by model.
    Nothing of it is stored. ``by`` is that of ``usage``. ``since`` and ``until`` choose replies that were said from a
    time on and before one: a datetime with a zone, RFC 3339, or words such as ``yesterday`` (UTC).
    Cost: that of ``usage``.
    Raises: InvalidPrices; InvalidArgument; CorruptTurn.
    """
    from headish.content.prices import read_prices  # late: most processes count no money
    from headish.history.reading.costs import count_costs

    table = read_prices(prices)
    begins, ends = read_moment(since, "since"), read_moment(until, "until", ends=True)
    return count_costs(_replies(space, headish), table, by, begins, ends)


@door()
def stats(space: Space, *, versions: bool = False) -> Stats:
    """Counts and sizes of the space. An answer that grew between two imports counts once; with ``versions``, as often
    as it was stored.

    Cost: three statements, however large it is; three more for each 64 answers that grew.
    """

    def work(connection: Connection) -> Stats:
        counted = read_counter(connection, space._number)
        hidden = () if versions else hidden_in_space(connection, space._number).values()
        return Stats(
            turns=counted.seq - len(hidden),
            roots=counted.roots - sum(each.is_root for each in hidden),
            heads=counted.heads - sum(each.is_head for each in hidden),
            bookmarks=count_bookmarks(connection, space._number),
            payload_bytes=counted.given_bytes,
            database_bytes=size,
        )

    # Before the transaction: on a server it takes a connection of its own.
    size = space._backend.size_bytes()
    return space._read(work)


@door()
def verify(space: Space, progress: Progress | None = None) -> Report:
    """Derive every hash, digest and seal again, check links, chains and bookmarks, and say what disagrees.

    ``Database.verify`` checks every space, and the database's own indexes too.
    """
    return verify_space(space._open_backend(), space._number, progress)


def verify_all(backend: Backend, progress: Progress | None = None) -> dict[str, Report]:
    """Verify every space: the work of ``Database.verify``."""
    damage = [Problem("database", what) for what in backend.check_integrity()]
    spaces, problems = check_spaces(backend)
    reports = {"": Report(turns=0, payloads=0, bookmarks=0, problems=(*damage, *problems))}
    # By number: a space with a damaged name cannot be opened, but its rows must be checked, too. Damaged names may be
    # equal or empty.
    for number, name in spaces:
        label = f"{name} ({number})" if name in reports else name
        reports[label] = verify_space(backend.within(number), number, progress)
    return reports


def _replies(space: Space, headish: Headishes | None) -> Iterable[CountedReply]:
    if headish is None:
        return _all_replies(space)
    return space._read_from(headish, lambda connection, places: read_replies(connection, space._number, places))


def _all_replies(space: Space) -> Iterator[CountedReply]:
    """Yield the space's replies, a page at a time; an answer that grew between two imports comes in its last
    version."""
    halves = space._read_by(outgrown_in_space)
    seq: int | None = 0
    while seq is not None:
        page, seq = space._read_by(read_page, seq=seq)
        yield from (each for each in page if each.id not in halves)
    # Some programs learn the usage of an answer later, when its turn cannot change any more: it is in an object.
    after: bytes | None = b""
    while after is not None:
        page, after = space._read_by(read_later_page, after=after)
        yield from page
