"""Storing a checkpoint, and the writes of a task: planned outside, stored in one transaction.

A list of messages is compared with the lists that the saver knows. What it has more than the most like of them becomes
turns behind that one's, so a step that says one message stores one turn, however long the thread.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.database.query import Connection
from headish.errors import RecordChanged, TooLarge, shown
from headish.history.reading.find import find_turn
from headish.history.writing.append import append
from headish.integrations.langgraph import messages, records
from headish.integrations.langgraph.known import KnownLane, KnownList, Refs
from headish.integrations.langgraph.messages import Prints
from headish.integrations.langgraph.reading import Serde, find_thread, thread_key
from headish.integrations.langgraph.records import Checkpoint, Lane, Thread, Turns, Typed, Write, Writes
from headish.integrations.shared.names import safe_name
from headish.rows.bookmarks import bookmarks_at, find_bookmark, set_bookmark
from headish.rows.objects import Put, find_object, put_object
from headish.rows.turns import turn_by_id
from headish.values.grammar import parse_headish
from headish.values.ids import Mint, TurnId
from headish.values.names import ABSENT, stored_name

MAIN = "messages"
"""The channel whose messages have the thread's name; where no such channel is, it is the first that has messages."""


class Stale(Exception):
    """Another writer deleted what a plan stands on. Nothing was stored."""


class Plain(NamedTuple):
    """A value as the serializer's bytes."""

    data: bytes


class Said(NamedTuple):
    """A list of messages: those of ``base`` up to ``shared``, and what comes behind them."""

    kind: str
    prints: Prints
    base: TurnId | None
    back: int
    drafts: list[Draft]


class Plan(NamedTuple):
    """A checkpoint that is to be stored. ``new`` are the values that may not be stored yet, by channel.

    ``record`` has the numbers of those that are; ``revision`` is the one of the thread's record that it stands on.
    """

    lane: Lane
    record: Checkpoint
    new: dict[str, Plain | Said]
    revision: int | None


class Stored(NamedTuple):
    """What was stored, to be remembered."""

    revision: int
    refs: Refs
    lists: list[tuple[str, str, KnownList]]


def plan_checkpoint(
    lane: Lane,
    checkpoint: Mapping[str, Any],
    metadata: Any,
    parent: str | None,
    new_versions: Mapping[str, Any],
    known: KnownLane | None,
    serde: Serde,
    limit_bytes: int,
) -> Plan:
    """What is to be stored of a checkpoint. Raises: what the serializer raises; TooLarge."""
    values, rest = checkpoint["channel_values"], {k: v for k, v in checkpoint.items() if k not in _APART}
    before = (known and known.refs(parent)) or {}
    versions = dict(checkpoint.get("channel_versions") or {})
    delta = tuple(metadata.get("counters_since_delta_snapshot") or ())
    record = Checkpoint(
        lane.thread, lane.ns, checkpoint["id"], parent, versions, {}, serde.dump(rest), serde.dump(metadata), delta
    )
    check_size("the checkpoint without its values", len(record.body[1]) + len(record.metadata[1]), limit_bytes)
    new: dict[str, Plain | Said] = {}
    for channel, value in values.items():
        had = before.get(channel)
        if channel not in new_versions and had is not None and had[0] == versions.get(channel):
            record.values[channel] = had[1]
        else:
            lists = [] if known is None else known.lists(channel)
            new[channel] = made = _plan_value(value, lists, serde, limit_bytes)
            check_size(
                f"the value of the channel {shown(channel)}",
                len(made.data) if isinstance(made, Plain) else 0,
                limit_bytes,
            )
    return Plan(lane, record, new, None if known is None else known.revision)


def check_size(what: str, size: int, limit_bytes: int) -> None:
    """Raises: TooLarge."""
    if size > limit_bytes:
        raise TooLarge(what, size, limit_bytes)


