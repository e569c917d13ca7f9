"""The neutral model as JSON, which ``headish convert --to json`` prints and test cases use.

::

    {header?, header_raw?, bos?, eos?, messages: [message], pending?: message, tail?}
    message = {role, name?, channel?, to?, call_id?, intent?, content_type?, constrain?, extra?, tight?, content, stop?}

A missing key has its default. A call always has the exact text of its arguments as ``raw``, and ``input`` if that text
is JSON. If both are given, reading believes ``raw`` and derives ``input`` from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from headish.content.encoding import read_block
from headish.errors import InvalidContent
from headish.transcripts.shared.jsontext import read_json
from headish.transcripts.shared.transcript import Transcript, arguments_of, make_call, make_message
from headish.values.blocks import ContentBlock, ToolResult, ToolUse, to_mapping
from headish.values.checks.doors import an, door
from headish.values.messages import Message

WHAT = "a transcript"
_ATTRIBUTES = {
    "name": "speaker", "channel": "channel", "to": "recipient", "call_id": "call_id", "intent": "intent",
    "content_type": "content_type", "constrain": "constrain", "extra": "extra", "tight": "tight", "stop": "stop",
}  # fmt: skip
_STOPS = ("end", "call", "return", "none")


@door(transcript=an(Transcript))
def to_json(transcript: Transcript) -> dict[str, Any]:
    """A transcript as plain JSON data."""
    around = {
        "header": transcript.header, "header_raw": transcript.header_raw, "bos": transcript.bos or None,
        "eos": transcript.eos or None, "pending": None if transcript.pending is None else _write(transcript.pending),
        "tail": transcript.tail,
    }  # fmt: skip
    messages = [_write(message) | {"content": _content(message)} for message in transcript.messages]
    return {"messages": messages, **{key: value for key, value in around.items() if value is not None}}


def from_json(data: Mapping[str, Any]) -> Transcript:
    """A transcript from plain JSON data. Raises: InvalidContent with the path of what is wrong."""
    if not isinstance(data, Mapping):
        raise InvalidContent(WHAT, "it must be an object")
    unknown = sorted(set(data) - {"header", "header_raw", "bos", "eos", "messages", "pending", "tail"})
    if unknown:
        raise InvalidContent(WHAT, f"the key {unknown[0]!r} is not known")
    listed = data.get("messages", [])
    if not isinstance(listed, list):
        raise InvalidContent(WHAT, "messages must be a list", "$.messages")
    header = _typed(data, "header", dict)
    # A version is kept as the text of the file, so it is not a number (``yamlheader.read_header``).
    if header is not None and not isinstance(header.get("version"), str):
        raise InvalidContent(WHAT, "a header needs its version as a string", "$.header")
    pending = data.get("pending")
    return Transcript(
        messages=tuple(_read(message, f"$.messages[{index}]") for index, message in enumerate(listed)),
        header=header,
        header_raw=_typed(data, "header_raw", str),
        bos=bool(_typed(data, "bos", bool)),
        eos=bool(_typed(data, "eos", bool)),
        pending=None if pending is None else _read(pending, "$.pending"),
        tail=_typed(data, "tail", str),
    )


def write_block(block: ContentBlock) -> dict[str, Any]:
    """A block as JSON data; a call with the exact text of its arguments."""
    if isinstance(block, ToolUse):
        raw = arguments_of(block)
        value = read_json(raw)
        rest = {"id": block.id, "closed": block.closed or None, "envelope": block.envelope}
        record = {"type": "tool_use", "name": block.name, "raw": raw, **({} if value is UNSET else {"input": value})}
        return record | {key: item for key, item in rest.items() if item is not None} | dict(block.extra)
    if isinstance(block, ToolResult):
        return to_mapping(block) | {"content": [write_block(part) for part in block.content]}
    return to_mapping(block)


def _write(message: Message) -> dict[str, Any]:
    record: dict[str, Any] = {"role": message.role}
    for key, field in _ATTRIBUTES.items():
        value = getattr(message.attributes, field)
        if value not in (None, False) and value != {}:
            record[key] = value
    return record


def _content(message: Message) -> list[dict[str, Any]]:
    return [write_block(block) for block in message.content]


def _read(data: Any, path: str) -> Message:
    if not isinstance(data, Mapping) or "role" not in data:
        raise InvalidContent(WHAT, "a message is an object with a role", path)
    unknown = sorted(set(data) - {"role", "content", *_ATTRIBUTES})
    if unknown:
        raise InvalidContent(WHAT, f"the key {unknown[0]!r} of a message is not known", path)
    role = data["role"]
    if role is not None and not isinstance(role, str):
        raise InvalidContent(WHAT, "a role is a string, or null for a bare sequence", f"{path}.role")
    attributes = {}
    for key, field in _ATTRIBUTES.items():
        kind = dict if key == "extra" else bool if key == "tight" else str
        attributes[field] = _typed(data, key, kind, path)
    if attributes["stop"] is not None and attributes["stop"] not in _STOPS:
        raise InvalidContent(WHAT, f"stop is one of {', '.join(_STOPS)}", f"{path}.stop")
    if not all(isinstance(value, str) for value in (attributes["extra"] or {}).values()):
        raise InvalidContent(WHAT, "the values of extra are strings", f"{path}.extra")
    content = data.get("content", [])
    if not isinstance(content, list):
        raise InvalidContent(WHAT, "content must be a list of blocks", f"{path}.content")
    blocks = [_read_block(block, f"{path}.content[{index}]") for index, block in enumerate(content)]
    return make_message(role, blocks, **attributes)


def _read_block(data: Any, path: str) -> ContentBlock:
    if isinstance(data, Mapping) and data.get("type") == "tool_use" and isinstance(data.get("raw"), str):
        rest = {key: value for key, value in data.items() if key not in ("raw", "input")}
        # With any arguments, only to check the rest: ``raw`` says the real ones.
        checked = read_block({**rest, "input": {}}, path)
        assert isinstance(checked, ToolUse)
        return make_call(checked.name, data["raw"], id=checked.id, closed=checked.closed, envelope=checked.envelope)
    return read_block(data, path)


def _typed(data: Mapping[str, Any], key: str, kind: type, path: str = "$") -> Any:
    value = data.get(key)
    if value is not None and not isinstance(value, kind):
        raise InvalidContent(WHAT, f"{key} must be a {kind.__name__}", f"{path}.{key}")
    return value
