"""Reading threads: with new objects and old ones, the first time in a process, and by verify."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from blake3 import blake3

from benchmarks import plain, samerows
from benchmarks.appending import PLAIN, SAME, read
from benchmarks.canonical import Said, check, conversation, decode, items
from benchmarks.clock import Bench, in_process, is_cpu, microseconds, report, use_cpu
from headish import Store


def load(bench: Bench) -> None:
    """A thread, its contents read: with a new object on the file, and with one that is open.

    The floor opens the same file, reads the rows that a walk reads, and decodes their bytes.
    """
    for turns in (1_000, 10_000):
        said = conversation(turns)
        path, plain_path = stored(bench, said), bench.path("plain")
        plain.fill(plain_path, said)
        ours, floor, least = bench.alternate(
            lambda path=path, said=said: opened(partial(Store.open, path), load_store, said),
            lambda path=path, said=said: opened(lambda: closing(plain.connect(path)), decode_rows, said),
            lambda path=plain_path, said=said: opened(lambda: closing(plain.connect(path)), plain.load, said),
        )
        report(f"load_{turns}", ours, least, of=PLAIN, goal_of_peers="<=1.1")
        report(f"load_{turns}", ours, floor, of="opened_rows_and_msgspec")
        with Store.open(path) as store, closing(plain.connect(path)) as same, closing(plain.connect(plain_path)) as old:
            check(plain.load(old), said)
            ours, decoded, least = bench.alternate(
                lambda store=store, turns=turns: count(lambda: load_store(store), turns),
                lambda same=same, turns=turns: count(lambda: decode_rows(same), turns),
                lambda old=old, turns=turns: count(lambda: plain.load(old), turns),
            )
        report(f"read_{turns}", ours, decoded, of="rows_and_msgspec", goal="<=2")
        report(f"read_{turns}", ours, least, of=PLAIN)


def stored(bench: Bench, said: Sequence[Said]) -> Path:
    """A store that holds a conversation, by name, and gives it back as it was said."""
    path = bench.path("thread")
    listed = list(items(said))
    listed[-1]["bookmark"] = "main"
    with Store.open(path, durability="normal") as store:
        store.add_turns(listed)
        check(read(store, "main"), said)
    return path


def opened(open_: Callable[[], Any], work: Callable[[Any], Sequence[Any]], said: Sequence[Said]) -> float:
    """Microseconds to open, read and close; what was read is counted outside the clock."""
    found: list[Any] = []

    def run() -> None:
        with open_() as opened:
            found.append(work(opened))

    times = microseconds(run)
    check_count(found[0], len(said))
    return times


def load_store(store: Store) -> list[tuple[str | None, Any]]:
    """The role and the blocks of each message: contents are read, whenever a window decodes them."""
    return [(message.role, message.content) for message in store.resolve("main").messages]


def decode_rows(connection: Any) -> list[Any]:
    """The rows that a walk reads, and their bytes through msgspec: nothing compared, no message made."""
    return [(row[3], decode(row[6])) for row in samerows.read_thread(connection, b"main")]


def count(work: Callable[[], Sequence[Any]], turns: int) -> float:
    found: list[Sequence[Any]] = []
    time = microseconds(lambda: found.append(work()))
    check_count(found[0], turns)
    return time


def check_count(found: Sequence[Any], turns: int) -> None:
    if len(found) != turns:
        raise SystemExit(f"{len(found)} turns were read, not {turns}")


def resolve(bench: Bench) -> None:
    """A thread by name: in a process that has read it before, and the very first time."""
    for turns in (10, 100, 1_000):
        path = stored(bench, conversation(turns))
        samples = [in_process(resolve_samples, path, turns, number % 2, is_cpu()) for number in range(bench.rounds)]
        first, first_limit, later, later_limit = map(statistics.median, zip(*samples, strict=True))
        report(f"resolve_{turns}", later, later_limit, of=SAME, goal="<=2", turns=turns)
        report(f"resolve_first_{turns}", first, first_limit, of=SAME, turns=turns)


def resolve_samples(path: Path, turns: int, limit_first: int, cpu: bool) -> tuple[float, float, float, float]:
    """In a process of its own: the first resolve and its limit, then the medians of some more, alternating."""
    if cpu:
        use_cpu()
    with Store.open(path) as store, closing(plain.connect(path)) as same:

        def pair() -> tuple[float, float]:
            if limit_first:
                limit = count(lambda: decode_rows(same), turns)
                return count(lambda: load_store(store), turns), limit
            return count(lambda: load_store(store), turns), count(lambda: decode_rows(same), turns)

        first = pair()
        later = [pair() for _ in range(max(3, min(200, 20_000 // turns)))]
    ours, limits = (statistics.median(column) for column in zip(*later, strict=True))
    return (*first, ours, limits)


def verify(bench: Bench) -> None:
    """Per turn; the limit reads the rows and makes the three hashes of each."""
    turns = bench.size(10_000, 1_000)
    path = stored(bench, conversation(turns))
    with Store.open(path) as store, closing(plain.connect(path)) as same:
        ours, least = bench.alternate(
            lambda: count(lambda: range(store.verify().turns), turns) / turns,
            lambda: count(lambda: hash_rows(same), turns) / turns,
        )
    report("verify", ours, least, of="rows_and_hashes", turns=turns)


def hash_rows(connection: Any) -> list[bytes]:
    rows = connection.execute(samerows.EVERY_TURN)
    return [blake3(part).digest() for row in rows for part in row][::3]
