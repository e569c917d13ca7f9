"""The objects beside the turns: the record of a thread, its checkpoints, their values and the writes of tasks.

Their keys begin with the thread and the namespace, escaped. So the objects of one namespace are neighbours, and its
checkpoints are in the order of their ids.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from msgspec import Struct

from headish.adapters.healing import ESCAPE, escape, unescape
from headish.adapters.messages import TurnId
from headish.errors import CorruptRecord

THREAD, CHECKPOINT, VALUE, WRITES = (
    "langgraph/thread", "langgraph/checkpoint", "langgraph/value", "langgraph/writes",
)  # fmt: skip
PRUNED = "langgraph/pruned"
"""Checkpoints that were hidden, as by ``prune``. Their writes stay under ``WRITES``."""
MESSAGES, DELTA = "messages", "delta-messages"
"""The types of values that are kept as turns: a list of messages, and a delta channel's snapshot of one."""
PART_LIMIT = 200
"""The longest part of a key, in characters of ASCII."""

_ESCAPE = ESCAPE.encode()
_ODD = re.compile(rb"[^A-Za-z0-9_.:|=+-]")
Typed = tuple[str, bytes]
"""A serialized value: the serializer's name for its type, and the bytes."""


class ThreadLane(NamedTuple):
    """A namespace of a thread, and the keys of its objects."""

    thread: str
    ns: str

    @property
    def prefix(self) -> str:
        return f"{part(self.thread)}/{part(self.ns)}/"

    def checkpoint(self, id: str) -> str:
        """The key of a checkpoint."""
        return f"{self.prefix}{part(id)}"

    def value(self, channel: str, version: Any, number: int = 1) -> str:
        """The key of a value. ``number`` distinguishes different values that writers stored under one version."""
        kind = "" if isinstance(version, str) else f"{type(version).__name__}."
        return f"{self.prefix}{part(channel)}/{kind}{part(str(version))}" + (f"/{number}" if number > 1 else "")

    def writes(self, checkpoint: str, task: str = "") -> str:
        """The key of a task's writes to a checkpoint; without a task, the prefix of the keys of all tasks."""
        return f"{self.checkpoint(checkpoint)}/" + (part(task) if task else "")


def part(text: str) -> str:
    """Escape text as a part of a key. The order stays the same for texts of letters, digits and dashes.

    A text that is too long is cut and followed by its hash.
    """
    data = text.encode(errors="surrogatepass")
    escaped = _ODD.sub(lambda found: b"%%%02x" % found[0][0], data).decode()
    if len(escaped) <= PART_LIMIT:
        return escaped or "%"
    return f"{escaped[: PART_LIMIT // 2]}~{blake3(data).hexdigest()[:32]}"


class ThreadObject(Struct, frozen=True, omit_defaults=True):
    """The record of a thread: its id, the bookmark of its messages, and the threads that share turns with it."""

    id: str
    name: str | None = None
    kin: tuple[str, ...] = ()


class CheckpointObject(Struct, frozen=True, array_like=True):
    """A checkpoint: the versions of its channels, and the serialized rest of it and of its metadata.

    ``values`` maps each channel with a value to the number in the value's key (``ThreadLane.value``). ``delta`` are the
    channels that are rebuilt from the writes of earlier steps.
    """

    thread: str
    ns: str
    id: str
    parent: str | None
    versions: dict[str, Any]
    values: dict[str, int]
    body: Typed
    metadata: Typed
    delta: tuple[str, ...] = ()

    def version(self, channel: str) -> Any:
        """The version in the key of a channel's value. A channel without one gets one of this checkpoint alone."""
        return self.versions.get(channel, f"@{self.id}")

    def deltas(self) -> set[str]:
        """The delta channels that are not empty."""
        return {channel for channel in self.delta if channel in self.versions}


class MessageList(Struct, frozen=True, array_like=True):
    """A list of messages: the turn of the last one, and the number of messages."""

    tip: TurnId
    count: int


class ChannelWrite(Struct, frozen=True, array_like=True):
    """One write of a task. A step applies writes in the order of ``(path, task, index)``."""

    index: int
    channel: str
    value: Typed
    path: str


class TaskWrites(Struct, frozen=True, array_like=True):
    """The writes of one task to one checkpoint."""

    task: str
    writes: tuple[ChannelWrite, ...]


_encode = msgspec.msgpack.Encoder().encode
_STORED: tuple[Any, ...] = (ThreadObject, CheckpointObject, MessageList, TaskWrites, Typed)
_DECODERS: dict[Any, Any] = {kind: msgspec.msgpack.Decoder(kind).decode for kind in _STORED}


def encode(record: Any) -> bytes:
    """Encode a record, or a serialized value, as the data of an object."""
    try:
        data = _encode(record)
    except UnicodeEncodeError:
        data = b""
    if data and _ESCAPE not in data:
        return data
    # MessagePack has no lone surrogates, but ids of threads may be any text.
    return _encode(escape(msgspec.to_builtins(record, builtin_types=(bytes,))))


def decode(kind: Any, data: bytes, key: str) -> Any:
    """Decode the data of an object. Raises: CorruptRecord."""
    try:
        if _ESCAPE in data:
            return msgspec.convert(unescape(msgspec.msgpack.decode(data)), kind)
        return _DECODERS[kind](data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecord(f"the object {key!r}", f"it is no record of a LangGraph thread ({error})") from None
