"""headish beside the stores that others use, where they are installed: ``make bench-peers``.

One line a dimension and peer, ``name=… peer=… headish_…= peer_…= ratio=…``; ``ratio`` is headish by the peer, ``goal``
what we ask of the ratio to that peer. Each peer has its own settings, as its documentation shows them: those that wait
for the disk at every commit are compared with headish that does so too. Rounds alternate; a line gives the medians.
What is loaded is compared with what was said, outside the clock. Times are microseconds.

    append       one turn a call, onto a thread that is 100 turns long
    bulk         a turn, where 100 are given in one call (llm, ADK: as their interface has it)
    load_N       a thread of N turns, by a new object, contents read
    bytes        what a turn of the thread takes on the disk
    processes    8 processes that append to one thread, turns a second
    put_N …      ``HeadishSaver`` beside LangGraph's own saver (``savers.py``)
    psycopg_…    on PostgreSQL, beside plain psycopg: the lines ``pg_…`` of ``make bench``

Run: ``make bench-peers``, or ``python tests/benchmarks/peers.py [--quick] [--cpu] [--only PEER]``. ``--cpu`` is that of
``throughput.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as pytest does

from benchmarks import savers
from benchmarks.canonical import Said, check, conversation
from benchmarks.clock import Bench, Clock, is_cpu, use_cpu
from benchmarks.plain import settled_bytes

GOALS = {("append", "agents_sqlite"): "<=0.7", ("bulk", "agents_sqlite"): "<=1.8", ("load", "agents_sqlite"): "<=1.1",
         ("processes", "agents_sqlite"): ">=1"}  # fmt: skip
QUADRATIC = ("langgraph_sqlite",)
"""Peers whose append writes the whole thread: they get fewer turns, so that a run ends."""


def line(name: str, peer: str, ours: float, theirs: float, unit: str, **more: Any) -> None:
    goal = GOALS.get((name.split("_")[0], peer))
    ratio = ours / theirs
    fields = {"name": name, "peer": peer, **more, f"headish_{unit}": f"{ours:.2f}", f"peer_{unit}": f"{theirs:.2f}"}
    fields["ratio"] = f"{ratio:.2f}"
    if goal is not None:
        met = ratio <= float(goal[2:]) if goal.startswith("<=") else ratio >= float(goal[2:])
        fields |= {"goal": goal, "met": "yes" if met else "no"}
    print(" ".join(f"{key}={value}" for key, value in fields.items()), flush=True)


async def timed(work: Any) -> tuple[float, Any]:
    started = Clock.now()
    result = await work
    return (Clock.now() - started) * 1e6, result


class Round:
    """One peer in a folder of its own, through all dimensions."""

    def __init__(self, folder: Path, made: Any) -> None:
        self.folder, self.peer = folder, made
        self.said: list[Said] = []

    async def append(self, turns: int, batch: int = 1) -> float:
        """Microseconds of a turn: the median of the calls."""
        times = []
        for _ in range(0, turns, batch):
            given = conversation(batch, len(self.said))
            took, _ = await timed(self.peer.append(given))
            times.append(took / batch)
            self.said += given
        return median(times)

    async def load(self) -> float:
        took, found = await timed(self.peer.load())
        check([self.peer.said(each) for each in found], self.said)
        return took

    def size(self) -> int:
        """The bytes of its files, with their logs in them."""
        return sum(settled_bytes(path) for path in self.folder.glob("*.db"))


async def compare(bench: Bench, name: str, kinds: Sequence[Any]) -> None:
    """All dimensions of headish and of one peer; the rounds alternate."""
    few = name in QUADRATIC
    appends, bulks = (20, 300) if few or bench.quick else (200, 5_000)
    loads = (1_000,) if few or bench.quick else (1_000, 10_000)
    appended: list[list[float]] = [[], []]
    bulked: list[list[float]] = [[], []]
    rounds = [new_round(bench, kind) for kind in kinds]
    for each in rounds:
        await each.append(100, 100)
    for number in range(bench.rounds):
        for index, each in sorted(enumerate(rounds), reverse=bool(number % 2)):
            appended[index].append(await each.append(appends // bench.rounds + 1))
    for number in range(bench.rounds):
        for index, each in sorted(enumerate(rounds), reverse=bool(number % 2)):
            bulked[index].append(await each.append(bulks // bench.rounds // 100 * 100 + 100, 100))
    line("append", name, *map(median, appended), "us")
    line("bulk", name, *map(median, bulked), "us", turns_per_call=100)
    for each in rounds:
        await each.load()
        await each.peer.close()
    line("bytes", name, *(each.size() / len(each.said) for each in rounds), "b", turns=len(rounds[0].said))
    for turns in loads:
        await compare_loads(bench, name, kinds, turns)


async def compare_loads(bench: Bench, name: str, kinds: Sequence[Any], turns: int) -> None:
    loaded: list[list[float]] = [[], []]
    rounds = [new_round(bench, kind) for kind in kinds]
    for each in rounds:
        await each.append(turns, turns)
        await each.load()
    for number in range(bench.rounds):
        for index, each in sorted(enumerate(rounds), reverse=bool(number % 2)):
            loaded[index].append(await each.load())
    line(f"load_{turns}", name, *map(median, loaded), "us")
    for each in rounds:
        await each.peer.close()


def new_round(bench: Bench, kind: Any) -> Round:
    folder = bench.path(kind.__name__).with_suffix("")
    folder.mkdir()
    return Round(folder, kind(folder))


def compare_processes(bench: Bench, name: str, kinds: Sequence[Any]) -> None:
    """8 processes on one file; only for peers that say they take several."""
    from benchmarks.peerrace import Failed, race

    count, each = bench.size(8, 3), bench.size(200, 20)
    rates: list[list[float]] = [[], []]
    for _ in range(bench.size(3, 1)):
        for index, kind in enumerate(kinds):
            folder = bench.path("race").with_suffix("")
            folder.mkdir()
            try:
                rates[index].append(race(kind, folder, count, each))
            except Failed as error:
                print(f"name=processes peer={name} skipped={error}", flush=True)
                return
    line("processes", name, *map(median, rates), "per_s", processes=count, turns=count * each)


def compare_psycopg(bench: Bench) -> None:
    from benchmarks import servers

    servers.postgresql(bench)


def main() -> None:
    from benchmarks.adapters import PEERS, Headish

    names = [name for name in PEERS if name != "headish"]
    parser = argparse.ArgumentParser(description="headish beside the stores that others use.")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--only", choices=[*names, savers.PEER, "psycopg"], help="one peer")
    parser.add_argument("--cpu", action="store_true", help="the processor's time: for a machine that others use, too")
    arguments = parser.parse_args()
    if arguments.cpu:
        use_cpu()
    folder = Path(tempfile.mkdtemp(prefix="headish-peers-"))
    bench = Bench(folder, arguments.quick)
    try:
        for name in names if arguments.only is None else [each for each in names if each == arguments.only]:
            try:
                kinds = (Headish, PEERS[name])
                asyncio.run(compare(bench, name, kinds))
                if ("processes", name) in GOALS and not is_cpu():
                    compare_processes(bench, name, kinds)
            except ImportError as error:
                print(f"peer={name} skipped={error}; make bench-peers installs it", flush=True)
        if arguments.only in (None, savers.PEER):
            try:
                savers.compare_savers(bench, line)
            except ImportError as error:
                print(f"peer={savers.PEER} skipped={error}; make bench-peers installs it", flush=True)
        if arguments.only in (None, "psycopg") and not is_cpu():
            compare_psycopg(bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