def _plan_value(value: Any, lists: Sequence[KnownList], serde: Serde, limit_bytes: int) -> Plain | Said:
    kind, said = records.MESSAGES, value
    if isinstance(value, _DeltaSnapshot):
        kind, said = records.DELTA, value.value
    prints = messages.fingerprints(said, serde.dump) if serde.is_own else None
    if prints is not None:
        return _plan_messages(kind, said, prints, lists, serde, limit_bytes)
    return Plain(records.encode(serde.dump(value)))


def _plan_messages(
    kind: str, said: list[BaseMessage], prints: Prints, lists: Sequence[KnownList], serde: Serde, limit_bytes: int
) -> Said:
    best, shared = None, 0
    for known in lists:
        same = _shared(prints, known.prints)
        if same > shared:
            best, shared = known, same
        if shared == len(prints):
            break
    drafts = [messages.make_message_draft(each, serde.dump, limit_bytes) for each in said[shared:]]
    if best is None:
        return Said(kind, prints, None, 0, drafts)
    return Said(kind, prints, best.tip, len(best.prints) - shared, drafts)


def _shared(one: Prints, other: Prints) -> int:
    """How many messages two lists begin with in common."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    return next(index for index in range(length) if one[index] != other[index])


def store_checkpoint(connection: Connection, space: int, plan: Plan, mint: Mint) -> Stored:
    """Store a planned checkpoint, its values and turns. The space is locked.

    Cost: two statements for each new value and for the checkpoint, one for the thread; those of ``append`` where there
    are new messages. Raises: Stale, and nothing is stored; as ``append``.
    """
    lane, record = plan.lane, plan.record
    thread, revision = _open_thread(connection, space, plan)
    said = {channel: value for channel, value in plan.new.items() if isinstance(value, Said)}
    main = MAIN if MAIN in said else min(said, default=None)
    named = thread if main is None or lane.ns else name_thread(connection, space, thread, said[main].base)
    tips = _store_messages(connection, space, said, None if main is None or lane.ns else (main, named.name), mint)
    lists: list[tuple[str, str, KnownList]] = []
    numbers = dict(record.values)
    for channel, value in plan.new.items():
        data = value.data if isinstance(value, Plain) else _encode_turns(value, tips[channel])
        number = _store_value(connection, space, lane, channel, record.version(channel), data)
        numbers[channel] = number
        if isinstance(value, Said):
            key = lane.value(channel, record.version(channel), number)
            lists.append((channel, key, KnownList(value.prints, tips[channel])))
    if named != thread:
        revision = put_object(connection, space, Put(records.THREAD, thread_key(lane.thread), records.encode(named)))
    put = Put(records.CHECKPOINT, lane.checkpoint(record.id).encode(), records.encode(replace(record, values=numbers)))
    put_object(connection, space, put)
    refs = {channel: (record.version(channel), number) for channel, number in numbers.items()}
    return Stored(revision, refs, lists)


def _open_thread(connection: Connection, space: int, plan: Plan) -> tuple[Thread, int]:
    """The thread's record and its revision, made where there is none. Raises: Stale."""
    found = find_thread(connection, space, plan.lane.thread)
    if plan.revision is not None and (found is None or found[1] != plan.revision):
        raise Stale
    if found is not None:
        return found
    thread = Thread(plan.lane.thread)
    put = Put(records.THREAD, thread_key(thread.id), records.encode(thread), ABSENT)
    return thread, put_object(connection, space, put)


def name_thread(connection: Connection, space: int, thread: Thread, base: TurnId | None = None) -> Thread:
    """The thread with a bookmark for its messages: its id where that is free, else with a number behind it.

    One that was renamed is found at ``base``, the turn that the thread goes on from.
    """
    if thread.name is not None:
        if base is None or find_bookmark(connection, space, thread.name.encode()) is not None:
            return thread
        stored = turn_by_id(connection, space, base)
        names = [] if stored is None else bookmarks_at(connection, space, stored.place, stored.head, 2)
        return replace(thread, name=stored_name(names[0])) if len(names) == 1 else thread
    number, name = 1, safe_name(thread.id)
    while find_bookmark(connection, space, name.encode()) is not None:
        number += 1
        name = safe_name(f"{thread.id}-{number}")
    return replace(thread, name=name)


