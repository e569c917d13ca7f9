"""The one place that asks which database this is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Column, LargeBinary, String, TextClause, make_url, text
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, Executable, expression
from sqlalchemy.sql.compiler import SQLCompiler

from headish.database.backend import DURABILITIES, Backend
from headish.database.postgresql import PostgreSQLBackend
from headish.database.sqlite import SQLiteBackend
from headish.errors import InvalidArgument, shown
from headish.values.doors import is_path

DATABASES: dict[str, type[SQLiteBackend] | type[PostgreSQLBackend]] = {
    "sqlite": SQLiteBackend,
    "sqlite+pysqlite": SQLiteBackend,
    "postgresql": PostgreSQLBackend,
    "postgresql+psycopg": PostgreSQLBackend,
}


def connect(
    target: str | os.PathLike[str],
    *,
    durability: str = "full",
    create: bool = True,
    read_only: bool = False,
    prepared: bool = True,
) -> Backend:
    """The database at a path, ``:memory:`` or a SQLAlchemy URL (``sqlite``, ``postgresql+psycopg``).

    Only the file's first bytes are read: upgrade.py checks the schema.
    Raises: InvalidArgument for another URL or durability; NotADatabase, UnknownDatabase.
    """
    if durability not in DURABILITIES:
        raise InvalidArgument(f"unknown durability {shown(durability)}: use {' or '.join(DURABILITIES)}")
    url = _url(target)
    database = DATABASES.get(url.drivername)
    if database is None:
        raise InvalidArgument(f"unknown database {url.drivername!r}: use {', '.join(sorted(DATABASES))}")
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    if database is SQLiteBackend:
        return SQLiteBackend(url, durability=durability, create=create, read_only=read_only)
    prepared = prepared and _read_flag(url, "prepared")
    url = url.difference_update_query(["prepared"])
    return PostgreSQLBackend(url, durability=durability, create=create, read_only=read_only, prepared=prepared)


def _read_flag(url: URL, name: str) -> bool:
    given = str(url.query.get(name, "true"))
    if given not in ("true", "false"):
        raise InvalidArgument(f"{name} in the database URL is true or false, not {given!r}")
    return given == "true"


def _url(target: str | os.PathLike[str]) -> URL:
    if not is_path(target):
        raise InvalidArgument(f"a database is a path or a URL as text, without NUL, not {shown(target)}")
    if (isinstance(target, str) and target.startswith(("sqlite:", "postgresql:", "postgresql+"))) or "://" in str(
        target
    ):
        try:
            return make_url(str(target))
        except (ArgumentError, ValueError):
            raise InvalidArgument("the database URL cannot be read") from None
    try:
        path = str(target) if str(target) == ":memory:" else str(Path(target).expanduser())
    except RuntimeError:
        raise InvalidArgument(f"there is no home folder for {shown(target)}") from None
    return URL.create("sqlite", database=path)


class misfits(expression.ColumnElement[str]):
    """What a row holds that its columns cannot: ``name`` of each value of another type, and ``name=hex`` of each text
    that is not ASCII, separated by spaces; empty where all fits. Beside SQLite every database keeps the types itself.
    """

    type = String()
    inherit_cache = False

    def __init__(self, columns: Iterable[Column[Any]]) -> None:
        self.columns = tuple(columns)


@compiles(misfits, "sqlite")
def _compare_types(element: misfits, compiler: SQLCompiler, **options: Any) -> str:
    return " || ".join(_misfit(each, compiler.process(each, **options)) for each in element.columns)


def _misfit(column: Column[Any], sql: str) -> str:
    kept = _kept_as(column)
    kinds = f"'{kept}', 'null'" if column.nullable else f"'{kept}'"
    # A text may hold bytes that are no text; whoever reads it would fail. GLOB tells what is surely text.
    foreign = f"WHEN {sql} GLOB '*[^ -~]*' THEN '{column.name}=' || hex({sql}) || ' ' " if kept == "text" else ""
    return f"CASE WHEN typeof({sql}) NOT IN ({kinds}) THEN '{column.name} ' {foreign}ELSE '' END"


def _kept_as(column: Column[Any]) -> str:
    """How SQLite names what a column is to hold."""
    if isinstance(column.type, LargeBinary):
        return "blob"
    return "text" if isinstance(column.type, String) else "integer"


@compiles(misfits)
def _fit(*_: object, **__: object) -> str:
    return "''"


class in_hex(expression.ColumnElement[str]):
    """Values of a row, whatever their types, as hex of their text, separated by slashes. Only beside ``misfits``."""

    type = String()
    inherit_cache = False

    def __init__(self, columns: Iterable[Column[Any]]) -> None:
        self.columns = tuple(columns)


@compiles(in_hex, "sqlite")
def _join_hex(element: in_hex, compiler: SQLCompiler, **options: Any) -> str:
    return " || '/' || ".join(f"hex({compiler.process(each, **options)})" for each in element.columns)


@compiles(in_hex)
def _no_hex(*_: object, **__: object) -> str:
    return "''"


class spelled(Executable, ClauseElement):
    """A statement that each database spells in its own words, with the same parameters."""

    inherit_cache = False

    def __init__(self, *, sqlite: str, postgresql: str) -> None:
        self.sqlite, self.postgresql = text(sqlite), text(postgresql)

    @property
    def texts(self) -> tuple[TextClause, TextClause]:
        """Both spellings."""
        return self.sqlite, self.postgresql


@compiles(spelled, "sqlite")
def _spell_for_sqlite(element: spelled, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.sqlite, **options)


@compiles(spelled)
def _spell_for_postgresql(element: spelled, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.postgresql, **options)
