"""What a thread takes that its client sends whole with each request: bytes stored beside bytes said, and time.

    python tests/benchmarks/resending.py [--quick]

One line. ``said`` counts the JSON of what each message says, once; ``sent`` all bodies. ``turns`` are the payloads of
the turns, ``calls`` the rows and objects of the calls, which say nothing of what was said, and ``file`` is the whole
database with its indexes. ``first`` and ``last`` are what one request takes at both ends of the thread.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from headish import Store
from headish.serve.recorder.recording import CallRecorder
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, assistant, passed, user

REQUESTS, QUICK_REQUESTS, TIMED = 10_000, 500, 50
QUESTION, ANSWER = "Why is it {}? " + "x" * 300, "It is {} because " + "y" * 300


class Client:
    """A client of Messages. What it sent is not encoded again: that would take longer than to store it."""

    def __init__(self) -> None:
        self.encoded: list[bytes] = []
        self.said = self.sent = 0

    def body(self, number: int) -> bytes:
        """The next request; the mark of the cache moves on to its last message."""
        asked = user(QUESTION.format(number))
        whole = anthropic_body([asked], nonce=number)
        last = json.dumps(whole.pop("messages")[0]).encode()
        self.add(asked)
        listed = b",".join([*self.encoded[:-1], last])
        body = json.dumps(whole).encode()[:-1] + b', "messages": [' + listed + b"]}"
        self.sent += len(body)
        return body

    def add(self, message: dict[str, Any]) -> None:
        self.encoded.append(json.dumps(message).encode())
        self.said += len(json.dumps(message["content"]))


def measure(path: Path, requests: int) -> str:
    client, taken = Client(), []
    with Store.open(path) as store:
        recorder = CallRecorder(lambda _space: store)
        for number in range(requests):
            text = ANSWER.format(number)
            call = passed(
                "anthropic", client.body(number), anthropic_answer(text, id=f"m{number}"), headers=CLAUDE_CODE
            )
            begun = time.process_time()
            assert recorder.record(call) is not None
            taken.append(1000 * (time.process_time() - begun))
            client.add(assistant(text))
        turns, file = store.stats().payload_bytes, store.stats().database_bytes
        assert store.stats().turns == 1 + 2 * requests
    with sqlite3.connect(path) as database:
        calls = sum(
            database.execute(f"SELECT coalesce(sum(length(data)), 0) FROM {table}").fetchone()[0]
            for table in ("call", "object")
        )
    first, last = (statistics.median(each) for each in (taken[1:TIMED], taken[-TIMED:]))
    return (
        f"requests {requests:,}  sent {client.sent / 1e6:,.0f} MB  said {client.said / 1e6:.2f} MB"
        f"  turns {turns / client.said:.4f} x  calls {calls / client.said:.3f} x  file {file / client.said:.2f} x"
        f"  first {first:.2f} ms  last {last:.2f} ms"
    )


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--quick", action="store_true")
    quick = arguments.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        print(measure(Path(folder) / "resent.db", QUICK_REQUESTS if quick else REQUESTS))


if __name__ == "__main__":
    main()
