"""Parts of statements that each database says in its own words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import BindParameter, Boolean, Column, LargeBinary, String, TextClause, text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, Executable, expression
from sqlalchemy.sql.compiler import SQLCompiler


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


class holds(expression.ColumnElement[bool]):
    """Whether the bytes of a column hold some bytes."""

    type = Boolean()
    inherit_cache = False

    def __init__(self, column: Column[Any], wanted: BindParameter[bytes]) -> None:
        self.column, self.wanted = column, wanted


@compiles(holds, "sqlite")
def _find_bytes(element: holds, compiler: SQLCompiler, **options: Any) -> str:
    column, wanted = compiler.process(element.column, **options), compiler.process(element.wanted, **options)
    return f"instr({column}, {wanted}) > 0"


@compiles(holds)
def _find_position(element: holds, compiler: SQLCompiler, **options: Any) -> str:
    wanted, column = compiler.process(element.wanted, **options), compiler.process(element.column, **options)
    return f"position({wanted} IN {column}) > 0"


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
