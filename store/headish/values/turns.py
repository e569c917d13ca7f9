"""Turns, as callers get them: frozen values that know no database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from headish.values.blocks import ContentBlock, join_texts, to_mapping
from headish.values.caches import CACHE_TTL, Cache
from headish.values.checks.controls import escape_controls
from headish.values.ids import TurnId, time_of
from headish.values.messages import NO_ATTRIBUTES, Attributes, shortened
from headish.values.times import from_milliseconds, local_time

BLOCKS_TYPE = "application/json"
"""The content type of a turn whose payload is a JSON array of blocks."""
YEAR_10000 = 253_402_300_800_000
"""The first millisecond that no date can name. A damaged row may hold any number."""
DOCUMENT = "document"
"""``meta.type`` of a turn whose payload is the raw bytes of a document."""
OVERLAY = "overlay"
"""``meta.type`` of a turn that says how turns before it are seen from here on."""
PREAMBLE = frozenset(("system", "developer"))
"""The roles of turns before the first turn of a conversation (rule R33, conversations)."""


class Meta(Struct, frozen=True, omit_defaults=True, gc=False):
    """All that a turn says of itself beside its payload.

    ``bookmark`` is the name that moved along with the turn when it was stored (rule R2, one name moves; the schema
    reference calls it ``head``). ``cache`` is True, ``5m`` or ``1h`` where providers are asked to cache up to here.
    ``system`` holds headish's own further keys: a document's ``document_name``, ``original_path`` and ``file_size``; of
    any turn ``said_at`` in Unix milliseconds, ``key``, ``author``, ``supersedes`` and ``copy_of``, which are ids, and
    ``grew``. ``app`` is what the application keeps with the turn (rule R10, record layout). ``role`` is None for a bare
    sequence of OpenChatML 0.1, which only an import makes (rule R15, importing a transcript).
    """

    role: str | None
    type: str | None = None
    content_type: str = BLOCKS_TYPE
    bookmark: str | None = None
    continues: tuple[TurnId, ...] = ()
    cache: Cache = False
    attributes: Attributes = NO_ATTRIBUTES
    inherited: Mapping[str, Any] = {}
    system: Mapping[str, Any] = {}
    app: Mapping[str, Any] = {}

    @property
    def document_name(self) -> str | None:
        """The display name of a document."""
        return self.system.get("document_name")

    @property
    def key(self) -> str | None:
        """The name that another system has for the turn (rule R35, keys)."""
        return self.system.get("key")

    @property
    def reply(self) -> Mapping[str, Any]:
        """What is kept of a provider's reply beside its content: ``provider``, ``model``, ``stop_reason``, ``usage``,
        ``incomplete`` … (``headish.providers.Reply.to_meta``); of one that was edited ``provider``, ``model`` and
        ``edited``. Empty if the turn is not a reply."""
        return reply_of(self.system)

    @property
    def is_cut_off(self) -> bool:
        """Whether the turn is an answer that was cut off, or a message that a transcript ended in the middle of."""
        return cut_off(self.reply, self.attributes)

    def to_dict(self) -> dict[str, Any]:
        """As the schema reference writes it; absent values are left out, the keys of ``system`` are beside the rest.

        ``{role, content_type, type?, bookmark?, cache?, continues, …, attributes?, inherited?, app?}``, and where the
        dots are ``document_name?, original_path?, file_size?, said_at?, key?, author?, supersedes?, copy_of?, grew?,
        reply?`` and what a transcript kept.
        """
        record: dict[str, Any] = {"role": self.role, "content_type": self.content_type}
        optional = {"type": self.type, "bookmark": self.bookmark, "cache": self.cache or None}
        record |= {key: value for key, value in optional.items() if value is not None}
        further = {key: value for key, value in self.system.items() if key != CACHE_TTL}  # ``cache`` has it
        record |= {"continues": list(self.continues), **further}
        attributes = msgspec.to_builtins(self.attributes)
        nested = {"attributes": attributes, "inherited": dict(self.inherited), "app": dict(self.app)}
        return record | {key: value for key, value in nested.items() if value}


class Turn(Struct, frozen=True, eq=False, gc=False):
    """An immutable record of a thread. Two turns are equal when their seals are.

    ``hash`` addresses the payload, ``digest`` says what was said up to here, ``seal`` says that the record is
    untouched; each is a BLAKE3-256 in lower-case hex (rule I3, one address; rule I4, digest and seal).
    """

    id: TurnId
    hash: str
    digest: str
    seal: str
    meta: Meta
    resolve_options: Callable[[TurnId], dict[str, Any]] | None = None
    erased: int | None = None
    """The number of the erasure that took what it said; its receipt says when and why."""

    @property
    def options(self) -> dict[str, Any]:
        """The options resolved at this turn (rule I8, options merge), computed when asked, over the turns that set any
        (rule R12, options on demand)."""
        if self.resolve_options is None:
            raise LookupError("this turn was not read from a store")
        return self.resolve_options(self.id)

    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """The content blocks, read from the store when asked.

        An erased turn has the mark of its erasure as its one block, as in ``thread``: a loop over turns goes on.
        ``Store.blocks`` refuses it.
        Raises: LookupError if no store read the turn.
        """
        read_blocks = getattr(self.resolve_options, "blocks", None)
        if read_blocks is None:
            raise LookupError("this turn was not read from a store")
        blocks: tuple[ContentBlock, ...] = read_blocks(self.id)
        return blocks

    @property
    def text(self) -> str:
        """What people may read: the text blocks joined, never reasoning or calls. Read from the store when asked.

        Empty for a turn that was erased, which ``erased`` tells from one without text.
        """
        return join_texts(self.content)

    @property
    def time(self) -> datetime:
        """When the turn was stored, in UTC: the time of its id."""
        return time_of(self.id)

    @property
    def said_at(self) -> datetime:
        """When it was said, in UTC: what ``said_at`` gave, else the time of the id (rule R29, two times)."""
        return said_at_of(self.meta.system, self.id)

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{id, hash, digest, seal, erased?, meta}``."""
        addresses: dict[str, Any] = {"id": self.id, "hash": self.hash, "digest": self.digest, "seal": self.seal}
        addresses |= {} if self.erased is None else {"erased": self.erased}
        return {**addresses, "meta": self.meta.to_dict()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turn) and other.seal == self.seal

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct has one of its own, which would ask whether both are the same object

    def __hash__(self) -> int:
        return hash(self.seal)

    def __repr__(self) -> str:
        meta, reply = self.meta, self.meta.reply
        facts = [f"{self.id} {meta.role or 'sequence'}", local_time(self.said_at)]
        facts += [f"of {reply.get('model') or reply.get('provider')}"] if reply else []
        facts += ["incomplete"] if meta.is_cut_off else []
        facts += [f"on {meta.bookmark}"] if meta.bookmark else []
        facts += ["erased"] if self.erased is not None else []
        return f"<Turn {escape_controls(', '.join(facts))}>"

    def _repr_html_(self) -> str:
        from headish.values.notebook import NotebookEntry, html_of  # late: only a notebook needs it

        model, cut = self.meta.reply.get("model"), "incomplete" if self.meta.is_cut_off else ""
        about = [local_time(self.said_at), str(model or ""), self.meta.bookmark or "", cut, self.id]
        return html_of([NotebookEntry(self.meta.role, about, self.content if self.resolve_options else ())])


