"""Spread the tables over the machines of a PostgreSQL with the extension Citus, each space on one machine.

Every table whose key begins with ``space`` is distributed by it, beside the others, so each statement and each
transaction of a space runs on one machine. ``space`` itself is rarely written, and every machine has it whole.
Alembic's table stays with the coordinator, because only an upgrade writes it. If a table that is written often stayed
there, too, each transaction would need two machines. ``distribute`` leaves no such table.

Tables are spread one by one, referenced tables first, each in a transaction of its own. Run it again to continue after
an interruption.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from headish.database.backend import Backend
from headish.database.file.fulltext import TEXT
from headish.database.revisions import TABLES
from headish.database.upgrade import check_current
from headish.errors import DatabaseError
from headish.values.results.plain import PlainResult

COORDINATOR, EVERYWHERE, SPREAD = "coordinator", "everywhere", "spread"
ANCHOR = "turn"
"""The table that is distributed first. The rows of the others go where its rows are."""
WHOLE = ("space",)
"""The tables that every machine has whole."""

_HAS_CITUS = "SELECT to_regclass('pg_dist_partition') IS NOT NULL"
_LOOK = """
SELECT c.relname, p.partmethod::text, p.repmodel::text, p.colocationid,
    CASE WHEN p.partkey IS NOT NULL THEN column_to_column_name(p.logicalrelid, p.partkey::text) END
FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid WHERE pg_table_is_visible(c.oid)
"""
_HAS_POLICIES = """
SELECT c.relname FROM pg_class c WHERE c.relkind IN ('r', 'p') AND (c.relrowsecurity OR c.relforcerowsecurity)
    AND pg_table_is_visible(c.oid) ORDER BY c.relname
"""
_TABLES = [ANCHOR, *(table for table in TABLES if table != ANCHOR), TEXT]
STATEMENTS = {
    **{name: f"SELECT create_reference_table('{name}')" for name in WHOLE},
    **{
        name: f"SELECT create_distributed_table('{name}', 'space', colocate_with => "
        f"'{'default' if name == ANCHOR else ANCHOR}')"
        for name in _TABLES
    },
}
"""The statement that spreads each table, in the order of execution."""
_LEFT_BEHIND = {name: f"SELECT pg_relation_size('{name}') > 0" for name in _TABLES}
_FREE = {name: f"SELECT truncate_local_data_after_distributing_table('{name}')" for name in _TABLES}


class Placed(PlainResult, frozen=True):
    """The place of a table's rows: ``coordinator``, ``everywhere``, or ``spread`` by space. ``statement`` has just put
    them there, or would; None if they were there already."""

    table: str
    where: str
    statement: str | None = None


class _CitusTable(NamedTuple):
    """A table in Citus's catalogue."""

    method: str
    model: str
    group: int
    column: str | None

    @property
    def where(self) -> str | None:
        """The place of the table's rows; None if Citus keeps it in a way that headish does not use."""
        # Citus marks a distributed table by the method "h". Without a method, the model "t" is a reference table, and
        # a table without a group is local to the coordinator.
        if self.method == "h":
            return SPREAD if self.column == "space" else None
        if self.method == "n" and self.model == "t":
            return EVERYWHERE
        return COORDINATOR if self.method == "n" and not self.group else None


def distribute(database: Backend, *, dry_run: bool = False) -> list[Placed]:
    """Spread the tables that are not spread yet. Returns the place of each table; ``dry_run`` changes nothing.

    Run it again after an upgrade: it spreads new tables. Nobody should write meanwhile: writers fail, and store
    nothing, as long as some tables are spread and others are not.
    Cost: the server copies every row once.
    Raises: DatabaseError without Citus, if a table is kept in another way, and if policies separate the spaces;
    UnknownDatabase, DatabaseTooOld.
    """
    tables = _look_at_headish(database)
    if not dry_run:
        database.check_writable()
    placed = [_place(database, name, tables, dry_run) for name in STATEMENTS]
    if not dry_run:
        _leave_nothing_behind(database)
    return placed


