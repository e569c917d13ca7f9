"""Taking checkpoints away: out of sight, or for good with the values and turns that nothing else needs.

A thread's turns may be shared: by the threads that were copied from it, by branches and names that people made. Those
stay (the scope ``branch`` of an erasure).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import cast

from msgspec.structs import replace

from headish.database.query import Connection, Row
from headish.erasing.choosing import Wish
from headish.erasing.erase import Said as Reason
from headish.erasing.erase import erase as erase_turns
from headish.integrations.langgraph import records
from headish.integrations.langgraph.reading import Serde, find_thread, thread_key, turns_of, walk_parents
from headish.integrations.langgraph.records import Checkpoint, Lane, Thread, Turns, Typed
from headish.integrations.langgraph.writing import name_thread
from headish.integrations.shared.freeing import free_turns
from headish.rows.bookmarks import ALL, find_bookmark, remove_bookmark, set_bookmark
from headish.rows.objects import Put, find_object, list_objects, put_object, remove_object, remove_objects
from headish.rows.turns import turn_at, turn_by_id
from headish.values.ids import Mint
from headish.values.places import Place

KINDS = (records.CHECKPOINT, records.PRUNED, records.VALUE, records.WRITES)
"""All that a thread holds, but its record."""


def delete_thread(connection: Connection, space: int, mint: Mint, *, thread: str, reason: Reason) -> None:
    """Take a thread away for good. The space is locked.

    Cost: a few statements, and two for each turn.
    """
    found = find_thread(connection, space, thread)
    name = None if found is None or found[0].name is None else found[0].name.encode()
    prefix = f"{records.part(thread)}/"
    ends = _places(connection, space, _turns(connection, space, prefix))
    now = None if name is None else find_bookmark(connection, space, name)
    keepers = _kin_places(connection, space, found[0]) if found else []
    _erase(connection, space, [*ends, *([now] if now else [])], keepers, name, reason, mint)
    for kind in KINDS:
        remove_objects(connection, space, kind, prefix.encode())
    if name is not None:
        remove_bookmark(connection, space, name)
    if found is not None:
        remove_object(connection, space, records.THREAD, thread_key(thread), None)


def hide_thread(connection: Connection, space: int, _: Mint, *, thread: str) -> None:
    """Take all checkpoints of a thread out of sight, and its name away. The space is locked."""
    for key, record in all_checkpoints(connection, space, f"{records.part(thread)}/"):
        _hide(connection, space, key, record)
    found = find_thread(connection, space, thread)
    if found is not None:
        if found[0].name is not None:
            remove_bookmark(connection, space, found[0].name.encode())
        _touch(connection, space, replace(found[0], name=None))


def prune_thread(
    connection: Connection, space: int, mint: Mint, *, thread: str, keep_latest: bool, reason: Reason | None
) -> None:
    """Keep the last checkpoint of each namespace, or none. The others go out of sight; with a ``reason`` for good, but
    those that a delta channel of a kept one is rebuilt from.

    The space is locked.
    """
    latest: dict[str, Checkpoint] = {}
    found = list(all_checkpoints(connection, space, f"{records.part(thread)}/"))
    for _, record in found:  # in the order of their ids
        latest[record.ns] = record
    kept = latest.values() if keep_latest else ()
    going = [(key, record) for key, record in found if not (keep_latest and latest[record.ns] is record)]
    for key, record in going:
        _hide(connection, space, key, record)
    if reason is not None:
        needed = {(each.ns, each.id) for record in kept for each in _leading(connection, space, record)}
        _drop_hidden(connection, space, thread, needed)
        collect(connection, space, thread, reason, mint)


def delete_runs(
    connection: Connection, space: int, mint: Mint, *, runs: Collection[str], serde: Serde, reason: Reason | None
) -> None:
    """Take the checkpoints of runs away, in all threads; without a ``reason`` out of sight. The space is locked.

    Cost: reads every checkpoint of the space.
    """
    threads: dict[str, None] = {}
    kinds = (records.CHECKPOINT,) if reason is None else (records.CHECKPOINT, records.PRUNED)
    for kind in kinds:
        for key, record in all_checkpoints(connection, space, "", kind):
            if serde.load(record.metadata).get("run_id") in runs:
                threads[record.thread] = None
                if reason is None:
                    _hide(connection, space, key, record)
                else:
                    _drop(connection, space, kind, key, record)
    for thread in threads if reason is not None else ():
        collect(connection, space, thread, cast(Reason, reason), mint)


def copy_thread(connection: Connection, space: int, _: Mint, *, source: str, target: str) -> None:
    """Copy all that a thread holds to another one; both have the turns. The space is locked.

    Cost: three statements for each object.
    """
    found = find_thread(connection, space, source)
    if found is None or source == target:
        return
    before = f"{records.part(source)}/".encode()
    after = f"{records.part(target)}/".encode()
    for kind in KINDS:
        for row in _all(connection, space, kind, before.decode()):
            data = bytes(row[3])
            if kind in (records.CHECKPOINT, records.PRUNED):
                data = records.encode(replace(records.decode(Checkpoint, data, str(row[1])), thread=target))
            put_object(connection, space, Put(kind, after + bytes(row[1])[len(before) :], data))
    _make_kin(connection, space, found[0], target)


def _make_kin(connection: Connection, space: int, source: Thread, target: str) -> None:
    """Write into the records of threads that they share turns, and name the new one's."""
    kin = {*source.kin, source.id} - {target}
    known = find_thread(connection, space, target)
    made = Thread(target) if known is None else known[0]
    now = None if source.name is None else find_bookmark(connection, space, source.name.encode())
    if now is not None:
        made = name_thread(connection, space, made)
        turn = turn_at(connection, space, now)
        assert turn is not None
        set_bookmark(connection, space, str(made.name).encode(), turn)
    _touch(connection, space, replace(made, kin=tuple(sorted(kin | set(made.kin)))))
    for each in kin:
        other = find_thread(connection, space, each)
        if other is not None:
            _touch(connection, space, replace(other[0], kin=tuple(sorted({*other[0].kin, target}))))


