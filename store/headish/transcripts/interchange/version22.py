"""The JSON interchange of OpenChatML 2.2 (§10): one envelope per frame, and nothing that the text cannot say.

Reasoning without attributes is the ``thinking`` of the answer or call directly after it; any other reasoning is an
envelope of its own. Literal blocks and the exact text of the header are not carried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headish.errors import InvalidInterchange, Unmappable, Unrepresentable
from headish.transcripts.openchatml.forms import CHANNELS, FORMS, ROLES, TERMINATORS, FrameForm
from headish.transcripts.openchatml.frames import is_call, open_header, open_message, read_message, write_message
from headish.transcripts.shared.jsontext import list_of, refuse_keys, string
from headish.transcripts.shared.transcript import UNREAD, Header, Transcript, usual_stop
from headish.values.blocks import Text
from headish.values.checks.doors import an, door
from headish.values.messages import Message

TARGET = "2.2 interchange"
_FORM = FORMS["2.2"]
_ATTRIBUTES = ("name", "channel", "to", "call_id", "intent", "content_type", "constrain")
_KEYS = ("role", *_ATTRIBUTES, "extra", "content", "stop", "tool_call", "thinking")


@door(transcript=an(Transcript))
def to_interchange(transcript: Transcript) -> dict[str, Any]:
    """``{header?, messages: [envelope], pending?}``. Raises: Unmappable (E-MAP-UNREPRESENTABLE)."""
    if transcript.tail is not None:
        raise Unmappable(TARGET, UNREAD, drop="tail")
    envelopes: list[dict[str, Any]] = []
    thought: dict[str, Any] | None = None
    for message in transcript.messages:
        envelope = _write(message)
        if thought is not None and envelope["role"] == "assistant" and not _is_bare_thought(envelope):
            envelopes[-1] = {**envelope, "thinking": thought["content"]}
        else:
            envelopes.append(envelope)
        thought = envelope if _is_bare_thought(envelope) else None
    return {**write_around(transcript, TARGET), "messages": envelopes}


def from_interchange(data: Mapping[str, Any]) -> Transcript:
    """The transcript of an interchange. Raises: InvalidInterchange (E-MAP-INPUT)."""
    messages: list[Message] = []
    for index, envelope in enumerate(list_of(data, "messages", TARGET)):
        messages += _read(envelope, f"$.messages[{index}]")
    return read_around(data, messages, TARGET)


def write_around(transcript: Transcript, target: str) -> dict[str, Any]:
    """The header and the open message of a transcript."""
    around: dict[str, Any] = {}
    if transcript.header is not None:
        around["header"] = transcript.header
    if transcript.pending is not None:
        try:
            header = open_header(transcript.pending, target)
        except Unrepresentable as error:
            raise Unmappable(target, error.what, drop=error.drop) from None
        around["pending"] = _write_header(header)
    return around


def read_around(data: Mapping[str, Any], messages: list[Message], target: str) -> Transcript:
    """The transcript of some messages with the header and the open message of an interchange."""
    refuse_keys(data, ("header", "messages", "pending"), target, "$")
    header, pending = data.get("header"), data.get("pending")
    if header is not None and not (isinstance(header, dict) and isinstance(header.get("version"), str)):
        raise InvalidInterchange(target, "a header is an object with its version as a string", "$.header")
    opened = None
    if pending is not None:
        if not isinstance(pending, Mapping):
            raise InvalidInterchange(target, "pending is an object", "$.pending")
        refuse_keys(pending, ("role", *_ATTRIBUTES, "extra"), target, "$.pending")
        opened = open_message(_read_header(pending, "$.pending", target))
    return Transcript(messages=tuple(messages), header=header, pending=opened)


def write_frame(message: Message, form: FrameForm, target: str) -> tuple[Header, str, str]:
    """The header, the text and the stop of a message. Raises: Unmappable."""
    try:
        header, texts, stop = write_message(message, form)
    except Unrepresentable as error:
        raise Unmappable(target, error.what, turn=message.turn, drop=error.drop) from None
    return header, "".join(text.text for text in texts), stop


def _write(message: Message) -> dict[str, Any]:
    header, body, stop = write_frame(message, _FORM, TARGET)
    ended = {} if stop == usual_stop(message) else {"stop": stop}
    if not is_call(header):
        return {**_write_header(header), "content": body, **ended}
    envelope = _write_header(header)
    # In a call, ``content_type`` is what the header calls its constraint.
    call = {"id": envelope.pop("call_id", None), "recipient": envelope.pop("to")}
    call |= {"content_type": envelope.pop("constrain", None), "arguments": body}
    return {**envelope, "tool_call": {key: value for key, value in call.items() if value is not None}, **ended}


def _write_header(header: Header) -> dict[str, Any]:
    attributes = {key: getattr(header, key) for key in _ATTRIBUTES}
    envelope = {"role": header.role, **{key: value for key, value in attributes.items() if value is not None}}
    return envelope | ({"extra": dict(header.extra)} if header.extra else {})


def _is_bare_thought(envelope: Mapping[str, Any]) -> bool:
    return (
        set(envelope) == {"role", "channel", "content"}
        and envelope["role"] == "assistant"
        and (envelope["channel"] == "analysis")
    )


def _read(envelope: Mapping[str, Any], path: str) -> Iterator[Message]:
    refuse_keys(envelope, _KEYS, TARGET, path)
    header = _read_header(envelope, path)
    if envelope.get("thinking") is not None:
        if header.role != "assistant":
            raise InvalidInterchange(TARGET, f"thinking of role {header.role!r}", f"{path}.thinking")
        text = string(envelope, "thinking", TARGET, path)
        thought = Header(role="assistant", channel="analysis")
        yield read_message(thought, (Text(text),) if text else (), "end")
    call = envelope.get("tool_call")
    if call is not None:
        header, body = _read_call(envelope, header, call, path)
    else:
        body = string(envelope, "content", TARGET, path)
        if is_call(header):
            raise InvalidInterchange(TARGET, "a call outside tool_call", path)
    stop = envelope.get("stop") or ("call" if call is not None else "end")
    if not isinstance(stop, str) or stop not in TERMINATORS:
        raise InvalidInterchange(TARGET, f"the stop {stop!r}", f"{path}.stop")
    yield read_message(header, (Text(body),) if body else (), stop)


def _read_call(envelope: Mapping[str, Any], header: Header, call: Any, path: str) -> tuple[Header, str]:
    where = f"{path}.tool_call"
    if envelope.get("content") is not None:
        raise InvalidInterchange(TARGET, "content beside tool_call, which text cannot say", path)
    if not isinstance(call, Mapping) or header.role != "assistant" or header.to or header.call_id or header.constrain:
        raise InvalidInterchange(TARGET, "a tool_call is an object, and holds its own recipient and id", where)
    refuse_keys(call, ("id", "recipient", "content_type", "arguments"), TARGET, where)
    texts = {key: call.get(key) for key in ("id", "content_type")}
    if not all(value is None or isinstance(value, str) for value in texts.values()):
        raise InvalidInterchange(TARGET, "id and content_type are strings", where)
    called = Header(
        role="assistant", name=header.name, channel=header.channel, to=string(call, "recipient", TARGET, where),
        call_id=texts["id"], intent=header.intent, content_type=header.content_type, constrain=texts["content_type"],
        extra=header.extra,
    )  # fmt: skip
    if not is_call(called):
        raise InvalidInterchange(TARGET, f"a call to {called.to!r}", where)
    return called, string(call, "arguments", TARGET, where)


def _read_header(envelope: Mapping[str, Any], path: str, target: str = TARGET) -> Header:
    given = {key: envelope.get(key) for key in _ATTRIBUTES}
    for key, value in given.items():
        if value is not None and not isinstance(value, str):
            raise InvalidInterchange(target, f"{key} must be a string", f"{path}.{key}")
    extra = envelope.get("extra") or {}
    if not isinstance(extra, Mapping) or not all(isinstance(value, str) for value in extra.values()):
        raise InvalidInterchange(target, "extra is an object of strings", f"{path}.extra")
    role = envelope.get("role")
    if role not in ROLES or given["channel"] not in (None, *CHANNELS):
        raise InvalidInterchange(target, f"role {role!r} on channel {given['channel']!r}", path)
    return Header(role=str(role), extra=dict(extra), **given)
