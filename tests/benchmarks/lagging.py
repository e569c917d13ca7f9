"""How long after its answer a call is in the history: ``headish serve`` is asked 20 times a second.

    python tests/benchmarks/lagging.py [--quick]

One line. Four clients re-send their whole lists in turns. The time is from the end of an answer at its client to the
row of the call, which is committed with its turns; a look every 5 ms finds it.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.passed import anthropic_answer, anthropic_body, assistant, user
from support.served import Served, served
from support.upstream import LAST, Upstream, chunked, head

CALLS, QUICK_CALLS, CLIENTS, EVERY_SECONDS, LOOK_SECONDS = 600, 100, 4, 0.05, 0.005
SAID = "It is so because " + "y" * 300
PATIENCE_SECONDS = 60


class Clerk(threading.Thread):
    """Looks how many calls are in the history. ``found`` are the times at which each was."""

    def __init__(self, database: Path, calls: int) -> None:
        super().__init__(daemon=True)
        self._database, self._calls = database, calls
        self.found: list[float] = []

    def run(self) -> None:
        until = time.monotonic() + PATIENCE_SECONDS + self._calls * EVERY_SECONDS
        with sqlite3.connect(f"{self._database.as_uri()}?mode=ro", uri=True) as database:
            while len(self.found) < self._calls and time.monotonic() < until:
                [count] = database.execute("SELECT count(*) FROM call").fetchone()
                self.found += [time.monotonic()] * (count - len(self.found))
                time.sleep(LOOK_SECONDS)


def ask(server: Served, calls: int) -> list[float]:
    """Ask in turns; when each answer ended."""
    lists: list[list[dict[str, Any]]] = [[] for _ in range(CLIENTS)]
    ended, begun = [], time.monotonic()
    for number in range(calls):
        time.sleep(max(0.0, begun + number * EVERY_SECONDS - time.monotonic()))
        client, messages = number % CLIENTS, lists[number % CLIENTS]
        messages.append(user(f"Why is it {number}?"))
        headers = {"x-claude-code-session-id": f"097ac834-a2b4-4deb-b006-36a07729860{client}"}
        status, _ = server.ask("/anthropic/v1/messages", json.dumps(anthropic_body(messages)).encode(), headers)
        assert status == 200
        ended.append(time.monotonic())
        messages.append(assistant(SAID))
    return ended


def measure(calls: int) -> str:
    said = [head(200, "text/event-stream"), *chunked([anthropic_answer(SAID)]), LAST]
    with (
        Upstream(lambda _: said, keep_bodies=False) as upstream,
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder), upstream) as server,
    ):
        clerk = Clerk(server.database, calls)
        clerk.start()
        ended = ask(server, calls)
        clerk.join()
    assert len(clerk.found) == calls, f"{len(clerk.found)} of {calls} calls are in the history"
    late = sorted(1000 * (found - end) for found, end in zip(clerk.found, ended, strict=True))
    rate = (calls - 1) / (ended[-1] - ended[0])
    return (
        f"recorder {calls} calls  {rate:.0f} a second  behind by: p50 {late[calls // 2]:.0f} ms"
        f"  p99 {late[calls * 99 // 100]:.0f} ms  longest {late[-1]:.0f} ms"
    )


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--quick", action="store_true")
    print(measure(QUICK_CALLS if arguments.parse_args().quick else CALLS))


if __name__ == "__main__":
    main()