def collect(connection: Connection, space: int, thread: str, reason: Reason, mint: Mint) -> None:
    """Remove the values that no checkpoint of a thread has any more, and erase the turns that only they had."""
    prefix = f"{records.part(thread)}/"
    named = {
        key
        for kind in KINDS[:2]
        for _, each in all_checkpoints(connection, space, prefix, kind)
        for key in values_of(each)
    }
    going, staying = list[Turns](), list[Turns]()
    for row in _all(connection, space, records.VALUE, prefix):
        key = bytes(row[1])
        turns = turns_of(records.decode(Typed, row[3], key.decode()), key.decode())
        if turns is not None:
            (staying if key.decode() in named else going).append(turns)
        if key.decode() not in named:
            remove_object(connection, space, records.VALUE, key, None)
    found = find_thread(connection, space, thread)
    if found is None:
        return
    name = None if found[0].name is None else found[0].name.encode()
    _name_latest(connection, space, found[0])
    ends = _places(connection, space, going)
    keepers = [*_places(connection, space, staying), *_kin_places(connection, space, found[0])]
    _erase(connection, space, ends, keepers, name, reason, mint)
    _touch(connection, space, found[0])


def values_of(record: Checkpoint) -> list[str]:
    """The keys of the values that a checkpoint has."""
    lane = Lane(record.thread, record.ns)
    return [lane.value(channel, record.version(channel), number) for channel, number in record.values.items()]


def all_checkpoints(
    connection: Connection, space: int, prefix: str, kind: str = records.CHECKPOINT
) -> Iterator[tuple[bytes, Checkpoint]]:
    """The checkpoints whose keys begin so, with their keys, in the order of those."""
    for row in _all(connection, space, kind, prefix):
        yield bytes(row[1]), records.decode(Checkpoint, row[3], str(row[1]))


