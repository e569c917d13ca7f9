"""What runs is what SQLAlchemy makes of the statements, and every statement that is asked for is there."""

from __future__ import annotations

import pytest

from headish.database.query import Query
from headish.database.revisions import TABLES
from headish.database.schema import metadata
from headish.database.sql import postgresql, sqlite
from headish.statements.__main__ import FOLDER, module_of
from headish.statements.compiling import DIALECTS, define, defined
from support.queries import all_queries


def asked_for() -> set[str]:
    """The names of all queries whose words are not given with them."""
    return {each.name for each in all_queries().values() if each._same is None}


@pytest.mark.parametrize("database", DIALECTS)
def test_the_compiled_statements_are_those_of_the_tables(database: str) -> None:
    path = FOLDER / f"{database}.py"
    assert module_of(database) == path.read_text(encoding="utf-8"), "run: make sql"


def test_every_statement_that_is_asked_for_is_defined_and_no_other() -> None:
    assert asked_for() == set(defined()) == set(sqlite.TEXTS) == set(postgresql.TEXTS)


def test_two_statements_of_one_name_are_refused() -> None:
    [name, statement] = next(iter(defined().items()))
    with pytest.raises(ValueError, match="two statements are named"):
        define(Query(name), statement)


def test_the_names_of_the_tables_are_those_of_the_schema() -> None:
    assert [table.name for table in metadata.sorted_tables if table.name != "space"] == list(TABLES)
