"""Remove checkpoints: hide them, or delete them with the values and turns that nothing else needs.

Threads that were copied from a thread share its turns, as do branches and names that people made. Shared turns stay
(the scope ``branch`` of an erasure).
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
"""The kinds of all objects of a thread except its record."""


def delete_thread(write: WriteTransaction, thread: str, why: str) -> None:
    """Erase a thread. Cost: a few statements, and two for each turn."""
    found = find_thread(write, thread)
    name = None if found is None else found[0].name
    prefix = f"{records.part(thread)}/"
    ends = _tips(write, _lists(write, prefix))
    now = None if name is None else write.bookmark(name)
    # Threads that were copied from this one share its turns.
    keeping = _kin_tips(write, found[0]) if found else []
    write.erase_unshared([*ends, *([now] if now else [])], why, keeping=keeping, name=name)
    for kind in KINDS:
        write.remove_all(kind, prefix)
    if name is not None:
        write.erase_bookmark(name, why)
    write.remove(records.THREAD, records.part(thread))
    for each in found[0].kin if found else ():
        other = find_thread(write, each)
        if other is not None:
            put_thread(write, replace(other[0], kin=tuple(id for id in other[0].kin if id != thread)))


def hide_thread(write: WriteTransaction, thread: str) -> None:
    """Hide all checkpoints of a thread, and remove its name."""
    for key, record in all_checkpoints(write, f"{records.part(thread)}/"):
        _hide(write, key, record)
    found = find_thread(write, thread)
    if found is not None:
        if found[0].name is not None:
            write.remove_bookmark(found[0].name)
        put_thread(write, replace(found[0], name=None))


def prune_thread(write: WriteTransaction, thread: str, why: str | None, *, keep_latest: bool) -> None:
    """Hide all checkpoints of a thread except, with ``keep_latest``, the last of each namespace.

    With a reason (``why``), hidden checkpoints are deleted, except those from which a delta channel of a kept one is
    rebuilt.
    """
    latest: dict[str, CheckpointObject] = {}
    found = all_checkpoints(write, f"{records.part(thread)}/")
    for _, record in found:  # in the order of their ids
        latest[record.ns] = record
    kept = latest.values() if keep_latest else ()
    for key, record in found:
        if not (keep_latest and latest[record.ns] is record):
            _hide(write, key, record)
    if why is not None:
        needed = {(each.ns, each.id) for record in kept for each in _leading(write, record)}
        _drop_hidden(write, thread, needed)
        collect(write, thread, why)


def delete_runs(write: WriteTransaction, runs: Collection[str], serde: SaverSerde, why: str | None) -> None:
    """Delete the checkpoints of runs, in all threads; without a reason (``why``), hide them.

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
    """Copy the objects of a thread to another one; the two share their turns. Cost: three statements per object."""
    found = find_thread(write, source)
    if found is None or source == target:
        return
    before, after = f"{records.part(source)}/", f"{records.part(target)}/"
    for kind in KINDS:
        for each in write.objects(kind, before):
            data = each.data
            if kind in (records.CHECKPOINT, records.PRUNED):
                data = records.encode(replace(checkpoint_of(each), thread=target))
            write.put(kind, after + each.key.removeprefix(before), data)
    _make_kin(write, found[0], target)


def _make_kin(write: WriteTransaction, source: ThreadObject, target: str) -> None:
    """Note in the records of threads that they share turns with ``target``, and give ``target`` a name."""
    kin = {*source.kin, source.id} - {target}
    known = find_thread(write, target)
    made = ThreadObject(target) if known is None else known[0]
    now = None if source.name is None else write.bookmark(source.name)
    if now is not None:
        made = name_thread(write, made)
        write.set_bookmark(str(made.name), now)
    put_thread(write, replace(made, kin=tuple(sorted(kin | set(made.kin)))))
    for each in kin:
        other = find_thread(write, each)
        if other is not None:
            put_thread(write, replace(other[0], kin=tuple(sorted({*other[0].kin, target}))))


def collect(write: WriteTransaction, thread: str, why: str) -> None:
    """Remove the values that no checkpoint of a thread has any more, and erase the turns that only they used."""
    prefix = f"{records.part(thread)}/"
    used = {key for kind in KINDS[:2] for _, each in all_checkpoints(write, prefix, kind) for key in values_of(each)}
    going, staying = list[MessageList](), list[MessageList]()
    for each in write.objects(records.VALUE, prefix):
        listed = _list_of(each)
        if listed is not None:
            (staying if each.key in used else going).append(listed)
        if each.key not in used:
            write.remove(records.VALUE, each.key)
    found = find_thread(write, thread)
    if found is None:
        return
    _name_latest(write, found[0])
    keeping = [*_tips(write, staying), *_kin_tips(write, found[0])]
    write.erase_unshared(_tips(write, going), why, keeping=keeping, name=found[0].name)
    # The new revision tells savers to forget what they remember of this thread.
    put_thread(write, found[0])


def values_of(record: CheckpointObject) -> list[str]:
    """The keys of a checkpoint's values."""
    lane = ThreadLane(record.thread, record.ns)
    return [lane.value(channel, record.version(channel), number) for channel, number in record.values.items()]


def all_checkpoints(
    read: ReadTransaction, prefix: str, kind: str = records.CHECKPOINT
) -> list[tuple[str, CheckpointObject]]:
    """The checkpoints whose keys begin with ``prefix``, each after its key, in the order of keys."""
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
    """The earlier checkpoints from which the delta channels of one are rebuilt, nearest first: back to where each
    channel has a value."""
    waiting = record.deltas() - record.values.keys()
    for ancestor in walk_parents(read, record) if waiting else ():
        yield ancestor
        waiting -= ancestor.values.keys()
        if not waiting:
            return


def _list_of(value: Object) -> MessageList | None:
    return turns_of(records.decode(Typed, value.data, value.key), value.key)


def _lists(read: ReadTransaction, prefix: str) -> list[MessageList]:
    """The lists of messages among the values whose keys begin with ``prefix``."""
    found = map(_list_of, read.objects(records.VALUE, prefix))
    return [each for each in found if each is not None]


def _tips(read: ReadTransaction, lists: Iterable[MessageList]) -> list[str]:
    """The last turn of each list, each once. Leaves out turns that do not exist."""
    found: list[str] = []
    for tip in dict.fromkeys(each.tip for each in lists):
        try:
            found.append(read.turn(tip))
        except UnknownTurn:  # a damaged database; the rest must still be erasable
            continue
    return found


def _kin_tips(read: ReadTransaction, thread: ThreadObject) -> list[str]:
    """The last turns of the lists of the threads that share turns with one."""
    return _tips(read, [each for kin in thread.kin for each in _lists(read, f"{records.part(kin)}/")])


def _name_latest(write: WriteTransaction, thread: ThreadObject) -> None:
    """Move a thread's name to the messages of its last checkpoint, or else the name would keep turns from erasure."""
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
    # First the channel `messages`: its list has the thread's name.
    for channel in sorted(record.values, key=lambda each: (each != "messages", each)):
        value = read.object(records.VALUE, lane.value(channel, record.version(channel), record.values[channel]))
        listed = None if value is None else _list_of(value)
        if listed is not None:
            yield from _tips(read, [listed])
