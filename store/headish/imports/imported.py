"""What every importer yields: trees of drafts, ready to be stored."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from headish.content.drafts import Draft
from headish.content.facts import read_short
from headish.errors import InvalidArgument
from headish.values.grammar import Headish
from headish.values.ids import TurnId


class ImportedTree(Struct, frozen=True):
    """A tree of messages. ``parents[i]`` is the index of what ``drafts[i]`` continues, or None for a root.

    Parents come before children. ``bookmark`` is the name that ``drafts[named]`` gets: the root, or another.
    ``untimed`` counts the messages whose time was left out, because nothing can have been said then (rule R29, two
    times).
    """

    drafts: tuple[Draft, ...]
    parents: tuple[int | None, ...]
    bookmark: str | None = None
    named: int = 0
    untimed: int = 0


def make_key(format: str, *parts: object) -> str | None:
    """The key of a message that its source names: ``FORMAT:CONVERSATION:ID``, or ``FORMAT:ID`` where ids are global
    (rule R35, keys). None where the source says no such thing, or nothing that can be a key."""
    if not all(isinstance(part, str) and part for part in parts):
        return None
    try:
        return read_short("key", ":".join([format, *map(str, parts)]))
    except InvalidArgument:
        return None


class Names(NamedTuple):
    """What the caller of an import says of names: the one that the tip gets, and what the thread continues.

    Without ``force`` a name that exists only moves forward.
    """

    bookmark: str | None = None
    force: bool = False
    continues: Headish | None = None


class Imported(Struct, frozen=True):
    """What an import did. ``messages`` is how many were read, ``added`` how many of them were new.

    ``tips`` are the last turns of the threads that were imported from transcripts, in order. ``untimed`` counts the
    messages whose time was left out: it lies before 1970 or in the future, or has no zone.
    """

    trees: int = 0
    messages: int = 0
    added: int = 0
    bookmarks: int = 0
    tips: tuple[TurnId, ...] = ()
    untimed: int = 0

    def plus(self, other: Imported) -> Imported:
        """Both together."""
        return Imported(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})
