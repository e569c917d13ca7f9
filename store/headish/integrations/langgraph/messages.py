"""Messages of a graph's state as turns, and back, by the mapping of ``frameworks.langchain``.

A message that comes back equal from its blocks is stored as blocks. Any other (of a class that is not LangChain's own,
or with a value that JSON does not have) is kept as the serializer's bytes, with its text before them for people to
read.

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
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)

from headish.adapters.langchain import APP, PROVIDER, Split, join, make_split_draft, role_of, split, words_of
from headish.adapters.messages import (
    MAPPING_LIMIT_BYTES,
    ContentBlock,
    Draft,
    Erased,
    decode_payload,
    encode_payload,
    find_secret,
    read_block,
    to_mapping,
)
from headish.errors import HeadishError, InvalidContent

OPAQUE = "opaque"
"""The type, in ``meta.app``, of a message that is kept as the serializer's bytes."""
CLASSES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "function": FunctionMessage,
    "chat": ChatMessage,
    "HumanMessageChunk": HumanMessageChunk,
    "AIMessageChunk": AIMessageChunk,
    "SystemMessageChunk": SystemMessageChunk,
    "ToolMessageChunk": ToolMessageChunk,
    "FunctionMessageChunk": FunctionMessageChunk,
    "ChatMessageChunk": ChatMessageChunk,
}

Dump = Callable[[Any], tuple[str, bytes]]
Load = Callable[[tuple[str, bytes]], Any]
Prints: TypeAlias = "array[int]"
"""The fingerprints of a list. An array compares as memory, without a look at a thousand objects."""


def fingerprints(said: Any, dump: Dump) -> Prints | None:
    """Return a number for each message of a list, which differs as soon as anything in the message differs. Valid in
    this process only. None if it is not a list of messages.

    A node may change a message in place, so the identity of the object shows nothing.
    Cost: half a microsecond for each message, or two if it has more than text.
    """
    if type(said) is not list or not said:
        return None
    prints = array("q")
    for each in said:
        shape = _shape_of(each.__class__)
        if shape is None:
            return None
        prints.append(_fingerprint(each, shape, dump))
    return prints


def _fingerprint(message: BaseMessage, shape: _MessageShape, dump: Dump) -> int:
    held = message.__dict__
    try:
        content, id, beside = held["content"], held["id"], shape.beside(held)
    except KeyError:  # ``model_construct`` makes messages without some fields
        return _whole_fingerprint(message, dump)
    if content.__class__ is not str or id.__class__ is not str or len(held) != shape.size or message.__pydantic_extra__:
        return _whole_fingerprint(message, dump)
    # A str caches its hash, so a long text is not read again at each step.
    if beside == shape.blank:
        return hash((content, id, message.__class__))
    try:
        return hash((content, id, marshal.dumps(beside, 0), message.__class__))
    except ValueError:  # marshal takes plain data only
        return hash((dump(message), message.__class__))


def _whole_fingerprint(message: BaseMessage, dump: Dump) -> int:
    held = dict(_held(message))
    content = held.pop("content") if type(held.get("content")) is str else None
    try:
        return hash((content, marshal.dumps(held, 0), message.__class__))
    except ValueError:
        return hash((dump(message), message.__class__))


class _MessageShape(NamedTuple):
    """The fields of a message class: a getter of those beside content and id, their defaults (``blank``), and the
    number of all fields.

    Defaults count only if all are None, texts, or empty lists and mappings, since no two such values are equal by
    accident, as 0 and False are. Otherwise ``blank`` is empty, and no message matches it.
    """

    beside: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    blank: tuple[Any, ...]
    size: int


@lru_cache(maxsize=256)
def _shape_of(kind: type) -> _MessageShape | None:
    """The shape of a class; None if it is not a message class. Cached, because pydantic takes long to answer."""
    if not issubclass(kind, BaseMessage):
        return None
    fields = kind.model_fields
    names = [name for name in fields if name not in ("content", "id")]
    blank = tuple(fields[name].get_default(call_default_factory=True) for name in names)
    plain = all(each is None or type(each) is str or each in ([], {}) for each in blank)
    return _MessageShape(itemgetter(*names), blank if plain else (), len(fields))


