"""A writer that is killed: what it was told is stored, and nothing is half there (the first promise)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headish import Store
from support.places import Place

pytestmark = pytest.mark.slow

ROUNDS = 6
WORKER = Path(__file__).resolve().parents[1]


def at_one_moment(store: Store) -> tuple[list[str], list[str]]:
    """The turns behind the root, and the line of ``main``. A server may commit what a client had sent after that client
    was killed: between the two, a turn may come."""
    while True:
        stored = [turn.id for turn in store.turns()]
        line = [turn.id for turn in store.log("main")][::-1]
        if [turn.id for turn in store.turns()] == stored:
            return stored[1:], line[1:]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here; run this on a POSIX system")
@pytest.mark.parametrize("threads", [1, 8], ids=["alone", "threads that share commits"])
def test_every_acknowledged_turn_survives_kill_9(durable_place: Place, threads: int) -> None:
    store = durable_place.open()
    store.add_turn("root", bookmark="main")
    acknowledged: list[str] = []
    for number in range(ROUNDS):
        command = [sys.executable, "-m", "support.workers", durable_place.target, durable_place.space, str(threads)]
        with subprocess.Popen(command, cwd=WORKER, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            acknowledged += [process.stdout.readline().decode().strip() for _ in range(3 + 7 * number)]
            os.kill(process.pid, signal.SIGKILL)
            # What was written out before the kill and lies in the pipe was acknowledged as well.
            rest = process.stdout.read().decode().split("\n")
            acknowledged += rest[:-1]
        assert process.returncode == -signal.SIGKILL
    stored, line = at_one_moment(store)
    # At most one turn of each thread in a round was stored and not told any more.
    assert set(acknowledged) <= set(stored)
    assert len(stored) <= len(acknowledged) + ROUNDS * threads
    assert line == stored
    assert store.verify().problems == ()
