"""Bookmarks and their moves, as callers get them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from headish.values.ids import TurnId


class Bookmark(Struct, frozen=True):
    """A name and the turn that it names."""

    name: str
    turn: TurnId

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{name, turn}``."""
        return {"name": self.name, "turn": self.turn}


class Move(Struct, frozen=True):
    """One move of a bookmark: where it pointed from then on (None: it was removed), and when, in UTC."""

    number: int
    turn: TurnId | None
    time: datetime

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{move, turn, time}``."""
        return {"move": self.number, "turn": self.turn, "time": self.time.isoformat()}
