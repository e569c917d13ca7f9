"""Conversations as people see them, with their titles and tags (rule R33, conversations)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult


class Record(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The record of a conversation, as people and programs set it. An empty title is none."""

    title: str = ""
    tags: tuple[str, ...] = ()
    archived: bool = False
    pinned: bool = False
    key: str | None = None
    app: Mapping[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{title, tags, archived, pinned, key, app}``."""
        flags = {"archived": self.archived, "pinned": self.pinned}
        return {"title": self.title, "tags": list(self.tags), **flags, "key": self.key, "app": dict(self.app)}


class Conversation(Struct, frozen=True):
    """A conversation: a bookmark or, without one, everything that grew from a first turn.

    ``first`` is the id of that turn, None for a bookmark. ``turn`` is what was said last: the turn that the bookmark
    names, or the end of the newest branch. ``revision`` is None if the conversation has no record yet.
    """

    name: str | None
    first: TurnId | None
    turn: TurnId
    record: Record
    revision: int | None

    @property
    def subject(self) -> str:
        """Its name for other verbs: the bookmark, or the id of its first turn."""
        return self.name or self.first or self.turn

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{name, first, turn, revision}`` and what ``record.to_dict`` says."""
        names = {"name": self.name, "first": self.first, "turn": self.turn, "revision": self.revision}
        return names | self.record.to_dict()


class Entry(Struct, frozen=True):
    """A conversation in a list.

    ``title`` is its title, else the first words of the first user turn. ``last`` are the first words of its last turn,
    ``role`` is the role of that turn, and ``model`` the model that said it. A system or developer turn counts as the
    last only if nobody else spoke. For a turn without words, ``title`` and ``last`` say in parentheses what it is:
    ``(call read_file)``, ``(erased)``, ``(overlay: hides 1 turn from people)``. ``time`` is when its name moved last;
    without a name, when its last turn was stored. ``branches`` counts the ends of a conversation without a name; it is
    None for a bookmark, which names one. ``turns`` counts the turns that lead to a bookmark along first parents, or all
    that grew from the first turn.
    """

    conversation: Conversation
    title: str
    last: str
    role: str | None
    model: str | None
    time: datetime
    branches: int | None = None
    turns: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{name, first, turn, title, last, role, model, time, branches, turns, tags, archived, pinned,
        key, revision}``."""
        heading = {"title": self.title, "last": self.last, "role": self.role, "model": self.model}
        facts = {"time": self.time.isoformat(), "branches": self.branches, "turns": self.turns}
        conversation, record = self.conversation, self.conversation.record
        names = {"name": conversation.name, "first": conversation.first, "turn": conversation.turn}
        flags = {"tags": list(record.tags), "archived": record.archived, "pinned": record.pinned}
        return {**names, **heading, **facts, **flags, "key": record.key, "revision": conversation.revision}


class Filter(Struct, frozen=True):
    """Which conversations a list shows; None is any. ``names`` and ``model`` are patterns of ``*``, ``?`` and ``[…]``.

    ``model`` is the one that spoke last, with or without the path before its name; ``role`` is that of the last turn.
    """

    since: datetime | None = None
    until: datetime | None = None
    names: str | None = None
    tag: str | None = None
    model: str | None = None
    role: str | None = None

    def takes(self, entry: Entry) -> bool:
        """Whether the list shows an entry."""
        name, model = entry.conversation.name, entry.model
        return (
            (self.since is None or entry.time >= self.since)
            and (self.until is None or entry.time < self.until)
            and (self.names is None or (name is not None and _fits(name, self.names)))
            and (self.tag is None or self.tag in entry.conversation.record.tags)
            and (self.model is None or (model is not None and _is_model(model, self.model)))
            and (self.role is None or entry.role == self.role)
        )


def _is_model(model: str, pattern: str) -> bool:
    return _fits(model, pattern) or _fits(model.rpartition("/")[2], pattern)


def _fits(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase  # late: few lists have a pattern

    return fnmatchcase(name, pattern)


class Page(PlainResult, frozen=True):
    """Entries of a list, and what ``after=`` takes to continue after them; None at the end."""

    entries: tuple[Entry, ...]
    after: str | None
