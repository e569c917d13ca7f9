"""A process that follows a space, and puts down each turn that came with the cursor behind it.

``python -m soak.follower TARGET SPACE NOTES [--no-wait]`` is what a round kills. A note is one ``write()``, so the
cursor and what it is behind survive a kill together: nothing may be missing from the notes, and nothing be there twice.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from headish import Store
from soak.writer import TESTS


class Follower:
    """A following process, seen from the one that started it. It goes on behind the last note."""

    def __init__(self, target: str, space: str, notes: Path, *, wait: bool = True) -> None:
        self.path = notes
        notes.touch()
        command = [sys.executable, "-m", "soak.follower", target, space, str(notes), *([] if wait else ["--no-wait"])]
        self.process = subprocess.Popen(command, cwd=TESTS)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def read_feed(notes: Path) -> list[tuple[str, str]]:
    """``(cursor, turn)`` of each whole line, in the order in which they came."""
    lines = notes.read_text().split("\n")[:-1]
    return [(line.split(" ")[0], line.split(" ")[1]) for line in lines]


def follow(target: str, space: str, notes: Path, *, wait: bool) -> None:
    """Put down every turn behind the last note, until somebody ends this, or to the end."""
    came = read_feed(notes)
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with Store.open(target, space=space) as store:
        for change in store.follow(came[-1][0] if came else None, kinds=["turn"], wait=wait):
            if change.kind == "turn":
                os.write(file, f"{change.cursor} {change.turn.id}\n".encode())


if __name__ == "__main__":
    target, space, notes = sys.argv[1:4]
    follow(target, space, Path(notes), wait="--no-wait" not in sys.argv)
