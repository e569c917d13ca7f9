"""Threads and trees: lists that a notebook shows as conversations."""

from __future__ import annotations

from typing import Any

from headish.values.messages import ThreadRecord
from headish.values.turns import TreeTurn


class Thread(list[ThreadRecord]):
    """The records of a thread, in its order."""

    def to_dict(self) -> list[dict[str, Any]]:
        """As plain data: a record each."""
        return [each.to_dict() for each in self]

    def _repr_html_(self) -> str:
        from headish.values.notebook import thread_html

        return thread_html(self)


class Tree(list[TreeTurn]):
    """The turns of a tree, in commit order."""

    def to_dict(self) -> list[dict[str, Any]]:
        """As plain data: a record each."""
        return [each.to_dict() for each in self]

    def _repr_html_(self) -> str:
        from headish.values.notebook import tree_html

        return tree_html(self)
