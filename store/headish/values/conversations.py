"""Conversations as people see them, and what they say of them (rule R33, conversations)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from headish.values.ids import TurnId


class Record(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What people and programs say of a conversation. An empty title is none."""

    title: str = ""
    tags: tuple[str, ...] = ()
    archived: bool = False
    pinned: bool = False
    key: str | None = None
    app: Mapping[str, Any] = {}


class Conversation(Struct, frozen=True):
    """A conversation: a bookmark, or, where no name lies there, what grew from a first turn.

    ``first`` is the id of that turn, None for a bookmark. ``turn`` is what was said last: the turn that the bookmark
    names, or the end of the newest branch. ``revision`` is None where nothing was said of it yet.
    """

    name: str | None
    first: TurnId | None
    turn: TurnId
    record: Record
    revision: int | None

    @property
    def subject(self) -> str:
        """What names it: the bookmark, or the id of its first turn."""
        return self.name or self.first or self.turn


class Entry(Struct, frozen=True):
    """A conversation in a list.

    ``title`` is what it was given, else the first words of the first user turn; ``last`` are the first words of its
    last turn, ``role`` is that turn's, and ``model`` is the one that said it. ``time`` is when its name moved last; of
    one without a name, when its last turn was stored. ``branches`` are the ends of one without a name; None for a
    bookmark, which names one.
    """

    conversation: Conversation
    title: str
    last: str
    role: str | None
    model: str | None
    time: datetime
    branches: int | None = None


class Page(Struct, frozen=True):
    """Entries of a list, and what ``after=`` takes to go on behind them; None at the end."""

    entries: tuple[Entry, ...]
    after: str | None
