"""The results of the verbs, as types that msgspec describes: the schemas of the OpenAPI document's answers.

A result whose ``to_dict`` has the fields of its class is described by the class. The others are described here as
``to_dict`` writes them. Tests compare every real answer with its schema. The docstrings of these types are in the
document.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from headish.history.budgets.counting import Tokens
from headish.history.edits.differences import Stat
from headish.history.edits.words import Piece
from headish.imports.imported import Imported
from headish.providers.pointers import NamedPointer
from headish.providers.shared.values import Delta, Finding
from headish.values.messages import Attributes, Note
from headish.values.results.bookmarks import Bookmark
from headish.values.results.calls import PassedCall
from headish.values.results.erasures import Erasure, Receipt
from headish.values.results.reports import Audited, JudgedSignature, Report, Stats

OPEN = frozenset(("BlockRecord", "MetaRecord"))
"""The types whose values may have more keys than they name."""


class BlockRecord(TypedDict):
    """A content block: ``text``, ``thinking``, ``document``, ``tool_use``, ``tool_result``, ``provider`` … Each has
    more keys."""

    type: str
    text: NotRequired[str]


class MetaRecord(TypedDict):
    """The metadata of a turn. It may have more keys than are named here; all of them are headish's own."""

    role: str | None
    content_type: str
    type: NotRequired[str]
    bookmark: NotRequired[str]
    cache: NotRequired[bool | str]
    continues: list[str]
    key: NotRequired[str]
    author: NotRequired[str]
    said_at: NotRequired[int]
    supersedes: NotRequired[str]
    copy_of: NotRequired[str]
    reply: NotRequired[dict[str, Any]]
    document_name: NotRequired[str]
    attributes: NotRequired[Attributes]
    inherited: NotRequired[dict[str, Any]]
    app: NotRequired[dict[str, Any]]


class PlainTurn(TypedDict):
    """A turn. ``erased`` is the number of the erasure that removed its payload."""

    id: str
    hash: str
    digest: str
    seal: str
    erased: NotRequired[int]
    meta: MetaRecord


class RecordedTurn(PlainTurn):
    """The turn of the last message; how many were new, and how many of the known ones were ``erased``."""

    added: int


class ThreadTurn(TypedDict):
    """A turn of a thread."""

    id: str
    role: str | None
    content: list[BlockRecord]
    inherited: dict[str, Any]
    cache: bool | str


class WindowMessage(TypedDict):
    """A message of a context window."""

    role: str | None
    content: list[BlockRecord]
    cache: NotRequired[bool | str]


class WindowRecord(TypedDict):
    """A context window."""

    messages: list[WindowMessage]
    options: dict[str, Any]


class TreeRecord(TypedDict):
    """A turn of a tree. ``more`` turns continue it that are not in the answer."""

    id: str
    role: str | None
    content: list[BlockRecord]
    attributes: NotRequired[Attributes]
    reply: NotRequired[dict[str, Any]]
    more: NotRequired[int]
    version: NotRequired[int]
    versions: NotRequired[int]
    incomplete: NotRequired[bool]
    continues: list[str]
    children: list[str]
    bookmarks: list[str]


class StretchRecord(TypedDict):
    """Some turns of a thread: ``start`` counts those before them, ``total`` all of it, ``head`` is its last turn."""

    turns: list[TreeRecord]
    start: int
    total: int
    head: str


class HitRecord(PlainTurn):
    """A turn that a search found, and where; ``marks`` are ranges of characters of the snippet."""

    time: str
    said_at: str
    field: str
    snippet: str
    marks: list[tuple[int, int]]
    score: float
    names: list[str]
    heads: list[str]


class SiblingTurns(TypedDict):
    """The versions of a turn; ``current`` is its own index among them."""

    turns: list[PlainTurn]
    current: int


class ChangedTurn(TypedDict):
    """A turn of one branch, or of both; ``before`` and ``after`` are ids."""

    kind: Literal["same", "changed", "removed", "added"]
    role: str | None
    before: str | None
    after: str | None
    pieces: list[Piece]


class DiffRecord(TypedDict):
    """Two branches from their fork on."""

    fork: str | None
    changes: list[ChangedTurn]
    stat: Stat


class UsageRecord(TypedDict):
    """The tokens of some replies; None where no reply reported tokens."""

    key: str | None
    replies: int
    silent: int
    input_tokens: int | None
    output_tokens: int | None
    cache_creation_input_tokens: int | None
    cache_read_input_tokens: int | None
    reasoning_tokens: int | None
    cache_creation_1h_input_tokens: NotRequired[int]
    input_audio_tokens: NotRequired[int]
    output_audio_tokens: NotRequired[int]


class CostRecord(TypedDict):
    """The cost of some replies. ``cost`` is a decimal number as text. It excludes ``silent`` replies, whose provider
    reported no tokens, and ``unpriced`` ones, whose ``models`` have no price."""

    key: str | None
    replies: int
    silent: int
    unpriced: int
    cost: str
    currency: str
    models: list[str]


class RequestRecord(TypedDict):
    """The request of a provider."""

    provider: str
    model: str | None
    body: dict[str, Any]
    notes: list[Note]


class MoveRecord(TypedDict):
    """One move of a bookmark; ``turn`` is null where it was removed."""

    move: int
    turn: str | None
    time: str


class ConversationRecord(TypedDict):
    """A conversation with its record. ``revision`` is null until a record is set."""

    name: str | None
    first: str | None
    turn: str
    revision: int | None
    title: str
    tags: list[str]
    archived: bool
    pinned: bool
    key: str | None
    app: dict[str, Any]


