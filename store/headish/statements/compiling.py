"""What a named statement says, and its text in the words of each database.

``headish.rows`` and the verbs above it hold the names; the modules beside this one say in SQLAlchemy's terms what each
statement does. ``make sql`` compiles them into ``headish.database.sql``. Nothing that runs imports this folder.
"""

from __future__ import annotations

import importlib
import pkgutil

from sqlalchemy import Executable, FromClause
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler

import headish.statements
from headish.database.query import Compiled, Query


class _Compiler(SQLiteCompiler):
    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:
        return text  # INDEXED BY, which SQLAlchemy itself does not write


class _SQLite(SQLiteDialect_pysqlite):
    statement_compiler = _Compiler


DIALECTS: dict[str, Dialect] = {
    "sqlite": _SQLite(paramstyle="qmark"),
    "postgresql": PGDialect_psycopg(paramstyle="format"),  # type: ignore[no-untyped-call]
}
_defined: dict[str, Executable] = {}


def define(query: Query, statement: Executable) -> None:
    """Say what a named statement does. Raises: ValueError for a name that is defined twice."""
    if query.name in _defined:
        raise ValueError(f"two statements are named {query.name!r}")
    _defined[query.name] = statement


def defined() -> dict[str, Executable]:
    """Every statement by its name, in the order of names."""
    for module in pkgutil.walk_packages(headish.statements.__path__, headish.statements.__name__ + "."):
        importlib.import_module(module.name)
    return dict(sorted(_defined.items()))


def compile_for(database: str, statement: Executable) -> Compiled:
    """The text of a statement for a database of ``DIALECTS``."""
    compiled = statement.compile(dialect=DIALECTS[database])  # type: ignore[attr-defined]
    assert isinstance(compiled, SQLCompiler)
    constants = {key: value for key, value in compiled.params.items() if value is not None}
    return Compiled(str(compiled), tuple(compiled.positiontup or ()), constants)
