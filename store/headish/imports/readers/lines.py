"""Files of JSON lines that a program writes while it runs: each line by itself, and the last may be half written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from headish.imports.archives import CHUNK_BYTES
from headish.imports.cleaning import NotJson, decode
from headish.imports.sources import Given
from headish.limits import IMPORT_LINE_BYTES


class Line(NamedTuple):
    """A record, and the number of its line from 1 on."""

    number: int
    record: dict[str, Any]

    @property
    def where(self) -> str:
        """As notes say it."""
        return f"line {self.number}"


def read_records(given: Given) -> Iterator[Line]:
    """The objects of a file of JSON lines; what is none, or is longer than memory should hold, is noted as broken, a
    half-written last line as left out."""
    for number, line in enumerate(_read_lines(given), 1):
        where = f"line {number}"
        if line is None:
            given.notes.break_off(where, f"the line is longer than {IMPORT_LINE_BYTES:,} bytes")
            continue
        if not line.strip():
            continue
        try:
            record, healed = decode(line.removeprefix(b"\xef\xbb\xbf"))
        except NotJson as error:
            if line.endswith(b"\n"):
                given.notes.break_off(where, str(error))
            else:
                given.notes.leave_out(where, "half-written last line")
            continue
        if healed:
            given.notes.change(where, "lone surrogates became U+FFFD")
        if isinstance(record, dict):
            yield Line(number, record)
        else:
            given.notes.break_off(where, "it is no JSON object")


def _read_lines(given: Given) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is too long, which is passed over in pieces."""
    while line := given.file.readline(IMPORT_LINE_BYTES + 1):
        is_long = len(line) > IMPORT_LINE_BYTES
        yield None if is_long else line
        if given.progress:
            given.progress(len(line))
        while is_long and line and not line.endswith(b"\n"):
            line = given.file.readline(CHUNK_BYTES)
            if given.progress:
                given.progress(len(line))