class ConversationEntry(TypedDict):
    """A conversation in a list."""

    name: str | None
    first: str | None
    turn: str
    title: str
    last: str
    role: str | None
    model: str | None
    time: str
    branches: int | None
    turns: int
    tags: list[str]
    archived: bool
    pinned: bool
    key: str | None
    revision: int | None


class ConversationPage(TypedDict):
    """A page of a list, and the value of ``after`` for the next page."""

    entries: list[ConversationEntry]
    after: str | None


class ObjectRecord(TypedDict):
    """An object; ``data`` in Base64."""

    kind: str
    key: str
    revision: int
    time: str
    data: str


class EditedTurn(TypedDict):
    """The result of an edit. ``turn`` is the new turn, ``bookmark`` the bookmark that moved, if one did; ``tip`` is the
    end of the edited branch, ``kept`` the number of turns after the new one."""

    turn: PlainTurn
    bookmark: str | None
    tip: str
    kept: int


class TurnEvent(TypedDict):
    """A turn was stored. ``turn.meta.bookmark`` is the name that moved to it in the same moment, if one did."""

    kind: Literal["turn"]
    cursor: str
    time: str
    turn: PlainTurn


class MoveEvent(TypedDict):
    """A name moved from the turn ``old`` to ``new``; ``was`` is its name before, where it was renamed."""

    kind: Literal["move"]
    cursor: str
    time: str
    name: str
    old: str | None
    new: str | None
    was: str | None


class RecordEvent(TypedDict):
    """The record of a conversation changed: its title, its tags and so on. ``record`` is its present record, or null if
    it no longer has one."""

    kind: Literal["record"]
    cursor: str
    time: str
    subject: str
    record: dict[str, Any] | None
    revision: int | None


class DefinitionEvent(TypedDict):
    """A pointer, or the tools of a server, were set or removed."""

    kind: Literal["definition"]
    cursor: str
    time: str
    of: str
    name: str
    number: int
    removed: bool


class ErasureEvent(TypedDict):
    """Something was erased: whoever keeps copies erases them, too."""

    kind: Literal["erasure"]
    cursor: str
    time: str
    number: int
    id: str
    receipt: dict[str, Any]


class LiveEvent(TypedDict):
    """Everything stored so far was read; what follows happens from now on."""

    kind: Literal["live"]
    cursor: str


EVENTS: dict[str, dict[str, Any]] = {
    "follow": {"turn": TurnEvent, "move": MoveEvent, "record": RecordEvent, "definition": DefinitionEvent,
               "erasure": ErasureEvent, "live": LiveEvent},
    "ask": {"delta": Delta, "turn": PlainTurn},
    "retry": {"delta": Delta, "turn": PlainTurn},
}  # fmt: skip
"""The type of each event's ``data``, by the name of the verb and of the event; without ``problem``, which ends a
stream."""

_TURNS = ("get", "add_turn", "add_document", "summarize", "replace", "reply", "ask", "retry")
_TURN_OR_NONE = ("find", "hide", "keep", "unhide", "original", "compact")
_LISTS = ("children", "heads", "log", "turns", "add_turns", "bookmarks.undo", "streams.recover")
_NOTHING = ("reindex", "bookmarks.remove", "objects.remove", "streams.drop", "tools.remove")
ANSWERS: dict[str, Any] = {
    **dict.fromkeys(_TURNS, PlainTurn),
    **dict.fromkeys(_TURN_OR_NONE, PlainTurn | None),
    **dict.fromkeys(_LISTS, list[PlainTurn]),
    **dict.fromkeys(_NOTHING, None),
    **dict.fromkeys(("text", "render", "export", "position", "ask_title", "tools.set"), str),
    **dict.fromkeys(("streams.count", "erasures.count", "calls.spooled", "objects.put"), int),
    **dict.fromkeys(("options", "calls.body", "tools.list"), dict[str, Any]),
    "blocks": list[BlockRecord],
    "open_calls": list[BlockRecord],
    "contents": dict[str, list[BlockRecord]],
    "abbreviate": dict[str, str],
    "messages": list[Any] | dict[str, Any],
    "thread": list[ThreadTurn],
    "tree": list[TreeRecord],
    "stretch": StretchRecord,
    "resolve": WindowRecord,
    "search": list[HitRecord],
    "siblings": SiblingTurns,
    "versions": dict[str, Annotated[list[int], Meta(min_length=2, max_length=2)]],
    "signatures": list[JudgedSignature],
    "diff": DiffRecord,
    "tokens": Tokens,
    "usage": list[UsageRecord],
    "cost": list[CostRecord],
    "stats": Stats,
    "verify": Report,
    "audit": list[Audited],
    "lint": list[Finding],
    "request": RequestRecord,
    "record": RecordedTurn,
    "import_file": Imported,
    "edit": EditedTurn,
    "erase": Erasure,
    "bookmarks.list": list[Bookmark],
    "bookmarks.history": list[MoveRecord],
    "bookmarks.at": dict[str, list[str]],
    "bookmarks.set": Bookmark,
    "bookmarks.rename": Bookmark,
    "bookmarks.erase": Erasure,
    "conversations.list": ConversationPage,
    "conversations.parts": list[ConversationRecord],
    **dict.fromkeys(("conversations.get", "conversations.find", "conversations.set"), ConversationRecord),
    "objects.get": ObjectRecord,
    "objects.list": list[ObjectRecord],
    "pointers.list": list[NamedPointer],
    "pointers.history": list[NamedPointer],
    "pointers.default": str | None,
    "streams.list": list[str],
    "calls.list": list[PassedCall],
    "calls.get": PassedCall,
    "erasures.list": list[Receipt],
    "erasures.is_scrubbed": bool,
}
"""The type of each verb's answer, by the verb's name. Verbs that give only bytes or events have none."""
