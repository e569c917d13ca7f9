"""Messages of LangChain as turns, and back: what a turn can say is its blocks, what it cannot is kept beside them.

A message that comes back equal is stored so (``written``). Any other, of a class that is not LangChain's own or with a
value that JSON does not have, is kept as the serializer's bytes, with its text beside them for people to read.

Source: ``langchain_core.messages``, langchain-core 1.7.2, read on 2026-11-22.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import marshal
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, cast

import msgspec
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from headish.content.encoding import decode_payload, encode_payload, read_block
from headish.content.forms.media import read_chat_media, write_chat_media
from headish.content.secrecy import find_secret
from headish.errors import HeadishError
from headish.integrations.shared.healing import heal_text
from headish.limits import MAPPING_LIMIT_BYTES
from headish.values.blocks import ContentBlock, Document, Erased, Text, ToolResult, ToolUse, to_mapping

APP = "langchain"
"""The key of ``meta.app`` under which stands what the blocks do not say."""
PROVIDER = "langchain"
CLASSES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "function": FunctionMessage,
    "chat": ChatMessage,
}
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_CHAT_ROLES = {"assistant": "assistant", "system": "system", "developer": "developer", "user": "user"}
_CALL_KEYS = {"name", "args", "id", "type"}

Dump = Callable[[Any], tuple[str, bytes]]
Load = Callable[[tuple[str, bytes]], Any]
Prints: TypeAlias = "array[int]"
"""The numbers lie side by side: two lists are compared without a look at a thousand objects."""


class Written(NamedTuple):
    """A message as a turn: its role, its blocks, and what stands in ``meta.app`` beside them."""

    role: str
    blocks: list[ContentBlock]
    app: dict[str, Any]


def fingerprints(said: Any, dump: Dump) -> Prints | None:
    """A number for each message of a list: another one as soon as anything in it is another, in this process. None for
    what is no list of messages.

    A node may change a message in place, so the object alone tells nothing.
    Cost: half a microsecond for each, or two where it holds more than text.
    """
    if type(said) is not list or not said:
        return None
    made = array("q")
    for each in said:
        shape = _shape_of(each.__class__)
        if shape is None:
            return None
        made.append(_fingerprint(each, shape, dump))
    return made


def _fingerprint(message: BaseMessage, shape: _Shape, dump: Dump) -> int:
    held = message.__dict__
    try:
        content, id, beside = held["content"], held["id"], shape.beside(held)
    except KeyError:  # made without a look at its fields
        return _whole_fingerprint(message, dump)
    if content.__class__ is not str or id.__class__ is not str or len(held) != shape.size or message.__pydantic_extra__:
        return _whole_fingerprint(message, dump)
    # Python remembers the hash of a text, so a long one is not read again at each step.
    if beside == shape.blank:
        return hash((content, id, message.__class__))
    try:
        return hash((content, id, marshal.dumps(beside, 0), message.__class__))
    except ValueError:  # a value that is no plain data
        return hash((dump(message), message.__class__))


def _whole_fingerprint(message: BaseMessage, dump: Dump) -> int:
    held = dict(_held(message))
    content = held.pop("content") if type(held.get("content")) is str else None
    try:
        return hash((content, marshal.dumps(held, 0), message.__class__))
    except ValueError:
        return hash((dump(message), message.__class__))


class _Shape(NamedTuple):
    """What stands beside content and id in a message of a class, what of it is nothing, and how many fields there are.

    Nothing is None, a text, or an empty list or mapping: no two of them are equal.
    """

    beside: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    blank: tuple[Any, ...]
    size: int


@lru_cache(maxsize=256)
def _shape_of(kind: type) -> _Shape | None:
    """The shape of a class, None for one that is no message. Asked once for a class: pydantic's answers take long."""
    if not issubclass(kind, BaseMessage):
        return None
    fields = kind.model_fields
    names = [name for name in fields if name not in ("content", "id")]
    blank = tuple(fields[name].get_default(call_default_factory=True) for name in names)
    plain = all(each is None or type(each) is str or each in ([], {}) for each in blank)
    return _Shape(itemgetter(*names), blank if plain else (), len(fields))


def _held(message: BaseMessage) -> Mapping[str, Any]:
    """All that a message holds."""
    extra = message.__pydantic_extra__
    return {**message.__dict__, **extra} if extra else message.__dict__


