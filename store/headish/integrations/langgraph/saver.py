"""``HeadishSaver``: a checkpointer whose messages are turns that everything else of headish can read."""

# pyright: reportMissingImports=false

from __future__ import annotations

import builtins
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from headish import ReadTransaction, Store, WriteTransaction
from headish.adapters.healing import heal
from headish.adapters.hiding import check_erase, erases
from headish.adapters.holding import DatabaseHold, Db, Scoped
from headish.aio import finish
from headish.errors import InvalidArgument, shown
from headish.integrations.langgraph import forgetting, listing, reading, writing
from headish.integrations.langgraph.reading import SaverSerde, configured
from headish.integrations.langgraph.records import ThreadLane
from headish.integrations.langgraph.thread_memory import KnownThreads
from headish.integrations.langgraph.writing import StaleThread

log = logging.getLogger("headish")
P = ParamSpec("P")
T = TypeVar("T")
LEFT = (
    "the bookmark of the thread %r was at the turn %s, which its graph does not know: the graph went on from its own"
    " messages. HeadishSaver.messages begins a thread with those of a turn."
)


def _awaited(
    verb: Callable[Concatenate[HeadishSaver, P], T],
) -> Callable[Concatenate[HeadishSaver, P], Coroutine[Any, Any, T]]:
    """Return the verb for asyncio: it looks the verb up, as a subclass may have another one."""

    async def run(self: HeadishSaver, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await finish(getattr(self, verb.__name__), *args, **kwargs)

    wraps(verb)(run)
    run.__name__, run.__doc__ = f"a{verb.__name__}", f"``{verb.__name__}``."
    return run


class HeadishSaver(BaseCheckpointSaver[str], Scoped):
    """A LangGraph checkpointer in a headish database. Sync and async in one class; a context manager.

    The messages of a thread are turns. Their bookmark is ``integrations.safe_name`` of the thread's id, so ``headish
    log`` shows the conversation. A message is stored once, however many checkpoints have it; other values of the state
    are stored once per version.

    - ``db``: a path, a URL, ``":memory:"`` or an open ``Database``.
    - ``serde``: another serializer. It gets every value whole, as one that encrypts must, so no message becomes a turn.
    - ``erase``: by default, ``delete_thread`` and ``delete_for_runs`` erase, and ``prune`` hides. With True all erase,
      with False all hide.

    Safe to share between threads, tasks and loops; several processes may use one thread. When a task learns that its
    call was cancelled, the verb has ended. Raises: AdapterClosed (a RuntimeError) after ``close``.
    """

    def __init__(
        self, db: Db, *, serde: SerializerProtocol | None = None, erase: bool | None = None, space: str = "default"
    ) -> None:
        super().__init__(serde=serde)
        self._erase = check_erase(erase)
        self._held = DatabaseHold(db, "the saver", space)
        self._known = KnownThreads()

    # What graphs call.

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with its new values. Returns the config that names it.

        Cost: one transaction; the stored bytes do not grow with the thread.
        Raises: TooLarge for a message or value past the database's limit; then nothing is stored.
        """
        lane, parent = _lane(config), get_checkpoint_id(config)
        metadata = get_checkpoint_metadata(config, metadata)
        with self._held.use() as store:
            while True:
                self._look_up(store, lane, parent)
                plan = writing.plan_checkpoint(
                    lane, checkpoint, metadata, parent, new_versions, self._known.find(lane), self._serde,
                    store.payload_limit_bytes,
                )  # fmt: skip
                try:
                    stored = store.write(partial(writing.store_checkpoint, plan=plan))
                except StaleThread:  # another writer changed the thread, so plan again from what is stored now
                    self._known.forget(lane)
                    continue
                self._known.remember(lane, stored.revision, checkpoint["id"], stored.refs, stored.lists)
                if stored.left is not None:
                    log.warning(LEFT, lane.thread, stored.left)
                break
        return {"configurable": {**_named(config), "checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task to a checkpoint. Its earlier writes stay; errors and interrupts are replaced.

        Cost: one transaction. Raises: TooLarge.
        """
        lane, channel_writes = _lane(config), writing.make_writes(writes, task_path, self._serde.dump)
        key = lane.writes(str(configured(config)["checkpoint_id"]), task_id)
        with self._held.use() as store:
            limit = store.payload_limit_bytes
            store.write(lambda write: writing.store_writes(write, key, task_id, channel_writes, limit))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names, or the last one of its namespace; None if there is none.

        Erased messages are left out. Raises: CorruptRecord, CorruptTurn if something is damaged.
        """
        lane, id = _lane(config), get_checkpoint_id(config)
        with self._held.use() as store:
            return self._load(store, lane, id, config if id else None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread, or of all threads, the greatest id first, read in pages.

        ``filter``: values that the metadata must have. ``before``: only checkpoints with a smaller id.
        Cost: with a namespace, a page costs the same however many there are; without one, all are looked at first.
        """
        query = listing.CheckpointQuery.of(config, filter, before)
        lister = listing.CheckpointLister(self._held, self._serde, query)
        for count, checkpoint in enumerate(lister.run()):
            if limit is not None and count >= limit:
                return
            yield checkpoint

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """The writes of a checkpoint's ancestors to channels, back to the nearest ancestor with a value of each.

        Ancestors that ``prune`` hid count, too. Cost: one transaction, two statements for each checkpoint.
        """
        lane, id = _lane(config), get_checkpoint_id(config)

        def work(read: ReadTransaction) -> Mapping[str, DeltaChannelHistory]:
            record = reading.find_checkpoint(read, lane, id)
            if record is None:
                return {channel: {"writes": []} for channel in channels}
            return reading.read_delta_history(read, record, channels, self._serde)

        with self._held.use() as store:
            return store.read(work) if channels else {}

    # What people call.

    def messages(self, headish: str, *, thread_id: str | None = None) -> builtins.list[BaseMessage]:
        """The messages of a thread of headish (a branch, an edit, an import) from which a graph can continue: the state
        for a new thread, for ``invoke`` or ``update_state``.

        If that thread's id is given as ``thread_id``, it shares their turns, and no message is stored again.
        Raises: UnknownTurn, Ambiguous, InvalidHeadish.
        """
        with self._held.use() as store:
            listed, known = store.read(lambda read: reading.begin_with(read, headish, self._serde))
        if thread_id is not None and known is not None:
            self._known.begin(ThreadLane(str(thread_id), ""), writing.MAIN, known)
        return listed

    def delete_thread(self, thread_id: str) -> None:
        """Erase a thread: its checkpoints, values and writes, and the turns to which no branch, other name or copied
        thread leads. With ``erase=False``, hide it. The bytes leave a SQLite file with ``Database.gc``.

        Cost: one transaction, two statements for each turn.
        """
        thread = str(thread_id)
        if not erases(self._erase, "HeadishSaver", "delete_thread", deletes=True):
            self._write(partial(forgetting.hide_thread, thread=thread))
        else:
            self._write(partial(forgetting.delete_thread, thread=thread, why="its thread was deleted"))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erase the checkpoints of runs, their writes, and the turns that only they have. With ``erase=False``, hide
        them.

        A delta channel of a later checkpoint loses the writes of these runs. Cost: looks at every checkpoint.
        Raises: InvalidArgument.
        """
        runs, serde = frozenset(_ids(run_ids, "run_ids")), self._serde
        is_final = erases(self._erase, "HeadishSaver", "delete_for_runs", deletes=True)
        self._held.check()  # without runs, nothing else would notice that the saver is closed
        if runs:
            why = "its run was deleted" if is_final else None
            self._write(partial(forgetting.delete_runs, runs=runs, serde=serde, why=why))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another one. The messages are not stored again: both threads
        share the turns, and each continues by itself."""
        source, target = str(source_thread_id), str(target_thread_id)
        self._write(partial(forgetting.copy_thread, source=source, target=target))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Hide all checkpoints of threads but the last of each namespace (``keep_latest``), or all (``delete``).

        ``erase=True`` erases them, and the turns that only they had. A delta channel keeps its state: the checkpoints
        from which it is rebuilt stay hidden. Raises: ValueError for another strategy; InvalidArgument.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"the strategy is 'keep_latest' or 'delete', not {strategy!r}")
        is_final = erases(self._erase, "HeadishSaver", "prune")
        why, keeps = "its checkpoints were pruned" if is_final else None, strategy == "keep_latest"
        self._held.check()
        for thread in _ids(thread_ids, "thread_ids"):
            self._write(partial(forgetting.prune_thread, thread=thread, why=why, keep_latest=keeps))

    def get_next_version(self, current: Any, channel: None = None) -> str:
        """The version after ``current``: the next number, and a random part that distinguishes two writers."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{secrets.randbits(52):016}"

    def close(self) -> None:
        """Release the database. A second call does nothing."""
        self._held.close()

    # The same for asyncio: a thread of a pool runs the verb. A cancelled task learns of it when the outcome is fixed.

    aput = _awaited(put)
    aput_writes = _awaited(put_writes)
    aget_tuple = _awaited(get_tuple)
    aget_delta_channel_history = _awaited(get_delta_channel_history)
    amessages = _awaited(messages)
    adelete_thread = _awaited(delete_thread)
    adelete_for_runs = _awaited(delete_for_runs)
    acopy_thread = _awaited(copy_thread)
    aprune = _awaited(prune)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """``list``."""
        checkpoints = self.list(config, filter=filter, before=before, limit=limit)
        while (item := await finish(next, checkpoints, None)) is not None:
            yield item

    # How.

    @property
    def _serde(self) -> SaverSerde:
        return SaverSerde(self._dump, self.serde.loads_typed, type(self.serde) is JsonPlusSerializer)

    def _dump(self, value: Any) -> tuple[str, bytes]:
        """The serializer's bytes. If it refuses a lone surrogate, that is replaced, since it must not end a run."""
        try:
            return self.serde.dumps_typed(value)
        except (TypeError, ValueError):
            mended, is_other = heal(value)
            if not is_other:
                raise
            return self.serde.dumps_typed(mended)

    def _look_up(self, store: Store, lane: ThreadLane, parent: str | None) -> None:
        """Load the parent checkpoint if it is not known, so that its messages are not stored again."""
        known = self._known.find(lane)
        if parent is not None and (known is None or known.refs(parent) is None):
            self._load(store, lane, parent, None)

    def _load(
        self, store: Store, lane: ThreadLane, id: str | None, config: RunnableConfig | None
    ) -> CheckpointTuple | None:
        """Load a checkpoint, and remember its lists."""

        def work(read: ReadTransaction) -> tuple[reading.LoadedCheckpoint, int] | None:
            record = reading.find_checkpoint(read, lane, id)
            thread = reading.find_thread(read, lane.thread)
            if record is None or thread is None:
                return None
            return reading.load_checkpoint(read, record, self._serde, config), thread[1]

        found = store.read(work)
        if found is None:
            return None
        loaded, revision = found
        record = loaded.record
        refs = {channel: (record.version(channel), number) for channel, number in record.values.items()}
        self._known.remember(lane, revision, record.id, refs, loaded.lists)
        return loaded.tuple

    def _write(self, work: Callable[[WriteTransaction], None]) -> None:
        """Run a deletion or a copy, in one transaction."""
        with self._held.use() as store:
            store.write(work)


def _ids(given: Sequence[str], what: str) -> list[str]:
    """Return ids as texts. A single text is refused: its letters would be taken for ids, and nothing would be
    erased."""
    if isinstance(given, str | bytes):
        raise InvalidArgument(f"{what} is a list of ids, not {shown(given)}: write [{shown(given)}]")
    return [str(each) for each in given]


def _lane(config: RunnableConfig) -> ThreadLane:
    names = configured(config)
    return ThreadLane(str(names["thread_id"]), names.get("checkpoint_ns") or "")


def _named(config: RunnableConfig) -> dict[str, Any]:
    names = configured(config)
    return {"thread_id": names["thread_id"], "checkpoint_ns": names.get("checkpoint_ns") or ""}
