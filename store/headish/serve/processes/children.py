"""A child process: the settings on its standard input, and what it runs.

    python -m headish.serve.processes.children

The first line of the input is JSON of ``ChildTold``. The input then stays open as long as the parent lives. When it
ends, the child ends as after SIGTERM, so a killed parent leaves no children.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from headish.errors import HeadishError

UNFIT = 3
"""The exit code of a child that cannot run with its settings; it says why on stderr, for people."""
PARENT_GONE_SECONDS = 45.0
"""How long a child whose parent is gone may take to end."""


class ChildTold(Struct, frozen=True):
    """The settings of a child: its name, its own settings, and the number of its listening socket."""

    name: str
    settings: msgspec.Raw
    listener: int | None = None


class ChildKind(NamedTuple):
    """The places of a child's function and of the class of its settings; only that child imports them.

    The parent holds back the signals that end a child. One that ``unblocks`` lets them in when it can answer them.
    """

    function: str
    settings: str
    unblocks: bool = False


CHILDREN = {
    "web": ChildKind("headish.serve.web.running:run_web", "headish.serve.access.settings:WebSettings"),
    "recorder": ChildKind(
        "headish.serve.recorder.following:run_recorder", "headish.serve.processes.settings:RecorderSettings", True
    ),
    "syncer": ChildKind("headish.serve.sync.timetable:run_syncer", "headish.serve.sync.timetable:SyncerSettings"),
    "gateway": ChildKind("headish.gateway.running:run_gateway", "headish.gateway.running:GatewaySettings", True),
}


def main() -> int:
    """Run the child that the input names. Returns: its exit code."""
    told = msgspec.json.decode(sys.stdin.buffer.readline(), type=ChildTold)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    kind = CHILDREN[told.name]
    settings = msgspec.json.decode(told.settings, type=_load(kind.settings))
    function = _load(kind.function)
    if not kind.unblocks:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))
    try:
        if told.listener is None:
            function(settings)
        else:
            function(settings, socket.socket(fileno=told.listener))
    except HeadishError as error:
        print(f"headish {told.name}: {error}", file=sys.stderr, flush=True)
        return UNFIT
    return 0


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    timer = threading.Timer(PARENT_GONE_SECONDS, os._exit, (1,))
    timer.daemon = True
    timer.start()


def _load(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), attribute)
    return loaded


if __name__ == "__main__":
    sys.exit(main())
