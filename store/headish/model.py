"""The values that cross headish: turns, messages, context windows, bookmarks. Frozen, and free of any database.

One message type (R7) serves turns, windows, transcripts and providers. The window's JSON is a projection of it:
``ContextWindow.to_dict``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from headish.blocks import ContentBlock, to_mapping
from headish.ids import TurnId, time_of

ROLES = ("system", "developer", "user", "assistant", "tool")
BLOCKS_TYPE = "application/json"
"""The content type of a turn whose payload is a JSON array of blocks."""
DOCUMENT = "document"
"""``meta.type`` of a turn whose payload is the raw bytes of a document."""


class Attributes(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a transcript says of a message beside its role and text. All of it enters the digest (I4).

    ``extra`` are attributes that the format does not know, in their order. The field order is the order in the
    digest's encoding: add new ones at the end.
    """

    speaker: str | None = None
    channel: str | None = None
    recipient: str | None = None
    call_id: str | None = None
    intent: str | None = None
    content_type: str | None = None
    constrain: str | None = None
    stop: str | None = None
    tight: bool = False
    extra: dict[str, str] = {}


NO_ATTRIBUTES = Attributes()


class Meta(Struct, frozen=True, omit_defaults=True):
    """All that a turn says of itself beside its payload.

    ``system`` holds headish's own further keys (a document's ``document_name``, ``original_path``, ``file_size``),
    ``app`` what the application keeps with the turn; the two never mix (R10). ``role`` is None for a bare sequence
    of OpenChatML 0.1, which only an import makes (R15).
    """

    role: str | None
    type: str | None = None
    content_type: str = BLOCKS_TYPE
    head: str | None = None
    continues: tuple[TurnId, ...] = ()
    cache: bool = False
    attributes: Attributes = NO_ATTRIBUTES
    inherited: Mapping[str, Any] = {}
    system: Mapping[str, Any] = {}
    app: Mapping[str, Any] = {}

    @property
    def document_name(self) -> str | None:
        """The display name of a document."""
        return self.system.get("document_name")

    @property
    def reply(self) -> Mapping[str, Any]:
        """What is kept of a provider's answer beside its content: ``provider``, ``model``, ``stop_reason``, ``usage``,
        ``incomplete`` … (``headish.providers.Reply.to_record``). Empty for a turn that is none."""
        found = self.system.get("reply")
        return found if isinstance(found, Mapping) else {}

    def to_dict(self) -> dict[str, Any]:
        """As the schema reference writes it: what is absent is left out, the system's keys stand beside the rest."""
        record: dict[str, Any] = {"role": self.role, "content_type": self.content_type}
        optional = {"type": self.type, "head": self.head, "cache": self.cache or None}
        record |= {key: value for key, value in optional.items() if value is not None}
        record |= {"continues": list(self.continues), **self.system}
        attributes = msgspec.to_builtins(self.attributes)
        nested = {"attributes": attributes, "inherited": dict(self.inherited), "app": dict(self.app)}
        return record | {key: value for key, value in nested.items() if value}


class Turn(Struct, frozen=True, eq=False):
    """An immutable record of a thread. Two turns are equal when their seals are.

    ``hash`` addresses the payload, ``digest`` says what was said up to here, ``seal`` says that the record is
    untouched; each is a BLAKE3-256 in lower-case hex (I3, I4).
    """

    id: TurnId
    hash: str
    digest: str
    seal: str
    meta: Meta
    resolve_options: Callable[[TurnId], dict[str, Any]] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options resolved at this turn (I8), computed when asked, over the turns that set any (R12)."""
        if self.resolve_options is None:
            raise LookupError("this turn was not read from a store")
        return self.resolve_options(self.id)

    @property
    def time(self) -> datetime:
        """When the id was minted, in UTC."""
        return time_of(self.id)

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{id, hash, digest, seal, meta}``."""
        addresses = {"id": self.id, "hash": self.hash, "digest": self.digest, "seal": self.seal}
        return {**addresses, "meta": self.meta.to_dict()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turn) and other.seal == self.seal

    def __hash__(self) -> int:
        return hash(self.seal)

    def __repr__(self) -> str:
        return f"<Turn {self.id} {self.meta.role}{' on ' + self.meta.head if self.meta.head else ''}>"


class Message(Struct, frozen=True, kw_only=True):
    """One message of a window or transcript. ``turn`` is the id of the turn it came from, None for a made one.

    ``role`` is None only for the bare sequences of OpenChatML 0.1 (R15).
    """

    role: str | None
    content: tuple[ContentBlock, ...]
    cache: bool = False
    attributes: Attributes = NO_ATTRIBUTES
    turn: TurnId | None = None

    def to_dict(self) -> dict[str, Any]:
        """The schema reference's message record: ``{role, content, cache?}``."""
        record: dict[str, Any] = {"role": self.role, "content": [to_mapping(block) for block in self.content]}
        return {**record, "cache": True} if self.cache else record


class Kept(NamedTuple):
    """A turn of a thread for a transcript: its message, and headish's own keys beside it."""

    message: Message
    system: Mapping[str, Any]


class Note(Struct, frozen=True):
    """One thing that was repaired, rewritten or left out; ``turn`` is where, or None for an option."""

    what: str
    turn: str | None = None

    def __str__(self) -> str:
        return f"{self.what} (turn {self.turn})" if self.turn else self.what


class ContextWindow(Struct, frozen=True):
    """What a resolve yields: the messages in walk order (I7) and the merged options (I8).

    ``notes`` say what of a cut-off answer was left out (R21).
    """

    messages: tuple[Message, ...]
    options: dict[str, Any]
    notes: tuple[Note, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The schema reference's window: ``{messages: [{role, content, cache?}], options}``."""
        return {"messages": [message.to_dict() for message in self.messages], "options": self.options}

    def to_json(self) -> bytes:
        """``to_dict`` as JSON text."""
        return msgspec.json.encode(self.to_dict())


class ThreadRecord(Struct, frozen=True):
    """The schema reference's thread record of one turn."""

    id: TurnId
    role: str | None
    content: tuple[ContentBlock, ...]
    inherited: Mapping[str, Any]
    cache: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain data, keys in the reference's order."""
        content = [to_mapping(block) for block in self.content]
        record = {"id": self.id, "role": self.role, "content": content}
        return {**record, "inherited": dict(self.inherited), "cache": self.cache}


class Bookmark(Struct, frozen=True):
    """A name and the turn that it names."""

    name: str
    turn: TurnId


class Move(Struct, frozen=True):
    """One move of a bookmark: where it pointed from then on (None: it was removed), and when, in UTC."""

    number: int
    turn: TurnId | None
    time: datetime


class Recorded(Struct, frozen=True):
    """What ``record`` did: the turn that stands for the last message, and how many turns were new."""

    tip: Turn
    added: int


class Stats(Struct, frozen=True):
    """Counts of one space; sizes in bytes. ``database_bytes`` is the whole database's."""

    turns: int
    threads: int
    heads: int
    bookmarks: int
    payloads: int
    payload_bytes: int
    database_bytes: int


class Problem(Struct, frozen=True):
    """One thing that ``verify`` found: which record, and what disagrees."""

    subject: str
    what: str


class Report(Struct, frozen=True):
    """What ``verify`` looked at and found; ``problems`` is empty for a store in order."""

    turns: int
    payloads: int
    bookmarks: int
    problems: tuple[Problem, ...]