def _store_messages(
    connection: Connection,
    space: int,
    said: Mapping[str, Said],
    main: tuple[str, str | None] | None,
    mint: Mint,
) -> dict[str, TurnId]:
    """Append what lists have more; the turn that each ends with. The name follows the list of ``main``."""
    drafts: list[Draft] = []
    ends: dict[str, int] = {}
    for channel, value in said.items():
        for index, draft in enumerate(value.drafts):
            continues = (len(drafts) - 1,) if index else _before(value)
            drafts.append(replace(draft, continues=continues))
            ends[channel] = len(drafts) - 1
    if main is not None and main[1] is not None and main[0] in ends:
        last = ends[main[0]]
        drafts[last] = replace(drafts[last], bookmark=main[1].encode(), force=True)
    built = append(connection, space, drafts, mint, carries_names=False) if drafts else []
    tips = {channel: built[index].turn.id for channel, index in ends.items()}
    for channel, value in said.items():
        if channel not in tips:
            tips[channel] = _step_back(connection, space, value, main, channel)
    return tips


def _before(value: Said) -> tuple[Any, ...]:
    return () if value.base is None else (_headish(value),)


def _headish(value: Said) -> Any:
    return parse_headish(f"{value.base}~{value.back}" if value.back else str(value.base))


def _step_back(
    connection: Connection, space: int, value: Said, main: tuple[str, str | None] | None, channel: str
) -> TurnId:
    """The turn that a list without new messages ends with; the thread's name is set there."""
    turn = find_turn(connection, space, _headish(value))
    if main is not None and main[0] == channel and main[1] is not None:
        name = main[1].encode()
        if find_bookmark(connection, space, name) != turn.place:
            set_bookmark(connection, space, name, turn)
    return turn.id


def _encode_turns(value: Said, tip: TurnId) -> bytes:
    return records.encode((value.kind, records.encode(Turns(tip, len(value.prints)))))


def _store_value(connection: Connection, space: int, lane: Lane, channel: str, version: Any, data: bytes) -> int:
    """Store a value under its version; its number there: another one that has the version already stays."""
    number = 1
    while True:
        key = lane.value(channel, version, number).encode()
        try:
            put_object(connection, space, Put(records.VALUE, key, data, ABSENT))
            return number
        except RecordChanged:
            row = find_object(connection, space, records.VALUE, key)
            if row is not None and row[3] == data:
                return number
        number += 1


def make_writes(writes: Sequence[tuple[str, Any]], path: str, dump: Callable[[Any], Typed]) -> list[Write]:
    """The writes of a task, as they are stored."""
    return [
        Write(WRITES_IDX_MAP.get(channel, index), channel, dump(value), path)
        for index, (channel, value) in enumerate(writes)
    ]


def store_writes(
    connection: Connection, space: int, key: bytes, task: str, writes: Sequence[Write], limit_bytes: int
) -> None:
    """Store the writes of a task. One that is there stays, but those of errors, interrupts and the like are replaced.

    The space is locked. Cost: three statements. Raises: TooLarge, and nothing is stored.
    """
    row = find_object(connection, space, records.WRITES, key)
    had = {} if row is None else {each.index: each for each in records.decode(Writes, row[3], key.decode()).writes}
    now = had | {each.index: each for each in writes if each.index < 0 or each.index not in had}
    if now != had:
        data = records.encode(Writes(task, tuple(now.values())))
        check_size("what a task wrote", len(data), limit_bytes)
        put_object(connection, space, Put(records.WRITES, key, data))


_APART = ("channel_values", "channel_versions")
