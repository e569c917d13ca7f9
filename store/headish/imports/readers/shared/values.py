"""The JSON values of a file, whether it holds one, a list of them, or one on each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from headish.imports.archives import CHUNK_BYTES
from headish.imports.arrays import read_items
from headish.imports.cleaning import NotJson, decode
from headish.imports.files import LONG_LINE, read_lines
from headish.imports.sources import Given
from headish.limits import IMPORT_LINE_BYTES


def read_values(given: Given) -> Iterator[tuple[str, Any]]:
    """The values of JSON lines with their places (``line 3``); else as ``read_items`` reads a list or one object.

    A value that is no JSON is noted as broken. Raises: InvalidImport.
    """
    if not _is_lines(given):
        yield from read_items(given.file, given.name, given.notes, given.progress)
        return
    for number, line in enumerate(read_lines(given.file, given.name, given.progress), 1):
        where = f"line {number}"
        if line is None:
            given.notes.break_off(where, LONG_LINE)
            continue
        if not line.strip():
            continue
        try:
            value, healed = decode(line)
        except NotJson as error:
            given.notes.break_off(where, str(error))
            continue
        if healed:
            given.notes.change(where, "lone surrogates became U+FFFD")
        yield where, value


def _is_lines(given: Given) -> bool:
    """Whether the first line is a value of its own, and something stands behind it."""
    if not given.file.seekable():
        return False
    begin = given.file.tell()
    first = _first_line(given.file)
    rest = given.file.read(CHUNK_BYTES)
    given.file.seek(begin)
    if not first.endswith(b"\n") or not rest.strip():
        return False
    try:
        decode(first)
    except NotJson:
        return False
    return True


def _first_line(file: BinaryIO) -> bytes:
    """The first line that is not blank, as far as a line may be."""
    while line := file.readline(IMPORT_LINE_BYTES + 1):
        if line.removeprefix(b"\xef\xbb\xbf").strip():
            return line.removeprefix(b"\xef\xbb\xbf")
    return b""
