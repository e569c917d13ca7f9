"""The clock, the folder of a run, and the one line that a dimension prints."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

Work = Callable[[], float]


class Clock:
    """What the time is taken from: the wall, or with ``--cpu`` the processor's time of this process.

    The processor's time leaves out what others on the machine take, and also the wait for the disk.
    """

    now: Callable[[], float] = staticmethod(time.perf_counter)


class Bench:
    """A folder for the databases, and the sizes of a run."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder, self.quick = folder, quick
        self.rounds = 3 if quick else 7
        self._numbers = 0

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def path(self, name: str) -> Path:
        """A path that nothing has used yet."""
        self._numbers += 1
        return self.folder / f"{self._numbers}-{name}.db"

    def alternate(self, *works: Work) -> list[float]:
        """The median of each work's results over the rounds; each work runs once a round, and the first one changes."""
        results: list[list[float]] = [[] for _ in works]
        for number in range(self.rounds):
            order = list(range(len(works)))
            for index in order if number % 2 else reversed(order):
                results[index].append(works[index]())
        return [statistics.median(column) for column in results]


def microseconds(work: Callable[[], Any], per: int = 1) -> float:
    """How long a work takes, divided by ``per``."""
    started = Clock.now()
    work()
    return (Clock.now() - started) * 1e6 / per


def median_call(call: Callable[[Any], Any], arguments: Iterable[Any]) -> float:
    """The median of one call for each argument. What the arguments cost is not timed."""
    times = []
    for argument in arguments:
        started = Clock.now()
        call(argument)
        times.append(Clock.now() - started)
    return statistics.median(times) * 1e6


def median_step(steps: Iterator[None]) -> float:
    """The median of one step of a generator."""
    times = []
    while True:
        started = Clock.now()
        if next(steps, "done") == "done":
            return statistics.median(times) * 1e6
        times.append(Clock.now() - started)


def use_cpu() -> None:
    """Take the processor's time from now on."""
    Clock.now = staticmethod(time.process_time)


def is_cpu() -> bool:
    return Clock.now is time.process_time


def in_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a fresh process."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def report(
    name: str, headish: float, limit: float, *, of: str, goal: str | None = None, unit: str = "us", **more: Any
) -> None:
    """Print the line of a dimension. ``of`` names the limit; ``ratio`` is headish by the limit, always.

    ``goal`` is the bound of the ratio (``<=2``, ``>=3``). A goal that is none of the ratio's stands in ``more``.
    """
    fields: dict[str, Any] = {"name": name, "limit": of, **more}
    fields |= {f"headish_{unit}": f"{headish:.2f}", f"limit_{unit}": f"{limit:.2f}", "ratio": f"{headish / limit:.2f}"}
    if goal is not None:
        bound, met = float(goal[2:]), headish / limit <= float(goal[2:])
        fields |= {"goal": goal, "met": "yes" if (met if goal.startswith("<=") else headish / limit >= bound) else "no"}
    print(" ".join(f"{key}={value}" for key, value in fields.items()), flush=True)


def skip(name: str, reason: str) -> None:
    """Print that a dimension was not measured, and why."""
    print(f"name={name} skipped={reason}", flush=True)