def write(message: BaseMessage, dump: Dump) -> Written:
    """A message as a turn; ``read`` gives an equal one back. Raises: what ``dump`` raises."""
    try:
        written = _write_plain(message)
        if written is not None and _comes_back(message, written):
            return written
    except (HeadishError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError):
        pass  # it holds what no turn can say
    return write_opaque(message, dump)


def write_opaque(message: BaseMessage, dump: Dump) -> Written:
    """A message as the serializer's bytes; what it says stands beside them, to be read."""
    kind, data = dump(message)
    whole = {"type": "provider", "provider": PROVIDER, "data": {"type": kind, "base64": b64encode(data).decode()}}
    said, _ = heal_text(str(message.text)) if isinstance(message.content, str | list) else ("", False)
    blocks: list[ContentBlock] = [Text(said)] if said else []
    return Written(_role_of(message), [*blocks, read_block(whole)], {APP: {"type": "opaque"}})


def read(blocks: Sequence[ContentBlock], app: Mapping[str, Any], load: Load) -> BaseMessage | None:
    """The message of a turn; None for one that was erased. Raises: KeyError, ValueError for what no message left."""
    for block in blocks:
        if block.__class__ is Erased:
            return None
    beside = dict(app[APP])
    kind = beside.pop("type")
    if kind == "opaque":
        whole = to_mapping(blocks[-1])["data"]
        return cast(BaseMessage, load((whole["type"], b64decode(whole["base64"]))))
    return _READERS.get(kind, _read_said)(CLASSES[kind], list(blocks), beside)


def _role_of(message: BaseMessage) -> str:
    if isinstance(message, ChatMessage):
        return _CHAT_ROLES.get(message.role, "user")
    return next((role for kind, role in _ROLES.items() if isinstance(message, CLASSES[kind])), "user")


def _comes_back(message: BaseMessage, written: Written) -> bool:
    """Whether a message comes back equal from what will be stored of it, and may be stored."""
    # As it will be read: JSON has no tuples, and its keys are texts.
    app = msgspec.json.encode(written.app)
    if len(app) > MAPPING_LIMIT_BYTES or find_secret(written.app, "$") is not None:
        return False
    again = read(decode_payload(encode_payload(tuple(written.blocks))), msgspec.json.decode(app), _no_bytes)
    return again is not None and _plain(again) == _plain(message)


def _plain(message: BaseMessage) -> tuple[Any, ...]:
    """All that a message holds, types and orders told apart: True is no 1 here."""
    return type(message), {name: _typed(each) for name, each in _held(message).items()}


def _typed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [(key, _typed(each)) for key, each in value.items()]
    if isinstance(value, list):
        return [_typed(each) for each in value]
    return value if isinstance(value, str) else (type(value), value)


def _no_bytes(_: tuple[str, bytes]) -> Any:
    raise ValueError("no message is opaque here")


# Writing.


def _write_plain(message: BaseMessage) -> Written | None:
    kind = message.type
    if type(message) is not CLASSES.get(kind):
        return None
    held = dict(_held(message))
    content = held.pop("content")
    held.pop("type")
    blocks, beside = _write_content(content, {})
    if kind == "ai":
        blocks += _write_calls(held, blocks, beside)
    if kind == "tool":
        blocks = [_write_result(held, blocks)]
    rest = {name: value for name, value in held.items() if not _is_default(name, value)}
    return Written(_role_of(message), blocks, {APP: {"type": kind, **beside, **({"rest": rest} if rest else {})}})


def _write_content(content: str | list[Any], beside: dict[str, Any]) -> tuple[list[ContentBlock], dict[str, Any]]:
    """The blocks of content, and how they are to be read: ``texts`` are the places of bare texts in a list, ``media``
    those of parts that are documents, ``thinking`` those whose text stands under that name; ``keys`` are those of parts
    that have them in another order than is read, ``[place, keys]``."""
    if isinstance(content, str):
        return ([Text(content)] if content else []), beside
    texts = [index for index, part in enumerate(content) if isinstance(part, str)]
    found = {index: _document_of(part) for index, part in enumerate(content) if isinstance(part, Mapping)}
    media = {index: document for index, document in found.items() if document is not None}
    blocks = [media.get(index) or read_block(part) for index, part in enumerate(content)]
    beside |= {"list": len(blocks)}
    spelled = [index for index, part in enumerate(content) if isinstance(part, Mapping) and "thinking" in part]
    marks: dict[str, list[Any]] = {"texts": texts, "media": list(media), "thinking": spelled}
    marks["keys"] = _other_orders(content, _read_content(blocks, beside | marks))
    return blocks, beside | {name: places for name, places in marks.items() if places}


