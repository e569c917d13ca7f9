"""Read a thread inside a transaction: checkpoints with their values and writes."""

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
"""How many checkpoints a list reads at once."""


class SaverSerde(NamedTuple):
    """A saver's serializer. ``is_own`` is set for LangGraph's default: only then messages are kept as turns, because
    another serializer gets every value whole."""

    dump: Callable[[Any], Typed]
    load: Callable[[Typed], Any]
    is_own: bool


class LoadedCheckpoint(NamedTuple):
    """A checkpoint with its values. ``lists`` are its lists of messages, as ``(channel, key, list)``."""

    tuple: CheckpointTuple
    record: CheckpointObject
    lists: list[tuple[str, str, KnownList]]


def find_thread(read: ReadTransaction, thread: str) -> tuple[ThreadObject, int] | None:
    """The record of a thread, and its revision; None if there is none."""
    found = read.object(records.THREAD, records.part(thread))
    return None if found is None else (records.decode(ThreadObject, found.data, thread), found.revision)


def find_checkpoint(read: ReadTransaction, lane: ThreadLane, id: str | None) -> CheckpointObject | None:
    """The checkpoint with an id, or without ``id`` the one with the greatest; None if there is none."""
    if id is not None:
        found = read.object(records.CHECKPOINT, lane.checkpoint(id))
        return None if found is None else checkpoint_of(found)
    last = read.objects(records.CHECKPOINT, lane.prefix, backwards=True, limit=1)
    return checkpoint_of(last[0]) if last else None


def list_checkpoints(
    read: ReadTransaction, prefix: str, before: str | None, limit: int
) -> list[tuple[str, CheckpointObject]]:
    """The checkpoints whose keys begin with ``prefix`` and are below ``before``, each after its key, the greatest key
    first."""
    found = read.objects(records.CHECKPOINT, prefix, before=before, backwards=True, limit=limit)
    return [(each.key, checkpoint_of(each)) for each in found]


def load_checkpoint(
    read: ReadTransaction, record: CheckpointObject, serde: SaverSerde, config: RunnableConfig | None = None
) -> LoadedCheckpoint:
    """Load a checkpoint with its values and writes. ``config`` is the caller's, if it names this checkpoint."""
    lane = ThreadLane(record.thread, record.ns)
    values: dict[str, Any] = {}
    lists: list[tuple[str, str, KnownList]] = []
    for channel, number in record.values.items():
        key = lane.value(channel, record.version(channel), number)
        values[channel], known = load_value(read, key, serde)
        if known is not None:
            lists.append((channel, key, known))
    checkpoint = {**serde.load(record.body), "channel_versions": record.versions, "channel_values": values}
    found = CheckpointTuple(
        config or config_of(record.thread, record.ns, record.id),
        cast(Any, checkpoint),
        serde.load(record.metadata),
        config_of(record.thread, record.ns, record.parent) if record.parent else None,
        load_writes(read, lane, record.id, serde),
    )
    return LoadedCheckpoint(found, record, lists)


def load_value(read: ReadTransaction, key: str, serde: SaverSerde) -> tuple[Any, KnownList | None]:
    """Load a value. For a list of messages, also returns what a put compares the next list with, unless one of its
    messages was erased.

    Raises: CorruptRecord, CorruptTurn.
    """
    typed = find_value(read, key)
    turns = turns_of(typed, key)
    if turns is None:
        return serde.load(typed), None
    said = read_messages(read, turns, serde)
    found = [message for message in said if message is not None]
    # With an erased message in it, places in this list and in the thread no longer agree.
    prints = messages.fingerprints(found, serde.dump) if len(found) == len(said) else None
    known = None if prints is None else KnownList(prints, turns.tip)
    return (_DeltaSnapshot(found) if typed[0] == records.DELTA else found), known


def find_value(read: ReadTransaction, key: str) -> Typed:
    """A value as it is stored. Raises: CorruptRecord if it is missing."""
    found = read.object(records.VALUE, key)
    if found is None:
        raise CorruptRecord(f"the object {key!r}", "a checkpoint has this value, and it is missing")
    return cast(Typed, records.decode(Typed, found.data, key))


def turns_of(typed: Typed, key: str) -> MessageList | None:
    """The turns of a value that is a list of messages; None for any other value. Raises: CorruptRecord."""
    if typed[0] not in (records.MESSAGES, records.DELTA):
        return None
    return cast(MessageList, records.decode(MessageList, typed[1], key))


def read_messages(read: ReadTransaction, turns: MessageList, serde: SaverSerde) -> list[Any]:
    """The messages of a list; None in the place of an erased one.

    Cost: three statements, and one for each chain. Raises: CorruptTurn.
    """
    try:
        said = read.thread(turns.tip)
    except UnknownTurn:
        raise CorruptTurn(turns.tip, "a list of messages ends with it, and it is missing") from None
    if len(said) != turns.count:
        raise CorruptTurn(turns.tip, f"{len(said)} messages lead to it, and not the {turns.count} of its list")
    return _messages(said, serde)


