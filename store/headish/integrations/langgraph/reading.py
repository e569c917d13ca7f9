"""Read a thread inside a transaction: its checkpoints with their values and writes."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory, PendingWrite, writes_sort_key
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from headish import Object, ReadTransaction
from headish.adapters.messages import (
    ContentBlock,
    SpokenTurn,
    decode_json,
    decode_payload,
    decode_payloads,
    is_plain,
    message_of,
)
from headish.errors import CorruptRecord, CorruptTurn, InvalidContent, UnknownTurn
from headish.integrations.langchain.messages import messages_of
from headish.integrations.langgraph import messages, records
from headish.integrations.langgraph.records import (
    CheckpointObject,
    MessageList,
    TaskWrites,
    ThreadLane,
    ThreadObject,
    Typed,
)
from headish.integrations.langgraph.thread_memory import KnownList

PAGE = 64
"""The number of checkpoints that a list reads at once."""


class SaverSerde(NamedTuple):
    """A saver's serializer. ``is_own``: it is LangGraph's default, so messages may be kept as turns. Another one may be
    there to encrypt, so it gets every value whole."""

    dump: Callable[[Any], Typed]
    load: Callable[[Typed], Any]
    is_own: bool


class LoadedCheckpoint(NamedTuple):
    """A checkpoint with its values. ``lists`` are its lists of messages, as ``(channel, key, list)``."""

    tuple: CheckpointTuple
    record: CheckpointObject
    lists: list[tuple[str, str, KnownList]]


def find_thread(read: ReadTransaction, thread: str) -> tuple[ThreadObject, int] | None:
    """The record of a thread with its revision; None if there is none."""
    found = read.object(records.THREAD, records.part(thread))
    return None if found is None else (records.decode(ThreadObject, found.data, thread), found.revision)


def find_checkpoint(read: ReadTransaction, lane: ThreadLane, id: str | None) -> CheckpointObject | None:
    """The checkpoint with an id; without ``id``, the one with the greatest."""
    if id is not None:
        row = read.object(records.CHECKPOINT, lane.checkpoint(id))
        return None if row is None else checkpoint_of(row)
    last = read.objects(records.CHECKPOINT, lane.prefix, backwards=True, limit=1)
    return checkpoint_of(last[0]) if last else None


def list_checkpoints(
    read: ReadTransaction, prefix: str, before: str | None, limit: int
) -> list[tuple[str, CheckpointObject]]:
    """The checkpoints whose keys have this prefix and are before ``before``, the last first, with their keys."""
    rows = read.objects(records.CHECKPOINT, prefix, before=before, backwards=True, limit=limit)
    return [(each.key, checkpoint_of(each)) for each in rows]


def load_checkpoint(
    read: ReadTransaction, record: CheckpointObject, serde: SaverSerde, config: RunnableConfig | None = None
) -> LoadedCheckpoint:
    """A checkpoint with its values and writes. ``config`` is the caller's, if that has the checkpoint's id."""
    lane = ThreadLane(record.thread, record.ns)
    values: dict[str, Any] = {}
    lists: list[tuple[str, str, KnownList]] = []
    for channel, number in record.values.items():
        key = lane.value(channel, record.version(channel), number)
        values[channel], known = load_value(read, key, serde)
        if known is not None:
            lists.append((channel, key, known))
    checkpoint = {**serde.load(record.body), "channel_versions": record.versions, "channel_values": values}
    loaded = CheckpointTuple(
        config or config_of(record.thread, record.ns, record.id),
        cast(Any, checkpoint),
        serde.load(record.metadata),
        config_of(record.thread, record.ns, record.parent) if record.parent else None,
        load_writes(read, lane, record.id, serde),
    )
    return LoadedCheckpoint(loaded, record, lists)


def load_value(read: ReadTransaction, key: str, serde: SaverSerde) -> tuple[Any, KnownList | None]:
    """Return a value, and for a list of messages without erased ones the list with which a put compares the next one.

    Raises: CorruptRecord, CorruptTurn.
    """
    typed = find_value(read, key)
    turns = turns_of(typed, key)
    if turns is None:
        return serde.load(typed), None
    listed = read_messages(read, turns, serde)
    present = [message for message in listed if message is not None]
    # With an erased message in it, places in this list and in the thread no longer agree.
    prints = messages.fingerprints(present, serde.dump) if len(present) == len(listed) else None
    known = None if prints is None else KnownList(prints, turns.tip)
    return (_DeltaSnapshot(present) if typed[0] == records.DELTA else present), known


def find_value(read: ReadTransaction, key: str) -> Typed:
    """A value in stored form. Raises: CorruptRecord if it is missing."""
    row = read.object(records.VALUE, key)
    if row is None:
        raise CorruptRecord(f"the object {key!r}", "a checkpoint has this value, and it is missing")
    return cast(Typed, records.decode(Typed, row.data, key))


def turns_of(typed: Typed, key: str) -> MessageList | None:
    """The turns of a value that is a list of messages; None for any other value."""
    if typed[0] not in (records.MESSAGES, records.DELTA):
        return None
    return cast(MessageList, records.decode(MessageList, typed[1], key))


def read_messages(read: ReadTransaction, turns: MessageList, serde: SaverSerde) -> list[Any]:
    """The messages of a list, with None in place of erased ones.

    Cost: three statements, and one for each chain. Raises: CorruptTurn.
    """
    try:
        turns_read = read.thread(turns.tip)
    except UnknownTurn:
        raise CorruptTurn(turns.tip, "a list of messages ends with it, and it is missing") from None
    if len(turns_read) != turns.count:
        raise CorruptTurn(turns.tip, f"{len(turns_read)} messages lead to it, and not the {turns.count} of its list")
    return _messages(turns_read, serde)


def _messages(turns: Sequence[SpokenTurn], serde: SaverSerde) -> list[Any]:
    # One decoding for all. If it fails, each payload is decoded by itself below, which names the damaged turn.
    decoded = decode_payloads([each.payload for each in turns if each.payload is not None])
    blocks = None if decoded is None else iter(decoded)
    return [
        None if turn.payload is None else _message(turn, turn.payload, None if blocks is None else next(blocks), serde)
        for turn in turns
    ]


def _message(turn: SpokenTurn, payload: bytes, blocks: tuple[ContentBlock, ...] | None, serde: SaverSerde) -> Any:
    try:
        app = decode_json(turn.app)
        if not messages.is_own(app):
            [message] = messages_of_another(turn)
            return message
        return messages.read(decode_payload(payload) if blocks is None else blocks, app, serde.load)
    except (InvalidContent, LookupError, TypeError, ValueError) as error:
        raise CorruptTurn(turn.id, f"it is not a message of LangChain ({error})") from None


def messages_of_another(turn: SpokenTurn) -> list[BaseMessage]:
    """The messages of a turn that no saver stored. Each has an id, the same at each reading.

    Raises: CorruptTurn.
    """
    return messages.with_ids(messages_of(message_of(turn), turn.app), turn.id)


def begin_with(read: ReadTransaction, headish: str, serde: SaverSerde) -> tuple[list[BaseMessage], KnownList | None]:
    """Return the messages of a thread of headish, and the list with which a put compares the next one. That is None if
    a put cannot continue these turns: an overlay changes them, or one is erased or is not exactly one message.

    Raises: UnknownTurn, Ambiguous, InvalidHeadish, CorruptTurn.
    """
    tip = read.turn(headish)
    turns = read.thread(tip)
    if not is_plain(turns) or any(each.type is not None for each in turns):
        seen = (messages.with_ids(messages_of(kept, None), kept.message.turn or tip) for kept in read.window(tip))
        return [message for per_turn in seen for message in per_turn], None
    per_turn = [messages_of_turn(turn, serde) for turn in turns]
    flat = [message for each in per_turn for message in each]
    prints = messages.fingerprints(flat, serde.dump) if all(len(each) == 1 for each in per_turn) else None
    return flat, None if prints is None else KnownList(prints, tip)


def messages_of_turn(turn: SpokenTurn, serde: SaverSerde) -> list[BaseMessage]:
    """The messages of any turn. Raises: CorruptTurn."""
    if turn.payload is None:
        return []
    if not messages.is_own(decode_json(turn.app)):
        return messages_of_another(turn)
    message = _message(turn, turn.payload, None, serde)
    return [] if message is None else [message]


def load_writes(read: ReadTransaction, lane: ThreadLane, id: str, serde: SaverSerde) -> list[PendingWrite]:
    """The writes to a checkpoint, in the order in which a step applies them, decoded."""
    return [(task, write.channel, serde.load(write.value)) for task, write in read_writes(read, lane, id)]


def read_writes(read: ReadTransaction, lane: ThreadLane, id: str) -> list[tuple[str, records.ChannelWrite]]:
    """``load_writes`` in stored form, each write with its task."""
    rows = read.objects(records.WRITES, lane.writes(id))
    tasks = [cast(TaskWrites, records.decode(TaskWrites, each.data, each.key)) for each in rows]
    writes = [(each.task, write) for each in tasks for write in each.writes]
    return sorted(writes, key=lambda each: writes_sort_key(each[1].path, each[0], each[1].index))


def read_delta_history(
    read: ReadTransaction, record: CheckpointObject, channels: Sequence[str], serde: SaverSerde
) -> Mapping[str, DeltaChannelHistory]:
    """The writes of a checkpoint's ancestors to channels, back to the nearest ancestor with a value of each.

    Cost: two statements for each ancestor.
    """
    writes: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
    seeds: dict[str, Any] = {}
    for ancestor in walk_parents(read, record):
        lane, waiting = ThreadLane(ancestor.thread, ancestor.ns), writes.keys() - seeds.keys()
        for task, write in reversed(read_writes(read, lane, ancestor.id)):
            if write.channel in waiting:
                writes[write.channel].append((task, write.channel, serde.load(write.value)))
        for channel in waiting & ancestor.values.keys():
            key = lane.value(channel, ancestor.version(channel), ancestor.values[channel])
            seeds[channel] = load_value(read, key, serde)[0]
        if len(seeds) == len(writes):
            break
    return {
        channel: cast(
            DeltaChannelHistory,
            {"writes": writes[channel][::-1]} | ({"seed": seeds[channel]} if channel in seeds else {}),
        )
        for channel in channels
    }


def walk_parents(read: ReadTransaction, record: CheckpointObject) -> Iterator[CheckpointObject]:
    """The ancestors of a checkpoint, the nearest first, pruned ones included."""
    lane, seen = ThreadLane(record.thread, record.ns), {record.id}
    parent = record.parent
    while parent is not None and parent not in seen:
        seen.add(parent)  # damage must not lead in a circle
        ancestor = find_any(read, lane, parent)
        if ancestor is None:
            return
        yield ancestor
        parent = ancestor.parent


def find_any(read: ReadTransaction, lane: ThreadLane, id: str) -> CheckpointObject | None:
    """The checkpoint with an id, even if it was pruned."""
    key = lane.checkpoint(id)
    for kind in (records.CHECKPOINT, records.PRUNED):
        row = read.object(kind, key)
        if row is not None:
            return checkpoint_of(row)
    return None


def matches(record: CheckpointObject, filter: Mapping[str, Any] | None, serde: SaverSerde) -> bool:
    """Whether the metadata of a checkpoint has the values of a filter."""
    if not filter:
        return True
    metadata = serde.load(record.metadata)
    return all(metadata.get(name) == value for name, value in filter.items())


def configured(config: RunnableConfig) -> Mapping[str, Any]:
    """The part of a config that names thread, namespace and checkpoint."""
    return config.get("configurable", {})


def config_of(thread: str, ns: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}


def checkpoint_of(found: Object) -> CheckpointObject:
    """Decode the checkpoint of an object. Raises: CorruptRecord."""
    return cast(CheckpointObject, records.decode(CheckpointObject, found.data, found.key))
