"""Verify the counters: every change has its number, and the log of the space's names ends with its own."""

from __future__ import annotations

from collections.abc import Iterator

from headish.content.hashes import SPACE_LOG, run_on
from headish.database.query import Connection, Query
from headish.history.reading.decode import is_time
from headish.rows.counters import ERASED, REMOVED, Counter, read_counter
from headish.rows.spaces import removed_name
from headish.rows.upkeep.receipts import was_erased
from headish.rows.upkeep.whole import RESTORING
from headish.values.names import stored_name
from headish.values.results.reports import Problem

_NUMBERED = """(
      SELECT change, seq FROM bookmark_log WHERE space = :space AND change IS NOT NULL
      UNION ALL SELECT change, seq FROM definition WHERE space = :space AND change IS NOT NULL
      UNION ALL SELECT change, seq FROM erasure WHERE space = :space AND change IS NOT NULL
      UNION ALL SELECT change, seq FROM record_log WHERE space = :space AND change IS NOT NULL
    ) AS numbered"""
CHANGES = Query(
    "count the numbers of changes", f"SELECT count(*), count(DISTINCT change), max(change) FROM {_NUMBERED}"
)
OUT_OF_ORDER = Query(
    "changes whose commit numbers go back",
    f"""
    SELECT change, seq, before FROM (
      SELECT change, seq, lag(seq) OVER (ORDER BY change) AS before FROM {_NUMBERED}
    ) AS in_order
    WHERE seq < before ORDER BY change
    """,
)
STATE = Query(
    "state of a space, and how many hashes it bars",
    """
    SELECT n.state, n.bars, (SELECT count(*) FROM payload AS p WHERE p.space = :space AND p.erased IS NOT NULL)
    FROM counter AS n WHERE n.space = :space
    """,
)


def check_changes(connection: Connection, space: int, subject: str = "space") -> Iterator[Problem]:
    """Yield the problems of the counters. Changes are numbered without gaps, so a removed one leaves a gap."""
    given_out = read_counter(connection, space).change
    count, different, last = connection.row(CHANGES, space=space) or (0, 0, 0)
    counted = connection.row(STATE, space=space)
    if counted is None:
        yield Problem(subject, "its counter is missing")
        return
    state, bars, barred = counted
    if state not in (None, REMOVED, ERASED):
        yield Problem(subject, f"its state is {state!r}")
    if bars != barred:
        yield Problem(subject, f"its counter says that {bars} hashes are barred, and {barred} are")
    is_erased = was_erased(connection, space)
    is_restored = (state or "").startswith(RESTORING)  # verified before it is opened, so its own state is not set yet
    if (state == ERASED) != is_erased and not is_restored:
        yield Problem(subject, f"its state is {state!r}, and the receipts of its erasures say otherwise")
    if state == ERASED or (is_erased and is_restored):
        if read_counter(connection, space) != Counter(0, last or 0, 0, 0, 0, 0):
            yield Problem(subject, "it was erased, and its counter says that it holds something")
        return
    if (count, different, last or 0) != (given_out, given_out, given_out):
        yield Problem(subject, f"it gave out {given_out} numbers of changes and holds {different}")
    for change, seq, before in connection.rows(OUT_OF_ORDER, space=space):
        yield Problem(subject, f"change {change} was made at commit number {seq}, and the one before it at {before}")


NAMES = Query(
    "names of a space", "SELECT number, name, milliseconds, running FROM space_log WHERE space = :space ORDER BY number"
)
NAME = Query("name of a space", "SELECT name FROM space WHERE id = :space")


def check_names(connection: Connection, space: int, subject: str = "space") -> Iterator[Problem]:
    """Check that the log of a space's names ends with the present one, or with none if the space was removed."""
    running, last, length = b"", None, 0
    for length, (number, name, milliseconds, logged) in enumerate(connection.rows(NAMES, space=space), 1):
        running = run_on(SPACE_LOG, running, number, name or b"", milliseconds)
        if not is_time(milliseconds):
            yield Problem(subject, f"the time of number {number} of its names is {milliseconds}")
        if number != length or running != logged:
            yield Problem(subject, f"number {number} of its names was altered: its running hash disagrees")
            return  # every later hash follows from this one
        last = name
    if not length:
        yield Problem(subject, "the log of its names is missing")
        return
    row = connection.row(NAME, space=space)
    if row is None or row[0] != (removed_name(space) if last is None else last):
        current = None if row is None else stored_name(row[0])
        yield Problem(subject, f"its name {current!r} is not the last of its log")