def _other_orders(content: Sequence[Any], read: Sequence[Any]) -> list[Any]:
    both = [
        (place, [*one], [*other]) for place, (one, other) in enumerate(zip(content, read, strict=True)) if one == other
    ]
    return [[place, keys] for place, keys, found in both if keys != found]


def _document_of(part: Mapping[str, Any]) -> Document | None:
    """The document of a part in the words of Chat, if it is written so again."""
    document = read_chat_media(part, "openai")
    return document if document is not None and write_chat_media(document) == part else None


def _write_calls(held: dict[str, Any], content: Sequence[ContentBlock], beside: dict[str, Any]) -> list[ContentBlock]:
    """The calls of an answer as blocks behind its content, unless the content has them already."""
    calls = held["tool_calls"]
    if not calls:
        return []
    if calls == [_call_of(block) for block in content if isinstance(block, ToolUse)]:
        beside["calls"] = "content"
    elif all(each.keys() == _CALL_KEYS and each["type"] == "tool_call" for each in calls):
        beside["calls"] = len(calls)
    else:
        return []
    del held["tool_calls"]
    return [] if beside["calls"] == "content" else [_block_of(call) for call in calls]


def _block_of(call: Mapping[str, Any]) -> ContentBlock:
    given = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
    return read_block({key: value for key, value in given.items() if value is not None})


def _call_of(block: ToolUse) -> dict[str, Any]:
    return {"name": block.name, "args": to_mapping(block).get("input"), "id": block.id, "type": "tool_call"}


def _write_result(held: dict[str, Any], content: Sequence[ContentBlock]) -> ContentBlock:
    given = {"type": "tool_result", "tool_use_id": held.pop("tool_call_id"), "content": [*map(to_mapping, content)]}
    name = held.pop("name")
    given |= {} if name is None else {"name": name}
    return read_block(given | ({"is_error": True} if held.pop("status") == "error" else {}))


def _is_default(name: str, value: Any) -> bool:
    return (value is None or value in ({}, [])) and name in _EMPTY


_EMPTY = {
    "additional_kwargs", "response_metadata", "name", "id", "tool_calls", "invalid_tool_calls", "usage_metadata",
    "artifact",
}  # fmt: skip


# Reading.


def _read_said(kind: type[BaseMessage], blocks: list[ContentBlock], beside: Mapping[str, Any]) -> BaseMessage:
    return kind(content=_read_content(blocks, beside), **beside.get("rest", {}))


def _read_answer(kind: type[BaseMessage], blocks: list[ContentBlock], beside: Mapping[str, Any]) -> BaseMessage:
    calls, given = beside.get("calls", 0), dict(beside.get("rest", {}))
    if calls == "content":
        given["tool_calls"] = [_call_of(block) for block in blocks if isinstance(block, ToolUse)]
    elif calls:
        given["tool_calls"] = [_call_of(block) for block in blocks[-calls:] if isinstance(block, ToolUse)]
        blocks = blocks[:-calls]
    return kind(content=_read_content(blocks, beside), **given)


def _read_result(kind: type[BaseMessage], blocks: list[ContentBlock], beside: Mapping[str, Any]) -> BaseMessage:
    result = blocks[0]
    if not isinstance(result, ToolResult):
        raise ValueError("the turn of a result holds no result")
    return kind(
        content=_read_content(list(result.content), beside),
        tool_call_id=result.tool_use_id,
        name=result.name,
        status="error" if result.is_error else "success",
        **beside.get("rest", {}),
    )


def _read_content(blocks: Sequence[ContentBlock], beside: Mapping[str, Any]) -> str | list[Any]:
    if "list" not in beside:
        if len(blocks) == 1 and isinstance(first := blocks[0], Text):
            return first.text
        return "".join(block.text for block in blocks if isinstance(block, Text))
    parts: list[Any] = [to_mapping(block) for block in blocks]
    for index in beside.get("texts", ()):
        parts[index] = parts[index]["text"]
    for index in beside.get("media", ()):
        document = blocks[index]
        assert isinstance(document, Document)
        parts[index] = write_chat_media(document)
    for index in beside.get("thinking", ()):
        parts[index]["thinking"] = parts[index].pop("text")
    for index, keys in beside.get("keys", ()):
        parts[index] = {key: parts[index][key] for key in keys}
    return parts


_READERS: dict[str, Callable[[type[BaseMessage], list[ContentBlock], Mapping[str, Any]], BaseMessage]] = {
    "ai": _read_answer,
    "tool": _read_result,
}
