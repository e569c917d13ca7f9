"""A file as the readers of imports get it."""

from __future__ import annotations

from typing import BinaryIO

from headish.imports.notes import ImportNotes, NoteListener
from headish.imports.reader import ImportSource
from headish.values.limits import PAYLOAD_LIMIT_BYTES


def as_source(file: BinaryIO, told: NoteListener | None = None, *, name: str = "it") -> ImportSource:
    """The file under a name; ``told`` gets the notes on it."""
    return ImportSource(file, None, name, ImportNotes(name, told), PAYLOAD_LIMIT_BYTES)
