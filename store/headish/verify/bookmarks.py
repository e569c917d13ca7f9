"""Verify names: each points at a turn, and its log leads there.

Names move while verify runs. So each page of the log also has where its names are now, read at the same moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from headish.content.hashes import MOVE_LOG, run_on
from headish.database.query import Connection, Query
from headish.history.reading.decode import is_time, mapping_in
from headish.rows.elsewhere.arrivals import ARRIVED_UP_TO
from headish.values.names import stored_name
from headish.values.results.reports import Problem
from headish.values.turns import said_of
from headish.verify.erasures import erased_names

PAGE = 2000


class _Logged(NamedTuple):
    """A row of the log, the turn that it names, and where its name is now."""

    name: bytes
    move: int
    chain: int | None
    pos: int | None
    milliseconds: int
    change: int | None
    running: bytes
    was: bytes | None
    turn: str | None
    digest: bytes | None
    head: bytes | None
    seq: int
    stored_seq: int | None
    now_chain: int | None
    now_pos: int | None
    now_move: int | None
    now_own: int | None
    now_running: bytes | None
    last_seq: int
    erased: int | None
    now_recent: int | None
    system: bytes | None


UNLOGGED = Query(
    "bookmarks without a log",
    """
    SELECT b.name FROM bookmark AS b
    WHERE b.space = :space AND NOT EXISTS (SELECT 1 FROM bookmark_log AS m WHERE m.space = :space AND m.name = b.name)
    ORDER BY b.name
    """,
)
# Turns that arrived say the name that they moved elsewhere; here they moved none.
CARRIED = Query(
    "how often turns moved each name",
    f"""
    SELECT t.head, count(*) FROM turn AS t WHERE t.space = :space AND t.head IS NOT NULL AND t.seq > {ARRIVED_UP_TO}
    GROUP BY t.head
    """,
)
LOGGED_CARRIED = Query(
    "how often the logs say that turns moved each name",
    """
    SELECT t.head, count(*) FROM bookmark_log AS m CROSS JOIN turn AS t
    WHERE t.space = :space AND t.chain = m.chain AND t.pos = m.pos
      AND m.space = :space AND m.change IS NULL AND t.head IS NOT NULL GROUP BY t.head
    """,
)


def check_bookmarks(connection: Connection, space: int) -> Iterator[Problem]:
    """Yield what disagrees between bookmarks, their logs and the turns. Cost: four statements, one for 2,000 moves, and
    one for 100 receipts."""
    for (name,) in connection.rows(UNLOGGED, space=space):
        yield Problem(_subject(name), "its log is missing")
    erased = erased_names(connection, space)
    for name, moves in groupby(_all_moves(connection, space), key=lambda logged: logged.name):
        problems = _check_log(name, moves, is_erased=name in erased, forgets=bool(erased))
        # Each sentence once: a damaged log may have the same problem at every move.
        yield from (Problem(_subject(name), what) for what in dict.fromkeys(problems))
    carried: dict[bytes, int] = dict(connection.rows(CARRIED, space=space))
    logged: dict[bytes, int] = dict(connection.rows(LOGGED_CARRIED, space=space))
    for name in sorted(carried.keys() | logged.keys()):
        turns, moves_of_turns = carried.get(name, 0), logged.get(name, 0)
        if turns != moves_of_turns:
            what = f"{turns} turns say that they moved it, and {moves_of_turns} moves are logged"
            yield Problem(_subject(name), what)


LOG = Query(
    "moves of all bookmarks, a page",
    """
    SELECT m.name, m.move, m.chain, m.pos, m.milliseconds, m.change, m.running, m.was, t.id, t.digest, t.head, m.seq,
      t.seq, b.chain, b.pos, b.move, b.own, b.running, (SELECT n.seq FROM counter AS n WHERE n.space = :space),
      t.erased, b.recent, CASE WHEN b.move = m.move THEN t.system END
    FROM bookmark_log AS m LEFT JOIN turn AS t ON t.space = :space AND t.chain = m.chain AND t.pos = m.pos
    LEFT JOIN bookmark AS b ON b.space = :space AND b.name = m.name
    WHERE m.space = :space AND (m.name, m.move) > (:name, :move) ORDER BY m.name, m.move LIMIT :limit
    """,
)


def _all_moves(connection: Connection, space: int) -> Iterator[_Logged]:
    read_log = partial(connection.rows, LOG, space=space, limit=PAGE)
    page: Sequence[_Logged] = [_Logged._make(row) for row in read_log(name=b"", move=0)]
    while page:
        yield from page
        page = [_Logged._make(row) for row in read_log(name=page[-1].name, move=page[-1].move)]


def _check_log(name: bytes, moves: Iterator[_Logged], *, is_erased: bool, forgets: bool) -> Iterator[str]:
    number, running, last, gone, names, times = 0, b"", None, True, _Names(name), set[int]()
    place: tuple[int | None, int | None] = (None, None)
    for last in moves:
        number += 1
        yield from _check_move(last, gone)
        if last.was is not None and (gone or last.change is None or (last.chain, last.pos) != place):
            yield f"move {last.move} of its log says that it had another name, but is not a rename"
        if last.was is None:  # a rename leaves the time as it was
            # Once a former name was erased, its rename looks like a move to the same place, so both times may hold.
            times = {last.milliseconds, *(times if forgets and (last.chain, last.pos) == place else ())}
        gone, place = last.chain is None, (last.chain, last.pos)
        if last.move != number:
            yield "moves are missing from its log"
            number = last.move  # go on from there, so that one gap is one problem
        if last.turn is None and last.chain is not None:
            yield "a turn that its log names is missing"
        if last.seq < (last.stored_seq or 0) or last.seq > last.last_seq:
            yield f"move {last.move} of its log has a commit number that it cannot have"
        if not names.may_follow(last) or (last.change is None and last.seq != last.stored_seq):
            yield f"move {last.move} of its log is not of the turn that it names"
        digest = b"" if last.digest is None else last.digest.hex().encode()
        running = run_on(MOVE_LOG, running, last.move, digest, last.milliseconds)
        if running != last.running:
            yield f"move {last.move} of its log was altered: its running hash disagrees"
            running = last.running  # likewise: later moves are judged by what the row says
    assert last is not None
    if not (is_erased or names.end_here()):  # the receipt of an erasure explains why turns say another name
        yield "turns say that they moved another name, and its log does not say that it was renamed"
    yield from _check_now(name, last)
    said_at = said_of(mapping_in(last.system))
    if last.now_move is not None and last.erased is None and last.now_recent not in (*times, said_at):
        yield "when it moved last is neither what its log says nor when its turn was said"


def _check_move(logged: _Logged, gone: bool) -> Iterator[str]:
    """Yield what is impossible in a row of the log. ``gone``: the name did not exist before it."""
    if not is_time(logged.milliseconds):
        yield f"the time of its move {logged.move} is {logged.milliseconds}"
    if (logged.chain is None) != (logged.pos is None):
        yield "a move of its log has half a place"
    if gone and logged.chain is None:
        yield "its log removes it where it was not set"


class _Names:
    """The names that the turns of a log say they moved. Each is used until the bookmark is renamed, then the next one.

    A rename is logged as a move to where the name is already. A turn keeps the name that it moved, since it never
    changes.
    """

    def __init__(self, name: bytes) -> None:
        self._name = name
        self._said: bytes | None = None
        self._place: tuple[int | None, int | None] = (None, None)
        self._renamed = True

    def may_follow(self, move: _Logged) -> bool:
        """Whether ``move`` is possible after those before."""
        before, self._place = self._place, (move.chain, move.pos)
        if move.change is not None:
            self._renamed |= move.chain is not None and before == self._place
            return True
        if move.head is None and move.erased is not None:
            return True  # an erasure took its meta, and with it the name
        fits = move.head is not None and (self._renamed or move.head == self._said)
        self._said, self._renamed = move.head, False
        return fits

    def end_here(self) -> bool:
        """Whether the log may end here: the last name that turns moved is its own, or it was renamed since."""
        return self._renamed or self._said == self._name


def _check_now(name: bytes, last: _Logged) -> Iterator[str]:
    if last.now_move is None:
        if last.chain is not None:
            yield "it is missing, and its log does not say that it was removed"
        return
    ends = (last.chain, last.pos, last.move, last.running)
    if ends != (last.now_chain, last.now_pos, last.now_move, last.now_running):
        yield "its log does not end where it points"
    if last.turn is None:
        yield "the turn that it names is missing"
    elif last.now_own != int(last.head == name):
        yield "whether its turn moved it is marked wrong: a turn may not be found by its name"


def _subject(name: bytes) -> str:
    return f"bookmark {stored_name(name)}"
