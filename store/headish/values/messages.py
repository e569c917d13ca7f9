"""Messages and context windows: what a thread says, as values that know no database.

One message type serves turns, windows, transcripts and providers (rule R7, one message type). The window's JSON is a
projection of it: ``ContextWindow.to_dict``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headish.errors import InvalidArgument, shown
from headish.values.blocks import Block, ContentBlock, Erased, Other, Text, join_texts, kind_of, to_mapping
from headish.values.caches import Cache
from headish.values.checks.controls import escape_controls
from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult

REPR_CHARACTERS = 60
"""How much of a message's text its repr shows."""
REPR_MESSAGES = 2
"""How many of a window's last messages its repr shows."""
ROLES = ("system", "developer", "user", "assistant", "tool")
VIEWERS = ("model", "people", "both")
"""From whom a turn can be hidden."""
_BLOCKS = (Block, Other, Erased)


class Overlay(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an overlay does, and the digests of the turns that it covers, in walk order.

    ``does`` is ``summarize``, ``hide``, ``replace``, ``keep``, ``unhide`` or ``original``; ``viewer`` is from whom
    ``hide`` hides them.
    """

    does: str
    covers: tuple[str, ...]
    viewer: str | None = None


def shortened(text: str) -> str:
    """The first words of a text, for a repr: on one line, with nothing that steers a terminal."""
    words = " ".join(text[:REPR_CHARACTERS].split())
    return escape_controls(words) + ("…" if len(text) > REPR_CHARACTERS else "")


class Attributes(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a transcript says of a message beside its role and text. All of it enters the digest (rule I4, digest and
    seal).

    ``extra`` holds attributes that the format does not know, in their order. A turn that is stored ``hidden`` is not
    seen by the model, by people or by both. ``overlay`` stands in overlays alone. The field order is the order in the
    digest's encoding: add new fields at the end.
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
    hidden: str | None = None
    overlay: Overlay | None = None


NO_ATTRIBUTES = Attributes()


class Message(Struct, frozen=True, kw_only=True, gc=False):
    """One message of a window or transcript. ``turn`` is the id of the turn it came from, None for a made one.

    ``role`` is None only for the bare sequences of OpenChatML 0.1 (rule R15, importing a transcript). ``cache`` is
    True, ``5m`` or ``1h`` where providers are asked to cache up to here.
    """

    role: str | None
    content: tuple[ContentBlock, ...]
    cache: Cache = False
    attributes: Attributes = NO_ATTRIBUTES
    turn: TurnId | None = None

    @property
    def text(self) -> str:
        """The text blocks joined; never reasoning or calls."""
        return join_texts(self.content)

    def __repr__(self) -> str:
        kinds = [kind_of(block) for block in self.content if not isinstance(block, Text)]
        facts = [repr(shortened(self.text)), *kinds]
        where = f" of turn {self.turn}" if self.turn else ""
        return f"<Message {self.role or 'sequence'} {' + '.join(facts)}{where}>"

    def _repr_html_(self) -> str:
        return _html_of([self])

    def to_dict(self) -> dict[str, Any]:
        """The schema reference's message record: ``{role, content, cache?}``."""
        record: dict[str, Any] = {"role": self.role, "content": [to_mapping(block) for block in self.content]}
        return {**record, "cache": self.cache} if self.cache else record


class Face(Struct, frozen=True):
    """How people see a turn that overlays change: ``hidden``, or with other ``content``, below the lines of
    ``boundaries``."""

    hidden: bool = False
    content: tuple[ContentBlock, ...] | None = None
    boundaries: tuple[str, ...] = ()


class Note(PlainResult, frozen=True):
    """One thing that was repaired, rewritten or left out; ``turn`` is where, or None for an option."""

    what: str
    turn: str | None = None

    def __str__(self) -> str:
        return f"{self.what} (turn {self.turn})" if self.turn else self.what


class ContextWindow(Struct, frozen=True):
    """What a resolve yields: the messages in walk order (rule I7, parents first) and the merged options (rule I8,
    options merge).

    ``notes`` say which parts of a cut-off answer were left out (rule R21, cut-off calls).
    """

    messages: tuple[Message, ...]
    options: dict[str, Any]
    notes: tuple[Note, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The schema reference's window: ``{messages: [{role, content, cache?}], options}``."""
        return {"messages": [message.to_dict() for message in self.messages], "options": self.options}

    def __repr__(self) -> str:
        options = f", options {', '.join(sorted(self.options))}" if self.options else ""
        return f"<ContextWindow of {len(self.messages)} messages{options}: {list(self.messages[-REPR_MESSAGES:])}>"

    def _repr_html_(self) -> str:
        from headish.values.notebook import html_of_lines

        options = ["options " + ", ".join(sorted(self.options))] if self.options else []
        return _html_of(self.messages) + html_of_lines([*options, *map(str, self.notes)])

    def to_json(self) -> bytes:
        """``to_dict`` as JSON text."""
        return msgspec.json.encode(self.to_dict())


def with_plain_roles(window: ContextWindow) -> ContextWindow:
    """The window, its roles plain texts. A member of a caller's ``Enum`` may equal a role, and be another text where it
    is formatted.

    Raises: InvalidArgument for what is not a list of messages, or a message that does not hold blocks.
    """
    if not isinstance(window.messages, tuple | list) or not isinstance(window.options, Mapping):
        raise InvalidArgument("a window holds a tuple of messages, and a mapping of options")
    for each in window.messages:
        if not isinstance(each, Message):
            raise InvalidArgument(f"the messages of a window are of the class Message, not {shown(each)}")
        held = each.content
        if not isinstance(held, tuple | list) or not all(isinstance(block, _BLOCKS) for block in held):
            raise InvalidArgument(f"the content of a message is a tuple of blocks, as (Text(…),), not {shown(held)}")
    if all(type(each.role) is str for each in window.messages):
        return window
    plain = (
        replace(each, role=str.__str__(each.role)) if isinstance(each.role, str) else each for each in window.messages
    )
    return replace(window, messages=tuple(plain))


class ThreadRecord(Struct, frozen=True, gc=False):
    """The schema reference's thread record of one turn."""

    id: TurnId
    role: str | None
    content: tuple[ContentBlock, ...]
    inherited: Mapping[str, Any]
    cache: Cache

    @property
    def text(self) -> str:
        """The text blocks joined; never reasoning or calls."""
        return join_texts(self.content)

    def __repr__(self) -> str:
        return f"<ThreadRecord {self.id} {self.role or 'sequence'} {shortened(self.text)!r}>"

    def to_dict(self) -> dict[str, Any]:
        """As plain data, keys in the reference's order."""
        content = [to_mapping(block) for block in self.content]
        record = {"id": self.id, "role": self.role, "content": content}
        return {**record, "inherited": dict(self.inherited), "cache": self.cache}


def _html_of(messages: Sequence[Message]) -> str:
    from headish.values.notebook import NotebookEntry, html_of  # late: only a notebook needs it

    return html_of([NotebookEntry(each.role, [each.turn or ""], each.content) for each in messages])
