"""A process that backs a space up, or puts a backup back: what a round kills.

``python -m soak.keeper backup TARGET SPACE FILE`` and ``python -m soak.keeper restore TARGET SPACE FILE``.
"""

from __future__ import annotations

import subprocess
import sys

import headish
from headish import Store
from soak.writer import TESTS


def started(verb: str, target: str, space: str, file: str) -> subprocess.Popen[bytes]:
    """The process, as it begins."""
    command = [sys.executable, "-m", "soak.keeper", verb, target, space, file]
    return subprocess.Popen(command, cwd=TESTS, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    verb, target, space, file = sys.argv[1:]
    if verb == "restore":
        headish.restore(file, target, only="default", to=space)
    else:
        with Store.open(target, space=space, create=False) as store:
            store.backup(file)
