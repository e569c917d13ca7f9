"""How fast the store is, each dimension beside its limit, measured in the same run.

The limit is what plain ``sqlite3`` needs for the same work: the same rows, byte for byte, into the same tables and
indexes (read from the store's own ``sqlite_master``), under the same pragmas, in as few prepared statements as do it,
with every value ready before the clock starts. Rounds of headish and of the limit alternate, so a noisy machine slows
both; a line gives the medians of the rounds. One line a dimension, ``name=… key=value …``; ``ratio`` is headish by its
limit (for rates: the limit by headish), ``aim`` is what we ask of it. Times are microseconds.

    append_one         one turn a call, continuing a bookmark by name, durability full: the cost of a transaction
    append_normal      the same with durability normal, where the disk hides less of our own time
    append_by_id       continuing by id, without a name: what the bookmark and its log cost is missing here
    append_bulk        add_turns, a turn: what the library adds where the transaction is shared by 1,000
    fork               continuing turns in the middle of a thread; also what the file grows by
    resolve_N          a thread of N turns, in a store that a fresh process opened, where it was asked before
    resolve_first_N    the same, the very first one in the process: statements are compiled, modules loaded
    verify             per turn of a store; the limit reads the rows and makes the three hashes of each
    append_small       appending into a store of 100 turns ...
    append_large       ... and into one of 1,000,000 (its limit: a copy of that file): does the size matter?
    bookmark_lookup    find a turn by its name among 1,000,000 turns and 10,000 names
    bytes              what a turn takes on disk beside its payload; the limit is the widths of what I2 to I4 promise
    start_version      process start of ``headish --version``; the limit imports click
    start_resolve      process start of ``headish resolve``; the limit imports sqlite3 and msgspec, reads and decodes
    writers_full       8 processes that append to one bookmark, turns a second, durability full ...
    writers_normal     ... and normal

Run: ``make bench``, or ``python tests/benchmarks/throughput.py [--quick] [--only NAME]``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
from blake3 import blake3

from headish import Store

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "nobody",
    "looks",
    "at",
    "its",
    "watch",
]
SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}
WRITERS = 8
TURN = (
    "space", "chain", "pos", "seq", "id", "payload", "digest", "seal", "role", "type", "content_type", "head", "cache",
    "attributes", "inherited", "system", "app",
)  # fmt: skip
READ_PARENT = (
    "SELECT b.chain, b.pos, b.move, t.id, t.digest FROM bookmark b JOIN turn t ON t.space = b.space"
    " AND t.chain = b.chain AND t.pos = b.pos WHERE b.space = 1 AND b.name = ?"
)
READ_BY_ID = "SELECT chain, pos, id, digest FROM turn WHERE space = 1 AND id = ?"
ADD_PAYLOAD = "INSERT INTO payload (space, number, hash, size, data) VALUES (?, ?, ?, ?, ?)"
TAKE_SEQ = "UPDATE space SET seq = ? WHERE id = 1"
ADD_TURN = f"INSERT INTO turn ({', '.join(TURN)}) VALUES ({', '.join('?' * len(TURN))})"
ADD_LINK = "INSERT INTO link (space, chain, ordinal, parent_chain, parent_pos) VALUES (1, ?, 0, ?, ?)"
MOVE = (
    "INSERT INTO bookmark (space, name, chain, pos, move) VALUES (1, ?, ?, ?, ?)"
    " ON CONFLICT (space, name) DO UPDATE SET chain = excluded.chain, pos = excluded.pos, move = excluded.move"
)
LOG = "INSERT INTO bookmark_log (space, name, move, chain, pos, milliseconds) VALUES (1, ?, ?, ?, ?, ?)"
READ_THREAD = (
    "SELECT t.id, t.role, t.cache, t.inherited, p.hash, p.data FROM turn t JOIN payload p ON p.space = t.space"
    " AND p.number = t.payload WHERE t.space = 1 AND t.chain = ? AND t.pos <= ? ORDER BY t.pos"
)
FIND = (
    "SELECT t.*, p.hash FROM bookmark b JOIN turn t ON t.space = b.space AND t.chain = b.chain AND t.pos = b.pos"
    " JOIN payload p ON p.space = t.space AND p.number = t.payload WHERE b.space = 1 AND b.name = ?"
)
decode = msgspec.json.Decoder().decode


def say(index: int) -> str:
    """A turn's text: about 100 characters, each its own."""
    return f"Turn {index}: " + " ".join(WORDS[(index * 7 + each * each) % len(WORDS)] for each in range(18))


