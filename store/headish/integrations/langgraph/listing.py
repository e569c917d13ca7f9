"""Lists of checkpoints, the greatest id first, read in pages."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id

from headish.database.query import Connection
from headish.integrations.langgraph import records
from headish.integrations.langgraph.reading import (
    PAGE,
    Serde,
    configured,
    find_checkpoint,
    list_checkpoints,
    load_checkpoint,
    matches,
)
from headish.integrations.langgraph.records import Checkpoint, Lane
from headish.integrations.shared.opening import Held


class Asked(NamedTuple):
    """What a list was asked for; None is any."""

    thread: str | None
    ns: str | None
    id: str | None
    before: str | None
    filter: Mapping[str, Any] | None

    @classmethod
    def of(cls, config: RunnableConfig | None, filter: Mapping[str, Any] | None, before: RunnableConfig | None) -> Self:
        given = {} if config is None else configured(config)
        thread = given.get("thread_id")
        return cls(
            None if thread is None else str(thread),
            given.get("checkpoint_ns"),
            given.get("checkpoint_id"),
            None if before is None else get_checkpoint_id(before),
            filter,
        )


class Lister:
    """Reads what was asked for."""

    def __init__(self, held: Held, serde: Serde, asked: Asked) -> None:
        self._held, self._serde, self._asked = held, serde, asked

    def run(self) -> Iterator[CheckpointTuple]:
        """The checkpoints with their values, each page in a transaction of its own."""
        if self._asked.thread is not None and self._asked.ns is not None:
            return self._of_lane(Lane(self._asked.thread, self._asked.ns))
        return self._of_all()

    def _of_lane(self, lane: Lane) -> Iterator[CheckpointTuple]:
        before = None if self._asked.before is None else lane.checkpoint(self._asked.before).encode()
        while True:
            page = self._page(lane.prefix, before)
            for _, record in page:
                if self._is_asked(record):
                    found = self._load(lane, record.id)
                    if found is not None:
                        yield found
            if len(page) < PAGE:
                return
            before = page[-1][0]

    def _of_all(self) -> Iterator[CheckpointTuple]:
        """Of several namespaces: their ids first, since they lie apart."""
        thread = self._asked.thread
        prefix = "" if thread is None else f"{records.part(thread)}/"
        found: list[tuple[str, Lane]] = []
        before: bytes | None = None
        while True:
            page = self._page(prefix, before)
            found += [(each.id, Lane(each.thread, each.ns)) for _, each in page if self._is_asked(each)]
            if len(page) < PAGE:
                break
            before = page[-1][0]
        for id, lane in sorted(found, reverse=True):
            loaded = self._load(lane, id)
            if loaded is not None:
                yield loaded

    def _is_asked(self, record: Checkpoint) -> bool:
        asked = self._asked
        if (asked.id is not None and record.id != asked.id) or (asked.before is not None and record.id >= asked.before):
            return False
        return matches(record, asked.filter, self._serde)

    def _page(self, prefix: str, before: bytes | None) -> list[tuple[bytes, Checkpoint]]:
        with self._held.use() as store:
            number = store._number
            return store._read(lambda connection: list_checkpoints(connection, number, prefix, before, PAGE))

    def _load(self, lane: Lane, id: str) -> CheckpointTuple | None:
        with self._held.use() as store:
            return store._read(partial(self._read, number=store._number, lane=lane, id=id))

    def _read(self, connection: Connection, number: int, lane: Lane, id: str) -> CheckpointTuple | None:
        record = find_checkpoint(connection, number, lane, id)
        return None if record is None else load_checkpoint(connection, number, record, self._serde).tuple
