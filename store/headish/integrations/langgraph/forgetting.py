"""Hide checkpoints, or erase them with the values and turns that nothing else needs.

A thread's turns may be shared, by threads that were copied from it, or by branches and names that people made. Shared
turns stay (the scope ``branch`` of an erasure).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from headish import Object, ReadTransaction, WriteTransaction
from headish.errors import UnknownTurn
from headish.integrations.langgraph import records
from headish.integrations.langgraph.reading import SaverSerde, checkpoint_of, find_thread, turns_of, walk_parents
from headish.integrations.langgraph.records import CheckpointObject, MessageList, ThreadLane, ThreadObject, Typed
from headish.integrations.langgraph.writing import name_thread, put_thread

KINDS = (records.CHECKPOINT, records.PRUNED, records.VALUE, records.WRITES)
"""The kinds of all objects of a thread but its record."""


def delete_thread(write: WriteTransaction, thread: str, why: str) -> None:
    """Erase a thread. Cost: a few statements, and two for each turn."""
    thread_record = find_thread(write, thread)
    name = None if thread_record is None else thread_record[0].name
    prefix = f"{records.part(thread)}/"
    ends = _tips(write, _lists(write, prefix))
    now = None if name is None else write.bookmark(name)
    # Threads that were copied from this one share its turns.
    keeping = _kin_tips(write, thread_record[0]) if thread_record else []
    write.erase_unshared([*ends, *([now] if now else [])], why, keeping=keeping, name=name)
    for kind in KINDS:
        write.remove_all(kind, prefix)
    if name is not None:
        write.erase_bookmark(name, why)
    write.remove(records.THREAD, records.part(thread))
    for each in thread_record[0].kin if thread_record else ():
        other = find_thread(write, each)
        if other is not None:
            put_thread(write, replace(other[0], kin=tuple(id for id in other[0].kin if id != thread)))


def hide_thread(write: WriteTransaction, thread: str) -> None:
    """Hide all checkpoints of a thread, and remove its bookmark."""
    for key, record in all_checkpoints(write, f"{records.part(thread)}/"):
        _hide(write, key, record)
    thread_record = find_thread(write, thread)
    if thread_record is not None:
        if thread_record[0].name is not None:
            write.remove_bookmark(thread_record[0].name)
        put_thread(write, replace(thread_record[0], name=None))


def prune_thread(write: WriteTransaction, thread: str, why: str | None, *, keep_latest: bool) -> None:
    """Keep the last checkpoint of each namespace, or none. Hide the others; with a reason ``why``, erase them, except
    those from which a delta channel of a kept one is rebuilt."""
    latest: dict[str, CheckpointObject] = {}
    checkpoints = all_checkpoints(write, f"{records.part(thread)}/")
    for _, record in checkpoints:  # in the order of their ids
        latest[record.ns] = record
    kept = latest.values() if keep_latest else ()
    for key, record in checkpoints:
        if not (keep_latest and latest[record.ns] is record):
            _hide(write, key, record)
    if why is not None:
        needed = {(each.ns, each.id) for record in kept for each in _leading(write, record)}
        _drop_hidden(write, thread, needed)
        collect(write, thread, why)


def delete_runs(write: WriteTransaction, runs: Collection[str], serde: SaverSerde, why: str | None) -> None:
    """Erase the checkpoints of runs in all threads; without a reason ``why``, hide them.

    Cost: reads every checkpoint of the space.
    """
    threads: dict[str, None] = {}
    kinds = (records.CHECKPOINT,) if why is None else (records.CHECKPOINT, records.PRUNED)
    for kind in kinds:
        for key, record in all_checkpoints(write, "", kind):
            if serde.load(record.metadata).get("run_id") in runs:
                threads[record.thread] = None
                if why is None:
                    _hide(write, key, record)
                else:
                    _drop(write, kind, key, record)
    for thread in threads if why is not None else ():
        collect(write, thread, str(why))


def copy_thread(write: WriteTransaction, source: str, target: str) -> None:
    """Copy all objects of a thread to another one; both share the turns. Cost: three statements for each object."""
    thread_record = find_thread(write, source)
    if thread_record is None or source == target:
        return
    before, after = f"{records.part(source)}/", f"{records.part(target)}/"
    for kind in KINDS:
        for each in write.objects(kind, before):
            data = each.data
            if kind in (records.CHECKPOINT, records.PRUNED):
                data = records.encode(replace(checkpoint_of(each), thread=target))
            write.put(kind, after + each.key.removeprefix(before), data)
    _make_kin(write, thread_record[0], target)


def _make_kin(write: WriteTransaction, source: ThreadObject, target: str) -> None:
    """Note in the records of threads that they share turns, and give the new thread's messages a bookmark."""
    kin = {*source.kin, source.id} - {target}
    existing = find_thread(write, target)
    renewed = ThreadObject(target) if existing is None else existing[0]
    now = None if source.name is None else write.bookmark(source.name)
    if now is not None:
        renewed = name_thread(write, renewed)
        write.set_bookmark(str(renewed.name), now)
    put_thread(write, replace(renewed, kin=tuple(sorted(kin | set(renewed.kin)))))
    for each in kin:
        other = find_thread(write, each)
        if other is not None:
            put_thread(write, replace(other[0], kin=tuple(sorted({*other[0].kin, target}))))


