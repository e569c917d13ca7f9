"""Store a checkpoint, or the writes of a task: plan outside, then store in one transaction.

The plan compares a list of messages with the lists that the saver knows. The messages that it has beyond the most
similar one become turns after that one's, so a step with one new message stores one turn, however long the thread is.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from msgspec.structs import replace

from headish import ABSENT, ReadTransaction, WriteTransaction
from headish.adapters.messages import Draft, TurnId, decode_json, place
from headish.adapters.sessions import free_name
from headish.errors import RecordChanged, TooLarge, shown
from headish.integrations.langgraph import messages, records
from headish.integrations.langgraph.messages import Prints
from headish.integrations.langgraph.reading import SaverSerde, find_thread
from headish.integrations.langgraph.records import (
    ChannelWrite,
    CheckpointObject,
    MessageList,
    TaskWrites,
    ThreadLane,
    ThreadObject,
    Typed,
)
from headish.integrations.langgraph.thread_memory import KnownLane, KnownList, Refs

MAIN = "messages"
"""The channel whose messages get the thread's name. Without it, the first channel with messages does."""


class StaleThread(Exception):
    """Another writer changed the thread on which a plan builds, by a deletion for example. Nothing was stored."""


class GrownList(NamedTuple):
    """A list of messages: the thread of ``base`` without its last ``back`` turns, then ``drafts``."""

    kind: str
    prints: Prints
    base: TurnId | None
    back: int
    drafts: list[Draft]


class CheckpointPlan(NamedTuple):
    """A checkpoint to store. ``new`` are the values that may not be stored yet, by channel: lists of messages, and the
    serializer's bytes of any other value.

    ``record`` has the numbers of the values that are; ``revision`` is that of the thread's record on which the plan
    builds.
    """

    lane: ThreadLane
    record: CheckpointObject
    new: dict[str, bytes | GrownList]
    revision: int | None


class StoredCheckpoint(NamedTuple):
    """The parts of a stored checkpoint that the saver remembers."""

    revision: int
    refs: Refs
    lists: list[tuple[str, str, KnownList]]
    left: str | None = None
    """The turn that the thread's name was moved away from, if somebody else had moved it there."""


def plan_checkpoint(
    lane: ThreadLane,
    checkpoint: Mapping[str, Any],
    metadata: Any,
    parent: str | None,
    new_versions: Mapping[str, Any],
    known: KnownLane | None,
    serde: SaverSerde,
    limit_bytes: int,
) -> CheckpointPlan:
    """Plan what to store of a checkpoint. Raises: what the serializer raises; TooLarge."""
    values, rest = checkpoint["channel_values"], {k: v for k, v in checkpoint.items() if k not in _APART}
    before = (known and known.refs(parent)) or {}
    versions = dict(checkpoint.get("channel_versions") or {})
    delta = tuple(metadata.get("counters_since_delta_snapshot") or ())
    record = CheckpointObject(
        lane.thread, lane.ns, checkpoint["id"], parent, versions, {}, serde.dump(rest), serde.dump(metadata), delta
    )
    check_size("the checkpoint without its values", len(record.body[1]) + len(record.metadata[1]), limit_bytes)
    new: dict[str, bytes | GrownList] = {}
    for channel, value in values.items():
        had = before.get(channel)
        # The version is that of the checkpoint before, so the value is the same and is not stored again.
        if channel not in new_versions and had is not None and had[0] == versions.get(channel):
            record.values[channel] = had[1]
        else:
            lists = [] if known is None else known.lists(channel)
            new[channel] = planned = _plan_value(value, lists, serde, limit_bytes)
            if isinstance(planned, bytes):
                check_size(f"the value of the channel {shown(channel)}", len(planned), limit_bytes)
    return CheckpointPlan(lane, record, new, None if known is None else known.revision)


def check_size(what: str, size: int, limit_bytes: int) -> None:
    """Check a size against the database's limit. Raises: TooLarge."""
    if size > limit_bytes:
        raise TooLarge(what, size, limit_bytes)


