"""Write messages as OpenChatML 0.1.

There is no escape, so the writer reads every body again and refuses one that does not come back as it was.
"""

from __future__ import annotations

from msgspec.structs import replace

from headish.errors import HeaderValue, Unrepresentable
from headish.transcripts.chatml01.blocks import IM_END, IM_START, is_framed, read_body, write_body
from headish.transcripts.chatml01.parser import ROLES
from headish.transcripts.shared.source import BLANKS
from headish.transcripts.shared.transcript import (
    KINDS,
    Transcript,
    check_whole,
    is_header_value,
    is_open,
    stop_of,
    usual_stop,
)
from headish.values.blocks import ContentBlock, Mark, Text, Thinking, ToolDefinitions, ToolResult, ToolUse
from headish.values.limits import MESSAGE_HEADER_LIMIT
from headish.values.messages import Message

TITLE = "OpenChatML 0.1"
_ATTRIBUTES = ("channel", "recipient", "call_id", "intent", "content_type", "constrain")
_DROPS = {"recipient": "to"}
_BLOCKS = (Text, Mark, Thinking, ToolUse, ToolResult, ToolDefinitions)


def write_chatml(transcript: Transcript, *, bos: str = "[BOS]", eos: str = "[EOS]") -> str:
    """The text of a transcript; a message without a role is a bare sequence, written exactly.

    Raises: Unrepresentable (E-EMIT-UNREPRESENTABLE), HeaderValue (E-EMIT-HEADER-VALUE).
    """
    check_whole(transcript, TITLE, has_header=False)
    if any(message.role is None for message in transcript.messages):
        return _write_bare(transcript, bos, eos)
    messages = [_write_message(message) for message in transcript.messages]
    if transcript.pending is not None:
        messages.append(_write_pending(transcript.pending))
    goes_on = is_open(transcript)
    if transcript.eos and goes_on:
        raise Unrepresentable(TITLE, f"{eos} behind an unfinished message")
    text = (bos if transcript.bos else "") + "\n".join(messages) + (eos if transcript.eos else "")
    return text if goes_on or not text else text + "\n"


def _write_bare(transcript: Transcript, bos: str, eos: str) -> str:
    [message, *more] = transcript.messages
    if more or transcript.pending is not None or transcript.bos or transcript.eos:
        raise Unrepresentable(TITLE, "a bare sequence beside other messages", turn=message.turn)
    if message.attributes != Message(role=None, content=()).attributes:
        raise _refused(message, "attributes of a bare sequence")
    _check_blocks(message)
    text = write_body(message.content)
    # A reader would take such a text for messages, nothing at all, OpenChatML 2.x, or other blocks.
    rest = text.strip(BLANKS).removeprefix(bos).strip(BLANKS).removeprefix(eos)
    if (
        IM_START in text
        or IM_END in text
        or not rest
        or is_framed(text)
        or tuple(read_body(text, None, has_crlf=False)) != message.content
    ):
        raise _refused(message, "a bare sequence that a reader would take for something else")
    return text


def _write_message(message: Message) -> str:
    stop = stop_of(message)
    if stop not in (usual_stop(message), "none"):
        raise _refused(message, f"the stop {stop!r}", "stop")
    _check_blocks(message)
    body = write_body(message.content)
    if IM_START in body or IM_END in body:
        raise _refused(message, "a message token in a text")
    if tuple(read_body(body, message.role, has_crlf=False)) != _as_read(message):
        raise _refused(message, "content that a reader would take for something else, such as a token in a text")
    head = _write_header(message)
    if stop == "none":
        # It would be read as an open header, which is a prompt.
        if not body:
            raise _refused(message, "an unfinished message without content", "stop")
        return head + body
    # A reader takes a line break at the end for syntax, so a tight body that ends in one needs another.
    tight = message.attributes.tight and not body.endswith("\n")
    return f"{head}{body}{'' if tight else chr(10)}{IM_END}"


def _as_read(message: Message) -> tuple[ContentBlock, ...]:
    """The blocks as a reader makes them: the text has no words for a result that is not an error."""
    return tuple(
        replace(block, is_error=block.is_error or None) if isinstance(block, ToolResult) else block
        for block in message.content
    )


def _write_pending(message: Message) -> str:
    if message.content or message.attributes.stop is not None:
        raise Unrepresentable(TITLE, "an open message with content", drop="pending")
    return _write_header(message)


def _write_header(message: Message) -> str:
    attributes = message.attributes
    if message.role not in ROLES:
        raise _refused(message, f"the role {message.role!r}")
    for key in _ATTRIBUTES:
        if getattr(attributes, key) is not None:
            raise _refused(message, f"the attribute {key}", _DROPS.get(key, key))
    if attributes.extra:
        raise _refused(message, "further attributes", "extra")
    line = f"{message.role}{'' if attributes.speaker is None else f' name={attributes.speaker}'}"
    if len(line) > MESSAGE_HEADER_LIMIT:
        raise HeaderValue(
            TITLE, f"a message header of more than {MESSAGE_HEADER_LIMIT:,} characters", turn=message.turn
        )
    if attributes.speaker is not None and not is_header_value(attributes.speaker):
        raise HeaderValue(TITLE, f"name={attributes.speaker[:80]!r} in a message header", turn=message.turn)
    return f"{IM_START}{line}\n"


def _check_blocks(message: Message) -> None:
    for block in message.content:
        if not isinstance(block, _BLOCKS):
            raise _refused(message, f"a block of type {getattr(block, 'type', type(block).__name__.lower())!r}")
        if isinstance(block, Thinking) and block.kind not in KINDS:
            raise _refused(message, "reasoning of no kind", "thinking")
        if isinstance(block, Text) and block.literal:
            raise _refused(message, "a literal block", "literal")
        if isinstance(block, ToolResult) and block.status is not None:
            raise _refused(message, "the status of a result", "status")
        if isinstance(block, ToolResult) and any(not isinstance(part, Text) for part in block.content):
            raise _refused(message, "a tool result that holds more than text")


def _refused(message: Message, what: str, drop: str | None = None) -> Unrepresentable:
    return Unrepresentable(TITLE, what, turn=message.turn, drop=drop)