# The limit ------------------------------------------------------------------------------------------------------------


def connect(path: Path, durability: str) -> sqlite3.Connection:
    """Plain sqlite3 with the pragmas that a store sets."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    for pragma in (
        "journal_mode = WAL",
        "foreign_keys = ON",
        f"synchronous = {SYNCHRONOUS[durability]}",
        "cache_size = -16000",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def make_like(path: Path, store_path: Path, durability: str) -> sqlite3.Connection:
    """An empty database with the tables and indexes of a store, and its space."""
    with closing(sqlite3.connect(store_path)) as source:
        statements = [row[0] for row in source.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    connection = connect(path, durability)
    for statement in statements:
        connection.execute(statement)
    connection.execute("INSERT INTO space (id, name, seq) VALUES (1, ?, 0)", (b"default",))
    return connection


class Rows:
    """What a store wrote for each turn, in commit order, behind a commit number: ready for the limit to write."""

    def __init__(self, path: Path, after: int) -> None:
        with closing(sqlite3.connect(path)) as source:
            one = source.execute
            self.turns = one(f"SELECT {', '.join(TURN)} FROM turn WHERE seq > ? ORDER BY seq", (after,)).fetchall()
            numbers = {row[5] for row in self.turns}
            columns = "space, number, hash, size, data"
            least = min(numbers, default=0)
            found = one(f"SELECT {columns} FROM payload WHERE number >= ? ORDER BY number", (least,)).fetchall()
            self.payloads = {row[1]: row for row in found}
            self.links = {row[0]: row[1:] for row in one("SELECT chain, parent_chain, parent_pos FROM link")}

    def __iter__(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        return ((turn, self.payloads[turn[5]]) for turn in self.turns)


def append_by_name(connection: sqlite3.Connection, rows: Rows) -> Iterator[None]:
    """One transaction a turn: read where the name points, write the turn, move the name, log the move."""
    execute = connection.execute
    for number, (turn, payload) in enumerate(rows):
        execute("BEGIN IMMEDIATE")
        move = execute(READ_PARENT, (turn[11],)).fetchone()[2] + 1
        execute(ADD_PAYLOAD, payload)
        execute(TAKE_SEQ, (turn[3],))
        execute(ADD_TURN, turn)
        execute(MOVE, (turn[11], turn[1], turn[2], move))
        execute(LOG, (turn[11], move, turn[1], turn[2], 1_700_000_000_000 + number))
        execute("COMMIT")
        yield


def append_by_id(connection: sqlite3.Connection, rows: Rows) -> Iterator[None]:
    """One transaction a turn: read the parent by its id, write the turn."""
    execute, before = connection.execute, rows.turns[0][4]
    for turn, payload in rows:
        execute("BEGIN IMMEDIATE")
        execute(READ_BY_ID, (before,)).fetchone()
        execute(ADD_PAYLOAD, payload)
        execute(TAKE_SEQ, (turn[3],))
        execute(ADD_TURN, turn)
        if turn[1] in rows.links and turn[2] == 0:
            execute(ADD_LINK, (turn[1], *rows.links[turn[1]]))
        execute("COMMIT")
        before = turn[4]
        yield


# Measuring ------------------------------------------------------------------------------------------------------------


class Bench:
    """A folder for the databases, the sizes, and the clock."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder, self.quick = folder, quick
        self.rounds = 3 if quick else 7
        self._large: Path | None = None

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def path(self, name: str) -> Path:
        return self.folder / name

    def large(self) -> Path:
        """A store of 1,000,000 turns in 10,000 named threads, made once a run."""
        if self._large is None:
            self._large = self.path("large.db")
            threads, turns = self.size(10_000, 100), 100
            started = time.perf_counter()
            with Store.open(self._large, durability="normal") as store:
                store.add_turns(
                    {
                        "content": say(thread * turns + index),
                        "continues": thread * turns + index - 1 if index else None,
                        "bookmark": f"thread-{thread}" if index == turns - 1 else None,
                    }
                    for thread in range(threads)
                    for index in range(turns)
                )
            print(f"# {threads * turns} turns stored in {time.perf_counter() - started:.0f} s", flush=True)
        return self._large

    def alternate(self, *works: Callable[[], float]) -> list[float]:
        """The median of each work's results over the rounds; each work runs once a round."""
        results = [[work() for work in works] for _ in range(self.rounds)]
        return [statistics.median(column) for column in zip(*results, strict=True)]