class TreeTurn(Struct, frozen=True, gc=False):
    """A turn of a tree, or of a part of one: what it says, what it continues and what continues it, in commit order.

    ``continues`` names all that it continues, even outside of the part; ``children`` only those inside.
    """

    id: TurnId
    role: str | None
    content: tuple[ContentBlock, ...]
    continues: tuple[TurnId, ...]
    children: tuple[TurnId, ...]
    bookmarks: tuple[str, ...]
    attributes: Attributes = NO_ATTRIBUTES
    reply: Mapping[str, Any] = {}
    """As ``Meta.reply``."""
    said: int | None = None
    """When it was said, in Unix milliseconds, if the turn says so."""
    more: int = 0
    """How many turns continue it that are not in this part of the tree."""
    version: int = 1
    """Which of the ``versions`` of one place it is, in commit order (``Store.siblings``)."""
    versions: int = 1

    @property
    def said_at(self) -> datetime:
        """As ``Turn.said_at``."""
        return time_of(self.id) if self.said is None else from_milliseconds(self.said)

    @property
    def is_cut_off(self) -> bool:
        """As ``Meta.is_cut_off``."""
        return cut_off(self.reply, self.attributes)

    @property
    def text(self) -> str:
        """The text blocks joined; never reasoning or calls."""
        return join_texts(self.content)

    def to_dict(self) -> dict[str, Any]:
        """As plain data: ``{id, role, content, attributes?, reply?, more?, version?, versions?, incomplete?,
        continues, children, bookmarks}``."""
        record: dict[str, Any] = {"id": self.id, "role": self.role}
        record["content"] = [to_mapping(block) for block in self.content]
        record |= {"attributes": attributes} if (attributes := msgspec.to_builtins(self.attributes)) else {}
        record |= {"reply": dict(self.reply)} if self.reply else {}
        record |= {"more": self.more} if self.more else {}
        record |= {"version": self.version, "versions": self.versions} if self.versions > 1 else {}
        record |= {"incomplete": True} if self.is_cut_off else {}
        lists = {"continues": self.continues, "children": self.children, "bookmarks": self.bookmarks}
        return record | {name: list(each) for name, each in lists.items()}

    def __repr__(self) -> str:
        facts = [f"{self.id} {self.role or 'sequence'}", repr(shortened(self.text)), *self.bookmarks]
        return f"<TreeTurn {' '.join(facts)}>"


