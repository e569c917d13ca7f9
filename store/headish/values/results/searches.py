"""The hits of a search."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from headish.values.ids import TurnId
from headish.values.turns import Turn


class Hit(Struct, frozen=True):
    """A turn that is found, and where.

    ``field`` says in which of the turn's texts (``text``, ``reasoning``, ``calls``, ``results``, ``documents``);
    ``snippet`` is the part of it around the match, in one line, and ``marks`` are the ranges of its characters that
    were looked for. ``score`` is higher for a better hit of the same search, and 0 where the newest come first.
    ``names`` are the bookmarks whose threads hold the turn; ``heads`` the turns that nothing continues and that lead to
    it. Both are those of the first 2,000 branches after the turn.
    """

    turn: Turn
    field: str
    snippet: str
    marks: tuple[tuple[int, int], ...]
    score: float
    names: tuple[str, ...]
    heads: tuple[TurnId, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data: the turn's record, its two times, and what was found."""
        times = {"time": self.turn.time, "said_at": self.turn.said_at}
        return {
            **self.turn.to_dict(),
            **{name: each.isoformat(timespec="milliseconds") for name, each in times.items()},
            "field": self.field,
            "snippet": self.snippet,
            "marks": [list(each) for each in self.marks],
            "score": self.score,
            "names": list(self.names),
            "heads": list(self.heads),
        }
