"""``HeadishSession`` beside ``SQLiteSession`` of the OpenAI Agents SDK, interleaved in one process, both as they come.

One line a dimension, ``name=… headish_us=… peer_us=… ratio=… goal=… met=…``; medians, in microseconds.

    append      two items a call: a question and an answer, then a call and its result
    load        all items of the session, which this process wrote
    load_last   the last 20 of them
    load_new    all items, by a new object, while the process has the database open
    load_first  all items, by an object that opens the database anew and has not seen them (no goal)
    bulk        an item, where 100 are added in one call
    bytes       what the files take, both closed

Run: ``python tests/benchmarks/sessions.py [--calls N] [--cpu]``; ``make bench-peers`` runs it, too. ``--cpu`` is that
of ``throughput.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as pytest does

from benchmarks.clock import Clock, use_cpu

GOALS = {"append": 1.0, "load": 0.7, "load_last": 0.7, "load_new": 0.7, "bytes": 2.0}
ROUNDS = 30


def items(number: int) -> list[dict[str, Any]]:
    """What a run adds, in the keys and the order of the SDK."""
    if number % 2:
        return [
            {"arguments": json.dumps({"country": number}), "call_id": f"call_{number:024x}", "name": "capital_of",
             "type": "function_call", "id": f"fc_{number:040x}", "status": "completed"},
            {"call_id": f"call_{number:024x}", "output": "Paris is the capital. " * 4, "type": "function_call_output"},
        ]  # fmt: skip
    text = f"The capital of country number {number} is a city whose name I would rather look up than guess. " * 2
    part = {"annotations": [], "text": text, "type": "output_text", "logprobs": []}
    return [
        {"role": "user", "content": f"What is the capital of country number {number}? Answer in one sentence."},
        {"id": f"msg_{number:040x}", "content": [part], "role": "assistant", "status": "completed", "type": "message"},
    ]


def line(name: str, ours: float, theirs: float, unit: str = "us") -> None:
    ratio, goal = ours / theirs, GOALS.get(name)
    told = "" if goal is None else f" goal=<={goal:g} met={'yes' if ratio <= goal else 'no'}"
    print(f"name={name} peer=agents_sqlite headish_{unit}={ours:.0f} peer_{unit}={theirs:.0f} ratio={ratio:.2f}{told}")


async def interleaved(
    rounds: int, ours: Callable[[int], Awaitable[Any]], theirs: Callable[[int], Awaitable[Any]]
) -> Any:
    """The medians of both, in microseconds; each goes first in every other round."""
    times: dict[Any, list[float]] = {ours: [], theirs: []}
    for number in range(rounds):
        for each in (ours, theirs) if number % 2 else (theirs, ours):
            started = Clock.now()
            await each(number)
            times[each].append((Clock.now() - started) * 1e6)
    return median(times[ours]), median(times[theirs])


async def run(folder: Path, calls: int) -> None:
    from agents import SQLiteSession

    from headish.integrations.agents import HeadishSession

    ours, theirs = HeadishSession("s", folder / "headish.db", erase=False), SQLiteSession("s", folder / "sdk.db")
    both = await interleaved(calls, lambda n: ours.add_items(items(n)), lambda n: theirs.add_items(items(n)))  # type: ignore[arg-type]
    line("append", *both)
    line("load", *await interleaved(ROUNDS, lambda _: ours.get_items(), lambda _: theirs.get_items()))
    line("load_last", *await interleaved(ROUNDS, lambda _: ours.get_items(20), lambda _: theirs.get_items(20)))
    assert json.dumps(await ours.get_items()) == json.dumps(await theirs.get_items())
    line("load_new", *await interleaved(5, lambda _: anew(HeadishSession, folder / "headish.db"),
                                        lambda _: anew(SQLiteSession, folder / "sdk.db")))  # fmt: skip
    ours.close()
    theirs.close()
    line("load_first", *await interleaved(5, lambda _: anew(HeadishSession, folder / "headish.db"),
                                          lambda _: anew(SQLiteSession, folder / "sdk.db")))  # fmt: skip
    sizes = [sum(each.stat().st_size for each in folder.glob(f"{name}.db*")) for name in ("headish", "sdk")]
    line("bytes", *sizes, unit="bytes")
    await bulk(folder)


async def bulk(folder: Path) -> None:
    """Add many items a call, to sessions of their own."""
    from agents import SQLiteSession

    from headish.integrations.agents import HeadishSession

    ours, theirs = HeadishSession("b", folder / "bulk.db", erase=False), SQLiteSession("b", folder / "sdk-bulk.db")
    given = [[item for call in range(50) for item in items(50 * number + call)] for number in range(ROUNDS)]
    both = await interleaved(ROUNDS, lambda n: ours.add_items(given[n]), lambda n: theirs.add_items(given[n]))  # type: ignore[arg-type]
    line("bulk", *(each / 100 for each in both))
    ours.close()
    theirs.close()


async def anew(kind: Any, path: Path) -> None:
    """Open a session, load it, close it."""
    session = kind("s", path)
    assert await session.get_items()
    session.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--cpu", action="store_true", help="the processor's time: for a machine that others use, too")
    arguments = parser.parse_args()
    if arguments.cpu:
        use_cpu()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder), arguments.calls))


if __name__ == "__main__":
    main()
