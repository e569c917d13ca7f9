"""Rounds of every kind of trouble until the minutes are over: ``python tests/soak/run.py --minutes 10 [--json]``.

One line per kind: how many rounds, how often it struck, how many turns were acknowledged, how many of them are lost.
The exit code is 1 if any is, or if something else that must be true after a round was not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as pytest does

from soak.kinds import KINDS
from soak.rounds import Failed, Round, Skipped, Soak

LEAST_INTERRUPTS = 10_000
"""So many are sent, however short the time."""


class Tally:
    """What the rounds of a kind came to."""

    def __init__(self, kind: str) -> None:
        self.kind, self.skipped = kind, ""
        self.seconds = 0.0
        self.rounds = self.faults = self.acknowledged = self.lost = 0
        self.failures: list[str] = []
        self.how: dict[str, int] = {}

    def add(self, done: Round) -> None:
        self.rounds += 1
        self.faults += done.faults
        self.acknowledged += done.acknowledged
        self.lost += done.lost
        self.how[done.how] = self.how.get(done.how, 0) + 1

    def to_mapping(self) -> dict[str, Any]:
        return {**vars(self), "seconds": round(self.seconds, 1)}

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.kind:<20} skipped: {self.skipped}"
        how = ", ".join(f"{name} {rounds}" for name, rounds in self.how.items())
        return (
            f"{self.kind:<20} rounds {self.rounds:>4,} ({how})  faults {self.faults:>7,}"
            f"  acknowledged {self.acknowledged:>8,}  lost {self.lost}"
            + "".join(f"\n  {each}" for each in self.failures)
        )


def run(minutes: float, *, folder: Path, seed: int, least_interrupts: int = LEAST_INTERRUPTS) -> list[Tally]:
    """Rounds of the kinds in turns; each kind has one at least."""
    end = time.monotonic() + 60 * minutes
    tallies = {kind: Tally(kind) for kind in KINDS}
    soak = Soak(folder, seed)
    try:
        while True:
            for kind, tally in tallies.items():
                if not tally.rounds or time.monotonic() < end:
                    _one(soak, kind, tally)
            if time.monotonic() >= end or any(tally.failures for tally in tallies.values()):
                break
        while 0 < tallies["interrupts"].faults < least_interrupts:
            _one(soak, "interrupts", tallies["interrupts"])
        return list(tallies.values())
    finally:
        soak.close()


def _one(soak: Soak, kind: str, tally: Tally) -> None:
    if tally.skipped:
        return
    began = time.monotonic()
    try:
        tally.add(KINDS[kind](soak))
    except Skipped as reason:
        tally.skipped = str(reason)
    except Failed as failure:
        tally.failures.append(str(failure))
    tally.seconds += time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None, help="repeats the choices of a run, not its moments")
    parser.add_argument("--json", action="store_true", help="one object per line")
    given = parser.parse_args()
    sys.unraisablehook = lambda _: None  # an interrupt inside a destructor, which Python would only print
    seed = int(time.time()) if given.seed is None else given.seed
    with tempfile.TemporaryDirectory(prefix="headish-soak-") as folder:
        tallies = run(given.minutes, folder=Path(folder), seed=seed)
    for tally in tallies:
        print(json.dumps(tally.to_mapping()) if given.json else tally)
    sys.exit(any(tally.lost or tally.failures for tally in tallies))


if __name__ == "__main__":
    main()
