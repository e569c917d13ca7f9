"""A process that writes turns, and puts down each one that it was told is stored.

``python -m soak.writer`` is what the rounds kill, starve and disturb. A line of its notes is ``ID NUMBER`` for a turn
that was acknowledged and ``! ERROR`` for a call that was refused. A note is one ``write()``: it survives a kill.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from headish import Store
from headish.errors import DatabaseError

TESTS = Path(__file__).resolve().parents[1]


def text_of(seed: int, number: int) -> str:
    """What a writer says: from nothing to some pages of a database."""
    return f"{seed} {number} " + "x" * ((number * 7919 + seed) % 3000 if number % 20 else 20_000)


class Notes(NamedTuple):
    """What a writer put down: the text of each acknowledged turn by its id, and the errors of refused calls."""

    acknowledged: dict[str, str]
    errors: list[str]


class Writer:
    """A writing process, seen from the one that started it."""

    def __init__(self, target: str, space: str, notes: Path, seed: int, **options: object) -> None:
        environment = {**os.environ, **options.pop("environment", {})}  # type: ignore[dict-item]
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        self._notes, self._seed = notes, seed
        notes.touch()
        command = [sys.executable, "-m", "soak.writer", target, space, str(notes), str(seed), *words]
        self.process = subprocess.Popen(command, cwd=TESTS, env=environment)

    def notes(self) -> Notes:
        """What it has put down so far, in whole lines."""
        return read_notes(self._notes, self._seed)

    def family(self, children: int) -> list[tuple[Path, int]]:
        """The notes and seeds of the process and of the children that it forked."""
        return [(self._notes, self._seed)] + [
            (Path(f"{self._notes}.{number}"), self._seed + number) for number in range(1, children + 1)
        ]

    def wait_for(self, acknowledged: int, seconds: float = 60) -> bool:
        """Wait until so many turns are acknowledged, the process has ended, or the time is up."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if len(self.notes().acknowledged) >= acknowledged:
                return True
            if self.process.poll() is not None:
                return len(self.notes().acknowledged) >= acknowledged
            time.sleep(0.005)
        return False

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def read_notes(path: Path, seed: int) -> Notes:
    """The notes of one writer."""
    lines = path.read_text().split("\n")[:-1]
    pairs = [line.split(" ") for line in lines if not line.startswith("!")]
    return Notes(
        {id: text_of(seed, int(number)) for id, number in pairs},
        [line.removeprefix("! ") for line in lines if line.startswith("!")],
    )


def write(target: str, space: str, notes: Path, seed: int, *, turns: int, errors: int, first: int = 0) -> None:
    """Store turns on ``main`` until so many are stored, or so many calls are refused."""
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    store: Store | None = None
    for number in count(first):
        try:
            store = store or Store.open(target, space=space)
            turn = store.add_turn(text_of(seed, number), continues="main")
        except DatabaseError as error:
            os.write(file, f"! {type(error).__name__}: {error}\n".encode())
            errors -= 1
        else:
            os.write(file, f"{turn.id} {number}\n".encode())
            turns -= 1
        if not turns or not errors:
            return


def write_with_children(target: str, space: str, notes: Path, seed: int, *, turns: int, children: int) -> None:
    """Open a store, fork, and write in all of the processes through it; the first child is killed on its way."""
    with Store.open(target, space=space) as store:
        store.add_turn("before the fork", continues="main")
        started = [_fork(store, Path(f"{notes}.{number}"), seed + number, turns) for number in range(1, children + 1)]
        _append(store, notes, seed, turns // 2)
        os.kill(started[0], signal.SIGKILL)
        _append(store, notes, seed, turns - turns // 2, first=turns // 2)
        codes = [os.waitpid(child, 0)[1] for child in started]
    sys.exit(any(codes[1:]))


def fork_beside_threads(target: str, space: str, notes: Path, seed: int, *, turns: int, forks: int) -> None:
    """Fork again and again while three threads write and read; close the store while the children still write."""
    done = threading.Event()
    with Store.open(target, space=space) as store:

        def work(number: int) -> None:
            while not done.is_set():
                store.add_turn(f"beside {seed} {number} {uuid4()}") if number else list(store.turns())

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        started = [_fork(store, Path(f"{notes}.{number}"), seed + number, turns) for number in range(1, forks + 1)]
        done.set()
        for thread in threads:
            thread.join()
    _append_alone(target, space, notes, seed, turns)
    codes = [os.waitpid(child, 0)[1] for child in started]
    sys.exit(any(codes))


def _append_alone(target: str, space: str, notes: Path, seed: int, turns: int) -> None:
    with Store.open(target, space=space) as store:
        _append(store, notes, seed, turns)


def _fork(store: Store, notes: Path, seed: int, turns: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        _append(store, notes, seed, turns)
        os._exit(0)
    except BaseException as error:
        print(f"a forked child: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def _append(store: Store, notes: Path, seed: int, turns: int, first: int = 0) -> None:
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for number in range(first, first + turns):
        turn = store.add_turn(text_of(seed, number), continues="main")
        os.write(file, f"{turn.id} {number}\n".encode())
    os.close(file)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("space")
    parser.add_argument("notes", type=Path)
    parser.add_argument("seed", type=int)
    parser.add_argument("--turns", type=int, default=-1, help="end after so many; -1 never")
    parser.add_argument("--errors", type=int, default=-1, help="end after so many")
    parser.add_argument("--children", type=int, default=0, help="fork so many, which write as well")
    parser.add_argument("--forks", type=int, default=0, help="fork so many beside threads that write")
    parser.add_argument("--file-limit", type=int, default=0, help="the largest file that the process may write")
    parser.add_argument("--first", type=int, default=0, help="the number of the first turn")
    given = parser.parse_args()
    if given.file_limit:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (given.file_limit, given.file_limit))
    where = given.target, given.space, given.notes, given.seed
    if given.forks:
        fork_beside_threads(*where, turns=given.turns, forks=given.forks)
    elif given.children:
        write_with_children(*where, turns=given.turns, children=given.children)
    else:
        write(*where, turns=given.turns, errors=given.errors, first=given.first)


if __name__ == "__main__":
    main()
