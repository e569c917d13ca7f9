"""Read a JSON array that is larger than memory: its items, one at a time.

The scanner looks for brackets and ignores text inside quotes; then each item is decoded by itself. So an item that is
not JSON costs only itself, as long as its brackets are balanced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from typing import Any, BinaryIO

from headish.errors import InvalidImport
from headish.imports.archives import CHUNK_BYTES
from headish.imports.cleaning import NotJson, decode_noted
from headish.imports.keeping.known import ExportMemory
from headish.imports.reader import ImportSource
from headish.imports.source_files import BOM, Progress, read_lines
from headish.values.limits import IMPORT_LINE_BYTES

# Possessive quantifiers: what was matched is not tried again, so a long text is scanned once.
_FLAT = rb'[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+"'
_PLAIN = re.compile(b"(?:%b)*+" % _FLAT, re.S)
_DEPTH = 6
"""The levels of whole arrays and objects that one match steps over."""
_WHOLE = re.compile(
    reduce(lambda inner, _: rb"(?:%b|[{\[]%b[}\]])*+" % (_FLAT, inner), range(_DEPTH), _PLAIN.pattern), re.S
)
_INSIDE = re.compile(rb'(?:[^"\\]++|\\.)*+', re.S)
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_SEPARATORS = re.compile(rb"[ \t\r\n,]*+\Z")
_DEPTHS = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}


def read_items(
    given: ImportSource, *, unwrap: bool = True, has_rows: bool = False, known: ExportMemory | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield the items of an array with their places (``record 3``). An object that holds a list ``conversations`` gives
    its items (``unwrap``); any other object is the item itself.

    Several arrays or objects may follow one another, as lines do. Memory holds the largest item. One that is not JSON,
    or is too large, is noted as broken, and so are values in an array that are neither object nor array. One that is
    ``known`` is left out.
    Raises: InvalidImport for a file that is neither an array nor an object, ends early, or is one object that is too
    large.
    """
    for number, data in enumerate(split_items(given, has_rows=has_rows), 1):
        where = f"record {number}"
        if data is None:
            given.notes.break_off(where, f"it is longer than {IMPORT_LINE_BYTES:,} bytes")
            continue
        if known is not None and known.skip(data):
            continue
        try:
            value = decode_noted(data, given.notes, where)
        except NotJson as error:
            given.notes.break_off(where, str(error))
            continue
        inner = value.get("conversations") if unwrap and isinstance(value, dict) else None
        # The bytes that were hashed hold many conversations, so they identify none.
        if isinstance(inner, list):
            if known is not None:
                known.pass_over()
            yield from ((f"record {index}", item) for index, item in enumerate(inner, 1))
        else:
            yield where, value


def split_items(given: ImportSource, *, has_rows: bool = False) -> Iterator[bytes | None]:
    """Yield the bytes of each item: everything between two brackets of the first depth. None for one that is too large.

    ``has_rows``: objects that follow one another are rows. From one on that does not end, each line at the left margin
    begins a row, so that the broken one costs only itself.
    Raises: InvalidImport, as ``read_items``.
    """
    file, name = given.file, given.name
    begin = file.tell() if has_rows else 0
    scan = _ArrayScan(file, name, given.progress)
    first = scan.begin()
    if first not in (b"{", b"["):
        raise InvalidImport(name, None, "it is neither a JSON array nor an object")
    while first:
        place = scan.place
        try:
            if first == b"{":
                value = scan.value()
                if value is None:
                    raise InvalidImport(name, None, f"one value in it is longer than {IMPORT_LINE_BYTES:,} bytes")
                yield value
            elif first == b"[":
                scan.skip_bracket()
                while scan.next_item():
                    yield scan.value()
            else:
                raise InvalidImport(name, None, "something else stands behind the end of its JSON, and was not read")
        except InvalidImport:
            if not has_rows or first == b"[":
                raise
            file.seek(begin + place)
            yield from _split_rows(file, name)
            return
        first = scan.next_value()
    if scan.passed_over:
        given.notes.break_off("", "its array holds values that are neither objects nor arrays")


_GOES_ON = re.compile(rb"[ \t\r\n}\]]")
"""The beginning of a line that is not the first of its row."""


def _split_rows(file: BinaryIO, name: str) -> Iterator[bytes | None]:
    """Yield the rows of the rest of a file: each line at the left margin with the indented ones after it. None for one
    that is too large."""
    row: list[bytes] = []
    size_bytes = 0
    for line in read_lines(file, name, None):
        if size_bytes and (line is None or not _GOES_ON.match(line)):
            yield b"".join(row) if row else None
            row, size_bytes = [], 0
        size_bytes += len(line) if line is not None else IMPORT_LINE_BYTES + 1
        if line is None or size_bytes > IMPORT_LINE_BYTES:
            row = []
        else:
            row.append(line)
    if size_bytes:
        yield b"".join(row) if row else None


