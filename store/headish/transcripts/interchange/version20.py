"""The JSON interchange of OpenChatML 2.0 (§10): messages as chat APIs have them, with reasoning as ``thinking``.

An assistant's envelope has ``content`` or ``tool_calls``, and the reasoning before it. The text has no call ids, so
writing makes them by position (``call_1``, …), and reading refuses any others. What would not come back the same is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from headish.content.forms.calls import chat_call
from headish.errors import InvalidInterchange, Unmappable
from headish.transcripts.interchange.version22 import read_around, write_around, write_frame
from headish.transcripts.openchatml.forms import FORMS, TERMINATORS
from headish.transcripts.openchatml.frames import read_message
from headish.transcripts.shared.jsontext import list_of, optional_list, refuse_keys, string
from headish.transcripts.shared.pairs import only_block, pair_replies
from headish.transcripts.shared.transcript import UNREAD, Header, Transcript, stop_of, usual_stop
from headish.values.blocks import Text, Thinking, ToolResult, ToolUse
from headish.values.checks.doors import an, door
from headish.values.messages import Attributes, Message

TARGET = "2.0 interchange"
_FORM = FORMS["2.0"]
_TEXT_ROLES = ("system", "developer", "user")


@door(transcript=an(Transcript))
def to_interchange20(transcript: Transcript) -> dict[str, Any]:
    """``{header?, messages: [envelope], pending?}``. Raises: Unmappable (E-MAP-UNREPRESENTABLE)."""
    if transcript.tail is not None:
        raise Unmappable(TARGET, UNREAD, drop="tail")
    return {**write_around(transcript, TARGET), "messages": _Writer(transcript).write()}


def from_interchange20(data: Mapping[str, Any]) -> Transcript:
    """The transcript of an interchange. Raises: InvalidInterchange (E-MAP-INPUT)."""
    reader = _EnvelopeReader()
    for index, envelope in enumerate(list_of(data, "messages", TARGET)):
        reader.read(envelope, f"$.messages[{index}]")
    return read_around(data, reader.finish(), TARGET)


class _Writer:
    """Writes envelopes: calls in a row share one, and reasoning goes into the next one."""

    def __init__(self, transcript: Transcript) -> None:
        self._messages = transcript.messages
        self._pairs = pair_replies(transcript.messages)
        self._ids: dict[int, str] = {}
        self._envelopes: list[dict[str, Any]] = []
        self._thinking: str | None = None

    def write(self) -> list[dict[str, Any]]:
        for index, message in enumerate(self._messages):
            block = only_block(message)
            if isinstance(block, Thinking):
                self._write_thinking(message)
            elif isinstance(block, ToolUse):
                self._write_call(index, block, message)
            elif isinstance(block, ToolResult):
                self._write_result(index, block, message)
            else:
                self._write_text(message)
        if self._thinking is not None:
            raise Unmappable(TARGET, "reasoning with no message of the assistant behind it")
        return self._envelopes

    def _write_thinking(self, message: Message) -> None:
        if self._thinking is not None:
            raise Unmappable(TARGET, "two reasonings in a row", turn=message.turn)
        _check(message, Attributes(channel="analysis"))
        self._thinking = _body(message)

    def _write_text(self, message: Message) -> None:
        role, speaker = message.role, message.attributes.speaker
        if role != "assistant" and (self._thinking is not None or role not in _TEXT_ROLES):
            raise Unmappable(TARGET, f"text of role {role!r}, or reasoning before it", turn=message.turn)
        channel = "final" if role == "assistant" else None
        _check(message, Attributes(channel=channel, speaker=speaker, stop=message.attributes.stop))
        envelope = {"role": role, "name": speaker, **self._take_thinking(), "content": _body(message)}
        self._add(envelope, message)

    def _write_call(self, index: int, call: ToolUse, message: Message) -> None:
        _check(message, Attributes(channel="commentary", stop=message.attributes.stop))
        name = call.name.removeprefix("functions.")
        if name == call.name or not name:
            raise Unmappable(TARGET, f"a tool outside functions: {call.name!r}", turn=message.turn)
        self._ids[index] = f"call_{len(self._ids) + 1}"
        entry = chat_call(self._ids[index], name, _body(message))
        last = self._envelopes[-1] if self._envelopes else {}
        # ``stop`` is that of the last call, so no call may follow it in the same envelope.
        if self._thinking is None and "tool_calls" in last and "stop" not in last:
            last["tool_calls"].append(entry)
            last |= _stop(message)
        else:
            self._add({"role": "assistant", **self._take_thinking(), "tool_calls": [entry]}, message)

    def _write_result(self, index: int, result: ToolResult, message: Message) -> None:
        _check(message, Attributes(channel="commentary", recipient="assistant", stop=message.attributes.stop))
        call = self._pairs.get(index)
        if self._thinking is not None or call not in self._ids:
            raise Unmappable(TARGET, "a result without its call, or reasoning before it", turn=message.turn)
        name = (result.name or "").removeprefix("functions.")
        if not name or name == result.name:
            raise Unmappable(TARGET, f"a result of {result.name!r}", turn=message.turn)
        envelope = {"role": "tool", "tool_call_id": self._ids[call or 0], "name": name, "content": _body(message)}
        self._add(envelope, message)

    def _take_thinking(self) -> dict[str, str]:
        thinking, self._thinking = self._thinking, None
        return {} if thinking is None else {"thinking": thinking}

    def _add(self, envelope: dict[str, Any], message: Message) -> None:
        self._envelopes.append({key: value for key, value in envelope.items() if value is not None} | _stop(message))


class _EnvelopeReader:
    """Reads envelopes as messages, and checks ids against their positions."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._calls: dict[str, int] = {}
        self._replies: dict[int, int] = {}

    def read(self, envelope: Mapping[str, Any], path: str) -> None:
        role = envelope.get("role")
        if role == "assistant":
            refuse_keys(envelope, ("role", "name", "thinking", "content", "tool_calls", "stop"), TARGET, path)
            self._messages += self._read_assistant(envelope, path)
        elif role == "tool":
            refuse_keys(envelope, ("role", "tool_call_id", "name", "content", "stop"), TARGET, path)
            self._read_result(envelope, path)
        elif role in _TEXT_ROLES:
            refuse_keys(envelope, ("role", "name", "content", "stop"), TARGET, path)
            header = Header(role=str(role), name=_optional(envelope, "name", path))
            self._messages.append(_make(header, string(envelope, "content", TARGET, path), _ending(envelope, path)))
        else:
            raise InvalidInterchange(TARGET, f"a message of role {role!r}", path)

    def finish(self) -> list[Message]:
        """All messages. Raises: InvalidInterchange if a reply, without its id, would answer another call."""
        pairs = pair_replies(self._messages)
        if any(pairs.get(reply) != call for reply, call in self._replies.items()):
            raise InvalidInterchange(TARGET, "replies whose order, without ids, would answer other calls")
        return self._messages

    def _read_assistant(self, envelope: Mapping[str, Any], path: str) -> Iterator[Message]:
        calls, content = optional_list(envelope, "tool_calls", TARGET, path), envelope.get("content")
        ending = _ending(envelope, path)
        if content is None and not calls:
            raise InvalidInterchange(TARGET, "neither content nor tool_calls", path)
        base = len(self._messages)
        count = 0
        if envelope.get("thinking") is not None:
            count += 1
            yield _make(Header(role="assistant", channel="analysis"), string(envelope, "thinking", TARGET, path), None)
        if content is not None:
            count += 1
            header = Header(role="assistant", channel="final", name=_optional(envelope, "name", path))
            yield _make(header, string(envelope, "content", TARGET, path), None if calls else ending)
        for place, call in enumerate(calls):
            self._calls[f"call_{len(self._calls) + 1}"] = base + count + place
            is_last = place == len(calls) - 1
            yield self._read_call(call, f"{path}.tool_calls[{place}]", ending if is_last else None)

    def _read_call(self, call: Any, path: str, ending: str | None) -> Message:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or call.get("id") != f"call_{len(self._calls)}":
            raise InvalidInterchange(TARGET, "calls are functions with the ids call_1, call_2, …", path)
        refuse_keys(call, ("id", "type", "function"), TARGET, path)
        refuse_keys(function, ("name", "arguments"), TARGET, path)
        name = f"functions.{string(function, 'name', TARGET, path)}"
        header = Header(role="assistant", to=name, channel="commentary")
        return _make(header, string(function, "arguments", TARGET, path), ending)

    def _read_result(self, envelope: Mapping[str, Any], path: str) -> None:
        call = self._calls.get(string(envelope, "tool_call_id", TARGET, path))
        if call is None:
            raise InvalidInterchange(TARGET, "a result of a call that is not there", path)
        self._replies[len(self._messages)] = call
        name = f"functions.{string(envelope, 'name', TARGET, path)}"
        header = Header(role="tool", name=name, to="assistant", channel="commentary")
        self._messages.append(_make(header, string(envelope, "content", TARGET, path), _ending(envelope, path)))


def _body(message: Message) -> str:
    return write_frame(message, _FORM, TARGET)[1]


def _check(message: Message, allowed: Attributes) -> None:
    if replace(message.attributes, tight=False) != allowed:
        raise Unmappable(TARGET, "a channel, recipient or attribute that no envelope has", turn=message.turn)


def _stop(message: Message) -> dict[str, str]:
    return {} if stop_of(message) == usual_stop(message) else {"stop": stop_of(message)}


def _make(header: Header, body: str, stop: str | None) -> Message:
    # Read twice: an envelope leaves out the usual stop, which depends on the message.
    message = read_message(header, (Text(body),) if body else (), "end")
    ending = stop or usual_stop(message)
    return read_message(header, (Text(body),) if body else (), ending)


def _optional(envelope: Mapping[str, Any], key: str, path: str) -> str | None:
    return None if envelope.get(key) is None else string(envelope, key, TARGET, path)


def _ending(envelope: Mapping[str, Any], path: str) -> str | None:
    stop = _optional(envelope, "stop", path)
    if stop is not None and stop not in TERMINATORS:
        raise InvalidInterchange(TARGET, f"the stop {stop!r}", f"{path}.stop")
    return stop