def microseconds(work: Callable[[], Any], per: int = 1) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e6 / per


def report(name: str, headish: float, limit: float, *, unit: str = "us", aim: float | None = None, **more: Any) -> None:
    ratio = limit / headish if unit == "per_s" else headish / limit
    fields = {"name": name, **more, f"headish_{unit}": f"{headish:.1f}", f"limit_{unit}": f"{limit:.1f}"}
    fields["ratio"] = f"{ratio:.2f}"
    if aim is not None:
        fields["aim"] = aim
    print(" ".join(f"{key}={value}" for key, value in fields.items()), flush=True)


# Appending ------------------------------------------------------------------------------------------------------------


def measure_appends(
    bench: Bench, name: str, durability: str, turns: int, *, named: bool, store_path: Path | None = None
) -> tuple[float, float]:
    """A call of add_turn, and its limit, into a fresh store or (with a copy for the limit) into a given one."""
    path, plain_path = store_path or bench.path(f"{name}.db"), bench.path(f"{name}-plain.db")
    store = Store.open(path, durability=durability)
    first = store.add_turn("first", continues="thread-1" if store_path else None, bookmark="main" if named else None)
    last, per_round = first.id, turns // bench.rounds
    if store_path is None:
        plain = make_like(plain_path, path, durability)
        copy_rows(plain, path)
    else:
        store.close()
        shutil.copy(path, plain_path)
        plain = connect(plain_path, durability)
    limits: list[float] = []

    def headish() -> float:
        nonlocal last
        after = seq_of(path)
        contents = [say(index + 10_000_000 + after) for index in range(per_round)]
        times = []
        for content in contents:
            started = time.perf_counter()
            last = store.add_turn(content, continues="main" if named else last).id
            times.append(time.perf_counter() - started)
        limits.append(median_step((append_by_name if named else append_by_id)(plain, Rows(path, after))))
        return statistics.median(times) * 1e6

    ours = bench.alternate(headish)[0]
    store.close()
    plain.close()
    return ours, statistics.median(limits)


def seq_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT seq FROM space").fetchone()[0])


def copy_rows(plain: sqlite3.Connection, path: Path) -> None:
    """What the store holds already, so that the limit goes on from there."""
    plain.execute("ATTACH ? AS source", (str(path),))
    plain.execute("BEGIN")
    for table in ("payload", "turn", "link", "bookmark", "bookmark_log"):
        plain.execute(f"INSERT INTO {table} SELECT * FROM source.{table}")
    plain.execute("UPDATE space SET seq = (SELECT max(seq) FROM turn)")
    plain.execute("COMMIT")
    plain.execute("DETACH source")


def median_step(steps: Iterator[None]) -> float:
    times = []
    while True:
        started = time.perf_counter()
        if next(steps, "done") == "done":
            return statistics.median(times) * 1e6
        times.append(time.perf_counter() - started)


def append_one(bench: Bench) -> None:
    turns = bench.size(2100, 150)
    for name, durability, named in (
        ("append_one", "full", True),
        ("append_normal", "normal", True),
        ("append_by_id", "normal", False),
    ):
        ours, limit = measure_appends(bench, name, durability, turns, named=named)
        report(name, ours, limit, turns=turns, durability=durability, aim=2.0)