STEP_BYTES = 8 * 1024 * 1024
"""The most bytes of a long item to read at once."""


class _ArrayScan:
    """The part of a file that is scanned. Each read doubles it, so an item is scanned twice, and a long one once for
    each step."""

    def __init__(self, file: BinaryIO, name: str, progress: Progress | None) -> None:
        self._file, self._name, self._progress = file, name, progress
        self._data, self._at, self._read_bytes = b"", 0, 0
        self.passed_over = False

    @property
    def place(self) -> int:
        """How far the scan is: bytes from its beginning."""
        return self._read_bytes - len(self._data) + self._at

    def begin(self) -> bytes:
        """Return the first character that is not blank."""
        self._more()
        self._data = self._data.removeprefix(BOM)
        return self.next_value()

    def next_value(self) -> bytes:
        """Return the next character that is not blank; empty at the end of the file."""
        while (found := _BLANKS.match(self._data, self._at)) is not None and found.end() == len(self._data):
            self._data, self._at = b"", 0
            if not self._more():
                return b""
        self._at = self._at if found is None else found.end()
        return self._data[self._at : self._at + 1]

    def skip_bracket(self) -> None:
        """Step over the bracket that opens the array."""
        self._at += 1

    def next_item(self) -> bool:
        """Step to the next item that is an array or object; False at the end. Other values are passed over."""
        while True:
            end = self._plain_end(self._at)
            mark = self._data[end : end + 1]
            self.passed_over = self.passed_over or _SEPARATORS.match(self._data, self._at, end) is None
            if mark in (b"{", b"["):
                self._at = end
                return True
            if mark in (b"]", b"}"):
                self._at = end + 1
                return False
            # Dropped at once: a file may have any number of blanks and numbers between items.
            self._cut(end)
            if len(self._data) > IMPORT_LINE_BYTES:
                self._pass_text()
            else:
                self._grow()

    def value(self) -> bytes | None:
        """Return the item that begins here, None for one that is too large; the scan is then after it."""
        at, depth = self._at, 0
        while True:
            mark = self._data[at : at + 1]
            depth += _DEPTHS.get(mark, 0)
            if mark and depth == 0:
                begin, self._at = self._at, at + 1
                return self._data[begin : self._at]
            found = _WHOLE.match(self._data, at + 1 if mark and mark != b'"' else at)
            assert found is not None
            at = found.end()
            if at < len(self._data) and self._data[at : at + 1] != b'"':
                continue
            # Inside a text, or at the end of what was read.
            at -= self._at
            self._cut(self._at)
            if len(self._data) > IMPORT_LINE_BYTES:
                self._pass_over(at, depth)
                return None
            self._grow()

    def _pass_over(self, at: int, depth: int) -> None:
        """Skip an item that is too large, from a place at this depth inside it, keeping none of it in memory."""
        self._at = at
        while True:
            self._at = self._plain_end(self._at)
            mark = self._data[self._at : self._at + 1]
            if mark in _DEPTHS:
                depth += _DEPTHS[mark]
                self._at += 1
                if depth == 0:
                    return
                continue
            self._cut(self._at)
            if mark:
                self._pass_text()
            else:
                self._grow()

    def _pass_text(self) -> None:
        """Skip a text that begins here, and was not read to its end."""
        self._cut(1)
        while True:
            found = _INSIDE.match(self._data)
            self._cut(0 if found is None else found.end())
            if self._data[:1] == b'"':
                self._at = 1
                return
            self._grow()

    def _cut(self, at: int) -> None:
        """Forget what is before a place. Not done for each item, because a cut copies the rest."""
        self._data, self._at = self._data[at:], 0

    def _plain_end(self, at: int) -> int:
        found = _PLAIN.match(self._data, at)
        return at if found is None else found.end()

    def _grow(self) -> None:
        if not self._more():
            raise InvalidImport(self._name, None, "the file ends in the middle of its JSON")

    def _more(self) -> bool:
        # Doubled, but never by more than a step: while the parts are joined, memory holds both twice.
        chunk = self._file.read(min(max(CHUNK_BYTES, len(self._data)), STEP_BYTES))
        self._data += chunk
        self._read_bytes += len(chunk)
        if chunk and self._progress:
            self._progress(len(chunk))
        return bool(chunk)
