"""Rows of ``arrival``: which turns came from other stores, from which one, and when."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap

import msgspec
from msgspec.structs import asdict

from headish.content.hashes import seal_arrival
from headish.database.query import Connection, Query

PAGE = 500


OWN, PLAIN, STRANGER, COPY = "own", "plain", "stranger", "copy"
"""The kinds of arrivals. ``OWN``: from a device of one's own, over a remote whose key this store has. ``PLAIN``: over a
remote without a key, so from anybody who can write to it. ``STRANGER``: from a stranger. ``COPY``: a stranger's turns,
copied here from another space."""


class ArrivalOrigin(msgspec.Struct, frozen=True, gc=False):
    """The origin of turns: their kind, the name of the remote and the id of the device (None for a file), and the name
    of the device or file that brings them."""

    kind: str
    remote: bytes | None = None
    device: str | None = None
    by: bytes | None = None

    @property
    def bringer(self) -> bytes:
        """The origin of signatures in their rows: the name of the remote, otherwise ``/`` and the kind.

        No name of a remote has a ``/``. The name of a caller or a file is not used, because nothing proves it.
        """
        return self.remote or b"/" + self.kind.encode()


class StoredArrival(msgspec.Struct, frozen=True, gc=False):
    """A row of ``arrival``: the first and the last commit number of turns that came together, and their origin."""

    first: int
    last: int
    kind: str
    remote: bytes | None
    device: str | None
    by: bytes | None
    milliseconds: int
    seal: bytes


ARRIVED_UP_TO = """coalesce((
      SELECT a.last FROM arrival AS a WHERE a.space = :space AND a.first <= t.seq AND a.kind <> 'copy'
      ORDER BY a.first DESC LIMIT 1
    ), 0)"""
"""The end of the last arrival that begins at or before a turn ``t``. The turn came from elsewhere if its number is not
above this. Copies do not count: they moved names here, as turns that are written here do."""

ADD_ARRIVAL = Query(
    "add arrival",
    """
    INSERT INTO arrival (space, first, last, kind, remote, device, by, milliseconds, seal)
    VALUES (:space, :first, :last, :kind, :remote, :device, :by, :milliseconds, :seal)
    """,
)


def add_arrival(connection: Connection, space: int, first: int, last: int, origin: ArrivalOrigin) -> None:
    """Note that the turns from ``first`` to ``last`` came from elsewhere."""
    now = time.time_ns() // 1_000_000
    seal = seal_arrival(first, last, origin.kind, origin.remote, origin.device, origin.by, now)
    connection.run(ADD_ARRIVAL, space=space, first=first, last=last, **asdict(origin), milliseconds=now, seal=seal)


ARRIVALS = Query(
    "arrivals behind a commit number",
    """
    SELECT first, last, kind, remote, device, by, milliseconds, seal FROM arrival
    WHERE space = :space AND first > :after ORDER BY first LIMIT :limit
    """,
)


def all_arrivals(connection: Connection, space: int) -> Iterator[StoredArrival]:
    """All arrivals in the order of their first commit numbers, read in pages."""
    after = 0
    while page := connection.rows(ARRIVALS, space=space, after=after, limit=PAGE):
        yield from starmap(StoredArrival, page)
        after = page[-1][0]


LAST_ARRIVAL_AT = Query(
    "the last arrival that begins at or before a commit number",
    "SELECT last FROM arrival WHERE space = :space AND first <= :seq ORDER BY first DESC LIMIT 1",
)


def arrived(connection: Connection, space: int, seq: int) -> bool:
    """Whether the turn with a commit number came from elsewhere."""
    row = connection.row(LAST_ARRIVAL_AT, space=space, seq=seq)
    return row is not None and int(row[0]) >= seq


NEWER_THAN_LATEST = Query(
    "a turn that was said here after the newest one",
    f"SELECT t.id FROM turn AS t WHERE t.space = :space AND t.seq > :latest AND t.seq > {ARRIVED_UP_TO} LIMIT 1",
)

SAID_BEFORE_LATEST = Query(
    "a turn that was said here before the newest one, where that came from elsewhere",
    f"""
    SELECT t.id FROM turn AS t WHERE t.space = :space AND t.seq < :latest AND t.seq > {ARRIVED_UP_TO} AND EXISTS (
      SELECT NULL FROM arrival AS n WHERE n.space = :space AND n.first <= :latest AND n.last >= :latest
        AND n.kind <> 'copy'
    )
    LIMIT 1
    """,
)

# Arrivals share no turn, so only the last one that begins before the range can reach into it: the search begins there.
ARRIVED_AMONG = Query(
    "arrivals that reach into a range of commit numbers",
    """
    SELECT first, last, kind, remote, device, by, milliseconds, seal FROM arrival
    WHERE space = :space AND first <= :high AND last >= :low AND first >= coalesce((
      SELECT max(b.first) FROM arrival AS b WHERE b.space = :space AND b.first <= :low
    ), 0)
    ORDER BY first
    """,
)


def arrivals_among(connection: Connection, space: int, low: int, high: int) -> Sequence[StoredArrival]:
    """The arrivals that have a turn whose commit number is from ``low`` to ``high``, in order."""
    return connection.each(ARRIVED_AMONG, StoredArrival, space=space, low=low, high=high)


def arrived_with(arrivals: Sequence[StoredArrival], seqs: Iterable[int]) -> set[int]:
    """The commit numbers among ``seqs`` that came with these arrivals, which are in order and share no turn."""
    if not arrivals:
        return set()
    begins = [each.first for each in arrivals]
    ends = [-1, *(each.last for each in arrivals)]  # -1: no arrival begins at or before the number
    return {seq for seq in seqs if seq <= ends[bisect_right(begins, seq)]}
