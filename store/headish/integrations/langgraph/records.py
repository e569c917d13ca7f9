"""What is stored beside the turns: the record of a thread, its checkpoints, their values and the writes of tasks.

All of them are objects. Their keys begin with the thread and the namespace, escaped, so that the objects of one stand
together, and its checkpoints in the order of their ids.
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
"""Checkpoints, and the writes beside them, that ``prune`` took out of sight."""
MESSAGES, DELTA = "messages", "delta-messages"
"""The type of a value that is a list of messages, kept as turns; of a delta channel's snapshot of one."""
PART_LIMIT = 200
"""The longest part of a key, in characters of ASCII."""

_ESCAPE = ESCAPE.encode()
_ODD = re.compile(rb"[^A-Za-z0-9_.:|=+-]")
Typed = tuple[str, bytes]
"""What a serializer makes of a value."""


class ThreadLane(NamedTuple):
    """A namespace of a thread: the beginning of the keys of all that it holds."""

    thread: str
    ns: str

    @property
    def prefix(self) -> str:
        return f"{part(self.thread)}/{part(self.ns)}/"

    def checkpoint(self, id: str) -> str:
        """The key of a checkpoint."""
        return f"{self.prefix}{part(id)}"

    def value(self, channel: str, version: Any, number: int = 1) -> str:
        """The key of a value; ``number`` tells those apart that two writers stored under one version."""
        kind = "" if isinstance(version, str) else f"{type(version).__name__}."
        return f"{self.prefix}{part(channel)}/{kind}{part(str(version))}" + (f"/{number}" if number > 1 else "")

    def writes(self, checkpoint: str, task: str = "") -> str:
        """The key of a task's writes to a checkpoint; without a task the beginning of all of them."""
        return f"{self.checkpoint(checkpoint)}/" + (part(task) if task else "")


def part(text: str) -> str:
    """Text as a part of a key: the same order for what consists of letters, digits and dashes.

    A longer one is its beginning and its hash.
    """
    data = text.encode(errors="surrogatepass")
    escaped = _ODD.sub(lambda found: b"%%%02x" % found[0][0], data).decode()
    if len(escaped) <= PART_LIMIT:
        return escaped or "%"
    return f"{escaped[: PART_LIMIT // 2]}~{blake3(data).hexdigest()[:32]}"


class ThreadObject(Struct, frozen=True, omit_defaults=True):
    """A thread: its id, the bookmark that its messages have, and the threads that share turns with it."""

    id: str
    name: str | None = None
    kin: tuple[str, ...] = ()


class CheckpointObject(Struct, frozen=True, array_like=True):
    """A checkpoint: its channels' versions, and the serializer's bytes of the rest of it and of its metadata.

    ``values`` says which channels have a value, and by which of the numbers of ``ThreadLane.value``; ``delta`` are the
    channels that are rebuilt from what the steps before wrote.
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
        """The version under which the value of a channel stands; one that has none is this checkpoint's alone."""
        return self.versions.get(channel, f"@{self.id}")

    def deltas(self) -> set[str]:
        """The delta channels that hold something."""
        return {channel for channel in self.delta if channel in self.versions}


class MessageList(Struct, frozen=True, array_like=True):
    """A list of messages: the turn of the last one, and how many there are."""

    tip: TurnId
    count: int


class ChannelWrite(Struct, frozen=True, array_like=True):
    """One write of a task. Those of a step are in the order of ``(path, task, index)``."""

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
    """A record, or a serializer's type and bytes, as an object's data."""
    try:
        data = _encode(record)
    except UnicodeEncodeError:
        data = b""
    if data and _ESCAPE not in data:
        return data
    # MessagePack has no half characters, and ids of threads may be any text.
    return _encode(escape(msgspec.to_builtins(record, builtin_types=(bytes,))))


def decode(kind: Any, data: bytes, key: str) -> Any:
    """Raises: CorruptRecord."""
    try:
        if _ESCAPE in data:
            return msgspec.convert(unescape(msgspec.msgpack.decode(data)), kind)
        return _DECODERS[kind](data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecord(f"the object {key!r}", f"it is no record of a LangGraph thread ({error})") from None