def _plan_value(value: Any, lists: Sequence[KnownList], serde: SaverSerde, limit_bytes: int) -> bytes | GrownList:
    kind, said = records.MESSAGES, value
    if isinstance(value, _DeltaSnapshot):
        kind, said = records.DELTA, value.value
    prints = messages.fingerprints(said, serde.dump) if serde.is_own else None
    if prints is not None:
        return _plan_messages(kind, said, prints, lists, serde, limit_bytes)
    return records.encode(serde.dump(value))


def _plan_messages(
    kind: str, said: list[BaseMessage], prints: Prints, lists: Sequence[KnownList], serde: SaverSerde, limit_bytes: int
) -> GrownList:
    best, shared = None, 0
    for candidate in lists:
        same = _shared(prints, candidate.prints)
        if same > shared:
            best, shared = candidate, same
        # All messages are known, and no other list can have more in common.
        if shared == len(prints):
            break
    drafts = [messages.make_message_draft(each, serde.dump, limit_bytes) for each in said[shared:]]
    if best is None:
        return GrownList(kind, prints, None, 0, drafts)
    return GrownList(kind, prints, best.tip, len(best.prints) - shared, drafts)


def _shared(one: Prints, other: Prints) -> int:
    """The number of messages at the beginning that two lists have in common."""
    length = min(len(one), len(other))
    # Lists mostly only grow. Comparing slices is much faster than each of their items.
    if one[:length] == other[:length]:
        return length
    return next(index for index in range(length) if one[index] != other[index])


def store_checkpoint(write: WriteTransaction, plan: CheckpointPlan) -> StoredCheckpoint:
    """Store a planned checkpoint, its values and turns.

    Cost: two statements for each new value and for the checkpoint, one for the thread; with new messages also those of
    ``add_turns``. Raises: StaleThread, then nothing is stored; as ``add_turns``.
    """
    lane, record = plan.lane, plan.record
    thread, revision = _open_thread(write, plan)
    grown = {channel: value for channel, value in plan.new.items() if isinstance(value, GrownList)}
    main = MAIN if MAIN in grown else min(grown, default=None)
    named = thread if main is None or lane.ns else name_thread(write, thread, grown[main].base)
    stranger = None if main is None or lane.ns or named.name is None else _stranger_at(write, named.name, grown[main])
    tips = _store_messages(write, grown, None if main is None or lane.ns else (main, named.name))
    lists: list[tuple[str, str, KnownList]] = []
    numbers = dict(record.values)
    for channel, value in plan.new.items():
        data = value if isinstance(value, bytes) else _encode_list(value, tips[channel])
        number = _store_value(write, lane, channel, record.version(channel), data)
        numbers[channel] = number
        if isinstance(value, GrownList):
            key = lane.value(channel, record.version(channel), number)
            lists.append((channel, key, KnownList(value.prints, tips[channel])))
    if named != thread:
        revision = put_thread(write, named)
    write.put(records.CHECKPOINT, lane.checkpoint(record.id), records.encode(replace(record, values=numbers)))
    refs = {channel: (record.version(channel), number) for channel, number in numbers.items()}
    return StoredCheckpoint(revision, refs, lists, stranger)


def _stranger_at(read: ReadTransaction, name: str, value: GrownList) -> TurnId | None:
    """The turn of a thread's bookmark if something else than a saver stored it: an edit, or a turn that a person
    added."""
    turn = read.bookmark(name) if value.drafts and value.base is not None else None
    if turn is None or turn == value.base:
        return None
    [last] = read.thread(turn, 1)
    app, system = decode_json(last.app), decode_json(last.system)
    is_ours = messages.is_own(app) and not system.keys() & {"supersedes", "copy_of"}
    return None if is_ours else turn


def _open_thread(write: WriteTransaction, plan: CheckpointPlan) -> tuple[ThreadObject, int]:
    """Return the thread's record, made if there is none, and its revision. Raises: StaleThread."""
    existing = find_thread(write, plan.lane.thread)
    # Under the lock of the space: turns that the plan would continue may be erased, and each deletion changes this.
    if plan.revision is not None and (existing is None or existing[1] != plan.revision):
        raise StaleThread
    if existing is not None:
        return existing
    thread = ThreadObject(plan.lane.thread)
    return thread, put_thread(write, thread)


