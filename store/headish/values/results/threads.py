"""Threads and trees: lists that a notebook shows as conversations, and the turns of a thread for a transcript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from headish.values.ids import TurnId
from headish.values.messages import Face, Message, ThreadRecord
from headish.values.turns import TreeTurn


class TranscriptMessage(NamedTuple):
    """A turn of a thread for a transcript: its message, and headish's own keys beside it."""

    message: Message
    system: Mapping[str, Any]


class Thread(list[ThreadRecord]):
    """The records of a thread, in its order."""

    def to_dict(self) -> list[dict[str, Any]]:
        """As plain data: a record each."""
        return [each.to_dict() for each in self]

    def _repr_html_(self) -> str:
        from headish.values.notebook import NotebookEntry, html_of  # late: only a notebook needs it

        return html_of([NotebookEntry(each.role, [each.id], each.content) for each in self])


class Stretch(Struct, frozen=True):
    """Some turns of a thread that follow one another, in its order.

    ``start`` counts the turns before them, ``total`` all of the thread. Of each turn, ``children`` are those of the
    stretch and ``more`` counts the others. ``head`` is the last turn of the thread. ``faces`` are how people see those
    of them that overlays change.
    """

    turns: tuple[TreeTurn, ...]
    start: int
    total: int
    head: TurnId
    faces: Mapping[TurnId, Face] = {}

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{turns, start, total, head}``."""
        turns = [each.to_dict() for each in self.turns]
        return {"turns": turns, "start": self.start, "total": self.total, "head": self.head}


class Tree(list[TreeTurn]):
    """The turns of a tree, in commit order."""

    def to_dict(self) -> list[dict[str, Any]]:
        """As plain data: a record each."""
        return [each.to_dict() for each in self]

    def _repr_html_(self) -> str:
        from headish.values.notebook import NotebookEntry, html_of  # late, as above

        entries = [(each.role, [", ".join(each.bookmarks), each.id], each.content) for each in self]
        return html_of([NotebookEntry(*entry, depth) for entry, depth in zip(entries, self._depths(), strict=True)])

    def _depths(self) -> list[int]:
        """How many branches each turn is away from the trunk: whatever continues a turn first stays on its line."""
        depths: dict[str, int] = {}
        firsts = {turn.id: turn.children[0] for turn in self if turn.children}  # children are in commit order
        for turn in self:
            before = turn.continues[0] if turn.continues else turn.id
            is_branch = before != turn.id and firsts.get(before, turn.id) != turn.id
            depths[turn.id] = depths.get(before, 0) + is_branch
        return list(depths.values())
