"""Read a frame of OpenChatML 2.x as a message, and write it back. The header decides what kind of block a body is.

=================================  =========================================
header                             content
=================================  =========================================
assistant, ``to`` a tool           one call; its arguments are the body
tool                               one result
assistant on ``analysis``          one thinking block
any other                          texts
=================================  =========================================

A frame carries nothing else, so writing refuses every other message. flatten.py splits messages for callers that ask
for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from headish.errors import HeaderValue, Unrepresentable
from headish.transcripts.openchatml.forms import PEOPLE, ROLES, TERMINATORS, FrameForm, is_tool_role
from headish.transcripts.openchatml.yamlheader import requires_channels
from headish.transcripts.shared.jsontext import read_json, says_error, says_more
from headish.transcripts.shared.transcript import KINDS, MARKERS, Header, arguments_of, make_call, make_message, stop_of
from headish.values.blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse, join_texts
from headish.values.messages import Message


def is_call(header: Header) -> bool:
    """Whether a frame is a call: its recipient is a tool. The terminator does not decide."""
    return header.role == "assistant" and header.to is not None and header.to not in PEOPLE


def read_message(header: Header, pieces: Sequence[Text], stop: str) -> Message:
    """The message of a frame; ``pieces`` are its text in normal form."""
    attributes = {
        "speaker": header.name, "channel": header.channel, "recipient": header.to, "call_id": header.call_id,
        "intent": header.intent, "content_type": header.content_type, "constrain": header.constrain,
        "extra": dict(header.extra), "stop": stop,
    }  # fmt: skip
    content: list[ContentBlock] = list(pieces)
    if is_call(header):
        assert header.to is not None
        attributes |= {"recipient": None, "call_id": None}
        content = [make_call(header.to, join_texts(pieces), id=header.call_id)]
    elif header.role == "tool":
        attributes |= {"speaker": None, "call_id": None}
        # A frame has no flag for errors: only the envelope in its text says so.
        failed = True if says_error(join_texts(pieces)) else None
        content = [ToolResult(header.call_id, header.name, tuple(pieces), failed)]
    elif header.role == "assistant" and header.channel == "analysis":
        content = [read_thinking(join_texts(pieces))]
    return make_message(header.role, content, **attributes)


def open_message(header: Header) -> Message:
    """The message of an open header. It has no content yet, so its attributes hold all that the header says."""
    return make_message(
        header.role, (), speaker=header.name, recipient=header.to, call_id=header.call_id, intent=header.intent,
        content_type=header.content_type, extra=dict(header.extra),
    )  # fmt: skip


def open_header(message: Message, target: str) -> Header:
    """The header of an open message. Raises: Unrepresentable for one with a channel or content."""
    given = message.attributes
    if message.content or given.channel is not None or given.constrain is not None or message.role not in ROLES:
        raise Unrepresentable(target, "an open message with a channel or content", drop="pending")
    return Header(
        role=message.role, name=given.speaker, to=given.recipient, call_id=given.call_id, intent=given.intent,
        content_type=given.content_type, extra=given.extra,
    )  # fmt: skip


def read_thinking(body: str) -> Thinking:
    """Read reasoning. It has a kind if it begins with that kind's start marker and holds no other marker."""
    for kind in KINDS:
        marker = f"<|start_{kind}|>"
        if body.startswith(marker):
            text = body[len(marker) :]
            # With a second marker in it the text could not be written back as it was, so all of it stays text.
            return Thinking(body) if any(other in text for other in MARKERS) else Thinking(text, kind)
    return Thinking(body)


def breaks_constraint(constrain: str | None, body: str) -> bool:
    """Whether a complete body breaks the constraint of its header. Only ``json`` is checked."""
    return (constrain or "").lower() == "json" and read_json(body) is UNSET