def put_thread(write: WriteTransaction, thread: ThreadObject) -> int:
    """Write a thread's record, and return its new revision, which makes what savers remember of the thread invalid."""
    return write.put(records.THREAD, records.part(thread.id), records.encode(thread))


def name_thread(read: ReadTransaction, thread: ThreadObject, base: TurnId | None = None) -> ThreadObject:
    """Return the thread with a bookmark for its messages: the id if that is free, else with a number after it.

    A bookmark that was renamed is found at ``base``, the turn that the thread continues.
    """
    if thread.name is not None:
        if base is None or read.has_bookmark(thread.name):
            return thread
        names = read.names_at(base, 2)  # of two names there, nothing says which one is the thread's
        return replace(thread, name=names[0]) if len(names) == 1 else thread
    return replace(thread, name=free_name(read, thread.id))


def _store_messages(
    write: WriteTransaction, grown: Mapping[str, GrownList], main: tuple[str, str | None] | None
) -> dict[str, TurnId]:
    """Append the new messages of lists, and return the last turn of each. The name follows the list of ``main``."""
    main_channel, name = main or (None, None)
    drafts: list[Draft] = []
    ends: dict[str, int] = {}
    for channel, value in grown.items():
        for index, draft in enumerate(value.drafts):
            # Forced: a graph may continue an older checkpoint, and the name goes along, backwards too.
            is_named = channel == main_channel and name is not None and index == len(value.drafts) - 1
            behind = len(drafts) - 1 if index else None if value.base is None else _headish(value)
            drafts.append(place(draft, continues=behind, bookmark=name if is_named else None, force=is_named))
            ends[channel] = len(drafts) - 1
    ids = write.add_turns(drafts)
    tips = {channel: ids[index] for channel, index in ends.items()}
    for channel, value in grown.items():
        if channel not in tips and channel == main_channel and name is not None:
            tips[channel] = write.set_bookmark(name, _headish(value))
        elif channel not in tips:
            tips[channel] = write.turn(_headish(value))
    return tips


def _headish(value: GrownList) -> str:
    """The turn that the new messages of a list continue, or its last turn if it has none."""
    return f"{value.base}~{value.back}" if value.back else str(value.base)


def _encode_list(value: GrownList, tip: TurnId) -> bytes:
    return records.encode((value.kind, records.encode(MessageList(tip, len(value.prints)))))


def _store_value(write: WriteTransaction, lane: ThreadLane, channel: str, version: Any, data: bytes) -> int:
    """Store a value under its version, and return its number there. Another value under that version stays.

    Two processes with integer versions may give one version to different values (ADR 0041).
    """
    number = 1
    while True:
        key = lane.value(channel, version, number)
        try:
            write.put(records.VALUE, key, data, expect=ABSENT)
            return number
        except RecordChanged:
            row = write.object(records.VALUE, key)
            if row is not None and row.data == data:
                return number
        number += 1


def make_writes(writes: Sequence[tuple[str, Any]], path: str, dump: Callable[[Any], Typed]) -> list[ChannelWrite]:
    """The writes of a task in stored form."""
    # LangGraph gives errors, interrupts and the like fixed negative indexes.
    return [
        ChannelWrite(WRITES_IDX_MAP.get(channel, index), channel, dump(value), path)
        for index, (channel, value) in enumerate(writes)
    ]


def store_writes(
    write: WriteTransaction, key: str, task: str, writes: Sequence[ChannelWrite], limit_bytes: int
) -> None:
    """Store the writes of a task. Stored ones stay, but those of errors, interrupts and the like are replaced.

    Cost: three statements. Raises: TooLarge; then nothing is stored.
    """
    row = write.object(records.WRITES, key)
    had = {} if row is None else {each.index: each for each in records.decode(TaskWrites, row.data, key).writes}
    now = had | {each.index: each for each in writes if each.index < 0 or each.index not in had}
    if now != had:
        data = records.encode(TaskWrites(task, tuple(now.values())))
        check_size("what a task wrote", len(data), limit_bytes)
        write.put(records.WRITES, key, data)


_APART = ("channel_values", "channel_versions")
