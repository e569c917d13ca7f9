"""A content block as a frame of a 2.x transcript: attributes, channel, body and stop.

Who may see a text is decided for each block, so reasoning never stands in one frame with the answer. What a frame
cannot carry is refused with the word that gives it up; nothing is left out unasked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec import UNSET, Struct

from headish import strictjson
from headish.blocks import (
    ContentBlock,
    Document,
    Mark,
    Other,
    ProviderBlock,
    Text,
    Thinking,
    ToolResult,
    Tools,
    ToolUse,
)
from headish.errors import Unrepresentable
from headish.media import NotDecodable, decode_text, is_text
from headish.model import Message

TARGET = "OpenChatML 2.2"
DROPPABLE = ("document", "is_error", "mark", "provider", "signature", "status", "tools", "unknown")
"""What can be given up by name."""
KINDS = ("reflect", "introspect", "reason")
_MARKERS = tuple(f"<|{edge}_{kind}|>" for kind in KINDS for edge in ("start", "end"))
_BUILT_IN = ("python", "browser")
_PEOPLE = ("user", "assistant", "system", "developer", "all")


class Frame(Struct, frozen=True, kw_only=True):
    """One frame of a transcript; ``body`` is its text in pieces, not yet escaped; a literal piece keeps its form."""

    role: str
    body: tuple[Text, ...]
    attributes: Mapping[str, str | None] = {}
    extra: Mapping[str, str] = {}
    channel: str | None = None
    constrain: str | None = None
    stop: str = "end"
    turn: str | None = None


class Step(Struct, frozen=True):
    """What a block's frame depends on beside the block."""

    message: Message
    drop: Collection[str]
    before_call: bool
    call_names: Mapping[str, str]


def _write_text(block: Text, step: Step) -> Frame:
    return _text_frame(block, step)


def _text_frame(text: Text, step: Step) -> Frame:
    role, given = step.message.role, step.message.attributes
    if role == "tool":
        raise _refused(step, "text of a tool that is no tool result")
    channel, intent = given.channel, given.intent
    if role == "assistant":
        if channel == "analysis" or (given.recipient is not None and given.recipient not in _PEOPLE):
            raise _refused(step, "plain text where a reader expects reasoning or a call")
        preamble = step.before_call and channel is None
        channel = channel or ("commentary" if preamble else "final")
        intent = intent or ("preamble" if preamble else None)
    attributes = {"to": given.recipient, "call_id": given.call_id, "name": given.speaker, "intent": intent}
    return _frame(step, text, {**attributes, "content_type": given.content_type}, channel, given.constrain)


def _write_thinking(block: Thinking, step: Step) -> Frame:
    if step.message.role != "assistant":
        raise _refused(step, f"reasoning of role {step.message.role}")
    if (block.signature is not None or block.provider is not None) and "signature" not in step.drop:
        raise _refused(step, "the signature of a provider's reasoning", "signature")
    given = step.message.attributes
    attributes = {"name": given.speaker, "intent": given.intent, "content_type": given.content_type}
    return _frame(step, _thinking_body(block, step), attributes, "analysis", given.constrain)


def _thinking_body(block: Thinking, step: Step) -> str:
    """The text behind its start marker; what a reader would take for another kind is refused."""
    if block.kind is None:
        if any(block.text.startswith(f"<|start_{kind}|>") for kind in KINDS):
            raise _refused(step, "reasoning whose text begins with a marker")
        return block.text
    if block.kind not in KINDS:
        raise _refused(step, f"reasoning of kind {block.kind!r}")
    if any(marker in block.text for marker in _MARKERS):
        raise _refused(step, f"reasoning of kind {block.kind!r} that holds other markers")
    return f"<|start_{block.kind}|>{block.text}"


