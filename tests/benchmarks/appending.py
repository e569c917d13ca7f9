"""Writing turns: one a call, in batches, onto the middle of a thread, and into a large store."""

from __future__ import annotations

import shutil
import sqlite3
import statistics
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import plain, samerows, thin
from benchmarks.canonical import Said, check, conversation, given, items
from benchmarks.clock import Bench, median_call, median_step, microseconds, report
from headish import Store

PLAIN, SAME, THIN = "plain_table", "same_rows", "thinnest_program"
BATCH = 100
Steps = Callable[[sqlite3.Connection, samerows.Rows], Iterator[None]]


def append(bench: Bench) -> None:
    """A turn a call: to a name, to an id."""
    turns = bench.size(2100, 150)
    for name, durability, goal in (("append_full", "full", "<=2"), ("append_normal", "normal", "<=6")):
        ours, same, least, floor = append_to_name(bench, new_store(bench, durability), durability, turns)
        report(name, ours, least, of=PLAIN, goal=goal, turns=turns)
        report(name, ours, same, of=SAME, goal="<=2", turns=turns)
        report(f"{name}_floor", floor, least, of=PLAIN, turns=turns)
    ours, same = append_to_id(bench, turns)
    report("append_by_id", ours, same, of=SAME, goal="<=2", turns=turns, durability="normal")


def new_store(bench: Bench, durability: str = "full") -> Path:
    """A store with one turn, which is named."""
    path = bench.path("store")
    with Store.open(path, durability=durability) as store:
        store.add_turn("first", bookmark="main")
    return path


def append_to_name(bench: Bench, path: Path, durability: str, turns: int, name: str = "main") -> list[float]:
    """Microseconds of a turn: in headish, as the same rows, in a plain table, by the thinnest program. Each round has
    turns of its own."""
    per_round, first = turns // bench.rounds, samerows.seq_of(path)
    said = conversation(per_round * bench.rounds, first)
    same_path, thin_path = copied(bench, path), whole_copy(bench, path)
    times: list[list[float]] = [[], [], [], []]
    with (
        Store.open(path, durability=durability) as store,
        closing(plain.connect(same_path, durability)) as same,
        closing(plain.make_table(bench.path("plain"), durability)) as table,
    ):
        for start in range(0, len(said), per_round):
            portion = said[start : start + per_round]
            times[0].append(median_call(partial(add, store, name), portion))
            times[1].append(median_step(samerows.append_by_name(same, samerows.Rows(path, first + start))))
            times[2].append(median_call(partial(plain.add, table), portion))
            times[3].append(median_step(thin.appending(thin_path, durability, [[each] for each in portion], name)))
        check(plain.load(table), said)
        check(read(store, name)[-len(said) :], said)
    samerows.check_same(same_path, path)
    if path.stat().st_size < 10_000_000:  # of a large one the next line would take longer than all else
        thin.check_whole(thin_path, first + len(said))
    return [statistics.median(each) for each in times]


def add(store: Store, name: str, said: Said) -> None:
    store.add_turn(given(said), role=said.role, continues=name)


def read(store: Store, headish: str) -> list[tuple[str | None, Any]]:
    """The role and the blocks of each turn of a thread, as plain data."""
    return [(each["role"], each["content"]) for each in store.resolve(headish).to_dict()["messages"]]


def copied(bench: Bench, path: Path) -> Path:
    """A copy of a store: small ones by their tables, as the limit makes them; large ones as a file."""
    if path.stat().st_size >= 10_000_000:
        return whole_copy(bench, path)
    copy = bench.path("same")
    samerows.make_like(copy, path, "full").close()
    return copy


def whole_copy(bench: Bench, path: Path) -> Path:
    copy = bench.path("copy")
    plain.settled_bytes(path)
    shutil.copy(path, copy)
    return copy


def append_to_id(bench: Bench, turns: int) -> tuple[float, float]:
    """Microseconds of a turn that continues the one before by its id, without a name; and the same rows."""
    path, per_round, times = bench.path("by-id"), turns // bench.rounds, ([], [])
    store = Store.open(path, durability="normal")
    last = store.add_turn("first").id
    same_path = copied(bench, path)
    with closing(plain.connect(same_path, "normal")) as same:

        def follow(said: Said) -> None:
            nonlocal last
            last = store.add_turn(given(said), role=said.role, continues=last).id

        for number in range(bench.rounds):
            before, after = last, samerows.seq_of(path)
            times[0].append(median_call(follow, conversation(per_round, number * per_round)))
            times[1].append(median_step(samerows.append_by_id(same, samerows.Rows(path, after), before)))
    store.close()
    samerows.check_same(same_path, path)
    return statistics.median(times[0]), statistics.median(times[1])


