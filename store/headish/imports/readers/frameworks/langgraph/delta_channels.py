"""Find the values of channels for which checkpoints hold only writes, by replaying the writes since a snapshot.

The value at a checkpoint is the value at its parent with what was written after the parent. Lists of messages are
replayed as LangGraph's own reducer does it. What another reducer would make of writes is not known here: they are kept
as they are, after the value that they were written to.

Source: langgraph 1.2.22, ``channels/delta.py`` and ``pregel/_messages.py``, read and run 2026-11-22.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from headish.imports.readers.frameworks.langgraph.channel_messages import as_message, merged, overwritten, written_in
from headish.imports.readers.frameworks.langgraph.checkpoint_values import Unreadable
from headish.imports.readers.frameworks.langgraph.checkpoints import (
    CheckpointState,
    PendingWrite,
    ThreadCheckpoints,
    is_snapshot,
)
from headish.imports.readers.shared.databases import TooLargeValue

KEPT = 64
"""The most checkpoints whose values are remembered, so that a fork does not replay its thread from the beginning."""


class DeltaValue(NamedTuple):
    """The value of a channel at a checkpoint. ``writes`` are those since ``base``, if the channel has no messages."""

    items: list[Any]
    has_messages: bool
    base: Any = None
    writes: tuple[Any, ...] = ()

    def shown(self) -> Any:
        """Return the list of messages, or what is known of another value."""
        if self.has_messages:
            return self.items
        return {"$": "delta", "value": self.base, "writes": list(self.writes)} if self.writes else self.base

    def after(self, writes: Iterable[Any]) -> DeltaValue:
        """Return the value after what tasks wrote."""
        value = self
        for write in writes:
            is_new, whole = overwritten(write)
            value = value_of(whole) if is_new else value._plus(write)
        return value

    def _plus(self, written: Any) -> DeltaValue:
        added = written_in(written)
        has_messages = self.has_messages or any(as_message(each) for each in added)
        writes = () if has_messages else (*self.writes, written)
        return DeltaValue(merged(self.items, added), has_messages, self.base, writes)


def value_of(stored: Any) -> DeltaValue:
    """Return the value that a checkpoint itself holds for a channel."""
    held = stored.value if is_snapshot(stored) else stored
    items = written_in(held)
    return DeltaValue(items, any(as_message(each) for each in items), held)


class DeltaChannels:
    """The values of such channels in one namespace of a thread. ``parents`` names the parent of each checkpoint."""

    def __init__(self, saved: ThreadCheckpoints, parents: Mapping[Any, Any]) -> None:
        self._saved, self._parents = saved, parents
        self._known: OrderedDict[Any, dict[str, DeltaValue]] = OrderedDict()
        self._names: set[str] = set()
        self._last: tuple[Any, Sequence[PendingWrite]] = (None, ())

    def values_at(self, id: Any, step: CheckpointState) -> dict[str, Any]:
        """Return, by channel, the values that a checkpoint does not hold itself, and its snapshots."""
        self._names |= step.deltas
        values = {name: self._value(id, name, step) for name in self._names}
        if values:
            self._known[id] = values
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return {name: value.shown() for name, value in values.items()}

    def _value(self, id: Any, name: str, step: CheckpointState) -> DeltaValue:
        return value_of(step.values[name]) if name in step.values else self._replayed(id, name)

    def _replayed(self, id: Any, name: str) -> DeltaValue:
        """Return the value at a checkpoint that holds none; empty if nobody has written to the channel."""
        before: list[Any] = []
        met = {id}
        value: DeltaValue | None = None
        at = self._parents.get(id)
        # The parents of a damaged database may run in a circle.
        while value is None and at in self._parents and at not in met:
            met.add(at)
            before.append(at)
            value = self._found(at, name)
            at = self._parents[at]
        writes = [each.value for step in reversed(before) for each in self._written(step) if each.channel == name]
        return (value or value_of(None)).after(writes)

    def _found(self, id: Any, name: str) -> DeltaValue | None:
        known = self._known.get(id)
        if known is not None and name in known:
            return known[name]
        try:
            values = self._saved.step(id).values
        except (Unreadable, TooLargeValue):
            return None  # it was noted as broken when it was read itself
        return value_of(values[name]) if name in values else None

    def _written(self, id: Any) -> Sequence[PendingWrite]:
        """Return the writes after a checkpoint, read once for all channels of the next one."""
        if self._last[0] != id:
            try:
                self._last = (id, self._saved.writes(id))
            except TooLargeValue:
                self._last = (id, ())
        return self._last[1]
