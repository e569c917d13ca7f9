"""List checkpoints, the greatest id first, in pages."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id

from headish import ReadTransaction
from headish.adapters.holding import DatabaseHold
from headish.integrations.langgraph import records
from headish.integrations.langgraph.reading import (
    PAGE,
    SaverSerde,
    configured,
    find_checkpoint,
    list_checkpoints,
    load_checkpoint,
    matches,
)
from headish.integrations.langgraph.records import CheckpointObject, ThreadLane


class CheckpointQuery(NamedTuple):
    """The filters of a list; None matches any."""

    thread: str | None
    ns: str | None
    id: str | None
    before: str | None
    filter: Mapping[str, Any] | None

    @classmethod
    def of(cls, config: RunnableConfig | None, filter: Mapping[str, Any] | None, before: RunnableConfig | None) -> Self:
        names = {} if config is None else configured(config)
        thread = names.get("thread_id")
        return cls(
            None if thread is None else str(thread),
            names.get("checkpoint_ns"),
            names.get("checkpoint_id"),
            None if before is None else get_checkpoint_id(before),
            filter,
        )


class CheckpointLister:
    """Reads the checkpoints that match a query."""

    def __init__(self, held: DatabaseHold, serde: SaverSerde, query: CheckpointQuery) -> None:
        self._held, self._serde, self._query = held, serde, query

    def run(self) -> Iterator[CheckpointTuple]:
        """The checkpoints with their values. Each page is read in a transaction of its own, so that none stays open
        while the caller works."""
        if self._query.thread is not None and self._query.ns is not None:
            return self._of_lane(ThreadLane(self._query.thread, self._query.ns))
        return self._of_all()

    def _of_lane(self, lane: ThreadLane) -> Iterator[CheckpointTuple]:
        before = None if self._query.before is None else lane.checkpoint(self._query.before)
        for record in self._matching(lane.prefix, before):
            loaded = self._load(lane, record.id)
            if loaded is not None:  # else it was deleted after its page was read
                yield loaded

    def _of_all(self) -> Iterator[CheckpointTuple]:
        """List several namespaces: first their ids, because their checkpoints are not stored side by side."""
        thread = self._query.thread
        prefix = "" if thread is None else f"{records.part(thread)}/"
        matching = [(each.id, ThreadLane(each.thread, each.ns)) for each in self._matching(prefix)]
        # By id across all threads: LangGraph's ids (uuid6) grow with time.
        for id, lane in sorted(matching, reverse=True):
            loaded = self._load(lane, id)
            if loaded is not None:
                yield loaded

    def _matching(self, prefix: str, before: str | None = None) -> Iterator[CheckpointObject]:
        """The checkpoints whose keys have this prefix and are before ``before``, if they match the query."""
        while True:
            with self._held.use() as store:
                page = store.read(partial(list_checkpoints, prefix=prefix, before=before, limit=PAGE))
            yield from (record for _, record in page if self._fits(record))
            if len(page) < PAGE:
                return
            before = page[-1][0]

    def _fits(self, record: CheckpointObject) -> bool:
        query = self._query
        if (query.id is not None and record.id != query.id) or (query.before is not None and record.id >= query.before):
            return False
        return matches(record, query.filter, self._serde)

    def _load(self, lane: ThreadLane, id: str) -> CheckpointTuple | None:
        def work(read: ReadTransaction) -> CheckpointTuple | None:
            record = find_checkpoint(read, lane, id)
            return None if record is None else load_checkpoint(read, record, self._serde).tuple

        with self._held.use() as store:
            return store.read(work)
