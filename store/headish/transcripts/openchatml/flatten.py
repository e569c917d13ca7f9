"""From a window's messages of many blocks to messages that a frame of OpenChatML 2.x can carry, one block each.

Who may see a text is decided for each block, so reasoning never stands in one frame with the answer. What a frame
cannot carry is refused with the word that gives it up; nothing is left out unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from headish.content.media import NotDecodable, decode_text, is_text
from headish.errors import Unrepresentable
from headish.transcripts.openchatml.forms import PEOPLE, qualified
from headish.transcripts.openchatml.frames import says_error
from headish.transcripts.shared.jsontext import is_object
from headish.transcripts.shared.transcript import KINDS, MARKERS, arguments_of, make_call, make_message
from headish.values.blocks import (
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
from headish.values.messages import ContextWindow, Message

TARGET = "OpenChatML 2.2"
DROPPABLE = ("document", "is_error", "mark", "partial", "provider", "signature", "status", "tools", "unknown")
"""What can be given up by name."""


class Step(Struct, frozen=True):
    """What a block's frame depends on beside the block."""

    message: Message
    drop: Collection[str]
    before_call: bool
    call_names: Mapping[str, str]


def flatten(window: ContextWindow, drop: Collection[str] = ()) -> Iterator[Message]:
    """The messages of a window, in order, each as one frame carries it.

    Raises: Unrepresentable where a block does not fit a frame.
    """
    call_names: dict[str, str] = {}
    for message in window.messages:
        yield from _flatten_message(message, drop, call_names)


def _flatten_message(message: Message, drop: Collection[str], call_names: dict[str, str]) -> Iterator[Message]:
    flat: list[Message] = []
    runs = _runs(message.content) or [()]
    for index, run in enumerate(runs):
        before_call = index + 1 < len(runs) and isinstance(runs[index + 1][0], ToolUse)
        step = Step(message, drop, before_call, call_names)
        block = run[0] if run else Text("")
        _check_opaque(run, step)
        made = _WRITERS[type(block)](block, step)
        if isinstance(block, ToolUse) and block.id is not None:
            call_names[block.id] = block.name
        if made is not None:
            flat.append(replace(made, content=_merged(run)) if isinstance(block, Text) else made)
    yield from flat[:-1]
    if flat:
        stop = message.attributes.stop
        yield flat[-1] if stop is None else _with_attributes(flat[-1], stop=stop)


def _check_opaque(run: Sequence[ContentBlock], step: Step) -> None:
    """What only a provider understands stands in no frame; it would be lost unsaid."""
    if "signature" not in step.drop and any(getattr(block, "opaque", None) for block in run):
        raise _refused(step, "what a provider keeps beside its words (a signature, citations)", "signature")


def _with_attributes(message: Message, **said: Any) -> Message:
    """A message with other attributes; what says nothing is left out."""
    attributes = replace(message.attributes, **said)
    return replace(message, attributes=attributes)


def _runs(blocks: Sequence[ContentBlock]) -> list[tuple[ContentBlock, ...]]:
    """Each block alone; but texts of which one is literal stood in one frame, and do again."""
    runs: list[tuple[ContentBlock, ...]] = []
    for block in blocks:
        before = runs[-1][-1] if runs else None
        if isinstance(block, Text) and isinstance(before, Text) and (block.literal or before.literal):
            runs[-1] = (*runs[-1], block)
        else:
            runs.append((block,))
    return runs


def _merged(run: Sequence[ContentBlock]) -> tuple[ContentBlock, ...]:
    """Texts in normal form: a literal one that no block can hold is plain, and plain ones side by side are one."""
    merged: list[Text] = []
    for block in run:
        assert isinstance(block, Text)
        text = Text(block.text, block.literal and _can_stand_literally(block.text))
        if merged and not text.literal and not merged[-1].literal:
            merged[-1] = Text(merged[-1].text + text.text)
        elif text.text:
            merged.append(text)
    return tuple(merged)


def _can_stand_literally(text: str) -> bool:
    """A reader ends the block at its first end token, and takes one that holds only ``<`` for plain text."""
    return bool(text.strip("<")) and "<|endliteral|>" not in text


