"""Plan a checkpoint or the writes of a task outside of a transaction, and store them in one.

The plan compares a list of messages with the lists that the saver remembers. It takes the one with the longest common
beginning, and stores only the messages after that, as turns that continue it. So a step that adds one message stores
one turn, however long the thread is.
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
"""The channel whose messages have the thread's name; without it, the first channel by name that has messages."""


class StaleThread(Exception):
    """Another writer changed the thread's record, so what the plan relies on may be deleted. Nothing was stored."""


class PlainValue(NamedTuple):
    """A value in serialized form, as the data of its object."""

    data: bytes


class GrownList(NamedTuple):
    """A list of messages: those that lead to the turn ``base`` except its last ``back`` ones, then ``drafts``. ``base``
    is None if the list shares nothing with a known one."""

    kind: str
    prints: Prints
    base: TurnId | None
    back: int
    drafts: list[Draft]


class CheckpointPlan(NamedTuple):
    """A checkpoint to store. ``new`` are the values that are not known to be stored, by channel.

    ``record`` has the numbers of the others. ``revision`` is that of the thread's record for which the plan is valid;
    None if nothing was known of the thread.
    """

    lane: ThreadLane
    record: CheckpointObject
    new: dict[str, PlainValue | GrownList]
    revision: int | None


class StoredCheckpoint(NamedTuple):
    """A stored checkpoint, for the saver's memory."""

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
    new: dict[str, PlainValue | GrownList] = {}
    for channel, value in values.items():
        had = before.get(channel)
        # The same version as in the parent checkpoint means the same value, which is stored already.
        if channel not in new_versions and had is not None and had[0] == versions.get(channel):
            record.values[channel] = had[1]
        else:
            lists = [] if known is None else known.lists(channel)
            new[channel] = made = _plan_value(value, lists, serde, limit_bytes)
            check_size(
                f"the value of the channel {shown(channel)}",
                len(made.data) if isinstance(made, PlainValue) else 0,
                limit_bytes,
            )
    return CheckpointPlan(lane, record, new, None if known is None else known.revision)


def check_size(what: str, size: int, limit_bytes: int) -> None:
    """Refuse what is larger than the limit. Raises: TooLarge."""
    if size > limit_bytes:
        raise TooLarge(what, size, limit_bytes)


def _plan_value(value: Any, lists: Sequence[KnownList], serde: SaverSerde, limit_bytes: int) -> PlainValue | GrownList:
    kind, said = records.MESSAGES, value
    if isinstance(value, _DeltaSnapshot):
        kind, said = records.DELTA, value.value
    prints = messages.fingerprints(said, serde.dump) if serde.is_own else None
    if prints is not None:
        return _plan_messages(kind, said, prints, lists, serde, limit_bytes)
    return PlainValue(records.encode(serde.dump(value)))


def _plan_messages(
    kind: str, said: list[BaseMessage], prints: Prints, lists: Sequence[KnownList], serde: SaverSerde, limit_bytes: int
) -> GrownList:
    best, shared = None, 0
    for known in lists:
        same = _shared(prints, known.prints)
        if same > shared:
            best, shared = known, same
        # No other list can have more in common.
        if shared == len(prints):
            break
    drafts = [messages.make_message_draft(each, serde.dump, limit_bytes) for each in said[shared:]]
    if best is None:
        return GrownList(kind, prints, None, 0, drafts)
    return GrownList(kind, prints, best.tip, len(best.prints) - shared, drafts)


def _shared(one: Prints, other: Prints) -> int:
    """The number of messages at the beginning that two lists have in common."""
    length = min(len(one), len(other))
    # Most lists only grow, and comparing slices is much faster than comparing their items.
    if one[:length] == other[:length]:
        return length
    return next(index for index in range(length) if one[index] != other[index])


def store_checkpoint(write: WriteTransaction, plan: CheckpointPlan) -> StoredCheckpoint:
    """Store a planned checkpoint, its values and turns.

    Cost: two statements for each new value and for the checkpoint, one for the thread; those of ``add_turns`` if there
    are new messages. Raises: StaleThread (nothing is stored then); as ``add_turns``.
    """
    lane, record = plan.lane, plan.record
    thread, revision = _open_thread(write, plan)
    grown = {channel: value for channel, value in plan.new.items() if isinstance(value, GrownList)}
    main = MAIN if MAIN in grown else min(grown, default=None)
    named = thread if main is None or lane.ns else name_thread(write, thread, grown[main].base)
    left = None if main is None or lane.ns or named.name is None else _stranger_at(write, named.name, grown[main])
    tips = _store_messages(write, grown, None if main is None or lane.ns else (main, named.name))
    lists: list[tuple[str, str, KnownList]] = []
    numbers = dict(record.values)
    for channel, value in plan.new.items():
        data = value.data if isinstance(value, PlainValue) else _encode_list(value, tips[channel])
        number = _store_value(write, lane, channel, record.version(channel), data)
        numbers[channel] = number
        if isinstance(value, GrownList):
            key = lane.value(channel, record.version(channel), number)
            lists.append((channel, key, KnownList(value.prints, tips[channel])))
    if named != thread:
        revision = put_thread(write, named)
    write.put(records.CHECKPOINT, lane.checkpoint(record.id), records.encode(replace(record, values=numbers)))
    refs = {channel: (record.version(channel), number) for channel, number in numbers.items()}
    return StoredCheckpoint(revision, refs, lists, left)


