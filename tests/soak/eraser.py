"""A process that erases turns which others wrote, and puts down each one that it was told is gone.

``python -m soak.eraser TARGET SPACE NOTES SEED`` is what a round kills. A note is one ``write()``: it survives a kill.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from headish import Store
from soak.writer import TESTS


class Eraser:
    """An erasing process, seen from the one that started it."""

    def __init__(self, target: str, space: str, notes: Path, seed: int) -> None:
        self._notes = notes
        notes.touch()
        command = [sys.executable, "-m", "soak.eraser", target, space, str(notes), str(seed)]
        self.process = subprocess.Popen(command, cwd=TESTS)

    def erased(self) -> set[str]:
        """The turns that it was told are gone."""
        return set(self._notes.read_text().split("\n")[:-1])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def erase(target: str, space: str, notes: Path, seed: int) -> None:
    """Erase turns, one or a few at a time, until somebody ends this."""
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    chance = random.Random(seed)
    with Store.open(target, space=space) as store:
        while True:
            standing = [turn.id for turn in store.log("main") if turn.erased is None and turn.meta.continues]
            if len(standing) < 3:
                time.sleep(0.01)
                continue
            chosen = chance.sample(standing, chance.randint(1, 3))
            store.erase(chosen, meta=chance.random() < 0.5, reason="soak", scrub=chance.random() < 0.3)
            os.write(file, "".join(f"{each}\n" for each in chosen).encode())


if __name__ == "__main__":
    target, space, notes, seed = sys.argv[1:]
    erase(target, space, Path(notes), int(seed))