def _write_call(block: ToolUse, step: Step) -> Frame:
    if step.message.role != "assistant":
        raise _refused(step, f"a tool call of role {step.message.role}")
    arguments = arguments_of(block)
    given = step.message.attributes
    attributes = {"to": qualified(block.name), "call_id": block.id, "name": given.speaker, "intent": given.intent}
    constrain = "json" if _is_object(arguments) else None
    channel = given.channel if given.channel is not None else "commentary"
    return _frame(step, arguments, attributes, channel, given.constrain or constrain, stop="call")


def _write_result(block: ToolResult, step: Step) -> Frame:
    if step.message.role not in ("user", "tool"):
        raise _refused(step, f"a tool result of role {step.message.role}")
    body = "\n".join(text for part in block.content if (text := _result_text(part, step)) is not None)
    if block.is_error and not _says_error(body) and "is_error" not in step.drop:
        raise _refused(step, "an error flag that the result itself does not show", "is_error")
    if block.status is not None and "status" not in step.drop:
        raise _refused(step, f"the status {block.status!r} of a result", "status")
    name = block.name or step.call_names.get(block.tool_use_id or "")
    given = step.message.attributes
    attributes = {
        "name": None if name is None else qualified(name),
        "call_id": block.tool_use_id,
        "to": given.recipient or "assistant",
        "intent": given.intent,
        "content_type": given.content_type,
    }
    return _frame(step, body, attributes, given.channel or "commentary", given.constrain, role="tool")


def _result_text(part: ContentBlock, step: Step) -> str | None:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Document):
        return _document_text(part, step)
    if "unknown" in step.drop:
        return None
    raise _refused(step, "a tool result that holds more than text", "unknown")


def _write_document(block: Document, step: Step) -> Frame | None:
    text = _document_text(block, step)
    return None if text is None else _text_frame(Text(text), step)


def _document_text(block: Document, step: Step) -> str | None:
    if is_text(block):
        try:
            return decode_text(block)
        except NotDecodable as error:
            raise _refused(step, str(error)) from None
    if "document" in step.drop:
        return None
    raise _refused(step, f"a document of type {block.source.media_type}", "document")


def _dropped(word: str, what: str) -> Callable[[Any, Step], None]:
    def write(block: Any, step: Step) -> None:
        if word not in step.drop:
            detail = block.type if isinstance(block, Other) else ""
            raise _refused(step, f"{what} {detail}".strip(), word)

    return write


def _frame(
    step: Step,
    body: str | Text,
    attributes: Mapping[str, str | None],
    channel: str | None,
    constrain: str | None,
    *,
    role: str | None = None,
    stop: str = "end",
) -> Frame:
    message = step.message
    return Frame(
        role=role or message.role,
        body=(Text(body) if isinstance(body, str) else body,),
        attributes=attributes,
        extra=message.attributes.extra,
        channel=channel,
        constrain=constrain,
        stop=stop,
        turn=message.turn,
    )


def qualified(name: str) -> str:
    """A tool's name as 2.x writes it: ``functions.`` before it, unless it is there or the tool is built in."""
    if name.startswith(("functions.", "browser.")) or name in _BUILT_IN:
        return name
    return f"functions.{name}"


def arguments_of(call: ToolUse) -> str:
    """The exact text of a call's arguments."""
    if call.raw is not None:
        return call.raw
    return "" if call.input is UNSET else strictjson.encode(call.input).decode()


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _says_error(body: str) -> bool:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("ok") is False


def _refused(step: Step, what: str, drop: str | None = None) -> Unrepresentable:
    return Unrepresentable(TARGET, what, turn=step.message.turn, drop=drop)


WRITERS: dict[type, Callable[[Any, Step], Frame | None]] = {
    Text: _write_text,
    Thinking: _write_thinking,
    ToolUse: _write_call,
    ToolResult: _write_result,
    Document: _write_document,
    ProviderBlock: _dropped("provider", "a provider's own block"),
    Mark: _dropped("mark", "a control token kept from another format"),
    Tools: _dropped("tools", "a list of tool definitions"),
    Other: _dropped("unknown", "a block of the unknown kind"),
}
