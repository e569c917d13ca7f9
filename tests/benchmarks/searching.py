"""Searching: filling the index, its size, a question among many turns, and a small space beside a large one.

Texts have 540 bytes on average. Their words are as common as those of a language are (a few thousand of them, by Zipf's
law), and each has two more: a topic, which one turn in 997 has, and a case, which one in 101 has.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchmarks.canonical import decode
from benchmarks.clock import Bench, median_call, microseconds, report
from headish import Database, Store
from headish.history.searching import index
from headish.history.searching.index import catch_up

TURN_WORDS = 84
TOPICS, CASES = 997, 101
ASKED = 200
READ = "SELECT seq, data FROM turn WHERE space = 1 AND seq > ? ORDER BY seq LIMIT ?"


def texts(count: int) -> Iterator[str]:
    """So many texts, the same in every run."""
    chance = random.Random(7)
    known = ["".join(chance.choices("etaoinshrdlcumwfgypbvk", k=chance.randint(2, 9))) for _ in range(20_000)]
    weights = list(accumulate(1 / rank for rank in range(1, len(known) + 1)))
    stream = chance.choices(known, cum_weights=weights, k=400_000)
    for number in range(count):
        start = number * 7919 % (len(stream) - TURN_WORDS)
        said = " ".join(stream[start : start + TURN_WORDS])
        yield f"{said}. Topic{number % TOPICS}, case{number % CASES}!"


def question(number: int) -> str:
    """Two words that turn ``number`` has, and one in a hundred thousand. Each time another: most questions are new."""
    return f"topic{number % TOPICS} case{number % CASES}"


def fill(store: Store, count: int, name: str | None = None) -> int:
    """Store texts, each continuing the one before; how many bytes they have."""
    size = 0

    def items() -> Iterator[dict[str, Any]]:
        nonlocal size
        for number, text in enumerate(texts(count)):
            size += len(text.encode())
            yield {"content": text, **({"continues": number - 1} if number else {}), "bookmark": name}

    store.add_turns(items())
    return size


def indexing(bench: Bench) -> None:
    """A turn; the limit reads the same rows and puts their texts into a plain FTS5 table, in portions of the same
    size."""
    turns = bench.size(20_000, 5_000)
    path = bench.path("indexing")
    with Store.open(path, durability="normal") as store:
        size = fill(store, turns)

        def ours() -> float:
            store._backend.write(lambda connection: index._restart(connection, store._number))
            return microseconds(lambda: catch_up(store._backend, store._number), turns)

        took, least = bench.alternate(ours, lambda: insert_plainly(path, bench.path("fts"), turns))
    report("search_index", took, least, of="raw_fts5", goal="<=1.4", turns=turns)
    report(
        "search_index_bytes",
        index_bytes(path) / turns,
        size / turns,
        of="text",
        goal="<=0.6",
        unit="bytes",
        turns=turns,
    )


def insert_plainly(source: Path, path: Path, turns: int) -> float:
    with closing(sqlite3.connect(source)) as rows, closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -16000")
        connection.execute("CREATE VIRTUAL TABLE fts USING fts5(words, content='')")

        def run() -> None:
            for start in range(0, turns, index.PORTION_TURNS):
                page = rows.execute(READ, (start, index.PORTION_TURNS)).fetchall()
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(
                    "INSERT INTO fts(rowid, words) VALUES (?, ?)",
                    [(seq, decode(data)[0]["text"]) for seq, data in page],
                )
                connection.execute("COMMIT")

        return microseconds(run, turns)


def index_bytes(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        [(size,)] = connection.execute("SELECT sum(length(block)) FROM search_text_data").fetchall()
    return int(size)


def searching(bench: Bench) -> None:
    """A question of two words among many turns; the first page of ten, and of one."""
    turns = bench.size(1_000_000, 20_000)
    path = bench.path("searching")
    with Database.open(path, durability="normal") as database:
        large, small = database.store("large"), database.store("small")
        fill(small, 1000, "small")
        small.search(question(0))
        alone = median_call(lambda each: small.search(question(each)), range(ASKED))
        fill(large, turns, "large")
        large.search(question(0))
        lookup = median_call(lambda _: large.bookmarks["large"], range(ASKED))
        for limit in (1, 10):
            hits = len(large.search(question(7), limit=limit, order="time"))

            def ask(each: int, limit: int = limit) -> object:
                return large.search(question(each), limit=limit, order="time")

            asked = median_call(ask, range(ASKED))
            report(f"search_{limit}", asked, lookup, of="bookmark_lookup", turns=turns, hits=hits)
        ranked = median_call(lambda each: large.search(question(each), limit=10), range(ASKED))
        report("search_ranked", ranked, lookup, of="bookmark_lookup", turns=turns)
        beside = median_call(lambda each: small.search(question(each)), range(ASKED))
        report("search_small_space", beside, alone, of="alone", goal="<=1.5", turns=turns)
