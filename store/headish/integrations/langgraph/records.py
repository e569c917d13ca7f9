"""The objects beside the turns: the record of a thread, its checkpoints, their values and the writes of tasks.

Their keys begin with the thread and the namespace, escaped. So the objects of a namespace are neighbours, and its
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
"""The kind of hidden checkpoints. Their writes stay where they are."""
MESSAGES, DELTA = "messages", "delta-messages"
"""The types of a value that is kept as turns: a list of messages, and a delta channel's snapshot of one."""
PART_LIMIT = 200
"""The longest part of a key, in ASCII characters."""

_ESCAPE = ESCAPE.encode()
_ODD = re.compile(rb"[^A-Za-z0-9_.:|=+-]")
Typed = tuple[str, bytes]
"""A serializer's output: the type of the value, and its bytes."""


class ThreadLane(NamedTuple):
    """A namespace of a thread; it makes the keys of all its objects."""

    thread: str
    ns: str

    @property
    def prefix(self) -> str:
        return f"{part(self.thread)}/{part(self.ns)}/"

    def checkpoint(self, id: str) -> str:
        """The key of a checkpoint."""
        return f"{self.prefix}{part(id)}"

    def value(self, channel: str, version: Any, number: int = 1) -> str:
        """The key of a value; ``number`` distinguishes values that two writers stored under one version."""
        # Versions may be integers or texts: 1 and "1" are two versions.
        kind = "" if isinstance(version, str) else f"{type(version).__name__}."
        return f"{self.prefix}{part(channel)}/{kind}{part(str(version))}" + (f"/{number}" if number > 1 else "")

    def writes(self, checkpoint: str, task: str = "") -> str:
        """The key of a task's writes to a checkpoint; without a task, the common prefix of these keys."""
        return f"{self.checkpoint(checkpoint)}/" + (part(task) if task else "")


def part(text: str) -> str:
    """Make a part of a key of a text. Texts of letters, digits and dashes keep their order. A long one is cut, and
    followed by its hash."""
    data = text.encode(errors="surrogatepass")
    escaped = _ODD.sub(lambda found: b"%%%02x" % found[0][0], data).decode()
    if len(escaped) <= PART_LIMIT:
        return escaped or "%"
    return f"{escaped[: PART_LIMIT // 2]}~{blake3(data).hexdigest()[:32]}"


class ThreadObject(Struct, frozen=True, omit_defaults=True):
    """A thread: its id, the bookmark of its messages, and the threads that share turns with it (``kin``)."""

    id: str
    name: str | None = None
    kin: tuple[str, ...] = ()


class CheckpointObject(Struct, frozen=True, array_like=True):
    """A checkpoint: its channels' versions, and the serializer's bytes of its metadata and of everything else.

    ``values`` has the channels with a value, each with the value's number (``ThreadLane.value``). ``delta`` are the
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
        """The version under which the value of a channel is stored. A value without a version belongs to this
        checkpoint alone, so its id takes the place."""
        return self.versions.get(channel, f"@{self.id}")

    def deltas(self) -> set[str]:
        """The delta channels that have been written."""
        return {channel for channel in self.delta if channel in self.versions}


class MessageList(Struct, frozen=True, array_like=True):
    """A list of messages: the turn of the last one, and their count."""

    tip: TurnId
    count: int


class ChannelWrite(Struct, frozen=True, array_like=True):
    """One write of a task. A step applies its writes in the order of ``(path, task, index)``."""

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
    """Encode a record, or a serializer's type and bytes, as the data of an object."""
    try:
        data = _encode(record)
    except UnicodeEncodeError:
        data = b""
    if data and _ESCAPE not in data:
        return data
    # MessagePack has no lone surrogates, and ids of threads may be any text. Texts with the mark are escaped, too.
    return _encode(escape(msgspec.to_builtins(record, builtin_types=(bytes,))))


def decode(kind: Any, data: bytes, key: str) -> Any:
    """Decode the data of an object. Raises: CorruptRecord."""
    try:
        if _ESCAPE in data:
            return msgspec.convert(unescape(msgspec.msgpack.decode(data)), kind)
        return _DECODERS[kind](data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorruptRecord(f"the object {key!r}", f"it is not a record of a LangGraph thread ({error})") from None
