"""A plugin of pytest: how each test of a framework ended that used our class, and each that failed.

    python -m pytest -p support.suites.judged -p support.suites.agents FILE …     in the folder of a framework's source

The second plugin is the framework's own: it puts our class in the place of theirs and calls ``use`` where a test stores
something in it. Only then has the test judged us. ``HEADISH_SUITE_REPORT`` is where the report is written.

No test reaches the network: what tries to is refused, and told as failed even where the test does not mind.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

LOOPBACK = ("127.0.0.1", "::1", "localhost", "", None)
_used = False
_outside: list[str] = []
_ended: dict[str, str] = {}


def use() -> None:
    """Note that the test that runs stored something in our class."""
    global _used
    _used = True


def _refuse_the_network(event: str, given: tuple[Any, ...]) -> None:
    host: Any = None
    if event == "socket.getaddrinfo":
        host = given[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(given[1], tuple):
        host = given[1][0]
    if isinstance(host, bytes):
        host = host.decode()
    if host not in LOOPBACK:
        _outside.append(f"{event} {host}")
        raise ConnectionRefusedError(f"no test reaches the network: {event} {host}")


sys.addaudithook(_refuse_the_network)


def pytest_runtest_setup(item: pytest.Item) -> None:
    global _used
    _used = False
    _outside.clear()


def pytest_runtest_logreport(report: Any) -> None:
    if report.outcome == "failed" or _outside:
        _ended[report.nodeid] = "failed"
    elif report.when == "call" and (report.skipped or _used):
        _ended.setdefault(report.nodeid, report.outcome)


def pytest_sessionfinish() -> None:
    where = os.environ.get("HEADISH_SUITE_REPORT")
    if where:
        Path(where).write_text(json.dumps(_ended))