def _stranger_at(read: ReadTransaction, name: str, value: GrownList) -> TurnId | None:
    """The turn that a thread's name points at, if somebody else stored it (an edit, or what a person added) and the
    name is about to leave it."""
    turn = read.bookmark(name) if value.drafts and value.base is not None else None
    if turn is None or turn == value.base:
        return None
    [said] = read.thread(turn, 1)
    app, system = decode_json(said.app), decode_json(said.system)
    is_ours = messages.is_own(app) and not system.keys() & {"supersedes", "copy_of"}
    return None if is_ours else turn


def _open_thread(write: WriteTransaction, plan: CheckpointPlan) -> tuple[ThreadObject, int]:
    """The thread's record and its revision; makes the record if there is none. Raises: StaleThread."""
    found = find_thread(write, plan.lane.thread)
    if plan.revision is not None and (found is None or found[1] != plan.revision):
        raise StaleThread
    if found is not None:
        return found
    thread = ThreadObject(plan.lane.thread)
    return thread, put_thread(write, thread)


def put_thread(write: WriteTransaction, thread: ThreadObject) -> int:
    """Write a thread's record. Returns its new revision, which makes what other savers remember of the thread
    invalid."""
    return write.put(records.THREAD, records.part(thread.id), records.encode(thread))


def name_thread(read: ReadTransaction, thread: ThreadObject, base: TurnId | None = None) -> ThreadObject:
    """Return the thread with a bookmark for its messages: its id or, if that is taken, its id and a number.

    A bookmark that was renamed is found at ``base``, the turn that the thread continues.
    """
    if thread.name is not None:
        if base is None or read.has_bookmark(thread.name):
            return thread
        names = read.names_at(base, 2)
        return replace(thread, name=names[0]) if len(names) == 1 else thread
    return replace(thread, name=free_name(read, thread.id))


def _store_messages(
    write: WriteTransaction, grown: Mapping[str, GrownList], main: tuple[str, str | None] | None
) -> dict[str, TurnId]:
    """Append the new messages of lists. Returns the last turn of each list, by channel. ``main`` is the channel whose
    list the name follows, and the name."""
    main_channel, name = main or (None, None)
    drafts: list[Draft] = []
    ends: dict[str, int] = {}
    for channel, value in grown.items():
        for index, draft in enumerate(value.drafts):
            # Forced, because a graph that continues an older checkpoint takes the name along.
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
    """The headish that a list continues, or at which it ends if it has nothing new."""
    return f"{value.base}~{value.back}" if value.back else str(value.base)


def _encode_list(value: GrownList, tip: TurnId) -> bytes:
    return records.encode((value.kind, records.encode(MessageList(tip, len(value.prints)))))


def _store_value(write: WriteTransaction, lane: ThreadLane, channel: str, version: Any, data: bytes) -> int:
    """Store a value under its version. Returns its number there: a different value under the same version stays."""
    number = 1
    while True:
        key = lane.value(channel, version, number)
        try:
            write.put(records.VALUE, key, data, expect=ABSENT)
            return number
        except RecordChanged:
            found = write.object(records.VALUE, key)
            if found is not None and found.data == data:
                return number
        number += 1


def make_writes(writes: Sequence[tuple[str, Any]], path: str, dump: Callable[[Any], Typed]) -> list[ChannelWrite]:
    """Convert the writes of a task to their stored form."""
    return [
        ChannelWrite(WRITES_IDX_MAP.get(channel, index), channel, dump(value), path)
        for index, (channel, value) in enumerate(writes)
    ]


def store_writes(
    write: WriteTransaction, key: str, task: str, writes: Sequence[ChannelWrite], limit_bytes: int
) -> None:
    """Store the writes of a task. Writes that are there already stay, except that errors, interrupts and the like are
    replaced.

    Cost: three statements. Raises: TooLarge; nothing is stored then.
    """
    found = write.object(records.WRITES, key)
    had = {} if found is None else {each.index: each for each in records.decode(TaskWrites, found.data, key).writes}
    now = had | {each.index: each for each in writes if each.index < 0 or each.index not in had}
    if now != had:
        data = records.encode(TaskWrites(task, tuple(now.values())))
        check_size("what a task wrote", len(data), limit_bytes)
        write.put(records.WRITES, key, data)


_APART = ("channel_values", "channel_versions")
