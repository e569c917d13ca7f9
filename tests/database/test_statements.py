"""Every statement binds its tables to a space, and both databases take it.

The rules stand in ``support/guards``. A statement of a secured database is read, too.
"""

from __future__ import annotations

import ast
import importlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headish import Store
from headish.database.query import Query
from headish.database.sqlite import KEPT_STATEMENTS
from headish.database.urls import parse_url, server_arguments
from support.guards import problems_of
from support.queries import DATABASES, LIBRARY, all_queries, texts_of

OF_ALL_SPACES = {
    "all spaces, the removed ones too": "verify of a whole database asks all machines",
    "the next space with words in the search index": "verify of a whole database asks all machines",
    **{name: "verify of a whole database asks all machines" for name in all_queries() if "the next space with" in name},
}
"""Statements that are meant for all spaces, and why."""
EMPTIED_FOR_ALL = ("sqlite", "begin the search index anew")
"""SQLite can empty its index, and not a part of it."""

UNORDERED = re.compile(r"(?<!LEFT )(?<!CROSS )\bJOIN\b|\bFROM\s+\w+(\s+AS\s+\w+)?\s*,")
"""A join whose order SQLite chooses. That of an outer join and of a CROSS JOIN is the statement's."""

BROKEN = {
    "SELECT id FROM turn WHERE seq = :seq": "turn is not bound to :space",
    "SELECT id FROM turn WHERE space = :space OR seq = :seq": "turn is not bound to :space",
    "SELECT id FROM turn WHERE space = :other": "turn is not bound to :space",
    "SELECT t.id FROM turn AS t JOIN link AS l ON l.chain = t.chain WHERE t.space = :space": "link AS l is not bound",
    "SELECT t.id FROM turn AS t JOIN link AS l ON l.space = t.space WHERE t.space = :space": "one is found through",
    "SELECT t.id FROM turn AS t, link AS l WHERE space = :space": "turn AS t is not bound to :space",
    "SELECT (SELECT max(o.pos) FROM turn AS o) FROM turn AS t WHERE t.space = :space": "turn AS o is not bound",
    "SELECT id FROM turn WHERE space = :space AND EXISTS (SELECT 1 FROM link)": "link is not bound to :space",
    "WITH w AS (SELECT id FROM turn) SELECT id FROM w": "turn is not bound to :space",
    "UPDATE counter SET seq = 1": "counter is not bound to :space",
    "DELETE FROM bookmark WHERE name = :name": "bookmark is not bound to :space",
    "INSERT INTO link (chain, ordinal) VALUES (:chain, 0)": "link is written without :space",
    "INSERT INTO link (space, chain) VALUES (:chain, :space)": "link is written without :space",
    "INSERT INTO link (space, chain) VALUES (:space, (SELECT 1))": "a subquery in the VALUES",
    "UPDATE turn SET space = 2 WHERE space = :space": "space is changed",
    "INSERT INTO counter (space, seq) VALUES (:space, 1) ON CONFLICT (space) DO UPDATE SET space = 2": "is changed",
    "UPDATE counter SET seq = random() WHERE space = :space": "differs from one call",
    "DELETE FROM turn WHERE space = :space RETURNING clock_timestamp()": "differs from one call",
    "INSERT INTO counter (space, seq) VALUES (:space, nextval('x'))": "differs from one call",
    "INSERT INTO object (space, key) VALUES (:space, gen_random_uuid())": "differs from one call",
    "WITH ways(way) AS (SELECT 0 UNION ALL SELECT 1) SELECT way FROM ways": "the columns of ways",
}


@pytest.mark.parametrize("database", DATABASES)
def test_every_table_is_bound_to_the_space(database: str) -> None:
    problems = {
        name: found
        for name, sql in texts_of(database).items()
        if name not in OF_ALL_SPACES
        and (database, name) != EMPTIED_FOR_ALL
        and (found := [*problems_of(sql, database)])
    }
    assert problems == {}


def test_a_join_begins_where_the_statement_says() -> None:
    """Left to itself, SQLite begins with every row of the space, each version in other statements: 3.53 read all links
    of a space for each fork of a thread."""
    unordered = {name for name, sql in texts_of("sqlite").items() if UNORDERED.search(sql)}
    assert unordered == set()
    for sql in (
        "FROM wanted JOIN turn AS t ON t.seq = wanted.seq",
        "FROM link AS l, reach WHERE l.chain = reach.chain",
    ):
        assert UNORDERED.search(sql)


