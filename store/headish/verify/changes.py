"""The part of verify that checks what counts: every change has its number, and the space's names lead to its own."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import BindParameter, bindparam, func, select, union_all

from headish.content.hashes import SPACE_LOG, run_on
from headish.database.query import Connection, Query
from headish.database.schema import bookmark_log, counter, definition, erasure, payload, space, space_log
from headish.rows.counters import REMOVED, read_counter
from headish.values.names import stored_name
from headish.values.reports import Problem

_space: BindParameter[int] = bindparam("space")
_numbered = union_all(
    *(
        select(table.c.change.label("change")).where(table.c.space == _space, table.c.change.is_not(None))
        for table in (bookmark_log, definition, erasure)
    )
).subquery("numbered")
CHANGES = Query(
    "count the numbers of changes",
    select(func.count(), func.count(_numbered.c.change.distinct()), func.max(_numbered.c.change)).select_from(
        _numbered
    ),
)
STATE = Query(
    "state of a space, and how many hashes it bars",
    select(
        counter.c.state,
        counter.c.bars,
        select(func.count()).where(payload.c.space == _space, payload.c.erased.is_not(None)).scalar_subquery(),
    ).where(counter.c.space == _space),
)
NAMES = Query(
    "names of a space",
    select(space_log.c.number, space_log.c.name, space_log.c.milliseconds, space_log.c.running)
    .where(space_log.c.space == _space)
    .order_by(space_log.c.number),
)
NAME = Query("name of a space", select(space.c.name).where(space.c.id == _space))


def check_changes(connection: Connection, space: int) -> Iterator[Problem]:
    """Changes are numbered without gaps, so one that was removed leaves one."""
    given_out = read_counter(connection, space).change
    stored, different, last = connection.row(CHANGES, space=space) or (0, 0, 0)
    state, bars, barred = connection.row(STATE, space=space) or (None, 0, 0)
    if state not in (None, REMOVED):
        yield Problem("space", f"its state is {state!r}")
    if bars != barred:
        yield Problem("space", f"its counter says that {bars} hashes are barred, and {barred} are")
    if (stored, different, last or 0) != (given_out, given_out, given_out):
        yield Problem("space", f"it gave out {given_out} numbers of changes and holds {different}")


def check_names(connection: Connection, space: int) -> Iterator[Problem]:
    """The log of a space's names ends with the one that it has."""
    running, last = b"", None
    for expected, (number, name, milliseconds, logged) in enumerate(connection.rows(NAMES, space=space), 1):
        running = run_on(SPACE_LOG, running, number, b"" if name is None else bytes(name), milliseconds)
        if number != expected or running != logged:
            yield Problem("space", f"number {number} of its names was altered: its running hash disagrees")
            return
        last = name
    row = connection.row(NAME, space=space)
    if row is None or last is None or bytes(row[0]) != bytes(last):
        named = None if row is None else stored_name(bytes(row[0]))
        yield Problem("space", f"its name {named!r} is not the last of its log")
