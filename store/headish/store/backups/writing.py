"""Write spaces into the file of a backup, as they are at one moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from headish.content.frames import FRAME_BYTES, FrameWriter
from headish.database.query import Connection, Row
from headish.database.revisions import REVISION
from headish.errors import SpaceRestoring
from headish.rows.counters import state_of
from headish.rows.spaces import find_space, list_spaces
from headish.rows.upkeep.whole import BACKED_UP, RESTORING, counts_of, names_of, pages_of
from headish.store.backups.frames import BACKUP, FrameKind
from headish.values.names import stored_name

Progress = Callable[[int], None]
"""Called with the number of turns since the last call."""


def write_spaces(
    connection: Connection, target: str, file: BinaryIO, names: Sequence[bytes] | None, progress: Progress | None
) -> tuple[FrameWriter, list[str], int]:
    """Write the named spaces of the database ``target``, or all; returns the writer, the names and how many turns they
    hold.

    All spaces are written as they are in the connection's transaction. Memory holds a page of rows.
    Raises: SpaceRestoring for a space of which a restore has put back a part.
    """
    # Ahead: a thread compresses a frame while the next page is read.
    writer = FrameWriter(file, BACKUP, ahead=True)
    chosen = list_spaces(connection) if names is None else list(names)
    writer.write(FrameKind.HEADER, {"revision": REVISION, "made_at": time.time_ns() // 1_000_000})
    turns = 0
    for name in chosen:
        number = find_space(connection, name)
        if number is not None:
            if (state_of(connection, number) or "").startswith(RESTORING):
                raise SpaceRestoring(target, stored_name(name))
            turns += _write_space(connection, writer, number, name, progress)
    writer.write(FrameKind.END, {"spaces": len(chosen), "turns": turns})
    return writer, [stored_name(name) for name in chosen], turns


def _write_space(
    connection: Connection, writer: FrameWriter, space: int, name: bytes, progress: Progress | None
) -> int:
    writer.write(FrameKind.SPACE, {"name": name})
    turns = 0
    for table in BACKED_UP:
        columns = names_of(table)
        for page in pages_of(connection, space, table):
            for rows in _portions(page):
                writer.write(FrameKind.ROWS, {"table": table, "columns": columns, "rows": rows})
            if table == "turn":
                turns += len(page)
                if progress:
                    progress(len(page))
    counts = counts_of(connection, space)
    writer.write(FrameKind.COUNTER, None if counts is None else counts._asdict())
    return turns


def _portions(page: Sequence[Row]) -> Iterator[list[Row]]:
    """Split the rows of a page into portions that fit into a frame."""
    portion: list[Row] = []
    size = 0
    for row in page:
        length = sum(len(value) if isinstance(value, bytes | str) else 8 for value in row)
        if portion and size + length > FRAME_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(row)
        size += length
    if portion:
        yield portion
