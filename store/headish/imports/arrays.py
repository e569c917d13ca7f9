"""A JSON array that is larger than memory: its items, one at a time.

The bytes are looked through for brackets, and no text inside quotes is looked at; then each item is decoded by itself.
So an item that is no JSON costs itself, where its brackets are balanced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

from headish.errors import InvalidImport
from headish.imports.archives import CHUNK_BYTES
from headish.imports.cleaning import NotJson, decode
from headish.imports.files import Progress
from headish.imports.notes import Notes
from headish.limits import IMPORT_LINE_BYTES

# Possessive: what was matched is not tried again, so a long text costs one look.
_PLAIN = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.S)
_BOM = b"\xef\xbb\xbf"


def read_items(
    file: BinaryIO, name: str, notes: Notes, progress: Progress | None = None, *, unwrap: bool = True
) -> Iterator[tuple[str, Any]]:
    """The items of an array with their places (``record 3``); of an object that holds ``conversations``, those
    (``unwrap``); else the object itself.

    Memory holds the largest item. One that is no JSON is noted as broken.
    Raises: InvalidImport for what is neither, ends early, or has an item that is too large.
    """
    for number, data in enumerate(_split(file, name, progress), 1):
        where = f"record {number}"
        try:
            value, healed = decode(data)
        except NotJson as error:
            notes.break_off(where, str(error))
            continue
        if healed:
            notes.change(where, "lone surrogates became U+FFFD")
        inner = value.get("conversations") if unwrap and isinstance(value, dict) else None
        if isinstance(inner, list):
            yield from ((f"record {index}", item) for index, item in enumerate(inner, 1))
        else:
            yield where, value


def _split(file: BinaryIO, name: str, progress: Progress | None) -> Iterator[bytes]:
    """The bytes of each item: what lies between two brackets of the first depth."""
    scan = _Scan(file, name, progress)
    first = scan.begin()
    if first == b"{":
        yield scan.value()
        return
    if first != b"[":
        raise InvalidImport(name, None, "it is neither a JSON array nor an object")
    scan.skip_bracket()
    while scan.next_item():
        yield scan.value()


class _Scan:
    """The part of a file that is looked at. Asking for more doubles it, so a long item is looked through twice at
    most."""

    def __init__(self, file: BinaryIO, name: str, progress: Progress | None) -> None:
        self._file, self._name, self._progress = file, name, progress
        self._data, self._at = b"", 0

    def begin(self) -> bytes:
        """The first character that is no blank."""
        self._more()
        self._data = self._data.removeprefix(_BOM)
        while not self._data.strip():
            self._data = b""
            if not self._more():
                break
        self._at = len(self._data) - len(self._data.lstrip())
        return self._data[self._at : self._at + 1]

    def skip_bracket(self) -> None:
        """Step behind the bracket that opens the array."""
        self._at += 1

    def next_item(self) -> bool:
        """Step to the next item that is an array or object; False at the end. Other values are passed over."""
        while True:
            self._data, self._at = self._data[self._at :], 0
            end = self._plain_end(0)
            mark = self._data[end : end + 1]
            if mark in (b"{", b"["):
                self._at = end
                return True
            if mark in (b"]", b"}"):
                return False
            self._at = end  # blanks and numbers between items are not held, however many there are
            if len(self._data) - end > IMPORT_LINE_BYTES:
                self._refuse()
            self._grow()

    def value(self) -> bytes:
        """The item that begins here; afterwards the place is behind it."""
        begin = at = self._at
        depth = 0
        while True:
            mark = self._data[at : at + 1]
            if mark in (b"{", b"["):
                depth += 1
            elif mark in (b"}", b"]"):
                depth -= 1
            if mark and depth == 0:
                self._at = at + 1
                return self._data[begin : self._at]
            step = at + 1 if mark and mark != b'"' else at
            end = self._plain_end(step)
            if end < len(self._data) and self._data[end : end + 1] != b'"':
                at = end
                continue
            if len(self._data) - begin > IMPORT_LINE_BYTES:
                self._refuse()
            at = end  # inside a text, or at the end of what was read
            self._grow()

    def _refuse(self) -> NoReturn:
        raise InvalidImport(self._name, None, f"one value in it is longer than {IMPORT_LINE_BYTES:,} bytes")

    def _plain_end(self, at: int) -> int:
        found = _PLAIN.match(self._data, at)
        return at if found is None else found.end()

    def _grow(self) -> None:
        if not self._more():
            raise InvalidImport(self._name, None, "the file ends in the middle of its JSON")

    def _more(self) -> bool:
        chunk = self._file.read(max(CHUNK_BYTES, len(self._data)))
        self._data += chunk
        if chunk and self._progress:
            self._progress(len(chunk))
        return bool(chunk)
