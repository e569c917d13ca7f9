"""Processes that write at the same time. Each works on a store of its own and tells what it did.

Used by tests/concurrency, and by tests/migrations for two that upgrade at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from typing import Any

from headish import Store
from headish.errors import BookmarkMoved, UnknownBookmark
from support.places import Place

PROCESSES = 8
IMPORTED = [
    "headish.database.postgresql", "headish.database.sqlite", "headish.store.keeping.bookmarks",
    "headish.store.reading.read", "headish.store.store", "headish.store.writing.add", "psycopg",
]  # fmt: skip
"""What a server imports once from which the processes are forked. It has opened nothing."""
Work = Callable[[Store, int], Any]


def run_together(place: Place, work: Work, count: int = PROCESSES) -> list[Any]:
    """What ``work`` gives in each of so many processes, all of which began at the same moment."""
    context = get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    barrier = context.Barrier(count)
    queue = context.Queue()
    arguments = [(place.target, place.space, work, number, barrier, queue) for number in range(count)]
    processes = [context.Process(target=_run, args=each, daemon=True) for each in arguments]
    for process in processes:
        process.start()
    results = dict(queue.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    failed = [result for result in results.values() if isinstance(result, BaseException)]
    assert not failed, failed
    return [results[number] for number in range(count)]


def _run(target: str, space: str, work: Work, number: int, barrier: Barrier, queue: Any) -> None:
    try:
        barrier.wait(60)
        with Store.open(target, space=space) as store:
            queue.put((number, work(store, number)))
    except BaseException as error:
        queue.put((number, RuntimeError(f"{type(error).__name__}: {error}")))


TURNS_EACH = 25


def append_to_a_name(store: Store, number: int) -> list[str]:
    return [store.add_turn(f"{number}/{index}", continues="main").id for index in range(TURNS_EACH)]


def append_to_the_root(store: Store, number: int) -> list[str]:
    """By the id of a turn that everybody else continues as well."""
    root = next(store.turns()).id
    return [store.add_turn(f"{number}/{index}", continues=root).id for index in range(TURNS_EACH)]


def append_if_unmoved(store: Store, number: int) -> int:
    """Read the name, append only if it is still there, else read again; how often it had moved."""
    refused = 0
    for index in range(TURNS_EACH):
        while True:
            seen = store.get("main").id
            try:
                store.add_turn(f"{number}/{index}", continues="main", expect=seen, meta={"saw": seen})
                break
            except BookmarkMoved:
                refused += 1
    return refused


def append_batches(store: Store, number: int) -> int:
    items = [
        {"content": f"{number}/{index}", "respond": index > 0, "bookmark": f"b{index % 2}", "force": True}
        for index in range(40)
    ]
    return len(store.add_turns(items))


def move_one_name(store: Store, number: int) -> int:
    """Set and remove a name that others set and remove."""
    root = next(store.turns()).id
    for _ in range(TURNS_EACH):
        store.bookmarks.set("contested", root)
        if number % 2:
            with suppress(UnknownBookmark):  # another one was quicker
                store.bookmarks.remove("contested")
    return 0


def cross_names(store: Store, number: int) -> None:
    """Continue two names in either order, set one of them while others continue it, and record to it."""
    for index in range(TURNS_EACH):
        names, text = ["a", "b"] if number % 2 else ["b", "a"], f"{number}/{index}"
        if index % 3 == 0:
            store.add_turn(text, continues=names)
        elif index % 3 == 1:
            store.add_turn(text, continues=names[0], bookmark=names[1], force=True)
        else:
            store.record([{"role": "user", "content": text}], continues=names[0], bookmark=names[1])


def just_open(store: Store, number: int) -> Sequence[str]:
    return [store.add_turn(str(number)).id]


def find_all(store: Store, number: int) -> int:
    """Search beside others that search; how many turns were found."""
    return len(store.search("cat", limit=1000))


def write_until_killed(target: str, space: str, threads: str = "1") -> None:
    """Append for ever, in so many threads; an id is written out once it is stored."""

    def write(_: int) -> None:
        while True:
            turn = store.add_turn("x" * 500, continues="main", inherited={"n": 1})
            os.write(sys.stdout.fileno(), f"{turn.id}\n".encode())

    with Store.open(target, space=space) as store, ThreadPoolExecutor(int(threads)) as pool:
        list(pool.map(write, range(int(threads))))


if __name__ == "__main__":
    write_until_killed(*sys.argv[1:])
