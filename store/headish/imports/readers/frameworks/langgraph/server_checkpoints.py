"""Read checkpoints from PostgreSQL: what ``PostgresSaver`` writes, and the older ``ShallowPostgresSaver``.

A checkpoint is JSON with the small values inside; ``checkpoint_blobs`` holds every other value, once for each version
of its channel. A shallow saver keeps only the last checkpoint, and one value for each channel.

Source: langgraph-checkpoint-postgres 3.2.0, read and run 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headish.errors import InvalidImport
from headish.imports.readers.frameworks.langgraph.checkpoint_values import CheckpointDecoder, Unreadable
from headish.imports.readers.frameworks.langgraph.checkpoints import (
    Broken,
    CheckpointState,
    PendingWrite,
    deltas_of,
    read_writes,
)
from headish.imports.readers.shared.databases import TooLargeValue
from headish.imports.readers.shared.servers import TEXTS, ForeignServer, bounded

CHECKPOINTS, BLOBS, WRITES = "checkpoints", "checkpoint_blobs", "checkpoint_writes"
_PLACE = "thread_id = %s AND checkpoint_ns = %s"
_COLUMNS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    CHECKPOINTS: {"thread_id": TEXTS, "checkpoint_ns": TEXTS, "checkpoint": ("jsonb",), "metadata": ("jsonb",)},
    BLOBS: {"thread_id": TEXTS, "checkpoint_ns": TEXTS, "channel": TEXTS, "type": TEXTS, "blob": ("bytea",)},
    WRITES: {
        "thread_id": TEXTS, "checkpoint_ns": TEXTS, "checkpoint_id": TEXTS, "task_id": TEXTS, "idx": ("integer",),
        "channel": TEXTS, "type": TEXTS, "blob": ("bytea",),
    },
}  # fmt: skip
_TOO_LARGE = "a value is too large"


def list_places(foreign: ForeignServer, name: str) -> Iterator[tuple[Any, ...]]:
    """Yield each thread with each of its namespaces, in order. Raises: InvalidImport for a database without them."""
    if not all(foreign.has(table, *columns) for table, columns in _COLUMNS.items()):
        tables = f"tables {', '.join(_COLUMNS)}, which its URL sees"
        raise InvalidImport(name, None, f"it holds no checkpoints of LangGraph ({tables})")
    for table, columns in _COLUMNS.items():
        for column, kinds in columns.items():
            if foreign.tables[table][column] not in kinds:
                raise InvalidImport(name, None, f"{table}.{column} is not {kinds[0]}, as LangGraph makes it")
    yield from foreign.stream(CHECKPOINTS, "DISTINCT thread_id, checkpoint_ns", order="1, 2")


class ServerCheckpoints:
    """The checkpoints of one place. The values of the last step are kept, because the next one has most of them,
    too."""

    def __init__(self, foreign: ForeignServer, thread: str, namespace: str, broken: Broken) -> None:
        self._foreign, self._place, self._broken = foreign, (thread, namespace), broken
        self._reader = CheckpointDecoder()
        self._held: dict[str, tuple[str, Any]] = {}
        self._is_shallow = not foreign.has(BLOBS, "version")
        # The table of a shallow saver has neither column: it holds one checkpoint for each place.
        self._id = "checkpoint_id" if foreign.has(CHECKPOINTS, "checkpoint_id") else "checkpoint ->> 'id'"
        self._parent = "parent_checkpoint_id" if foreign.has(CHECKPOINTS, "parent_checkpoint_id") else "NULL"

    def steps(self) -> list[tuple[Any, str | None]]:
        columns = f"{self._id}, {self._parent}"
        return [(row[0], row[1]) for row in self._foreign.stream(CHECKPOINTS, columns, _PLACE, self._place)]

    def step(self, id: Any) -> CheckpointState:
        columns, where = f"{bounded('checkpoint::text')}, metadata::text", f"{_PLACE} AND {self._id} = %s"
        [(size, text, metadata), *_] = self._foreign.rows(CHECKPOINTS, columns, where, (*self._place, id))
        if text is None:
            raise TooLargeValue(f"{_TOO_LARGE}: {size:,} bytes")
        value = self._reader.read("json", text)
        if not isinstance(value, Mapping) or not isinstance(value.get("channel_versions"), Mapping):
            raise Unreadable("a checkpoint has `channel_versions`")
        inside = value.get("channel_values")
        values = dict(inside) if isinstance(inside, Mapping) else {}
        values |= self._outside(value["channel_versions"])
        return CheckpointState(value.get("ts"), values, deltas_of(values, self._reader.read("json", metadata)))

    def writes(self, id: Any) -> list[PendingWrite]:
        order = "task_path, task_id, idx" if self._foreign.has(WRITES, "task_path") else "task_id, idx"
        return read_writes(id, self._fitting(order, id), self._reader, self._broken)

    def _fitting(self, order: str, id: Any) -> Iterator[Mapping[str, Any]]:
        columns, where = f"task_id, idx, channel, type, {bounded('blob')}", f"{_PLACE} AND checkpoint_id = %s"
        rows = self._foreign.stream(WRITES, columns, where, (*self._place, id), order)
        for task, index, channel, kind, size, data in rows:
            if data is None and size is not None:
                self._broken(f"checkpoint {id:.80}, write {index} of task {task:.80}", f"{_TOO_LARGE}: {size:,} bytes")
                continue
            yield {"task_id": task, "idx": index, "channel": channel, "type": kind, "value": data}

    def _outside(self, versions: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the values beside the checkpoint, by their channels."""
        versions_by_name = {name: str(version) for name, version in versions.items() if isinstance(name, str)}
        # Most channels keep their version from one step to the next, and need not be read again.
        self._held = {name: held for name, held in self._held.items() if versions_by_name.get(name) == held[0]}
        missing = [name for name in versions_by_name if name not in self._held]
        for channel, kind, size, data in self._blobs(missing, [versions_by_name[name] for name in missing]):
            self._held[channel] = (versions_by_name[channel], self._read(channel, kind, size, data))
        for name in missing:
            # Remember that a channel has no value, or each step would ask for it again.
            self._held.setdefault(name, (versions_by_name[name], _NOTHING))
        return {name: value for name, (_, value) in self._held.items() if value is not _NOTHING}

    def _blobs(self, names: list[str], versions: list[str]) -> Iterator[tuple[str, str, int | None, bytes | None]]:
        if not names:
            return
        columns = f"channel, type, {bounded('blob')}"
        versioned = "(channel, version) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
        which, values = ("channel = ANY (%s)", (names,)) if self._is_shallow else (versioned, (names, versions))
        place = (*self._place, *values)
        yield from self._foreign.stream(BLOBS, columns, f"{_PLACE} AND {which}", place)

    def _read(self, channel: str, kind: str, size: int | None, data: bytes | None) -> Any:
        if kind == "empty":
            return _NOTHING
        if data is None and size is not None:
            self._broken(f"channel {channel:.80}", f"{_TOO_LARGE}: {size:,} bytes")
            return _NOTHING
        try:
            return self._reader.read(kind, data)
        except Unreadable as error:
            self._broken(f"channel {channel:.80}", str(error))
            return _NOTHING


_NOTHING = object()