def _write_text(block: Text, step: Step) -> Message:
    role, given = step.message.role, step.message.attributes
    if role == "tool":
        raise _refused(step, "text of a tool that is no tool result")
    channel, intent = given.channel, given.intent
    if role == "assistant":
        if channel == "analysis" or (given.recipient is not None and given.recipient not in PEOPLE):
            raise _refused(step, "plain text where a reader expects reasoning or a call")
        preamble = step.before_call and channel is None
        channel = channel or ("commentary" if preamble else "final")
        intent = intent or ("preamble" if preamble else None)
    return _made(
        step, (block,) if block.text else (), recipient=given.recipient, call_id=given.call_id, speaker=given.speaker,
        intent=intent, channel=channel,
    )  # fmt: skip


def _write_thinking(block: Thinking, step: Step) -> Message:
    if step.message.role != "assistant":
        raise _refused(step, f"reasoning of role {step.message.role}")
    if (block.signature is not None or block.provider is not None) and "signature" not in step.drop:
        raise _refused(step, "the signature of a provider's reasoning", "signature")
    if block.kind is not None and (block.kind not in KINDS or any(marker in block.text for marker in MARKERS)):
        raise _refused(step, f"reasoning of kind {block.kind!r} that a reader would take for another")
    given = step.message.attributes
    thought = Thinking(block.text, block.kind)
    return _made(step, (thought,), channel="analysis", speaker=given.speaker, intent=given.intent)


def _write_call(block: ToolUse, step: Step) -> Message | None:
    if step.message.role != "assistant":
        raise _refused(step, f"a tool call of role {step.message.role}")
    if block.partial:
        if "partial" not in step.drop:
            raise _refused(step, "a call that was cut off", "partial")
        return None
    arguments, given = arguments_of(block), step.message.attributes
    channel = given.channel if given.channel is not None else "commentary"
    constrain = given.constrain or ("json" if is_object(arguments) else None)
    call = make_call(qualified(block.name), arguments, id=block.id)
    return _made(
        step, (call,), channel=channel, constrain=constrain, speaker=given.speaker, intent=given.intent,
        content_type=None,
    )  # fmt: skip


def _write_result(block: ToolResult, step: Step) -> Message:
    if step.message.role not in ("user", "tool"):
        raise _refused(step, f"a tool result of role {step.message.role}")
    body = "\n".join(text for part in block.content if (text := _result_text(part, step)) is not None)
    failed = says_error(body)
    if block.is_error and not failed and "is_error" not in step.drop:
        raise _refused(step, "an error flag that the result itself does not show", "is_error")
    if block.status is not None and "status" not in step.drop:
        raise _refused(step, f"the status {block.status!r} of a result", "status")
    name = block.name or step.call_names.get(block.tool_use_id or "")
    given = step.message.attributes
    texts = (Text(body),) if body else ()
    result = ToolResult(block.tool_use_id, None if name is None else qualified(name), texts, failed or None)
    return _made(
        step, (result,), role="tool", recipient=given.recipient or "assistant", channel=given.channel or "commentary",
        intent=given.intent,
    )  # fmt: skip


def _result_text(part: ContentBlock, step: Step) -> str | None:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Document):
        return _document_text(part, step)
    if "unknown" in step.drop:
        return None
    raise _refused(step, "a tool result that holds more than text", "unknown")


def _write_document(block: Document, step: Step) -> Message | None:
    text = _document_text(block, step)
    return None if text is None else _write_text(Text(text), step)


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


def _made(step: Step, content: Sequence[ContentBlock], *, role: str | None = None, **said: Any) -> Message:
    """A message in normal form; the constraint, content type and further attributes ride on every frame."""
    given = step.message.attributes
    said = {"content_type": given.content_type, "constrain": given.constrain, "extra": given.extra, **said}
    return replace(make_message(role or step.message.role, content, **said), turn=step.message.turn)


def _refused(step: Step, what: str, drop: str | None = None) -> Unrepresentable:
    return Unrepresentable(TARGET, what, turn=step.message.turn, drop=drop)


_WRITERS: dict[type, Callable[[Any, Step], Message | None]] = {
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
