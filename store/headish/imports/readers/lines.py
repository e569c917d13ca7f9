"""Files of JSON lines that a program writes while it runs: each line by itself, and the last may be half written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from headish.imports.cleaning import NotJson, decode
from headish.imports.files import LONG_LINE, read_lines
from headish.imports.sources import Given


class Line(NamedTuple):
    """A record, and the number of its line from 1 on."""

    number: int
    record: dict[str, Any]

    @property
    def where(self) -> str:
        """As notes say it."""
        return f"line {self.number}"


def read_records(given: Given, *, grows: bool = True) -> Iterator[Line]:
    """The objects of a file of JSON lines; what is none, or is longer than memory should hold, is noted as broken.

    A half-written last line is left out of a file that ``grows``: the next import has it whole. Elsewhere it is broken.
    """
    for number, line in enumerate(read_lines(given.file, given.name, given.progress), 1):
        where = f"line {number}"
        if line is None:
            given.notes.break_off(where, LONG_LINE)
            continue
        if not line.strip():
            continue
        try:
            record, healed = decode(line)
        except NotJson as error:
            if line.endswith(b"\n") or not grows:
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