def not_spread(database: Backend) -> list[str] | None:
    """The tables that a distributed database still has on its coordinator alone; None if no table is spread.

    Raises: DatabaseError if a table is kept in a way that headish does not use.
    """
    tables = _look(database)
    if tables is None or not any(name in tables for name in STATEMENTS):
        return None
    _check(database, tables)
    return [name for name in STATEMENTS if _where(tables, name) == COORDINATOR]


def _look_at_headish(database: Backend) -> dict[str, _CitusTable]:
    check_current(database, "spread")
    _refuse_secured(database)
    tables = _look(database)
    if tables is None:
        raise DatabaseError(database.target, "only a PostgreSQL database that has the extension citus can be spread")
    _check(database, tables)
    return tables


def _refuse_secured(database: Backend) -> None:
    """Refuse a secured database: its policies call a function and read a table that the other machines lack."""
    if database.upgrades_itself:
        return
    with database.schema_connection() as connection:
        held = [name for (name,) in connection.execute(_HAS_POLICIES) if name in STATEMENTS]
    if held:
        reason = "'headish db secure' keeps its spaces apart by policies, which other machines cannot hold to"
        raise DatabaseError(database.target, f"{reason}; a database is either secured or spread")


def _leave_nothing_behind(database: Backend) -> None:
    """Check that all tables are spread, then free the rows that are still on the coordinator, where no statement sees
    them."""
    # All first: a table cannot be emptied while one that is not spread refers to it.
    remaining = not_spread(database)
    if remaining != []:
        names = ", ".join(remaining or STATEMENTS)
        raise DatabaseError(database.target, f"these tables are still on the coordinator: {names}")
    for name in _TABLES:
        with database.schema_connection() as connection:
            if connection.execute(_LEFT_BEHIND[name]).fetchone()[0]:
                connection.execute(_FREE[name])


def _place(database: Backend, name: str, kept: dict[str, _CitusTable], dry_run: bool) -> Placed:
    wanted = EVERYWHERE if name in WHOLE else SPREAD
    if _where(kept, name) == wanted:
        return Placed(name, wanted)
    statement = STATEMENTS[name]
    if dry_run:
        return Placed(name, COORDINATOR, statement)
    try:
        with database.schema_connection() as connection:
            connection.execute(statement)
    except DatabaseError as error:
        reason = f"the table {name} could not be spread, and is still on the coordinator ({error.reason}); run it again"
        raise type(error)(database.target, reason) from error
    return Placed(name, wanted, statement)


def _where(kept: dict[str, _CitusTable], name: str) -> str | None:
    return kept[name].where if name in kept else COORDINATOR


def _check(database: Backend, kept: dict[str, _CitusTable]) -> None:
    """Refuse a table that is kept in a way that headish does not use, before anything is changed."""
    for name in STATEMENTS:
        wanted = EVERYWHERE if name in WHOLE else SPREAD
        if _where(kept, name) not in (wanted, COORDINATOR):
            _refuse(database, name, f"is not kept as headish does ({wanted})")
        if wanted == SPREAD and _where(kept, name) == SPREAD and kept[name].group != _group(kept):
            _refuse(database, name, f"is spread otherwise than {ANCHOR}: its rows are not beside those of their space")


def _group(kept: dict[str, _CitusTable]) -> int | None:
    """The co-location group of the anchor; None if the anchor is not spread, so that no table can be beside it."""
    return kept[ANCHOR].group if _where(kept, ANCHOR) == SPREAD else None


def _refuse(database: Backend, name: str, what: str) -> NoReturn:
    raise DatabaseError(
        database.target, f"the table {name} {what}; undo that first: SELECT undistribute_table('{name}')"
    )


def _look(database: Backend) -> dict[str, _CitusTable] | None:
    """The tables in Citus's catalogue, by name; None without Citus."""
    if database.upgrades_itself:  # SQLite: one file, on one machine
        return None
    with database.schema_connection() as connection:
        if not connection.execute(_HAS_CITUS).fetchone()[0]:
            return None
        rows: Any = connection.execute(_LOOK)
        return {name: _CitusTable(method, model, int(group), column) for name, method, model, group, column in rows}
