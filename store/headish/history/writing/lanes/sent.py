"""A list as its turns have it: the chunks of an answer, which its client sends as entries of their own, are one, and
two answers in a row, which are one entry in the list, are two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headish.content.resending.entries import SentEntry


class SentList:
    """The entries of a list, by the index of the turn that each is.

    An entry is a turn of its own unless ``settle`` says that it begins several chunks. Turns are settled in their
    order, and nothing is moved, so that a long list costs no more than its length.
    """

    def __init__(self, entries: Sequence[SentEntry]) -> None:
        self._given = entries
        self.begin()

    def begin(self) -> None:
        """Forget what was settled and taken apart."""
        self.entries = self._given
        self._starts: list[int] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self._starts) + len(self.entries) - self._next

    def __getitem__(self, at: int) -> SentEntry:
        return self.entries[self._where(at)]

    def rest(self, at: int) -> Sequence[SentEntry]:
        """The entries from a turn on."""
        return self.entries[self._where(at) :]

    def run(self, at: int, chunks: int) -> SentEntry:
        """The entry of a turn that is so many chunks."""
        where = self._where(at)
        return self.entries[where] if chunks == 1 else SentEntry.joined(self.entries[where : where + chunks])

    def take_apart(self, at: int, raw: bytes | None, bare: bytes | None) -> bool:
        """Make two entries of that of a turn, if its first items have one of these hashes; whether they have. Cost: a
        copy of the list if so."""
        where = self._where(at)
        two = self.entries[where].split(raw, bare)
        if two is not None:
            self.entries = [*self.entries[:where], *two, *self.entries[where + 1 :]]
        return two is not None

    def settle(self, at: int, chunks: int) -> None:
        """Say how many chunks a turn is."""
        while len(self._starts) <= at:
            self._starts.append(self._next)
            self._next += 1
        self._next += chunks - 1

    def items(self, at: int) -> Iterator[Any]:
        """What the client sent from a turn on, item by item."""
        return (item for index in range(self._where(at), len(self.entries)) for item in self.entries[index].bare)

    def goes_on(self, at: int) -> bool:
        """Whether the entry of a turn and the next one are both of the assistant."""
        where = self._where(at)
        pair = self.entries[where : where + 2]
        return len(pair) == 2 and all(each.read.role == "assistant" for each in pair)

    def _where(self, at: int) -> int:
        return self._starts[at] if at < len(self._starts) else self._next + at - len(self._starts)
