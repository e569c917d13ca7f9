"""A distributed database plans every statement as one task: each table in it is bound to the space by itself.

Citus spreads the rows by ``space``. It sends a statement to one machine if every table of it is compared with
``:space``. It does not plan a subquery in the VALUES of an INSERT, and where a table is found through the space of
another one, it may ask all machines. Checked without such a database: over the statements themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import Table
from sqlalchemy.sql import dml, elements, selectable, visitors
from sqlalchemy.sql.expression import BindParameter, ColumnElement, TextClause

from headish.database.file.fulltext import CREATE
from headish.database.query import Query
from headish.database.schema import metadata
from headish.database.sql.postgresql import TEXTS
from headish.statements.compiling import defined
from headish.statements.elements import spelled
from support.queries import all_queries

WITHOUT_SPACE = {"space", "alembic_version"}
"""A reference table, which every machine has whole, and the tables of others."""
INDEX = "search_text"
assert any(f"TABLE {INDEX} " in statement for statement in CREATE["postgresql"])
WHOLE_DATABASE = {
    "the next space with words in the search index": "verify of a whole database asks all machines",
    "all spaces, the removed ones too": "verify of a whole database asks all machines",
}
"""Statements that are meant for all machines, and why."""


QUERIES = sorted({each.name: each for each in all_queries() if each.name in TEXTS}.values(), key=lambda each: each.name)
STATEMENTS = defined()


def tables_of(statement: object) -> Iterator[selectable.FromClause]:
    """Every table of a statement, under each of its names."""
    for element in visitors.iterate(statement):  # type: ignore[call-overload]
        if isinstance(element, Table) or (isinstance(element, selectable.Alias) and isinstance(element.element, Table)):
            yield element


def comparisons(statement: object) -> Iterator[tuple[ColumnElement[object], ColumnElement[object]]]:
    for element in visitors.iterate(statement):  # type: ignore[call-overload]
        if isinstance(element, elements.BinaryExpression):
            yield element.left, element.right


def _is_space(column: object) -> bool:
    return isinstance(column, elements.ColumnClause) and column.name == "space" and column.table is not None


def problems_of(statement: object) -> Iterator[str]:
    if isinstance(statement, spelled):
        yield from problems_of_text(statement.postgresql.text)
        return
    if isinstance(statement, TextClause):
        yield from problems_of_text(statement.text)
        return
    bound = {
        str(left.table.name)
        for left, right in comparisons(statement)
        if _is_space(left) and isinstance(right, BindParameter) and right.key in ("space", "space_1")
    }
    written = statement.table.name if isinstance(statement, dml.Insert) else None
    names = {str(each.name) for each in tables_of(statement)} - {written} - WITHOUT_SPACE
    aliased = {str(each.element.name) for each in tables_of(statement) if isinstance(each, selectable.Alias)}
    for name in sorted(names - bound):
        if name not in aliased or f"FROM {name}" in str(statement):
            yield f"{name} is not bound to :space"
    for left, right in comparisons(statement):
        if _is_space(left) and _is_space(right):
            yield f"{left} is found through {right}"


def problems_of_text(sql: str) -> Iterator[str]:
    words = r"\b(?:FROM|JOIN|UPDATE|INTO) ([a-z_]+)(?: AS ([a-z_]+))?"
    # What is no table of ours is a name for rows that the statement itself has found.
    wanted = [
        (table, alias or table)
        for table, alias in re.findall(words, sql)
        if table in {*metadata.tables, INDEX} and table not in WITHOUT_SPACE
    ]
    bound = len(re.findall(r"\bspace = :space", sql)) + (1 if "INSERT INTO" in sql else 0)
    if bound < len(wanted):
        yield f"{len(wanted)} tables, and {bound} are bound to :space"
    for table, alias in wanted:
        if alias != table and not re.search(rf"\b{alias}\.space = :space", sql):
            yield f"{table} AS {alias} is not bound to :space"
    for found in re.findall(r"\b[a-z_]+\.space = [a-z_]+\.space\b", sql):
        yield f"{found}: one is found through the other"


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_every_table_is_bound_to_the_space(query: Query) -> None:
    if query.name in WHOLE_DATABASE or query.name.startswith("the next space with rows in "):
        return
    assert list(problems_of(STATEMENTS[query.name])) == []


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_values_of_an_insert_hold_no_subquery(query: Query) -> None:
    sql = query.compiled_in(TEXTS).sql
    if sql.startswith("INSERT"):
        assert "SELECT" not in sql.upper().partition("VALUES")[2].partition("ON CONFLICT")[0]


def test_the_check_finds_what_it_looks_for() -> None:
    from sqlalchemy import bindparam, select

    from headish.database.schema import link, turn

    bad = select(turn.c.id).where(turn.c.space == bindparam("space"), link.c.space == turn.c.space)
    assert list(problems_of(bad)) == ["link is not bound to :space", "link.space is found through turn.space"]
    assert list(problems_of(select(turn.c.id).where(turn.c.space == bindparam("space")))) == []
    through = "SELECT 1 FROM turn AS t JOIN link AS l ON l.space = t.space AND l.space = :space AND 1 = :space"
    assert list(problems_of_text("SELECT 1 FROM turn JOIN link ON link.space = turn.space")) != []
    assert "l.space = t.space: one is found through the other" in list(problems_of_text(through))
    assert "turn AS t is not bound to :space" in list(problems_of_text(through))
    assert len(QUERIES) > 80
