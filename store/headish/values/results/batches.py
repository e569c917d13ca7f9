"""Batches: a provider answers about many heads at once, later and for less."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from headish.values.ids import TurnId
from headish.values.results.plain import PlainResult

State = Literal["uncertain", "open", "collected"]
"""``uncertain``: its creation was cut off, so the provider may have it or not. ``open``: not all of it is collected."""


class BatchEntry(PlainResult, frozen=True):
    """One request of a batch: the turns that its answer continues, and what became of it.

    ``turn`` is the answer once it is collected; ``error`` is what the provider said instead (``{type, message}``).
    """

    id: str
    continues: tuple[TurnId, ...]
    bookmark: str | None = None
    turn: TurnId | None = None
    error: dict[str, str] | None = None


class Batch(Struct, frozen=True):
    """A batch as the store knows it. ``remote`` is the provider's id for it."""

    name: str
    provider: str
    model: str | None
    ptr: str | None
    state: State
    remote: str | None
    time: datetime
    entries: tuple[BatchEntry, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many entries are ``answered``, ``failed`` and ``waiting``."""
        counter = Counter(_word(each) for each in self.entries)
        return {word: counter[word] for word in ("answered", "failed", "waiting")}

    def to_dict(self) -> dict[str, Any]:
        """As plain data, the entries last."""
        record = {"name": self.name, "provider": self.provider, "model": self.model, "ptr": self.ptr}
        record |= {"state": self.state, "remote": self.remote, "time": self.time.isoformat()}
        return {**record, **self.counts, "entries": [each.to_dict() for each in self.entries]}


class BatchStatus(Struct, frozen=True):
    """The state of a batch at its provider: the provider's word for it, whether the batch has ended, and its counts."""

    batch: Batch
    status: str
    ended: bool
    counts: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """As plain data: that of the batch without its entries, with ``status``, ``ended`` and ``provider_counts``."""
        record = {key: value for key, value in self.batch.to_dict().items() if key != "entries"}
        return record | {"status": self.status, "ended": self.ended, "provider_counts": self.counts}


class CollectedBatch(Struct, frozen=True):
    """What collecting a batch did: the answers that it stored now, and all that it could not use. ``batch`` is its
    present state. ``problems`` are results that answer none of its requests, and lines that cannot be read.
    """

    batch: Batch
    status: str
    ended: bool
    turns: tuple[TurnId, ...]
    problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data: that of the batch, with ``status``, ``ended``, ``turns`` and ``problems``."""
        record = self.batch.to_dict() | {"status": self.status, "ended": self.ended}
        return record | {"turns": list(self.turns), "problems": list(self.problems)}


def _word(entry: BatchEntry) -> str:
    if entry.turn is not None:
        return "answered"
    return "failed" if entry.error is not None else "waiting"
