"""Reports on a whole space: its counts, and what ``verify`` found."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs


class Stats(Struct, frozen=True):
    """Counts of one space; sizes in bytes.

    ``payload_bytes`` is what the turns say, before equal large payloads are shared; ``database_bytes`` is the whole
    database's.
    """

    turns: int
    roots: int
    heads: int
    bookmarks: int
    payload_bytes: int
    database_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """As plain data: a key for each field."""
        return structs.asdict(self)


class Problem(Struct, frozen=True):
    """One thing that ``verify`` found: which record, and what disagrees."""

    subject: str
    what: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data: a key for each field."""
        return structs.asdict(self)


class Report(Struct, frozen=True):
    """What ``verify`` checked and found; ``problems`` is empty if the space is in order.

    ``payloads`` counts the large ones, which are stored apart from their turns.
    """

    turns: int
    payloads: int
    bookmarks: int
    problems: tuple[Problem, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data: a key for each field."""
        return {**structs.asdict(self), "problems": [each.to_dict() for each in self.problems]}
