"""What an import costs beside decoding the same file, and storing the same turns."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.clock import Bench, microseconds, report
from benchmarks.exports import Record, chatgpt, items_of
from headish import Store


def imports(bench: Bench) -> None:
    """ChatGPT's export: the first import."""
    turns = bench.size(16_000, 4_000)
    talks = chatgpt(turns)
    path = written(bench, talks)
    data, items = path.read_bytes(), items_of(talks)
    ours, limit = bench.alternate(lambda: first(bench, path, turns), lambda: add(bench, data, items) / turns)
    again(bench, turns, talks, path)
    report(f"import_chatgpt_{turns}", ours, limit, of="json_loads_and_add_turns", goal="<=1.3")


def again(bench: Bench, turns: int, talks: list[Record], path: Path) -> None:
    """The same file a second time, and files that each have 1 % more."""
    more = [chatgpt(turns // 100, seed=seed) for seed in range(8, 8 + bench.rounds)]
    with Store.open(bench.path("again"), durability="normal") as store:
        store.import_file(path)
        ours, limit = bench.alternate(lambda: microseconds(lambda: store.import_file(path)), lambda: decode(path))
        report(f"import_chatgpt_{turns}_again", ours, limit, of="json_loads", goal="<=1")
        longer = iter([written(bench, [*talks, *each]) for each in more])
        ours, limit = bench.alternate(
            lambda: microseconds(lambda: store.import_file(next(longer))), lambda: decode(path)
        )
        report(f"import_chatgpt_{turns}_more", ours, limit, of="json_loads", goal="<=2")


def decode(path: Path) -> float:
    data = path.read_bytes()
    return microseconds(lambda: json.loads(data))


def written(bench: Bench, talks: list[Record]) -> Path:
    path = bench.path("export").with_suffix(".json")
    path.write_bytes(json.dumps(talks).encode())
    return path


def first(bench: Bench, path: Path, turns: int) -> float:
    """An import into an empty store, per turn."""
    with Store.open(bench.path("imported"), durability="normal") as store:
        took = microseconds(lambda: store.import_file(path), turns)
        if store.stats().turns != turns:
            raise SystemExit("the import left turns out")
        return took


def add(bench: Bench, data: bytes, items: list[Record]) -> float:
    """Decoding the file, and ``add_turns`` of the same turns."""
    with Store.open(bench.path("added"), durability="normal") as store:
        return microseconds(lambda: json.loads(data)) + microseconds(lambda: store.add_turns(items))
