"""Checkpoints, whatever database they are in: the interface of a database's reader, and the reader of SQLite.

A checkpoint holds the values of a graph's channels after a step; beside it are the writes of its tasks since then.

Source: langgraph-checkpoint 4.3.2 and langgraph-checkpoint-sqlite 3.1.2, read and run 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from headish.imports.cleaning import NotJson, decode
from headish.imports.readers.frameworks.langgraph.checkpoint_values import CheckpointDecoder, Revivable, Unreadable
from headish.imports.readers.shared.databases import ForeignFile
from headish.values import shapes

COUNTERS = "counters_since_delta_snapshot"
"""The key of a checkpoint's metadata that names the channels for which only writes are kept."""
Broken: TypeAlias = Callable[[str, str], None]
"""Called for a part of a checkpoint that cannot be read: where in it, and why."""


class CheckpointState(NamedTuple):
    """A checkpoint: when it was made, the values of its channels, and the channels for which it only says that they
    were written to."""

    time: object
    values: Mapping[Any, Any]
    deltas: frozenset[str]


class PendingWrite(NamedTuple):
    """A task's write to a channel."""

    task: str
    channel: str
    value: Any


class ThreadCheckpoints(Protocol):
    """The checkpoints of one namespace of a thread."""

    def steps(self) -> list[tuple[Any, str | None]]:
        """Return their ids in order, each with that of its parent."""
        ...

    def step(self, id: Any) -> CheckpointState:
        """Return a checkpoint. Raises: Unreadable, TooLargeValue."""
        ...

    def writes(self, id: Any) -> list[PendingWrite]:
        """Return what was written after a checkpoint, in the order in which LangGraph applies it; unreadable writes are
        reported and left out. Raises: TooLargeValue."""
        ...


CheckpointsAt: TypeAlias = Callable[[str, str, Broken], ThreadCheckpoints]
"""Returns the checkpoints of a thread and a namespace."""


def read_step(value: Any, metadata: Any) -> CheckpointState:
    """Return a checkpoint that holds all of its values. Raises: Unreadable if it is not a checkpoint."""
    values = shapes.record(value).get("channel_values")
    if not isinstance(values, Mapping):
        raise Unreadable("a checkpoint has `channel_values`")
    return CheckpointState(value.get("ts"), values, deltas_of(values, metadata))


def deltas_of(values: Mapping[Any, Any], metadata: Any) -> frozenset[str]:
    """Return the channels for which writes are kept. The count is missing after a new snapshot, so snapshots are looked
    for as well."""
    counted = shapes.record(metadata).get(COUNTERS)
    counted_names = {name for name in counted if isinstance(name, str)} if isinstance(counted, Mapping) else set()
    return frozenset(
        counted_names | {name for name, held in values.items() if isinstance(name, str) and is_snapshot(held)}
    )


def is_snapshot(value: Any) -> bool:
    """Whether a value is the whole value of a channel for which otherwise only writes are kept."""
    return isinstance(value, Revivable) and value.name == "DeltaSnapshot"


def read_writes(
    id: Any, rows: Iterable[Mapping[str, Any]], reader: CheckpointDecoder, broken: Broken
) -> list[PendingWrite]:
    """Return the writes of rows, which are sorted."""
    writes: list[PendingWrite] = []
    for row in rows:
        where = f"checkpoint {id!s:.80}, write {row['idx']!s:.20} of task {row['task_id']!s:.80}"
        try:
            value = reader.read(row["type"], row["value"])
        except Unreadable as error:
            broken(where, str(error))
            continue
        if isinstance(row["channel"], str):
            writes.append(PendingWrite(str(row["task_id"]), row["channel"], value))
    return writes


TABLE = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint", "type")
_WRITES = ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type", "value")


class FileCheckpoints:
    """The checkpoints of one place in a SQLite database."""

    def __init__(self, foreign: ForeignFile, table: str, thread: str, namespace: str, broken: Broken) -> None:
        self._foreign, self._table, self._broken = foreign, table, broken
        self._place = {"thread_id": thread, "checkpoint_ns": namespace}
        self._reader = CheckpointDecoder()
        self._has_parents = foreign.has(table, "parent_checkpoint_id")
        self._has_metadata = foreign.has(table, "metadata")
        self._writes = foreign.find(*_WRITES)

    def steps(self) -> list[tuple[Any, str | None]]:
        columns = ("checkpoint_id", *(("parent_checkpoint_id",) if self._has_parents else ()))
        rows = self._foreign.rows(self._table, columns, "checkpoint_id", **self._place)
        return [(row["checkpoint_id"], row.get("parent_checkpoint_id")) for row in rows]

    def step(self, id: Any) -> CheckpointState:
        columns = ("type", "checkpoint", *(("metadata",) if self._has_metadata else ()))
        [row, *_] = self._foreign.rows(self._table, columns, **self._place, checkpoint_id=id)
        return read_step(self._reader.read(row["type"], row["checkpoint"]), _metadata(row.get("metadata")))

    def writes(self, id: Any) -> list[PendingWrite]:
        if self._writes is None:
            return []
        # Not every version of the saver has this column, by which LangGraph sorts first.
        paths = ("task_path",) if self._foreign.has(self._writes, "task_path") else ()
        columns = ("task_id", "idx", "channel", "type", "value")
        order = (*paths, "task_id", "idx")
        rows = self._foreign.rows(self._writes, columns, *order, **self._place, checkpoint_id=id)
        return read_writes(id, rows, self._reader, self._broken)


def _metadata(data: Any) -> Any:
    data = data.encode() if isinstance(data, str) else data
    if not isinstance(data, bytes):
        return None
    try:
        return decode(data)[0]
    except NotJson:
        return None  # older versions wrote it in another way, and have no such channels