def _messages(turns: Sequence[SpokenTurn], serde: SaverSerde) -> list[Any]:
    together = decode_payloads([each.payload for each in turns if each.payload is not None])
    blocks = None if together is None else iter(together)
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
        raise CorruptTurn(turn.id, f"it is no message of LangChain ({error})") from None


def messages_of_another(turn: SpokenTurn) -> list[BaseMessage]:
    """The messages of a turn that no saver stored. Each has an id, which is the same at each read.

    Raises: CorruptTurn.
    """
    return messages.with_ids(messages_of(message_of(turn), turn.app), turn.id)


def begin_with(read: ReadTransaction, headish: str, serde: SaverSerde) -> tuple[list[BaseMessage], KnownList | None]:
    """The messages of a thread of headish, and the list that a put compares the next one with.

    The list is None if a put cannot continue these turns: an overlay changes them, one was erased, or one is not
    exactly one message.
    Raises: UnknownTurn, Ambiguous, InvalidHeadish, CorruptTurn.
    """
    tip = read.turn(headish)
    turns = read.thread(tip)
    if not is_plain(turns) or any(each.type is not None for each in turns):
        seen = (messages.with_ids(messages_of(kept, None), kept.message.turn or tip) for kept in read.window(tip))
        return [message for said in seen for message in said], None
    said = [messages_of_turn(turn, serde) for turn in turns]
    found = [message for each in said for message in each]
    prints = messages.fingerprints(found, serde.dump) if all(len(each) == 1 for each in said) else None
    return found, None if prints is None else KnownList(prints, tip)


def messages_of_turn(turn: SpokenTurn, serde: SaverSerde) -> list[BaseMessage]:
    """The messages of any turn; empty if it was erased. Raises: CorruptTurn."""
    if turn.payload is None:
        return []
    if not messages.is_own(decode_json(turn.app)):
        return messages_of_another(turn)
    found = _message(turn, turn.payload, None, serde)
    return [] if found is None else [found]


def load_writes(read: ReadTransaction, lane: ThreadLane, id: str, serde: SaverSerde) -> list[PendingWrite]:
    """The writes to a checkpoint, in the order in which a step applies them."""
    return [(task, write.channel, serde.load(write.value)) for task, write in read_writes(read, lane, id)]


def read_writes(read: ReadTransaction, lane: ThreadLane, id: str) -> list[tuple[str, records.ChannelWrite]]:
    """The writes to a checkpoint as they are stored, each after its task, in the order in which a step applies them."""
    found = read.objects(records.WRITES, lane.writes(id))
    tasks = [cast(TaskWrites, records.decode(TaskWrites, each.data, each.key)) for each in found]
    writes = [(each.task, write) for each in tasks for write in each.writes]
    return sorted(writes, key=lambda each: writes_sort_key(each[1].path, each[0], each[1].index))


def read_delta_history(
    read: ReadTransaction, record: CheckpointObject, channels: Sequence[str], serde: SaverSerde
) -> Mapping[str, DeltaChannelHistory]:
    """The writes of a checkpoint's ancestors to channels, oldest first: for each channel, back to the nearest ancestor
    that has a value of it, the ``seed``.

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
    """The ancestors of a checkpoint, the nearest first, including pruned ones."""
    lane, seen = ThreadLane(record.thread, record.ns), {record.id}
    parent = record.parent
    while parent is not None and parent not in seen:
        seen.add(parent)  # damaged parents must not form an endless loop
        found = find_any(read, lane, parent)
        if found is None:
            return
        yield found
        parent = found.parent


def find_any(read: ReadTransaction, lane: ThreadLane, id: str) -> CheckpointObject | None:
    """The checkpoint with an id, even if it was pruned; None if there is none."""
    key = lane.checkpoint(id)
    for kind in (records.CHECKPOINT, records.PRUNED):
        found = read.object(kind, key)
        if found is not None:
            return checkpoint_of(found)
    return None


def matches(record: CheckpointObject, filter: Mapping[str, Any] | None, serde: SaverSerde) -> bool:
    """Whether the metadata of a checkpoint has all values of a filter."""
    if not filter:
        return True
    metadata = serde.load(record.metadata)
    return all(metadata.get(name) == value for name, value in filter.items())


def configured(config: RunnableConfig) -> Mapping[str, Any]:
    """The part of a config that names the thread and checkpoint."""
    return config.get("configurable", {})


def config_of(thread: str, ns: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}


def checkpoint_of(found: Object) -> CheckpointObject:
    """Decode a checkpoint. Raises: CorruptRecord."""
    return cast(CheckpointObject, records.decode(CheckpointObject, found.data, found.key))