def preamble_of(turns: Iterable[TreeTurn]) -> list[TreeTurn]:
    """The turns of a tree or a thread that only introduce it (system prompts): each turn that continues one of them
    begins a conversation. Parents come before children."""
    preamble: dict[TurnId, TreeTurn] = {}
    for each in turns:
        if each.role in PREAMBLE and all(parent in preamble for parent in each.continues):
            preamble[each.id] = each
    return list(preamble.values())


def reply_of(system: Mapping[str, Any]) -> Mapping[str, Any]:
    """The facts of a provider's reply among headish's own keys of a turn; empty if the turn is not a reply."""
    reply = system.get("reply")
    return reply if isinstance(reply, Mapping) else {}


def input_tokens_of(usage: Mapping[str, int]) -> int:
    """The tokens of a whole request, cached ones included."""
    return sum(usage.get(each, 0) for each in INPUT_TOKENS)


INPUT_TOKENS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""The kinds of tokens that add up to a request. They are disjoint."""


def said_of(system: Mapping[str, Any]) -> int | None:
    """The ``said_at`` of a turn, in Unix milliseconds; None if it has none, or one that no date can name."""
    milliseconds = system.get("said_at")  # a damaged row may hold anything
    return milliseconds if type(milliseconds) is int and 0 <= milliseconds < YEAR_10000 else None


def said_at_of(system: Mapping[str, Any], turn_id: TurnId) -> datetime:
    """When a turn was said, in UTC; without ``said_at``, when it was stored (rule R29, two times)."""
    milliseconds = said_of(system)
    return time_of(turn_id) if milliseconds is None else from_milliseconds(milliseconds)


def cut_off(reply: Mapping[str, Any], attributes: Attributes) -> bool:
    """Whether a turn is only the beginning of a message: its reply says so, or the transcript that it came from."""
    return bool(reply.get("incomplete")) or attributes.stop == "none"


class Recorded(Struct, frozen=True):
    """What ``record`` did: the turn of the last message, and how many turns were new."""

    tip: Turn
    added: int
    erased: int = 0
    """How many of the known messages are erased: their words did not come back."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data: the turn's, and ``added``."""
        return {**self.tip.to_dict(), "added": self.added, **({"erased": self.erased} if self.erased else {})}