def bulk(bench: Bench) -> None:
    """Batches of 100 turns, each a transaction that waits for the disk; and 1,000 turns a transaction."""
    for name, batch in (("bulk_100", BATCH), ("bulk_1000", 1000)):
        turns = bench.size(10_000, 1_000)
        said, times = conversation(turns), [bulk_round(bench, turns, batch) for _ in range(bench.rounds)]
        ours, same, least, floor = (statistics.median(column) for column in zip(*times, strict=True))
        goals = {"goal_of_peers": "<=1.8"} if batch == BATCH else {}
        report(name, ours, least, of=PLAIN, turns=len(said), durability="full", **goals)
        report(name, ours, same, of=SAME, turns=len(said), durability="full")
        report(f"{name}_floor", floor, least, of=PLAIN, turns=len(said), durability="full")


def bulk_round(bench: Bench, turns: int, batch: int) -> tuple[float, float, float, float]:
    """Microseconds of a turn: in headish, as the same rows, in a plain table, by the thinnest program."""
    path, said = new_store(bench), conversation(turns)
    same_path, thin_path = copied(bench, path), whole_copy(bench, path)
    batches = [said[start : start + batch] for start in range(0, turns, batch)]
    with Store.open(path) as store:
        listed = [list(items(each)) for each in batches]
        for each in listed:
            each[0]["continues"] = "main"
        ours = microseconds(lambda: [store.add_turns(each) for each in listed], turns)
        check(read(store, "main")[1:], said)
    rows = samerows.Rows(path, 1)
    with closing(plain.connect(same_path)) as same:
        again = microseconds(lambda: samerows.append_batches(same, rows, batch), turns)
    samerows.check_same(same_path, path)
    with closing(plain.make_table(bench.path("plain"))) as table:
        least = microseconds(lambda: [plain.add_batch(table, each) for each in batches], turns)
        check(plain.load(table), said)
    floor = microseconds(lambda: [*thin.appending(thin_path, "full", batches)], turns)
    thin.check_whole(thin_path, 1 + turns)
    return ours, again, least, floor


def fork(bench: Bench) -> None:
    """One turn that continues the middle of a thread; the plain table, which has no forks, adds a row."""
    path, turns = bench.path("fork"), bench.size(1_000, 200)
    forks = bench.size(700, 60) // bench.rounds
    times: list[list[float]] = [[], [], [], []]
    store = Store.open(path)
    ids = [turn.id for turn in store.add_turns(items(conversation(turns), "main"))]
    same_path, before = copied(bench, path), plain.settled_bytes(path)
    thin_path = whole_copy(bench, path)
    thinnest = thin.Thin(thin_path, "full")
    with (
        closing(plain.connect(same_path)) as same,
        closing(plain.make_table(bench.path("plain"))) as table,
        closing(thinnest.connection),
    ):
        for number in range(bench.rounds):
            said, after = conversation(forks, turns + number * forks), samerows.seq_of(path)
            # Not the large ones: a fork of 8 KB says nothing about forks.
            parents = [(ids[(index * 37 + after) % (turns - 1)], each) for index, each in enumerate(said)]
            times[0].append(median_call(partial(add_behind, store), parents))
            rows = samerows.Rows(path, after)
            times[1].append(median_step(samerows.append_by_id(same, rows, ids[0])))
            times[2].append(median_call(partial(plain.add, table), said))
            times[3].append(median_call(thinnest.fork, parents))
    store.close()
    samerows.check_same(same_path, path)
    thin.check_whole(thin_path, turns + forks * bench.rounds)
    ours, again, least, floor = map(statistics.median, times)
    grown = (plain.settled_bytes(path) - before) / (forks * bench.rounds)
    report("fork", ours, least, of=PLAIN, goal="<=2", turns=turns, bytes_grown=f"{grown:.0f}")
    report("fork", ours, again, of=SAME, goal="<=2", turns=turns)
    report("fork_floor", floor, least, of=PLAIN, turns=turns)


def add_behind(store: Store, parent_and_said: tuple[str, Said]) -> None:
    parent, said = parent_and_said
    store.add_turn(given(said), role=said.role, continues=parent)


def sizes(bench: Bench) -> None:
    """What a turn takes on the disk, and how many pages an append writes to the log."""
    turns, appended = bench.size(5_000, 500), 60
    path, plain_path, said = new_store(bench), bench.path("plain"), conversation(turns)
    empty = plain.settled_bytes(path)
    with Store.open(path) as store, closing(plain.make_table(plain_path)) as table:
        empty_plain = plain.settled_bytes(plain_path)
        for each in said:
            add(store, "main", each)
            plain.add(table, each)
        ours, least = plain.settled_bytes(path) - empty, plain.settled_bytes(plain_path) - empty_plain
        report("bytes_per_turn", ours / turns, least / turns, of=PLAIN, goal="<=1.35", unit="b", turns=turns)
        floor = plain.settled_bytes(thin.rows_alone(bench.path("rows"), path))
        report("bytes_per_turn_floor", floor / turns, least / turns, of=PLAIN, unit="b", turns=turns)
        for each in conversation(appended, turns):
            add(store, "main", each)
            plain.add(table, each)
        pages = [(plain.log_bytes(each) - 32) / plain.FRAME_BYTES / appended for each in (path, plain_path)]
    report("pages_per_append", *pages, of=PLAIN, unit="pages", goal_headish_pages="<=9", turns=turns)
