"""How long a process of the command takes, beside a process that imports what it cannot do without.

Also the floor: a process that imports the same, opens the file, reads the rows of the thread and prints them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable

from benchmarks.canonical import conversation, items
from benchmarks.clock import Bench, is_cpu, microseconds, report
from headish import Store

COMMAND = "from headish_cli.__main__ import main; main()"
"""What the installed script runs."""
IMPORTS = "import sqlite3, msgspec, blake3, click"
READ = (
    "import sqlite3, msgspec, blake3, click, sys; c = sqlite3.connect(sys.argv[1]);"
    "rows = c.execute('SELECT id, role, data FROM turn WHERE data IS NOT NULL').fetchall();"
    "[click.echo(f'{id} {role} {msgspec.json.decode(data)}') for id, role, data in rows]"
)


def starts(bench: Bench) -> None:
    """Commands on a thread of ten turns; each ``add`` makes it one longer."""
    path = bench.path("thread")
    listed = list(items(conversation(10)))
    listed[-1]["bookmark"] = "main"
    with Store.open(path) as store:
        store.add_turns(listed)
    at = ("--db", str(path))
    version = bench.alternate(run(COMMAND, "--version"), run("import click"))
    report("start_version", *version, of="click", goal="<=2")
    *found, bare = bench.alternate(
        run(COMMAND, *at, "log", "main"),
        run(COMMAND, *at, "list"),
        run(COMMAND, *at, "resolve", "main"),
        run(COMMAND, *at, "add", "--continues", "main", "hi"),
        run(READ, str(path)),
        run(IMPORTS),
    )
    for name, ours in zip(("log", "list", "resolve", "add", "floor"), found, strict=True):
        goal = None if name == "floor" else "<=1.4"
        report(f"start_{name}", ours, bare, of="sqlite3_msgspec_blake3_click", goal=goal)


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
