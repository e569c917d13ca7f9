"""The neutral model of a transcript: the messages of any format, with the parts of the text around them.

Messages and blocks are the store's own (rule R7, one message type; rule R8, block kinds): a transcript adds the header,
an open header at the end, and the layout that a format needs to write back the same bytes. Normal form, as every reader
gives it:

- an empty body has no block, and two adjacent texts occur only if one of them is ``literal``;
- the name and id of a call or reply are in its block, not in the message's attributes;
- ``stop`` is absent if it is the usual one: ``call`` after a message that is one call, else ``end``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from headish.content import strictjson
from headish.errors import InvalidContent, Unrepresentable
from headish.values.blocks import ContentBlock, ToolUse
from headish.values.checks.attributes import is_header_value as is_header_value
from headish.values.messages import NO_ATTRIBUTES, Attributes, Message

KINDS = ("reflect", "introspect", "reason")
MARKERS = tuple(f"<|{edge}_{kind}|>" for kind in KINDS for edge in ("start", "end"))
_NOTHING: tuple[Any, ...] = (None, False, {})

UNREAD = "the unread rest of a partial reading"


class Transcript(Struct, frozen=True, kw_only=True, eq=False):
    """A conversation as an outside format wrote it; equal to another one that says the same, whatever its ``format``.

    ``header`` is the YAML header as data, ``header_raw`` its exact text with everything before the first message.
    ``bos`` and ``eos``: the base model's tokens were around the messages. ``pending`` is an open header at the end (a
    generation prompt), ``tail`` what a partial reading could not read yet. ``format`` is what the text was read as: a
    header's version picks the grammar of a 2.x file.
    """

    messages: tuple[Message, ...] = ()
    header: dict[str, Any] | None = None
    header_raw: str | None = None
    bos: bool = False
    eos: bool = False
    pending: Message | None = None
    tail: str | None = None
    format: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transcript) and _less_format(self) == _less_format(other)

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct has one of its own, which would ask whether both are the same object

    __hash__ = None  # type: ignore[assignment]  # a header is not hashable


def _less_format(transcript: Transcript) -> list[Any]:
    return [getattr(transcript, field) for field in transcript.__struct_fields__ if field != "format"]


def usual_stop(message: Message) -> str:
    """The stop of a message that does not say one."""
    return _usual_stop(message.content)


def stop_of(message: Message) -> str:
    """The way in which a message ends: ``end``, ``call``, ``return`` or ``none``."""
    return message.attributes.stop or usual_stop(message)


def is_open(transcript: Transcript) -> bool:
    """Whether the text of a transcript is unfinished: it ends in an open header or in a message without its end."""
    last = transcript.messages[-1:]
    return transcript.pending is not None or any(stop_of(message) == "none" for message in last)


def check_whole(transcript: Transcript, title: str, *, has_header: bool) -> None:
    """Refuse what no writer can write of the transcript as a whole. Raises: Unrepresentable."""
    if transcript.tail is not None:
        raise Unrepresentable(title, UNREAD, drop="tail")
    if not has_header and (transcript.header is not None or transcript.header_raw is not None):
        raise Unrepresentable(title, "a YAML header", drop="header")
    # The last message may be unfinished, unless an open header follows it.
    before = transcript.messages if transcript.pending is not None else transcript.messages[:-1]
    for message in before:
        if stop_of(message) == "none":
            raise Unrepresentable(title, "an unfinished message before the last", turn=message.turn, drop="stop")


def make_message(role: str | None, content: Sequence[ContentBlock], **said: Any) -> Message:
    """Make a message in normal form: without attributes that say nothing, and without the usual ``stop``."""
    attributes = {key: value for key, value in said.items() if value not in _NOTHING}
    blocks = tuple(content)
    if attributes.get("stop") == _usual_stop(blocks):
        del attributes["stop"]
    return Message(role=role, content=blocks, attributes=Attributes(**attributes) if attributes else NO_ATTRIBUTES)


def tightened(message: Message) -> Message:
    """The message without the line break before ``<|im_end|>`` (OpenChatML 0.1)."""
    return replace(message, attributes=replace(message.attributes, tight=True))


def make_call(
    name: str, raw: str, *, id: str | None = None, closed: bool = False, envelope: str | None = None
) -> ToolUse:
    """Make a call from the exact text of its arguments; ``raw`` is kept if ``input`` would not give it back (rule R8,
    block kinds)."""
    try:
        value = strictjson.decode(raw, "arguments")
    except InvalidContent:
        # Not JSON that the store keeps as data: the text is all there is.
        return ToolUse(name, id, raw=raw, closed=closed, envelope=envelope)
    exact = None if strictjson.encode(value) == raw.encode() else raw
    return ToolUse(name, id, value, raw=exact, closed=closed, envelope=envelope)


def arguments_of(call: ToolUse) -> str:
    """The exact text of a call's arguments."""
    if call.raw is not None:
        return call.raw
    return "" if call.input is UNSET else strictjson.encode(call.input).decode()


def _usual_stop(blocks: tuple[ContentBlock, ...]) -> str:
    return "call" if len(blocks) == 1 and isinstance(blocks[0], ToolUse) else "end"


class Header(Struct, frozen=True, kw_only=True):
    """The fields of a message header."""

    role: str
    name: str | None = None
    to: str | None = None
    call_id: str | None = None
    intent: str | None = None
    content_type: str | None = None
    channel: str | None = None
    constrain: str | None = None
    extra: Mapping[str, str] = {}
