"""Captures that are looked at from outside, and a process that is in the middle of one.

Used by the tests of the journal (tests/answers) and of the commands that show it (tests/cli).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headish import Store
from headish.database.query import Connection
from headish.rows import streams
from headish.store.answers.capture import Capture
from headish.store.answers.journal import LEASE_SECONDS
from support.insides import read
from support.places import Place
from support.providers.answers import anthropic_text

PIECES = ("It was ", "the best ", "of times")
EVENTS = anthropic_text(*PIECES)
BEGUN = EVENTS[: 2 + len(PIECES)]
"""All pieces, and no end."""
PATIENCE_SECONDS = 20


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Return once something holds that another thread brings about."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.01)


def journalled(store: Store) -> bytes:
    """What the journals of all open streams hold."""

    def work(connection: Connection) -> bytes:
        found = streams.open_streams(connection, store._number)
        return b"".join(chunk for each in found for chunk in streams.journal_of(connection, store._number, each.id))

    return read(store, work)


def expiry(store: Store) -> int:
    """When the lease of the only open stream ends, in Unix milliseconds."""
    [stream] = read(store, lambda connection: streams.open_streams(connection, store._number))
    return stream.expires


def begin(store: Store, *, lease_seconds: float = LEASE_SECONDS) -> Capture:
    """A capture of an answer to ``main`` that has journalled all its pieces and lacks its end."""
    capture = store.capture("main", "anthropic", lease_seconds=lease_seconds)
    for event in BEGUN:
        capture.feed(event)
    wait_until(lambda: PIECES[-1].encode() in journalled(store), "the last piece is journalled")
    return capture


@contextmanager
def capturing(place: Place, lease_seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has begun to capture an answer to ``main``. Killed at the end, if it lives."""
    command = [sys.executable, "-m", "support.capturers", place.target, place.space, str(lease_seconds)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            yield process
        finally:
            process.kill()


def capture_until_killed(target: str, space: str, lease_seconds: str) -> None:
    with Store.open(target, space=space) as store:
        capture = begin(store, lease_seconds=float(lease_seconds))
        print("begun", flush=True)
        time.sleep(600)
        capture.finish()


if __name__ == "__main__":
    capture_until_killed(*sys.argv[1:])
