"""Read files of JSON: the values of one, whether it holds a single value, a list, or one on each line; the records of a
log that a program writes while it runs; and the times in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple

from headish.content.strictjson import is_sound
from headish.imports.archives import CHUNK_BYTES
from headish.imports.cleaning import NotJson, decode, is_json
from headish.imports.reader import ImportSource
from headish.imports.readers.shared.json_arrays import read_items
from headish.imports.source_files import BOM, LONG_LINE, read_lines
from headish.values.limits import IMPORT_LINE_BYTES


class RecordLine(NamedTuple):
    """A record, and the number of its line from 1 on. ``is_sound``: all of its values can be kept (``strictjson``)."""

    number: int
    record: dict[str, Any]
    is_sound: bool = False

    @property
    def where(self) -> str:
        """The place as notes give it."""
        return f"line {self.number}"


def read_records(given: ImportSource, *, grows: bool = True) -> Iterator[RecordLine]:
    """Yield the objects of a file of JSON lines. A line that is not an object, or is too long for memory, is noted as
    broken.

    In a file that ``grows``, a half-written last line is left out: the next import reads it whole. In any other file it
    is broken.
    """
    for number, value, sound in _decoded_lines(given, grows=grows):
        if isinstance(value, dict):
            yield RecordLine(number, value, sound)
        else:
            given.notes.break_off(f"line {number}", "it is not a JSON object")


def read_values(given: ImportSource) -> Iterator[tuple[str, Any]]:
    """Yield the values of JSON lines with their places (``line 3``); otherwise as ``read_items`` reads a list or one
    object.

    A value that is not JSON is noted as broken. Raises: InvalidImport.
    """
    if not _is_lines(given):
        yield from read_items(given)
        return
    for number, value, _ in _decoded_lines(given, grows=False):
        yield f"line {number}", value


def _decoded_lines(given: ImportSource, *, grows: bool) -> Iterator[tuple[int, Any, bool]]:
    """Yield the values of lines with their numbers, and whether each is sound; bad lines are noted."""
    tail = given.tail
    for number, line in enumerate(read_lines(given.file, given.name, given.progress), 1 + (tail.lines if tail else 0)):
        where = f"line {number}"
        # Only whole lines: a half-written last one is read again from its beginning.
        if tail is not None and (line is None or line.endswith(b"\n")):
            tail.offset, tail.lines = given.file.tell(), number
        if line is None:
            given.notes.break_off(where, LONG_LINE)
            continue
        if not line or line.isspace():
            continue
        try:
            value, changes = decode(line)
        except NotJson as error:
            if line.endswith(b"\n") or not grows:
                given.notes.break_off(where, str(error))
            else:
                given.notes.leave_out(where, "half-written last line")
            continue
        for change in changes:
            given.notes.change(where, change)
        yield number, value, not changes and is_sound(line, value)


def _is_lines(given: ImportSource) -> bool:
    """Whether the first line is a value of its own, and something follows it. It may be cut off, as that of a log that
    was rotated, if it does not go on in the second line, and that is an object of its own."""
    if not given.file.seekable():
        return False
    begin = given.file.tell()
    first, second = _first_line(given.file), given.file.readline(IMPORT_LINE_BYTES + 1)
    rest = second + given.file.read(CHUNK_BYTES)
    given.file.seek(begin)
    if not first.endswith(b"\n") or not rest.strip():
        return False
    goes_on = first.rstrip().endswith((b"[", b"{", b",", b":"))
    return is_json(first) or (not goes_on and is_json(second, dict))


def _first_line(file: BinaryIO) -> bytes:
    """Return the first line that is not blank, up to the longest line allowed."""
    while line := file.readline(IMPORT_LINE_BYTES + 1):
        line = line.removeprefix(BOM)
        if line.strip():
            return line
    return b""


def milliseconds(time: Any) -> Any:
    """Convert Unix seconds, milliseconds, microseconds or nanoseconds, told apart by their size, to milliseconds;
    return anything else unchanged, to be read as text or left out and counted."""
    if isinstance(time, bool) or not isinstance(time, int | float) or not abs(time) < 1e21:
        return time
    # 1e11 seconds are the year 5138, 1e11 milliseconds are 1973: times of programs are between.
    for limit, factor in ((1e11, 1000.0), (1e14, 1.0), (1e17, 1e-3)):
        if abs(time) < limit:
            return round(time * factor)
    return round(time / 1_000_000)


def utc(time: Any) -> Any:
    """Return a time with its zone: some programs write UTC without one."""
    try:
        moment = datetime.fromisoformat(time)
    except (TypeError, ValueError):
        return time
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def load(text: Any) -> Any:
    """Return the JSON of a text; one that is not JSON stays as it is."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text
