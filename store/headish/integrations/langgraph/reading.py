"""Reading a thread: a Connection in, checkpoints with their values and writes out."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    writes_sort_key,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from headish.content.encoding import decode_payload, decode_payloads
from headish.content.hashes import hash_payload
from headish.database.query import Connection, Row
from headish.errors import CorruptRecord, CorruptTurn, InvalidContent
from headish.history.reading.decode import decode_mapping
from headish.history.reading.order import arrange
from headish.integrations.langgraph import messages, records
from headish.integrations.langgraph.known import KnownList
from headish.integrations.langgraph.records import Checkpoint, Lane, Thread, Turns, Typed, Writes
from headish.rows.bookmarks import ALL
from headish.rows.objects import find_object, list_objects, list_objects_backwards
from headish.rows.threads.ranges import SpokenTurn, said_range
from headish.rows.threads.walks import read_links
from headish.rows.turns import turn_by_id
from headish.values.blocks import ContentBlock
from headish.values.places import Segment

PAGE = 64
"""How many checkpoints a list reads at once."""


class Serde(NamedTuple):
    """A saver's serializer. ``is_own`` if messages may be kept as turns: another one sees every value whole."""

    dump: Callable[[Any], Typed]
    load: Callable[[Typed], Any]
    is_own: bool


class Loaded(NamedTuple):
    """A checkpoint with its values; ``lists`` are those of messages, ``(channel, key, list)``."""

    tuple: CheckpointTuple
    record: Checkpoint
    lists: list[tuple[str, str, KnownList]]


def find_thread(connection: Connection, space: int, thread: str) -> tuple[Thread, int] | None:
    """The record of a thread, and its revision."""
    row = find_object(connection, space, records.THREAD, thread_key(thread))
    return None if row is None else (records.decode(Thread, row[3], thread), row[2])


def thread_key(thread: str) -> bytes:
    return records.part(thread).encode()


def find_checkpoint(connection: Connection, space: int, lane: Lane, id: str | None) -> Checkpoint | None:
    """The checkpoint with an id; without one that with the greatest."""
    if id is not None:
        row = find_object(connection, space, records.CHECKPOINT, lane.checkpoint(id).encode())
        return None if row is None else _checkpoint(row)
    prefix = lane.prefix.encode()
    rows = list_objects_backwards(connection, space, records.CHECKPOINT, prefix=prefix, before=None, limit=1)
    return _checkpoint(rows[0]) if rows else None


def list_checkpoints(
    connection: Connection, space: int, prefix: str, before: bytes | None, limit: int
) -> list[tuple[bytes, Checkpoint]]:
    """The checkpoints whose keys begin so, the last first, with their keys; those before a key."""
    rows = list_objects_backwards(
        connection, space, records.CHECKPOINT, prefix=prefix.encode(), before=before, limit=limit
    )
    return [(bytes(row[1]), _checkpoint(row)) for row in rows]


def load_checkpoint(
    connection: Connection, space: int, record: Checkpoint, serde: Serde, config: RunnableConfig | None = None
) -> Loaded:
    """A checkpoint with its values and writes. ``config`` is what it was asked for by, where that has its id."""
    lane = Lane(record.thread, record.ns)
    values: dict[str, Any] = {}
    lists: list[tuple[str, str, KnownList]] = []
    for channel, number in record.values.items():
        key = lane.value(channel, record.version(channel), number)
        values[channel], known = load_value(connection, space, key, serde)
        if known is not None:
            lists.append((channel, key, known))
    checkpoint = {**serde.load(record.body), "channel_versions": record.versions, "channel_values": values}
    found = CheckpointTuple(
        config or config_of(record.thread, record.ns, record.id),
        cast(Any, checkpoint),
        serde.load(record.metadata),
        config_of(record.thread, record.ns, record.parent) if record.parent else None,
        load_writes(connection, space, lane, record.id, serde),
    )
    return Loaded(found, record, lists)


def load_value(connection: Connection, space: int, key: str, serde: Serde) -> tuple[Any, KnownList | None]:
    """A value; of a list of messages what a put compares the next one with, unless a message of it was erased.

    Raises: CorruptRecord, CorruptTurn.
    """
    typed = find_value(connection, space, key)
    turns = turns_of(typed, key)
    if turns is None:
        return serde.load(typed), None
    said = read_messages(connection, space, turns, serde)
    found = [message for message in said if message is not None]
    prints = messages.fingerprints(found, serde.dump) if len(found) == len(said) else None
    known = None if prints is None else KnownList(prints, turns.tip)
    return (_DeltaSnapshot(found) if typed[0] == records.DELTA else found), known


def find_value(connection: Connection, space: int, key: str) -> Typed:
    """A value as it is stored. Raises: CorruptRecord where it is missing."""
    row = find_object(connection, space, records.VALUE, key.encode())
    if row is None:
        raise CorruptRecord(f"the object {key!r}", "a checkpoint has this value, and it is missing")
    return cast(Typed, records.decode(Typed, row[3], key))


def turns_of(typed: Typed, key: str) -> Turns | None:
    """The turns of a value that is a list of messages."""
    if typed[0] not in (records.MESSAGES, records.DELTA):
        return None
    return cast(Turns, records.decode(Turns, typed[1], key))