def append_bulk(bench: Bench) -> None:
    turns = bench.size(10_000, 1_000)

    def headish(number: int) -> float:
        path = bench.path(f"bulk-{number}.db")
        items = [{"content": say(index), "continues": index - 1 if index else None} for index in range(turns)]
        with Store.open(path) as store:
            return microseconds(lambda: store.add_turns(items), turns)

    def limit(number: int) -> float:
        rows = Rows(bench.path(f"bulk-{number}.db"), 0)
        with closing(make_like(bench.path(f"bulk-plain-{number}.db"), bench.path("bulk-0.db"), "full")) as plain:
            return microseconds(lambda: write_batches(plain, rows), turns)

    pairs = [(headish(number), limit(number)) for number in range(bench.rounds)]
    ours, limits = zip(*pairs, strict=True)
    report("append_bulk", statistics.median(ours), statistics.median(limits), turns=turns, durability="full")


def write_batches(connection: sqlite3.Connection, rows: Rows, batch: int = 1000) -> None:
    for start in range(0, len(rows.turns), batch):
        turns = rows.turns[start : start + batch]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(ADD_PAYLOAD, [rows.payloads[turn[5]] for turn in turns])
        connection.execute(TAKE_SEQ, (turns[-1][3],))
        connection.executemany(ADD_TURN, turns)
        connection.execute("COMMIT")


