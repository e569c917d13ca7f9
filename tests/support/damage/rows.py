"""Every way to damage a column: the rows of its table as they would be afterwards. Used by tests/corruption."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from sqlalchemy import Column, Integer, LargeBinary, String, Table

Row = tuple[Any, ...]


class NotText(bytes):
    """Bytes that are no UTF-8, stored as text."""


class Damage(NamedTuple):
    """One damage: the rows that it touches, as they were, and what is there afterwards instead."""

    touched: tuple[Row, ...]
    instead: tuple[Row, ...]


def damages(table: Table, column: Column[Any] | None, kind: str, rows: Sequence[Row]) -> Iterator[Damage]:
    """Every damage of a kind to a column, or to whole rows; none where it would change nothing."""
    if column is None:
        yield from (Damage((row,), ()) for row in rows)
        return
    at = list(table.c).index(column)
    if kind == "swap":
        yield from _swaps(_pairs(column, rows), at)
        return
    values = [row[at] for row in rows]
    for row in rows:
        # Each once, whatever it is equal to: 1 and 1.0 are two values.
        others = {(type(value), value): value for value in VALUES[kind](column, row[at], values)}
        others.pop((type(row[at]), row[at]), None)
        yield from (Damage((row,), (_with(row, at, value),)) for value in others.values())


def names_of(table: Table, damage: Damage) -> set[str]:
    """What names the damaged rows to a person, before or after; or the table, where a row has no name of its own."""
    rows = [dict(zip(table.c.keys(), map(_shown, row), strict=True)) for row in (*damage.touched, *damage.instead)]
    names = {name.format_map(row) for name in NAMES[table.name] for row in rows}
    return names | {f"{table.name} holds rows of the space", f" {table.name}.", f"a row of {table.name} "}


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex() if len(value) == 32 else value.decode(errors="replace")
    return str(value)


def _swaps(pairs: Iterable[tuple[Row, Row]], at: int) -> Iterator[Damage]:
    for one, other in pairs:
        swapped = (_with(one, at, other[at]), _with(other, at, one[at]))
        if one[at] != other[at] and swapped != (other, one):
            yield Damage((one, other), swapped)


def _pairs(column: Column[Any], rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """All pairs of rows where their values order them or lead to others; else neighbours, and pairs of both ends."""
    if column.primary_key or isinstance(column.type, Integer):
        return list(combinations(rows, 2))
    return [*pairwise(rows), *zip(rows[: len(rows) // 2], rows[::-1], strict=False)]


def _flipped(column: Column[Any], value: Any, values: Sequence[Any]) -> list[Any]:
    """A value that nobody wrote, and those of other rows: what was written, elsewhere."""
    others = sorted({each for each in values if each is not None and each != value})
    return [_altered(column, value), *others[:1], *others[-1:], _extreme(column)]


def _extreme(column: Column[Any]) -> Any:
    if isinstance(column.type, LargeBinary):
        return b""
    return "" if isinstance(column.type, String) else 2**63 - 1


def _altered(column: Column[Any], value: Any) -> Any:
    if isinstance(column.type, LargeBinary):
        middle = len(value or b"") // 2
        return b"{}" if not value else value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :]
    if isinstance(column.type, String):
        return "x" if value is None else value[:-1] + chr(ord(value[-1]) ^ 1)
    return 1 if value is None else value + 1


def _of_another_type(column: Column[Any], value: Any, _: Sequence[Any]) -> list[Any]:
    """SQLite keeps any value in any column; a number in a column of text becomes text."""
    if isinstance(column.type, LargeBinary):
        return [2**62, "x" if value is None else value.decode(errors="replace"), NotText(b"\xff")]
    if isinstance(column.type, String):
        return [NotText(b"\xff"), b"x" if value is None else value.encode()]
    return ["x", b"x", 1.5]


def _with(row: Row, at: int, value: Any) -> Row:
    return (*row[:at], value, *row[at + 1 :])


CHANGES = ("space: change ", "numbers of changes")
NAMES = {
    "space": ("space {id}", "space: its name"),
    "space_log": ("space {space}", "space_log {number}", "space: its name", "of its names"),
    "counter": ("space {space}", "space: it", "counter {space}:"),
    "payload": ("payload {hash}:", "its payload is missing", "does not decode", "space: its counter says"),
    # A turn that lies elsewhere now is missing where it was.
    "turn": ("{id}", "space: it", "of its log is not of the turn", "turns say that they moved it"),
    "link": ("link {chain}/", "turn "),
    "bookmark": ("bookmark {name}:",),
    "bookmark_log": ("bookmark {name}:", "bookmark_log {name}/", *CHANGES),
    "definition": ("{kind} '{name}':", "definition {kind}/{name}/", *CHANGES),
    "erasure": ("erasure {number}", "receipt {number}", "space {space}: ", "space: ", "it is erased", "its receipt"),
    "conversation": ("conversation {subject}:", "conversation {subject}/", "its space"),
    "record_log": ("conversation {subject}:", "record_log {change}:", *CHANGES),
    "object": ("object {kind} '{key}':", "object {kind}/{key}:"),
    "stream": ("stream {id}:",),
    "stream_chunk": ("stream {stream}:", "stream_chunk {stream}/"),
    "arrival": ("arrival {first}", "space: ", "bookmark "),
    "remote": ("remote {name}", "remote {name}:"),
    "remote_bookmark": ("bookmark {device}/{name}", "remote_bookmark "),
    "notice": ("erasure {id} of another store", "notice "),
    "signature": ("signature {number} of {turn}", "signature {number}:"),
    "call": ("call {id}",),
    "token": ("token {label}",),
    "search": ("search index", "search {space}:"),
}
VALUES = {"flip": _flipped, "null": lambda *_: [None], "type": _of_another_type}
