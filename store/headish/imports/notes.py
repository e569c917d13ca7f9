"""Notes on what an import could not map: counted for the summary, and passed one by one to a listener if there is one.

``broken``: a record that its format cannot explain; it was left out, and the rest was read. ``left out``: a record that
is not part of what was said. ``kept``: something without a field in headish, kept verbatim in the turn's meta.
``changed``: something that could not be kept as it was, and how it is kept now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

Kind = Literal["broken", "left out", "kept", "changed"]


class ImportNote(Struct, frozen=True):
    """One thing that was not mapped: where (a line, a record, the key of a message), and what it is."""

    source: str
    where: str
    kind: Kind
    what: str

    def __str__(self) -> str:
        place = f"{self.source}, {self.where}" if self.where else self.source
        return f"{place}: {self.kind}: {self.what}"


NoteListener = Callable[[ImportNote], None]


KINDS_LIMIT = 1000
"""The most kinds that the summary counts apart: a file may name a new kind in each record."""
MORE_KINDS = "of more kinds"
SHOWN_CHARACTERS = 300
"""A place or a reason is cut after this many characters: it may hold a name from the file, which can be a megabyte
long."""


class ImportNotes:
    """The notes of one import. Memory holds only the counts."""

    def __init__(self, source: str, told: NoteListener | None = None) -> None:
        self.source, self._told = source, told
        self._outer: ImportNotes | None = None
        self.broken = self.held_back = 0
        self.counts: Counter[str] = Counter()

    @property
    def whole(self) -> ImportNotes:
        """The outermost notes, where inner ones are counted."""
        return self._outer or self

    def of(self, source: str) -> ImportNotes:
        """Return notes for a file inside this one, counted together with these."""
        if source == self.source:
            return self
        inner = ImportNotes(source, self._told)
        inner.counts, inner._outer = self.counts, self
        return inner

    def rewind(self, broken: int, counts: Mapping[str, int]) -> None:
        """Reset the counts to an earlier state, for a reader that begins again. What was already reported is reported
        again."""
        self.broken = broken
        # In place: the notes of files inside share this counter.
        self.counts.clear()
        self.counts.update(counts)

    def break_off(self, where: str, reason: str) -> None:
        """Note a record that cannot be read."""
        self.whole.broken += 1
        self._tell(where, "broken", reason)

    def leave_out(self, where: str, what: str) -> None:
        """Note a record that is not part of what was said."""
        self._count(f"{_short(what)} (left out)")
        self._tell(where, "left out", what)

    def hold_back(self, where: str) -> None:
        """Note the last answer of a session that is still being written; a later import reads the whole answer."""
        self.whole.held_back += 1
        self._tell(where, "left out", "answer that may still be written; a later import has it whole")

    def keep(self, where: str, what: str) -> None:
        """Note something that is kept verbatim in the turn's meta."""
        self._count(f"{_short(what)} (kept in meta)")
        self._tell(where, "kept", what)

    def change(self, where: str, what: str) -> None:
        """Note something that could not be kept as it was."""
        self._count(_short(what))
        self._tell(where, "changed", what)

    def _count(self, what: str) -> None:
        known = what in self.counts or len(self.counts) < KINDS_LIMIT
        self.counts[what if known else MORE_KINDS] += 1

    def _tell(self, where: str, kind: Kind, what: str) -> None:
        if self._told is not None:
            self._told(ImportNote(self.source, _short(where), kind, _short(what)))


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + " …"
