"""How long a process of the command takes, beside a process that imports what it cannot do without."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable

from benchmarks.appending import PLAIN, add, new_store
from benchmarks.canonical import conversation
from benchmarks.clock import Bench, is_cpu, microseconds, report
from headish import Store

COMMAND = "from headish_cli.__main__ import main; main()"
"""What the installed script runs."""
IMPORTS = "import sqlite3, msgspec, blake3, click"
READ = (
    "import sqlite3, msgspec, sys; c = sqlite3.connect(sys.argv[1]);"
    "print(len([msgspec.json.decode(d) for d, in c.execute('SELECT data FROM turn WHERE data IS NOT NULL')]))"
)


def starts(bench: Bench) -> None:
    """``--version``, ``log`` and ``resolve`` of a thread of ten turns."""
    path = new_store(bench)
    with Store.open(path) as store:
        for said in conversation(10):
            add(store, "main", said)
    at = ("--db", str(path))
    for name, ours, limit, of, goal in (
        ("start_version", (COMMAND, "--version"), ("import click",), "click", "<=2"),
        ("start_log", (COMMAND, *at, "log", "main"), (IMPORTS,), "sqlite3_msgspec_blake3_click", "<=1.5"),
        ("start_resolve", (COMMAND, *at, "resolve", "main"), (READ, str(path)), PLAIN, None),
    ):
        report(name, *bench.alternate(run(*ours), run(*limit)), of=of, goal=goal)


def run(code: str, *arguments: str) -> Callable[[], float]:
    """A process of this Python: how long it takes, or the processor's time of it."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code, *arguments]

    def once() -> float:
        before = children_seconds()
        time = microseconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment))
        return (children_seconds() - before) * 1e6 if is_cpu() else time

    return once


def children_seconds() -> float:
    """The processor's time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