def collect(write: WriteTransaction, thread: str, why: str) -> None:
    """Remove the values that no checkpoint of a thread has any more, and erase the turns that only they had."""
    prefix = f"{records.part(thread)}/"
    used = {key for kind in KINDS[:2] for _, each in all_checkpoints(write, prefix, kind) for key in values_of(each)}
    going, staying = list[MessageList](), list[MessageList]()
    for each in write.objects(records.VALUE, prefix):
        listed = _list_of(each)
        if listed is not None:
            (staying if each.key in used else going).append(listed)
        if each.key not in used:
            write.remove(records.VALUE, each.key)
    thread_record = find_thread(write, thread)
    if thread_record is None:
        return
    _name_latest(write, thread_record[0])
    keeping = [*_tips(write, staying), *_kin_tips(write, thread_record[0])]
    write.erase_unshared(_tips(write, going), why, keeping=keeping, name=thread_record[0].name)
    # The new revision makes savers forget what they remember of this thread: its turns may be gone.
    put_thread(write, thread_record[0])


def values_of(record: CheckpointObject) -> list[str]:
    """The keys of a checkpoint's values."""
    lane = ThreadLane(record.thread, record.ns)
    return [lane.value(channel, record.version(channel), number) for channel, number in record.values.items()]


def all_checkpoints(
    read: ReadTransaction, prefix: str, kind: str = records.CHECKPOINT
) -> list[tuple[str, CheckpointObject]]:
    """The checkpoints whose keys have this prefix, with their keys, in the order of the keys."""
    return [(each.key, checkpoint_of(each)) for each in read.objects(kind, prefix)]


def _hide(write: WriteTransaction, key: str, record: CheckpointObject) -> None:
    write.remove(records.CHECKPOINT, key)
    write.put(records.PRUNED, key, records.encode(record))


def _drop(write: WriteTransaction, kind: str, key: str, record: CheckpointObject) -> None:
    write.remove(kind, key)
    write.remove_all(records.WRITES, ThreadLane(record.thread, record.ns).writes(record.id))


def _drop_hidden(write: WriteTransaction, thread: str, needed: Collection[tuple[str, str]]) -> None:
    for key, record in all_checkpoints(write, f"{records.part(thread)}/", records.PRUNED):
        if (record.ns, record.id) not in needed:
            _drop(write, records.PRUNED, key, record)


def _leading(read: ReadTransaction, record: CheckpointObject) -> Iterator[CheckpointObject]:
    """The ancestors from which a checkpoint's delta channels are rebuilt, back to one with a value of each."""
    waiting = record.deltas() - record.values.keys()
    for ancestor in walk_parents(read, record) if waiting else ():
        yield ancestor
        waiting -= ancestor.values.keys()
        if not waiting:
            return


def _list_of(value: Object) -> MessageList | None:
    return turns_of(records.decode(Typed, value.data, value.key), value.key)


def _lists(read: ReadTransaction, prefix: str) -> list[MessageList]:
    """The lists of messages among the values whose keys have this prefix."""
    lists = map(_list_of, read.objects(records.VALUE, prefix))
    return [each for each in lists if each is not None]


def _tips(read: ReadTransaction, lists: Iterable[MessageList]) -> list[str]:
    """The last turns of lists, each once, without missing ones."""
    tips: list[str] = []
    for tip in dict.fromkeys(each.tip for each in lists):
        try:
            tips.append(read.turn(tip))
        except UnknownTurn:  # damage, which ``verify`` reports; it must not keep a person from erasing
            continue
    return tips


def _kin_tips(read: ReadTransaction, thread: ThreadObject) -> list[str]:
    """The last turns of the lists of all threads that share turns with this one."""
    return _tips(read, [each for kin in thread.kin for each in _lists(read, f"{records.part(kin)}/")])


def _name_latest(write: WriteTransaction, thread: ThreadObject) -> None:
    """Set a thread's bookmark to the messages of its last checkpoint, so that it does not keep turns that are to go."""
    if thread.name is None:
        return
    last = [record for _, record in all_checkpoints(write, ThreadLane(thread.id, "").prefix)][-1:]
    tip = next((found for each in last for found in _main_tips(write, each)), None)
    if tip is None:
        write.remove_bookmark(thread.name)
    else:
        write.set_bookmark(thread.name, tip)


def _main_tips(read: ReadTransaction, record: CheckpointObject) -> Iterator[str]:
    lane = ThreadLane(record.thread, record.ns)
    # The channel ``messages`` first, because the thread's bookmark follows it (``writing.MAIN``).
    for channel in sorted(record.values, key=lambda each: (each != "messages", each)):
        value = read.object(records.VALUE, lane.value(channel, record.version(channel), record.values[channel]))
        listed = None if value is None else _list_of(value)
        if listed is not None:
            yield from _tips(read, [listed])
