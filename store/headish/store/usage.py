"""The part of the door that counts: what answers cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from headish.history.usage import Answer, Count, count_usage, read_answers, read_page
from headish.store.space import Heads, OpenSpace


class CountingSpace(OpenSpace):
    """The methods that count tokens."""

    def usage(self, headish: Heads | None = "@", *, by: str | None = None) -> list[Count]:
        """The tokens of the answers on the way to a headish, or to several; None: of the whole space.

        ``by`` counts them apart by ``model``, ``provider``, ``day`` (UTC) or ``bookmark``. A turn that several branches
        share counts once.
        Cost: a statement or two, and one for each 512 turns of a thread, or 1,000 answers of the space.
        Raises: InvalidArgument; CorruptTurn.
        """
        if headish is not None:
            answers = self._walk(headish, lambda connection, places: read_answers(connection, self._number, places))
            return count_usage(answers, by)
        return count_usage(self._all_answers(), by)

    def _all_answers(self) -> Iterator[Answer]:
        """The space's answers, a page at a time."""
        seq: int | None = 0
        while seq is not None:
            page, seq = self._database.read(partial(read_page, space=self._number, seq=seq))
            yield from page
