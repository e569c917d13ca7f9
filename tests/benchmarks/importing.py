"""What an import costs beside decoding the same file, and storing the same turns."""

from __future__ import annotations

import json
import resource
from pathlib import Path

from benchmarks.clock import Bench, in_process, microseconds, report
from benchmarks.exports import Record, chatgpt, claude_code, items_of
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


def sessions(bench: Bench) -> None:
    """A session of Claude Code: the first import, its memory, and ten lines more under ``--watch``."""
    size = bench.size(40_000_000, 4_000_000)
    path = bench.path("session").with_suffix(".jsonl")
    path.write_bytes(b"".join(claude_code(size)))
    ours, limit = bench.alternate(lambda: first_session(bench, path), lambda: decode_lines(path))
    peak = in_process(peak_of, str(bench.path("peak")), str(path))
    report(f"import_claude_code_{size // 1_000_000}_mb", ours, limit, of="json_loads_of_its_lines", goal="<=7.2",
           peak_mb=peak, goal_peak_mb="<=100")  # fmt: skip
    grow(bench, path, size)


def first_session(bench: Bench, path: Path) -> float:
    with Store.open(bench.path("session"), durability="normal") as store:
        return microseconds(lambda: store.import_file(path))


def decode_lines(path: Path) -> float:
    with path.open("rb") as file:
        return microseconds(lambda: [json.loads(line) and None for line in file])


def peak_of(database: str, path: str) -> int:
    """The most memory of a process that imports a file, in MB."""
    with Store.open(database, durability="normal") as store:
        store.import_file(path)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def grow(bench: Bench, path: Path, size: int) -> None:
    """Ten lines more at each change, by a store that keeps the file imported."""
    lines = claude_code(size + 1_000_000)
    for _ in claude_code(size):
        next(lines)
    with Store.open(bench.path("watched"), durability="normal") as store:
        store.import_changed(path)
        read: list[int] = []
        added = 0

        def change() -> float:
            nonlocal added
            new = b"".join(next(lines) for _ in range(10))
            added += len(new)
            with path.open("ab") as file:
                file.write(new)
            return microseconds(lambda: store.import_changed(path, progress=read.append))

        ours, limit = bench.alternate(change, lambda: decode_lines(path))
        report(f"import_claude_code_{size // 1_000_000}_mb_more", ours, limit, of="json_loads_of_its_lines",
               goal_headish_us="<=30000", added_bytes=added, read_bytes=sum(read))  # fmt: skip


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