def test_a_connection_to_a_file_keeps_every_statement_prepared() -> None:
    assert len(all_queries()) <= KEPT_STATEMENTS


@pytest.mark.parametrize("database", DATABASES)
def test_the_guard_finds_what_it_looks_for(database: str) -> None:
    missed = {sql for sql, problem in BROKEN.items() if not any(problem in each for each in problems_of(sql, database))}
    assert missed == set()
    assert len(texts_of(database)) > 300


@pytest.mark.slow
def test_the_guard_misses_each_bond_that_is_taken_away() -> None:
    unnoticed = []
    for name, sql in texts_of("postgresql").items():
        for bond in re.finditer(r"(?<![\w.])(\w+\.)?space = :space\b", sql):
            broken = f"{sql[: bond.start()]}1 = 1{sql[bond.end() :]}"
            if not list(problems_of(broken, "postgresql")):
                unnoticed.append((name, bond.start()))
    assert unnoticed == []


def test_sqlite_takes_every_statement(tmp_path: Path) -> None:
    refused = {}
    with Store.open(tmp_path / "h.db") as store:
        store.add_turn("a")
    with sqlite3.connect(tmp_path / "h.db") as connection:
        for name, sql in texts_of("sqlite").items():
            refused[name] = refusal(connection, f"EXPLAIN {sql}", dict.fromkeys(parameters_of(sql)))
    only_asked_a_server = "server|statistics|policies"
    assert {name: why for name, why in refused.items() if why and not re.search(only_asked_a_server, name)} == {}


def refusal(connection: Any, sql: str, values: object = None) -> str:
    """Why a database does not take a statement; empty where it does."""
    try:
        connection.execute(sql, values)
    except (sqlite3.Error, psycopg.Error) as error:
        return str(error)
    return ""


def test_postgresql_takes_every_statement(new_postgresql: str) -> None:
    refused = {}
    Store.open(new_postgresql).close()
    with psycopg.connect(**server_arguments(parse_url(new_postgresql)), autocommit=True) as connection:
        for number, (name, sql) in enumerate(texts_of("postgresql").items()):
            if re.match("SELECT|INSERT|UPDATE|DELETE|WITH", sql):
                names = list(dict.fromkeys(parameters_of(sql)))
                types = f"({', '.join(['bytea'] * (len(names) - 1))}, bigint)" if "by digests" in name else ""
                refused[name] = refusal(connection, f"PREPARE it_{number}{types} AS {_numbered(sql, names)}")
    assert {name: why for name, why in refused.items() if why and "as the owner" not in name} == {}


def _numbered(sql: str, names: list[str]) -> str:
    return re.sub(PARAMETER, lambda found: f"${names.index(found[1]) + 1}", sql)


PARAMETER = r"(?<![:\w]):([a-z_]\w*)"


def parameters_of(sql: str) -> list[str]:
    return re.findall(PARAMETER, sql)


def calls() -> Iterator[tuple[str, Query, set[str], bool]]:
    """Where a statement is run by its name with its parameters: the place, and whether others are spread into it."""
    for path in sorted(LIBRARY.rglob("*.py")):
        text = path.read_text("utf-8")
        if not re.search(r"connection\.(row|rows|run)\(", text):
            continue
        module = importlib.import_module(".".join(("headish", *path.relative_to(LIBRARY).with_suffix("").parts)))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                query = getattr(module, ast.unparse(node.args[0]), None)
                if node.func.attr in ("row", "rows", "run") and isinstance(query, Query):
                    names = {each.arg for each in node.keywords if each.arg is not None}
                    yield f"{path.name}:{node.lineno}", query, names, len(names) < len(node.keywords)


def test_every_call_names_the_parameters_of_its_statement() -> None:
    wrong, count = [], 0
    texts = [texts_of(database) for database in DATABASES]
    for place, query, named, spreads in calls():
        count += 1
        asked = {name for each in texts for name in parameters_of(each[query.name])}
        if not named <= asked or (not spreads and named != asked):
            wrong.append((place, query.name, named ^ asked))
    assert wrong == []
    assert count > 150