def broken_promises(message: Message, yaml_header: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """The errors that a strict reader finds in a message: each code, with the word of ``drop`` that removes the
    broken promise."""
    bodies = [_body(block) for block in message.content]
    # A body that was cut off breaks nothing: the rest of its JSON is missing.
    if stop_of(message) != "none" and breaks_constraint(message.attributes.constrain, "".join(bodies)):
        yield "E-BODY-CONSTRAINT-VIOLATION", "constrain"
    missing = message.role == "assistant" and message.attributes.channel is None
    if missing and yaml_header is not None and requires_channels(yaml_header):
        yield "E-PARSE-CHANNEL-MISSING", "header"


def _body(block: ContentBlock) -> str:
    if isinstance(block, ToolUse):
        return arguments_of(block)
    return join_texts(block.content if isinstance(block, ToolResult) else (block,))


def write_message(message: Message, form: FrameForm) -> tuple[Header, tuple[Text, ...], str]:
    """The header, the texts and the stop of a message, as this form says them.

    Raises: Unrepresentable for a message that does not fit one frame; HeaderValue for a tool named like a role.
    """
    given, content = message.attributes, message.content
    if message.role not in ROLES:
        raise _refused(message, form, f"the role {message.role!r}")
    header = Header(
        role=message.role, name=given.speaker, to=given.recipient, call_id=given.call_id, intent=given.intent,
        content_type=given.content_type, channel=given.channel, constrain=given.constrain, extra=given.extra,
    )  # fmt: skip
    stop = stop_of(message)
    if stop not in TERMINATORS:
        raise _refused(message, form, f"the stop {stop!r}")
    if all(isinstance(block, Text) for block in content):
        _check_texts(message, header, form)
        return header, tuple(block for block in content if isinstance(block, Text)), stop
    if len(content) != 1:
        raise _refused(message, form, "a message of several blocks")
    [block] = content
    if isinstance(block, ToolUse):
        return _write_call(block, message, header, form), (Text(arguments_of(block)),), stop
    if isinstance(block, ToolResult):
        return _write_result(block, message, header, form), _result_texts(block, message, form), stop
    if isinstance(block, Thinking):
        return header, (Text(_thinking_body(block, message, header, form)),), stop
    raise _refused(message, form, f"a block of type {type(block).__struct_config__.tag or 'unknown'!r}")


def _check_texts(message: Message, header: Header, form: FrameForm) -> None:
    if header.role == "tool":
        raise _refused(message, form, "text of a tool that is not a tool result")
    if header.role == "assistant" and header.channel == "analysis":
        raise _refused(message, form, "plain text where a reader expects reasoning")
    if is_call(header):
        raise _refused(message, form, "plain text where a reader expects a call")
    texts = [block for block in message.content if isinstance(block, Text)]
    # A reader joins adjacent texts and makes no block of an empty one, so these would not come back.
    beside = any(not (one.literal or other.literal) for one, other in pairwise(texts))
    if beside or any(not block.text for block in texts):
        raise _refused(message, form, "an empty text, or two that stand side by side")


def _write_call(block: ToolUse, message: Message, header: Header, form: FrameForm) -> Header:
    if header.role != "assistant" or header.to is not None or header.call_id is not None:
        raise _refused(message, form, "a tool call of another role, or one with a recipient beside its own")
    # A frame to one of these is read as a text, not as a call.
    if block.name in PEOPLE:
        raise HeaderValue(form.title, f"a tool named {block.name!r}", turn=message.turn)
    if says_more(block):
        raise _refused(message, form, "a call whose JSON has further keys")
    return replace(header, to=block.name, call_id=block.id)


def _write_result(block: ToolResult, message: Message, header: Header, form: FrameForm) -> Header:
    if header.role != "tool" or header.name is not None or header.call_id is not None:
        raise _refused(message, form, "a tool result of another role, or one with a name beside its own")
    if block.status is not None:
        raise _refused(message, form, f"the status {block.status!r} of a tool result", "status")
    if says_more(block):
        raise _refused(message, form, "a result whose JSON has further keys")
    says_so = says_error(join_texts(block.content))
    if block.is_error and not says_so:
        raise _refused(message, form, "an error flag that the result itself does not show", "is_error")
    if says_so and not block.is_error:
        raise _refused(message, form, "a result that a reader would take for an error")
    header = replace(header, name=block.name, call_id=block.tool_use_id)
    check_reply(header, form, message)
    return header


def check_reply(header: Header, form: FrameForm, message: Message) -> None:
    """Check that a form which writes a reply under its tool's name can say whose it is.

    Raises: HeaderValue for a tool named like a role; Unrepresentable if a reader would not take it for a tool.
    """
    name = header.name
    if not form.replies_by_role or name is None:
        # Harmony writes the tool's name in place of the role, so it needs one.
        if not form.has_header and name is None:
            raise _refused(message, form, "a tool reply without the tool's name")
        return
    # ``user:x`` in place of the role is a speaker of that role.
    role, colon, _ = name.partition(":")
    if name in ROLES or (colon and role in ROLES and role != "tool"):
        raise HeaderValue(form.title, f"a tool named {name!r}", turn=message.turn)
    if not is_tool_role(name) and header.to is None:
        raise _refused(message, form, "a reply of a tool outside functions, without a recipient")


def _result_texts(block: ToolResult, message: Message, form: FrameForm) -> tuple[Text, ...]:
    texts = tuple(part for part in block.content if isinstance(part, Text))
    if len(texts) < len(block.content):
        raise _refused(message, form, "a tool result that holds more than text")
    return texts


def _thinking_body(block: Thinking, message: Message, header: Header, form: FrameForm) -> str:
    """The body: the start marker of the kind, and the text. Refuses one that a reader would take for another kind."""
    if header.role != "assistant" or header.channel != "analysis" or is_call(header):
        raise _refused(message, form, "reasoning outside the assistant's analysis")
    if block.signature is not None or block.provider is not None:
        raise _refused(message, form, "the signature of a provider's reasoning", "signature")
    body = block.text if block.kind is None else f"<|start_{block.kind}|>{block.text}"
    if read_thinking(body) != Thinking(block.text, block.kind):
        raise _refused(message, form, "reasoning whose markers a reader would take for another kind")
    return body


def _refused(message: Message, form: FrameForm, what: str, drop: str | None = None) -> Unrepresentable:
    return Unrepresentable(form.title, what, turn=message.turn, drop=drop)
