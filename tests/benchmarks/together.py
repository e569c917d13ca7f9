"""Many at once: processes on one file, threads on one store, spaces in one database."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import plain
from benchmarks.appending import PLAIN, add, new_store, read
from benchmarks.clock import Bench, report, skip
from headish import Store

PROCESSES, THREADS = 8, 32
LOG_MB = 16
Writer = Callable[[Path, str, int, int, Any], None]


def processes(bench: Bench) -> None:
    """8 processes that append to one name, turns a second, and how large the log grew meanwhile."""
    count, each = bench.size(PROCESSES, 3), bench.size(400, 40)
    for durability in ("full", "normal"):
        results = []
        for _ in range(bench.size(3, 1)):
            path, plain_path = new_store(bench), bench.path("plain")
            plain.make_table(plain_path).close()
            ours = race(write_turns, path, durability, count, each)
            least = race(plain.write_rows, plain_path, durability, count, each)
            results.append((*ours, *least))
            with Store.open(path) as store, closing(plain.connect(plain_path)) as table:
                check_all(read(store, "main")[1:], count, each)
                check_all(plain.load(table), count, each)
        rate, log, plain_rate, plain_log = (median(column) for column in zip(*results, strict=True))
        goals = {"goal_of_peers": ">=1", "goal_log_mb": f"<={LOG_MB}"} if durability == "full" else {}
        report(f"processes_{durability}", rate, plain_rate, of=PLAIN, unit="per_s", processes=count,
               turns=count * each, log_mb=f"{log / 1e6:.1f}", limit_log_mb=f"{plain_log / 1e6:.1f}",
               **goals)  # fmt: skip


def check_all(found: list[tuple[str | None, Any]], writers: int, each: int) -> None:
    """What all writers wrote is there once, and each one's in its order. Raises: SystemExit."""
    expected = [list(map(tuple, plain.said_by(writer, each))) for writer in range(writers)]
    places = {
        repr(said): (writer, index) for writer, listed in enumerate(expected) for index, said in enumerate(listed)
    }
    seen = [places.pop(repr(one), None) for one in found]
    if places or None in seen:
        raise SystemExit("turns of a writer are missing, or there twice")
    for writer in range(writers):
        mine = [index for who, index in filter(None, seen) if who == writer]
        if mine != sorted(mine):
            raise SystemExit("turns of a writer are not in their order")


def race(work: Writer, path: Path, durability: str, processes: int, each: int) -> tuple[float, int]:
    """Turns a second of processes that begin together, and the largest size of the log."""
    context, largest = get_context("spawn"), 0
    barrier = context.Barrier(processes + 1)
    running = [context.Process(target=work, args=(path, durability, each, n, barrier)) for n in range(processes)]
    for process in running:
        process.start()
    barrier.wait()
    started = time.perf_counter()
    while any(process.is_alive() for process in running):
        largest = max(largest, plain.log_bytes(path))
        next(process for process in running if process.is_alive() or process is running[-1]).join(0.01)
    seconds = time.perf_counter() - started
    if any(process.exitcode for process in running):
        raise SystemExit("a writer failed")
    return processes * each / seconds, largest


def write_turns(path: Path, durability: str, each: int, writer: int, barrier: Any) -> None:
    with Store.open(path, durability=durability) as store:
        said = plain.said_by(writer, each)
        barrier.wait()
        for one in said:
            add(store, "main", one)


def threads(bench: Bench) -> None:
    """32 threads on one store, each with a name of its own, beside one thread with as many turns."""
    each = bench.size(100, 10)
    many, one = bench.alternate(
        lambda: thread_rate(new_store(bench), THREADS, each), lambda: thread_rate(new_store(bench), 1, THREADS * each)
    )
    report("threads_full", many, one, of="1_thread", goal=">=3", unit="per_s", threads=THREADS, turns=THREADS * each)


def thread_rate(path: Path, count: int, each: int) -> float:
    """Turns a second."""
    failed: list[BaseException] = []
    with Store.open(path) as store:
        for number in range(count):
            store.add_turn("first", bookmark=f"thread-{number}")
        barrier = threading.Barrier(count + 1)

        def run(number: int) -> None:
            said = plain.said_by(number, each)
            barrier.wait()
            try:
                for one in said:
                    add(store, f"thread-{number}", one)
            except BaseException as error:
                failed.append(error)

        running = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in running:
            thread.start()
        barrier.wait()
        started = time.perf_counter()
        for thread in running:
            thread.join()
        seconds = time.perf_counter() - started
        if failed or store.stats().turns != count * each + count + 1:
            raise SystemExit(f"a thread failed: {failed[:1]}")
    return count * each / seconds


def spaces(bench: Bench) -> None:
    """Descriptors that 10,000 open spaces of one database take, each written and read once."""
    from headish.store.database import Database

    if not Path("/dev/fd").exists():
        return skip("open_spaces", "this system does not list a process's descriptors in /dev/fd")
    count, before = bench.size(10_000, 300), descriptors()
    with Database.open(bench.path("spaces"), durability="normal") as database:
        stores = [database.store(f"space-{number}") for number in range(count)]
        for number, store in enumerate(stores):
            store.add_turn(f"in {number}", bookmark="main")
        after = descriptors()
        if any(store.text("main") != f"in {number}" for number, store in enumerate(stores)):
            raise SystemExit("a space holds what was said in another")
    report("open_spaces", after - before, count, of="spaces", unit="descriptors", goal_headish_descriptors="<=16")
    return None


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))