def _held(message: BaseMessage) -> Mapping[str, Any]:
    """All fields of a message, extra ones included."""
    extra = message.__pydantic_extra__
    return {**message.__dict__, **extra} if extra else message.__dict__


def make_message_draft(message: BaseMessage, dump: Dump, limit_bytes: int) -> Draft:
    """Make the draft of a message. Raises: TooLarge; what ``dump`` raises."""
    try:
        return make_split_draft(write(message, dump), limit_bytes, moves=False)
    except InvalidContent:  # a turn cannot store it, such as metadata that looks like an API key
        return make_split_draft(write_opaque(message, dump), limit_bytes, moves=False)


def write(message: BaseMessage, dump: Dump) -> Split:
    """Write a message as a turn; ``read`` gives an equal one back. Raises: what ``dump`` raises."""
    try:
        if type(message) is CLASSES.get(message.type):
            parts = split(message.type, _held(message))
            if _comes_back(message, parts):
                return parts
    except (HeadishError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError):
        pass  # it has something that no turn can express
    return write_opaque(message, dump)


def write_opaque(message: BaseMessage, dump: Dump) -> Split:
    """Write a message as the serializer's bytes after its text, so that people can read it and find it."""
    kind, data = dump(message)
    whole = {"type": "provider", "provider": PROVIDER, "data": {"type": kind, "base64": b64encode(data).decode()}}
    return Split(_role_of(message), [*words_of(message), read_block(whole)], {"type": OPAQUE})


def read(blocks: Sequence[ContentBlock], app: Mapping[str, Any], load: Load) -> BaseMessage | None:
    """The message of a turn; None if it is erased. Raises: KeyError, ValueError if no saver wrote the turn."""
    for block in blocks:
        if block.__class__ is Erased:
            return None
    beside = app[APP]
    if beside["type"] == OPAQUE:
        whole = to_mapping(blocks[-1])["data"]
        return cast(BaseMessage, load((whole["type"], b64decode(whole["base64"]))))
    return CLASSES[beside["type"]](**join(blocks, beside))


def is_own(app: Mapping[str, Any]) -> bool:
    """Whether ``read`` can read a turn with this ``meta.app``."""
    kind = app.get(APP, {}).get("type")
    return kind == OPAQUE or kind in CLASSES


def with_ids(said: Sequence[BaseMessage], turn: str) -> list[BaseMessage]:
    """Return messages with ids. One without an id gets that of its turn: reducers tell messages apart by their ids."""
    numbered = enumerate(said)
    return [
        each if each.id else each.model_copy(update={"id": f"{turn}-{at}" if at else turn}) for at, each in numbered
    ]


def _role_of(message: BaseMessage) -> str:
    """The role of a message, by the LangChain class from which its own is derived."""
    kind = next((kind for kind, each in CLASSES.items() if isinstance(message, each)), "human")
    return role_of(kind, _held(message))


def _comes_back(message: BaseMessage, made: Split) -> bool:
    """Whether a message comes back equal from its turn, and the turn may be stored."""
    # By way of JSON, as it will be read: JSON turns tuples into lists, and keys into texts.
    app = msgspec.json.encode({APP: made.beside})
    if len(app) > MAPPING_LIMIT_BYTES or find_secret(made.beside, "$") is not None:
        return False
    again = read(decode_payload(encode_payload(tuple(made.blocks))), msgspec.json.decode(app), _no_bytes)
    return again is not None and _plain(again) == _plain(message)


def _plain(message: BaseMessage) -> tuple[Any, ...]:
    """All fields of a message, comparable with types and the order of keys: True differs from 1 here."""
    return type(message), {name: _typed(each) for name, each in _held(message).items()}


def _typed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [(key, _typed(each)) for key, each in value.items()]
    if isinstance(value, list):
        return [_typed(each) for each in value]
    return value if isinstance(value, str) else (type(value), value)


def _no_bytes(_: tuple[str, bytes]) -> Any:
    raise ValueError("no message is opaque here")