def fork(bench: Bench) -> None:
    path, turns, forks = bench.path("fork.db"), bench.size(1_000, 200), bench.size(700, 60)
    store = Store.open(path)
    ids = [turn.id for turn in store.add_turns(linear(turns))]
    plain = make_like(bench.path("fork-plain.db"), path, "full")
    copy_rows(plain, path)
    before, limits = settled_bytes(path), []

    def headish() -> float:
        after, times = seq_of(path), []
        for index in range(forks // bench.rounds):
            parent, content = ids[(index * 37 + after) % (turns - 1)], f"another try {after + index}"
            started = time.perf_counter()
            store.add_turn(content, continues=parent)
            times.append(time.perf_counter() - started)
        limits.append(median_step(append_by_id(plain, Rows(path, after))))
        return statistics.median(times) * 1e6

    ours = bench.alternate(headish)[0]
    store.close()
    grown = (settled_bytes(path) - before) / (forks // bench.rounds * bench.rounds)
    report("fork", ours, statistics.median(limits), turns=turns, aim_us=1000, bytes_grown=f"{grown:.0f}",
           aim_bytes=1024)  # fmt: skip


def linear(turns: int) -> Iterator[dict[str, Any]]:
    return ({"content": say(index), "continues": index - 1 if index else None} for index in range(turns))


def settled_bytes(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


# Reading --------------------------------------------------------------------------------------------------------------


def resolve(bench: Bench) -> None:
    for turns in (10, 100, 1_000, 10_000)[: 3 if bench.quick else 4]:
        path = bench.path(f"resolve-{turns}.db")
        with Store.open(path, durability="normal") as store:
            items = list(linear(turns))
            items[-1]["bookmark"] = "main"
            store.add_turns(items)
        samples = [in_process(resolve_samples, path, turns, number % 2) for number in range(bench.rounds)]
        first, first_limit, later, later_limit = map(statistics.median, zip(*samples, strict=True))
        report(f"resolve_{turns}", later, later_limit, turns=turns, aim=2.0)
        report(f"resolve_first_{turns}", first, first_limit, turns=turns)


def resolve_samples(path: Path, turns: int, limit_first: int) -> tuple[float, float, float, float]:
    """In a process of its own: the first resolve and its limit, then the median of some more, alternating."""
    store, plain = Store.open(path), connect(path, "full")

    def headish() -> float:
        return microseconds(lambda: check(store.resolve("main").messages, turns))

    def limit() -> float:
        return microseconds(lambda: check(read_thread(plain, b"main"), turns))

    def pair() -> tuple[float, float]:
        if limit_first:
            read = limit()
            return headish(), read
        return headish(), limit()

    first = pair()
    pairs = [pair() for _ in range(max(3, min(200, 20_000 // turns)))]
    later = [statistics.median(column) for column in zip(*pairs, strict=True)]
    return (*first, *later)


def read_thread(connection: sqlite3.Connection, name: bytes) -> list[Any]:
    connection.execute("BEGIN")
    chain, pos, *_ = connection.execute(READ_PARENT, (name,)).fetchone()
    rows = connection.execute(READ_THREAD, (chain, pos)).fetchall()
    connection.execute("COMMIT")
    return [(row, decode(row[5])) for row in rows]


def check(messages: Sequence[Any], turns: int) -> None:
    if len(messages) != turns:
        raise SystemExit(f"{len(messages)} messages, not {turns}")


def in_process(work: Callable[..., Any], *arguments: Any) -> Any:
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def verify(bench: Bench) -> None:
    path, turns = bench.path("verify.db"), bench.size(10_000, 1_000)
    with Store.open(path, durability="normal") as store, closing(connect(path, "normal")) as plain:
        store.add_turns(linear(turns))

        def limit() -> None:
            columns = ", ".join(f"t.{name}" for name in TURN)
            join = "JOIN payload p ON p.space = t.space AND p.number = t.payload"
            for row in plain.execute(f"SELECT {columns}, p.data FROM turn t {join}"):
                for part in (row[-1], row[6], row[7]):
                    blake3(part).digest()

        ours, read = bench.alternate(
            lambda: microseconds(lambda: check(range(store.verify().turns), turns), turns),
            lambda: microseconds(limit, turns),
        )
    report("verify", ours, read, turns=turns)


# A store of a million turns -------------------------------------------------------------------------------------------


def large_store(bench: Bench) -> None:
    path = bench.large()
    with Store.open(path) as store, closing(connect(path, "full")) as plain:
        turns, names = store.stats().turns, [each.name for each in store.bookmarks.list()][:: bench.size(10, 1)]

        def headish() -> float:
            return microseconds(lambda: [store.get(name) for name in names], len(names))

        def limit() -> float:
            return microseconds(
                lambda: [plain.execute(FIND, (name.encode(),)).fetchone() for name in names], len(names)
            )

        report("bookmark_lookup", *bench.alternate(headish, limit), turns=turns, names=len(names))
    size_of_turn(path)
    appended = bench.size(1_400, 150)
    small = measure_appends(bench, "append_small", "full", appended, named=True, store_path=small_store(bench))
    report("append_small", *small, turns=200, aim=2.0)
    large = measure_appends(bench, "append_large", "full", appended, named=True, store_path=path)
    report("append_large", *large, turns=turns, aim=2.0, against_small=f"{large[0] / small[0]:.2f}",
           limit_against_small=f"{large[1] / small[1]:.2f}")  # fmt: skip


def small_store(bench: Bench) -> Path:
    path = bench.path("small.db")
    with Store.open(path, durability="normal") as store:
        store.add_turns({**item, "bookmark": "thread-1" if item["continues"] else None} for item in linear(100))
    return path


def size_of_turn(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        turns = connection.execute("SELECT count(*) FROM turn").fetchone()[0]
        payload = connection.execute("SELECT sum(size) FROM payload").fetchone()[0]
    beside = (path.stat().st_size - payload) / turns
    # An id, three hashes: what a turn cannot do without, stored once.
    report("bytes", beside, 25 + 3 * 32, unit="b", turns=turns, payload_b=f"{payload / turns:.0f}")


# Processes ------------------------------------------------------------------------------------------------------------


def starts(bench: Bench) -> None:
    command = Path(sys.executable).with_name("headish")
    if not command.exists():
        print("name=start_version skipped=there is no headish command beside this Python")
        return
    path, environment = bench.path("start.db"), {**os.environ, "PYTHONWARNINGS": "ignore"}
    with Store.open(path) as store:
        for index in range(10):
            store.add_turn(say(index), continues="main" if index else None, bookmark="main")
    read = (
        "import sqlite3, msgspec, sys; c = sqlite3.connect(sys.argv[1]);"
        "print(len([msgspec.json.decode(d) for d, in c.execute('SELECT data FROM turn JOIN payload ON number = payload"
        " WHERE chain = 1 ORDER BY pos')]))"
    )

    def run(*arguments: str) -> Callable[[], float]:
        return lambda: microseconds(
            lambda: subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, env=environment)
        )

    runs = {
        "start_version": (run(str(command), "--version"), run(sys.executable, "-c", "import click")),
        "start_resolve": (
            run(str(command), "--db", str(path), "resolve", "main"),
            run(sys.executable, "-c", read, str(path)),
        ),
    }
    for name, pair in runs.items():
        samples = [bench.alternate(*pair) for _ in range(bench.size(3, 1))]
        ours, limit = (statistics.median(column) for column in zip(*samples, strict=True))
        report(name, ours, limit, **({"aim": 2.0} if name == "start_version" else {}))


def writers(bench: Bench) -> None:
    for durability in ("full", "normal"):
        each, rates, limits = bench.size(400, 40), [], []
        for number in range(min(bench.rounds, 3)):
            path = bench.path(f"writers-{durability}-{number}.db")
            with Store.open(path, durability=durability) as store:
                store.add_turn("first", bookmark="main")
            rates.append(race(write_turns, path, durability, each))
            plain_path = bench.path(f"writers-{durability}-{number}-plain.db")
            plain = make_like(plain_path, path, durability)
            copy_rows(plain, path)
            plain.close()
            limits.append(race(write_rows, plain_path, durability, each))
        ours, limit = statistics.median(rates), statistics.median(limits)
        report(f"writers_{durability}", ours, limit, unit="per_s", processes=WRITERS, turns=WRITERS * each)


def race(work: Callable[..., None], path: Path, durability: str, each: int) -> float:
    """Turns a second from 8 processes that begin together."""
    context = get_context("spawn")
    barrier = context.Barrier(WRITERS + 1)
    processes = [context.Process(target=work, args=(path, durability, each, n, barrier)) for n in range(WRITERS)]
    for process in processes:
        process.start()
    barrier.wait()
    started = time.perf_counter()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - started
    if any(process.exitcode for process in processes):
        raise SystemExit("a writer failed")
    return WRITERS * each / seconds


def write_turns(path: Path, durability: str, each: int, writer: int, barrier: Any) -> None:
    store = Store.open(path, durability=durability)
    barrier.wait()
    for index in range(each):
        store.add_turn(say(writer * each + index), continues="main")


def write_rows(path: Path, durability: str, each: int, writer: int, barrier: Any) -> None:
    """The limit's writer: it must read the numbers that it counts on from, as others write meanwhile."""
    connection = connect(path, durability)
    execute, payloads = connection.execute, [say(writer * each + index).encode() for index in range(each)]
    hashes = [blake3(payload).digest() for payload in payloads]
    barrier.wait()
    for index, (payload, hash) in enumerate(zip(payloads, hashes, strict=True)):
        execute("BEGIN IMMEDIATE")
        chain, pos, move, *_ = execute(READ_PARENT, (b"main",)).fetchone() or (1, 0, 0)
        seq = execute("SELECT seq FROM space WHERE id = 1").fetchone()[0] + 1
        execute(ADD_PAYLOAD, (1, seq + 1, hash, len(payload), payload))
        execute(TAKE_SEQ, (seq,))
        turn_id = f"{writer:05}{index:020}"
        nothing = (None,) * 4
        row = (1, chain, pos + 1, seq, turn_id, seq + 1, hash, hash, "user", None, None, b"main", None, *nothing)
        execute(ADD_TURN, row)
        execute(MOVE, (b"main", chain, pos + 1, move + 1))
        execute(LOG, (b"main", move + 1, chain, pos + 1, 1_700_000_000_000))
        execute("COMMIT")


DIMENSIONS: dict[str, Callable[[Bench], None]] = {
    "append": append_one,
    "append_bulk": append_bulk,
    "fork": fork,
    "resolve": resolve,
    "verify": verify,
    "large": large_store,
    "start": starts,
    "writers": writers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmarks of headish, each beside its limit.")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--only", choices=DIMENSIONS, help="one group of dimensions")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="headish-bench-"))
    try:
        bench = Bench(folder, arguments.quick)
        for name in [arguments.only] if arguments.only else DIMENSIONS:
            DIMENSIONS[name](bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