def _all(connection: Connection, space: int, kind: str, prefix: str) -> Sequence[Row]:
    return list_objects(connection, space, kind, prefix=prefix.encode(), after=b"", limit=ALL)


def _hide(connection: Connection, space: int, key: bytes, record: Checkpoint) -> None:
    remove_object(connection, space, records.CHECKPOINT, key, None)
    put_object(connection, space, Put(records.PRUNED, key, records.encode(record)))


def _drop(connection: Connection, space: int, kind: str, key: bytes, record: Checkpoint) -> None:
    remove_object(connection, space, kind, key, None)
    prefix = Lane(record.thread, record.ns).writes(record.id)
    remove_objects(connection, space, records.WRITES, prefix.encode())


def _drop_hidden(connection: Connection, space: int, thread: str, needed: Collection[tuple[str, str]]) -> None:
    for key, record in list(all_checkpoints(connection, space, f"{records.part(thread)}/", records.PRUNED)):
        if (record.ns, record.id) not in needed:
            _drop(connection, space, records.PRUNED, key, record)


def _leading(connection: Connection, space: int, record: Checkpoint) -> Iterator[Checkpoint]:
    """The checkpoints before one that its delta channels are rebuilt from: back to one with a value of each."""
    waiting = record.deltas() - record.values.keys()
    for ancestor in walk_parents(connection, space, record) if waiting else ():
        yield ancestor
        waiting -= ancestor.values.keys()
        if not waiting:
            return


def _touch(connection: Connection, space: int, thread: Thread) -> None:
    """Write a thread's record anew: what savers remember of it holds no longer."""
    put_object(connection, space, Put(records.THREAD, thread_key(thread.id), records.encode(thread)))


def _turns(connection: Connection, space: int, prefix: str) -> Iterator[Turns]:
    """The lists of messages that stand under keys which begin so."""
    for row in _all(connection, space, records.VALUE, prefix):
        turns = turns_of(records.decode(Typed, row[3], str(row[1])), str(row[1]))
        if turns is not None:
            yield turns


def _places(connection: Connection, space: int, turns: Iterable[Turns]) -> list[Place]:
    tips = dict.fromkeys(each.tip for each in turns)
    found = (turn_by_id(connection, space, tip) for tip in tips)
    return [each.place for each in found if each is not None]


def _kin_places(connection: Connection, space: int, thread: Thread) -> list[Place]:
    """Where the lists of the threads end that share turns with one."""
    turns = [each for kin in thread.kin for each in _turns(connection, space, f"{records.part(kin)}/")]
    return _places(connection, space, turns)


def _name_latest(connection: Connection, space: int, thread: Thread) -> None:
    """Set a thread's name onto the messages of its last checkpoint, so that it does not hold on to what goes."""
    if thread.name is None:
        return
    name = thread.name.encode()
    prefix = Lane(thread.id, "").prefix
    last = [record for _, record in all_checkpoints(connection, space, prefix)][-1:]
    place = next((found for each in last for found in _main_place(connection, space, each)), None)
    if place is None:
        remove_bookmark(connection, space, name)
    elif find_bookmark(connection, space, name) != place:
        turn = turn_at(connection, space, place)
        assert turn is not None
        set_bookmark(connection, space, name, turn)


def _main_place(connection: Connection, space: int, record: Checkpoint) -> Iterator[Place]:
    lane = Lane(record.thread, record.ns)
    for channel in sorted(record.values, key=lambda each: (each != "messages", each)):
        key = lane.value(channel, record.version(channel), record.values[channel])
        row = find_object(connection, space, records.VALUE, key.encode())
        turns = None if row is None else turns_of(records.decode(Typed, row[3], key), key)
        if turns is not None:
            yield from _places(connection, space, [turns])


def _erase(
    connection: Connection,
    space: int,
    ends: Sequence[Place],
    keepers: Sequence[Place],
    own: bytes | None,
    reason: Reason,
    mint: Mint,
) -> None:
    places = free_turns(connection, space, ends, keepers, own)
    if places:
        erase_turns(connection, space, places, Wish("turn", meta=True), reason, mint)
