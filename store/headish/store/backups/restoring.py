"""Put spaces back from the file of a backup, or from another open database.

A space that is being restored carries a mark, and no store opens it. Its rows arrive in transactions of a page each;
then everything is verified, and only then is the mark removed. So a restore that is killed leaves a space that refuses
to open and can be restored again, never one that can be read half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from headish.content.frames import read_frames
from headish.database.backend import Backend
from headish.database.query import Connection
from headish.database.revisions import REVISION, REVISIONS
from headish.errors import InvalidBackup, SpaceNotEmpty, SpaceRestoring
from headish.rows.spaces import add_space, find_space
from headish.rows.upkeep.receipts import was_erased
from headish.rows.upkeep.whole import (
    BACKED_UP,
    Counts,
    add_rows,
    begin_restore,
    finish_restore,
    names_of,
    open_restored,
    still_restores,
)
from headish.store.backups.frames import BACKUP, FrameKind
from headish.store.backups.receipts import apply_receipts
from headish.values.ids import Mint
from headish.values.names import check_name, stored_name
from headish.values.results.erasures import Receipt
from headish.verify.space import verify_space

Progress = Callable[[int], None]
PROBLEMS_SHOWN = 3


class Rows(NamedTuple):
    """Some rows of a table; the values are in the order of ``columns``."""

    table: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class RestoredSpace(NamedTuple):
    """A space that was put back; ``erased`` is how many turns and names were erased by the receipts."""

    name: str
    turns: int
    erased: int = 0


class Receipts(NamedTuple):
    """The receipts of erasures since the backup, and the source of ids for the new receipts."""

    receipts: Sequence[Receipt]
    mint: Mint


def restore_file(
    backend: Backend,
    file: BinaryIO,
    name: str,
    *,
    only: str | None,
    to: str | None,
    progress: Progress | None,
    receipts: Receipts | None = None,
) -> list[RestoredSpace]:
    """Restore the spaces of a file, or the one named ``only``, under its name or ``to``. Erases what the receipts list
    before anybody can read it.

    Raises: InvalidBackup, SpaceNotEmpty, InvalidName.
    """
    frames = read_frames(file, name, BACKUP)
    _check_header(frames, name)
    restored: list[RestoredSpace] = []
    for kind, value in frames:
        if kind is FrameKind.END:
            return restored
        if kind is not FrameKind.SPACE:
            raise InvalidBackup(name, f"a frame of the kind {kind.name} stands where a space begins")
        space_name = stored_name(_field(value, "name", bytes, name))
        if only is not None and space_name != only:
            _skip(frames)
            continue
        restored.append(_restore_space(backend, frames, name, to or space_name, progress, receipts))
    return restored


def _check_header(frames: Iterator[tuple[IntEnum, Any]], name: str) -> None:
    kind, value = next(frames)
    revision = _field(value, "revision", str, name) if kind is FrameKind.HEADER else ""
    if revision not in REVISIONS:
        raise InvalidBackup(name, f"its schema {revision!r} is unknown to this headish; upgrade headish")
    # Rows of other columns cannot be upgraded one by one: migrations know tables, not files.
    if revision != REVISION:
        raise InvalidBackup(name, f"its schema is {revision}; restore it with the headish that wrote it, then upgrade")


def _skip(frames: Iterator[tuple[IntEnum, Any]]) -> None:
    for kind, _ in frames:
        if kind is FrameKind.COUNTER:
            return


def _restore_space(
    backend: Backend,
    frames: Iterator[tuple[IntEnum, Any]],
    file: str,
    name: str,
    progress: Progress | None,
    receipts: Receipts | None,
) -> RestoredSpace:
    number, mark = _begin(backend, name)
    backend = backend.within(number)
    turns = 0
    for kind, value in frames:
        if kind is FrameKind.COUNTER:
            erased = _finish(backend, number, mark, name, _counts(value, file), receipts)
            return RestoredSpace(name, turns, erased)
        if kind is not FrameKind.ROWS:
            break
        rows = _rows(value, file)
        backend.write(partial(_add, space=number, mark=mark, name=name, rows=rows, file=file, target=backend.target))
        if rows.table == "turn":
            turns += len(rows.rows)
            if progress:
                progress(len(rows.rows))
    raise InvalidBackup(file, f"the space {name!r} has no end")


def _begin(backend: Backend, name: str) -> tuple[int, str]:
    encoded = check_name(name, "space")

    def work(connection: Connection) -> tuple[int, str] | None:
        number = find_space(connection, encoded) or add_space(connection, encoded)
        mark = begin_restore(connection, number)
        return None if mark is None else (number, mark)

    begun = backend.write(work)
    if begun is None:
        raise SpaceNotEmpty(name, "restore to another place, or under another name (only= and to=, --only and --as)")
    return begun


def _add(connection: Connection, *, space: int, mark: str, name: str, rows: Rows, file: str, target: str) -> None:
    # In the transaction of each page: a second restore may have taken the space over meanwhile.
    if not still_restores(connection, space, mark):
        raise SpaceRestoring(target, name)
    if tuple(rows.columns) != names_of(rows.table):
        raise InvalidBackup(file, f"rows of {rows.table} have other columns than their table")
    add_rows(connection, space, rows.table, rows.rows)


def _finish(backend: Backend, space: int, mark: str, name: str, counts: Counts, receipts: Receipts | None) -> int:
    """Finish a space: check its counts, verify it, erase what the receipts list, and open it. Returns how many turns
    and names were erased."""
    if not backend.write(partial(finish_restore, space=space, mark=mark, counts=counts)):
        raise SpaceRestoring(backend.target, name)
    _verify(backend, space, mark, name)
    erased = 0
    if receipts is not None:
        erased = apply_receipts(backend, space, mark, name, receipts.receipts, receipts.mint)
    # The erasures changed what was verified, so verify the result.
    if erased:
        _verify(backend, space, mark, name)
    # A space that was erased as a whole stays closed to writers after a restore.
    is_erased = backend.read(partial(was_erased, space=space))
    if not backend.write(partial(open_restored, space=space, mark=mark, is_erased=is_erased)):
        raise SpaceRestoring(backend.target, name)
    return erased


def _verify(backend: Backend, space: int, mark: str, name: str) -> None:
    # Before the mark is removed, so that nobody opens an unverified space: ``verify_space`` lists the mark.
    problems = [each for each in verify_space(backend, space).problems if each.what != f"its state is {mark!r}"]
    if problems:
        examples = "; ".join(f"{each.subject}: {each.what}" for each in problems[:PROBLEMS_SHOWN])
        raise InvalidBackup(name, f"what was put back does not verify ({len(problems)} problems): {examples}")


def _counts(value: Any, file: str) -> Counts:
    if not isinstance(value, dict) or value.keys() != set(Counts._fields):
        raise InvalidBackup(file, "what the counter of a space says cannot be read")
    if not all(each is None or isinstance(each, int) for each in value.values()):
        raise InvalidBackup(file, "the counter of a space has a value that is not a number")
    return Counts(**value)


def _rows(value: Any, file: str) -> Rows:
    table = _field(value, "table", str, file)
    if table not in BACKED_UP:
        raise InvalidBackup(file, f"it holds rows of {table!r}, which is not a table of a backup")
    columns, rows = _field(value, "columns", list, file), _field(value, "rows", list, file)
    if not all(isinstance(row, list) and len(row) == len(columns) for row in rows):
        raise InvalidBackup(file, f"a row of {table} has more or fewer values than columns")
    # The file may be damaged or made by anybody: only plain values may reach a statement.
    if not all(isinstance(each, int | str | bytes | None) for row in rows for each in row):
        raise InvalidBackup(file, f"a row of {table} holds what no column holds")
    return Rows(table, columns, rows)


def _field(value: Any, name: str, kind: type, file: str) -> Any:
    field = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(field, kind):
        raise InvalidBackup(file, f"a frame has no {name}")
    return field
