"""What a statement of a database with many spaces must say, read from its SQL.

Each table is bound to ``:space`` by itself: in the WHERE of its own SELECT or in the ON of its own join, and not
under an OR. So no statement reads the rows of another space, and Citus, which spreads the rows by ``space``, sends
each to one machine. It does not plan a subquery in the VALUES of an INSERT; where a table is found through the space
of another one it may ask all machines; and it loses the list of columns of a CTE that reads no table. Nor does it move
a row to another space, or take a function that says something else at each call where rows are changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from headish.database.revisions import TABLES

INDEX = "search_text"
BOUND = {*TABLES, INDEX}
"""The tables with a space. ``space`` is a reference table, which every machine has whole."""
VOLATILE = {"clock_timestamp", "timeofday", "random", "rand", "gen_random_uuid", "uuid", "nextval", "setval"}
"""Functions that Citus does not take in a statement that changes rows, by PostgreSQL's names and by sqlglot's."""
DIALECTS = {"sqlite": "sqlite", "postgresql": "postgres", "secured": "postgres"}


def problems_of(sql: str, database: str) -> Iterator[str]:
    """What is wrong with a statement, in words of ``sqlglot``'s dialect for the database."""
    statement = sqlglot.parse_one(sql, read=DIALECTS[database])
    if isinstance(statement, exp.Command | exp.Pragma | exp.Analyze):
        return
    # SQLite's index has words that begin with the number of their space, and no column of it.
    bound = BOUND if database != "sqlite" else BOUND - {INDEX}
    yield from _unbound(statement, bound)
    yield from _mixed(statement)
    yield from _hard_for_citus(statement)


def _unbound(statement: exp.Expression, bound: set[str]) -> Iterator[str]:
    within = {each.alias for each in statement.find_all(exp.CTE)}
    for table in statement.find_all(exp.Table):
        if table.name in bound - within and not isinstance(table.parent, exp.Schema | exp.Table):
            holder = table.find_ancestor(exp.Select, exp.Update, exp.Delete, exp.Insert)
            assert holder is not None
            if not any(_binds(each, table, holder) for each in _conditions(holder)):
                yield f"{table.sql()} is not bound to :space"
    for insert in statement.find_all(exp.Insert):
        if isinstance(insert.this, exp.Schema) and insert.this.this.name in bound and not _stores_space(insert):
            yield f"{insert.this.this.name} is written without :space"


def _conditions(holder: exp.Expression) -> Iterator[exp.Expression]:
    """What must hold of every row: the parts of the WHERE and of each ON that AND joins."""
    for each in (holder.args.get("where"), *(join.args.get("on") for join in holder.args.get("joins") or ())):
        condition = each.this if isinstance(each, exp.Where) else each
        while isinstance(condition, exp.Paren):
            condition = condition.this
        if condition is not None:
            yield from condition.flatten() if isinstance(condition, exp.And) else (condition,)


def _binds(condition: exp.Expression, table: exp.Table, holder: exp.Expression) -> bool:
    if not isinstance(condition, exp.EQ) or not _is_column(condition.left) or not _is_space(condition.right):
        return False
    named = condition.left.table
    alone = len([each for each in _tables_of(holder) if each.name in BOUND]) == 1
    return named == table.alias_or_name if named else alone


def _tables_of(holder: exp.Expression) -> Iterator[exp.Table]:
    for table in holder.find_all(exp.Table):
        if table.find_ancestor(exp.Select, exp.Update, exp.Delete, exp.Insert) is holder:
            yield table


def _is_column(part: exp.Expression) -> bool:
    return isinstance(part, exp.Column) and part.name == "space"


def _is_space(part: exp.Expression) -> bool:
    part = part.this if isinstance(part, exp.Cast) else part
    return isinstance(part, exp.Placeholder) and part.name == "space"


def _stores_space(insert: exp.Insert) -> bool:
    values = insert.expression.expressions if isinstance(insert.expression, exp.Values) else []
    columns = [each.name for each in insert.this.expressions]
    return "space" in columns and all(_is_space(row.expressions[columns.index("space")]) for row in values)


def _mixed(statement: exp.Expression) -> Iterator[str]:
    for each in statement.find_all(exp.EQ):
        if _is_column(each.left) and _is_column(each.right):
            yield f"{each.sql()}: one is found through the other"


def _hard_for_citus(statement: exp.Expression) -> Iterator[str]:
    for values in statement.find_all(exp.Values):
        if values.find(exp.Select):
            yield "a subquery in the VALUES of an INSERT"
    for cte in statement.find_all(exp.CTE):
        if cte.args["alias"].args.get("columns") and not cte.this.find(exp.From):
            yield f"the columns of {cte.alias} are a list beside constants: write SELECT 0 AS name"
    for change in (*statement.find_all(exp.Update), *statement.find_all(exp.OnConflict)):
        if any(isinstance(each, exp.EQ) and _is_column(each.left) for each in change.expressions):
            yield "space is changed"
    if statement.find(exp.Insert, exp.Update, exp.Delete):
        for call in statement.find_all(exp.Func):
            if call.sql_name().lower() in VOLATILE or call.name.lower() in VOLATILE:
                yield f"{call.sql()} differs from one call to the next"
