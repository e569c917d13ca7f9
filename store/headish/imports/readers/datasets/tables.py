"""Read files of rows: JSON lines, indented JSON objects, a JSON array, or parquet; in bounded memory."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from importlib import import_module
from math import isfinite
from typing import Any

from headish.errors import InvalidImport
from headish.imports.detection import PARQUET
from headish.imports.reader import ImportSource
from headish.imports.readers.shared.json_arrays import read_items
from headish.imports.readers.shared.json_records import read_records
from headish.imports.unpacking import peek
from headish.values.shapes import heal

BATCH_ROWS = 32
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[|\{[ \t]*\r?\n\s*\")")
"""A JSON array, or an object that goes on in its second line: every line of it would be a broken row."""
_FLAT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\n\S")
"""An object whose lines are not indented: a line does not show whether it begins a row."""


def read_rows(given: ImportSource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a file, each with its place; anything else in it is noted as broken.

    Raises: InvalidImport for a file that is none of these.
    """
    beginning = peek(given.file, 1024)
    if beginning.startswith(PARQUET):
        yield from _read_parquet(given)
    elif _LIST.match(beginning):
        for where, row in read_items(given, unwrap=False, has_rows=not _FLAT.match(beginning)):
            if isinstance(row, Mapping):
                yield where, row
            elif isinstance(row, list) and row and all(isinstance(each, Mapping) for each in row):
                yield where, {"messages": row}  # the messages themselves are the row
            else:
                given.notes.break_off(where, "a row is an object")
    else:
        yield from ((line.where, line.record) for line in read_records(given, grows=False))


def _read_parquet(given: ImportSource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        reason = "it is a parquet file, which needs the extra: pip install 'headish[parquet]'"
        raise InvalidImport(given.name, None, reason) from None
    number = 0
    try:
        file = parquet.ParquetFile(given.file)
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", heal(_plain(row))
            if given.progress:
                given.progress(batch.nbytes)
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise InvalidImport(given.name, number + 1, f"it is not a parquet file that can be read ({reason})") from None


def _plain(value: Any) -> Any:
    """Convert a value of a column to JSON. Keys without a value are dropped: they come from other rows, because a
    column has one type for all."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    # JSON has no NaN and no infinity, and a payload with one would be refused (I9).
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