def read_messages(connection: Connection, space: int, turns: Turns, serde: Serde) -> list[Any]:
    """The messages of a list; None in the place of one that was erased.

    Cost: three statements, and one for each chain. Raises: CorruptTurn.
    """
    stored = turn_by_id(connection, space, turns.tip)
    if stored is None:
        raise CorruptTurn(turns.tip, "a list of messages ends with it, and it is missing")
    found: list[Any] = []
    for chain, low, high in arrange([stored.place], read_links(connection, space, stored.place)):
        turns_said = said_range(connection, space, Segment(chain, low, high))
        if len(turns_said) != high - low + 1:
            raise CorruptTurn(f"{chain}/{high}", "it or one before it in its chain is missing")
        found += _messages(turns_said, serde)
    if len(found) != turns.count:
        raise CorruptTurn(turns.tip, f"{len(found)} messages lead to it, and not the {turns.count} of its list")
    return found


def _messages(turns: Sequence[SpokenTurn], serde: Serde) -> list[Any]:
    payloads = [_payload(turn) for turn in turns]
    together = decode_payloads([each for each in payloads if each is not None])
    blocks = None if together is None else iter(together)
    return [
        None if payload is None else _message(turn, payload, None if blocks is None else next(blocks), serde)
        for turn, payload in zip(turns, payloads, strict=True)
    ]


def _payload(turn: SpokenTurn) -> bytes | None:
    """What a turn says, None where it was erased. Raises: CorruptTurn."""
    if turn.erased is not None:
        return None
    if turn.payload is None or hash_payload(turn.payload) != turn.hash:
        raise CorruptTurn(turn.id, "its payload disagrees with its hash, or is missing")
    return turn.payload


def _message(turn: SpokenTurn, payload: bytes, blocks: tuple[ContentBlock, ...] | None, serde: Serde) -> Any:
    try:
        app = {} if turn.app is None else decode_mapping(turn.app, turn.id, "app")
        return messages.read(decode_payload(payload) if blocks is None else blocks, app, serde.load)
    except (InvalidContent, LookupError, TypeError, ValueError) as error:
        raise CorruptTurn(turn.id, f"it is no message of LangChain ({error})") from None


def load_writes(connection: Connection, space: int, lane: Lane, id: str, serde: Serde) -> list[PendingWrite]:
    """The writes to a checkpoint, in the order in which a step applies them."""
    return [(task, write.channel, serde.load(write.value)) for task, write in read_writes(connection, space, lane, id)]


def read_writes(connection: Connection, space: int, lane: Lane, id: str) -> list[tuple[str, records.Write]]:
    """The same as they are stored, each with its task."""
    prefix = lane.writes(id).encode()
    rows = list_objects(connection, space, records.WRITES, prefix=prefix, after=b"", limit=ALL)
    tasks = [cast(Writes, records.decode(Writes, row[3], str(row[1]))) for row in rows]
    found = [(each.task, write) for each in tasks for write in each.writes]
    return sorted(found, key=lambda each: writes_sort_key(each[1].path, each[0], each[1].index))


def read_delta_history(
    connection: Connection, space: int, record: Checkpoint, channels: Sequence[str], serde: Serde
) -> Mapping[str, DeltaChannelHistory]:
    """What the ancestors of a checkpoint wrote to channels, back to the nearest that has a value of each.

    Cost: two statements for each ancestor.
    """
    writes: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
    seeds: dict[str, Any] = {}
    for ancestor in walk_parents(connection, space, record):
        lane, waiting = Lane(ancestor.thread, ancestor.ns), writes.keys() - seeds.keys()
        for task, write in reversed(read_writes(connection, space, lane, ancestor.id)):
            if write.channel in waiting:
                writes[write.channel].append((task, write.channel, serde.load(write.value)))
        for channel in waiting & ancestor.values.keys():
            key = lane.value(channel, ancestor.version(channel), ancestor.values[channel])
            seeds[channel] = load_value(connection, space, key, serde)[0]
        if len(seeds) == len(writes):
            break
    return {
        channel: cast(
            DeltaChannelHistory,
            {"writes": writes[channel][::-1]} | ({"seed": seeds[channel]} if channel in seeds else {}),
        )
        for channel in channels
    }


def walk_parents(connection: Connection, space: int, record: Checkpoint) -> Iterator[Checkpoint]:
    """The checkpoints before one, the nearest first, also those that were pruned."""
    lane, seen = Lane(record.thread, record.ns), {record.id}
    parent = record.parent
    while parent is not None and parent not in seen:
        seen.add(parent)  # damage must not lead in a circle
        found = find_any(connection, space, lane, parent)
        if found is None:
            return
        yield found
        parent = found.parent


def find_any(connection: Connection, space: int, lane: Lane, id: str) -> Checkpoint | None:
    """The checkpoint with an id, also one that was pruned."""
    key = lane.checkpoint(id).encode()
    for kind in (records.CHECKPOINT, records.PRUNED):
        row = find_object(connection, space, kind, key)
        if row is not None:
            return _checkpoint(row)
    return None


def matches(record: Checkpoint, filter: Mapping[str, Any] | None, serde: Serde) -> bool:
    """Whether the metadata of a checkpoint says what is asked for."""
    if not filter:
        return True
    metadata = serde.load(record.metadata)
    return all(metadata.get(name) == value for name, value in filter.items())


def configured(config: RunnableConfig) -> Mapping[str, Any]:
    """What a config says of threads and checkpoints."""
    return config.get("configurable", {})


def config_of(thread: str, ns: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}


def _checkpoint(row: Row) -> Checkpoint:
    return cast(Checkpoint, records.decode(Checkpoint, row[3], str(row[1])))
