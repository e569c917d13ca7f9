"""Changes of a space as its followers get them, each once and in the order of the commits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal

from headish.values.ids import TurnId
from headish.values.results.conversations import Record
from headish.values.results.plain import PlainResult
from headish.values.turns import Turn


class TurnChange(PlainResult, frozen=True):
    """A turn was stored. ``turn.meta.bookmark`` is the name that moved to it in the same moment, if one did."""

    kind: ClassVar[Literal["turn"]] = "turn"
    cursor: str
    time: datetime
    turn: Turn


class MoveChange(PlainResult, frozen=True):
    """A name moved from one turn to another.

    ``old`` is None if there was no such name, ``new`` if it was removed. ``was`` is the name before a rename, which no
    longer exists. If the name was renamed since, the move shows the new name. A reader without turns also gets the
    moves that turns made; their ``old`` is the first turn that the turn continues.
    """

    kind: ClassVar[Literal["move"]] = "move"
    cursor: str
    time: datetime
    name: str
    old: TurnId | None
    new: TurnId | None
    was: str | None = None


class RecordChange(PlainResult, frozen=True):
    """A conversation's record changed: its title, its tags and so on.

    ``subject`` is the bookmark, or the id of the first turn of a conversation without one. ``record`` is its present
    record, which may be newer than this change; None if the subject no longer has one. This change also comes when a
    bookmark is renamed, or a conversation gets its first one.
    """

    kind: ClassVar[Literal["record"]] = "record"
    cursor: str
    time: datetime
    subject: str
    record: Record | None
    revision: int | None


class DefinitionChange(PlainResult, frozen=True):
    """A provider pointer (``of`` is ``pointer``) or the tools of a server (``tools``) were set or removed."""

    kind: ClassVar[Literal["definition"]] = "definition"
    cursor: str
    time: datetime
    of: str
    name: str
    number: int
    removed: bool


class ErasureChange(PlainResult, frozen=True):
    """Something was erased. ``receipt`` says what: a program that keeps copies must erase them, too."""

    kind: ClassVar[Literal["erasure"]] = "erasure"
    cursor: str
    time: datetime
    number: int
    id: str
    receipt: Mapping[str, Any]


class Live(PlainResult, frozen=True):
    """Everything stored so far was read; what follows happens from now on. Comes once."""

    kind: ClassVar[Literal["live"]] = "live"
    cursor: str


class Pulse(PlainResult, frozen=True):
    """Nothing came for a while. The cursor advances even where a filter lets nothing through."""

    kind: ClassVar[Literal["pulse"]] = "pulse"
    cursor: str


Change = TurnChange | MoveChange | RecordChange | DefinitionChange | ErasureChange | Live | Pulse
KINDS = ("turn", "move", "record", "definition", "erasure")
"""The kinds that a reader can choose. ``live`` and ``pulse`` always come."""
