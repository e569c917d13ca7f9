"""A child process: it reads its settings from its standard input, and runs one of the server's functions.

    python -m headish.serve.processes.children

The first line of the input is JSON of ``ChildTold``. The input then stays open as long as the parent lives. When it
closes, the child ends as after SIGTERM, so a killed parent leaves no children.
"""

from __future__ import annotations

import gc
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
"""The exit code of a child that cannot run with its settings; the reason is on stderr, for people."""
PARENT_GONE_SECONDS = 45.0
"""How long a child without a parent may take to end, before it ends itself at once."""


class ChildTold(Struct, frozen=True):
    """The settings of a child: its name, its own settings, and the number of its listening socket."""

    name: str
    settings: msgspec.Raw
    listener: int | None = None


class ChildKind(NamedTuple):
    """The names of a child's function and of the class of its settings; only that child imports them.

    The parent starts each child with the ending signals blocked. A function that ``unblocks`` them does so itself, when
    it can handle them; for all others, ``main`` does it.
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
    "gateway": ChildKind("headish.gateway.running:run_gateway", "headish.gateway.settings:GatewaySettings", True),
}


def main() -> int:
    """Run the child that the input names. Returns: its exit code."""
    child = msgspec.json.decode(sys.stdin.buffer.readline(), type=ChildTold)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    kind = CHILDREN[child.name]
    gc.disable()  # modules stay: to look at them takes a fifth of the time in which a child starts
    settings = msgspec.json.decode(child.settings, type=_load(kind.settings))
    function = _load(kind.function)
    gc.freeze()
    gc.enable()
    if not kind.unblocks:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))
    try:
        if child.listener is None:
            function(settings)
        else:
            function(settings, socket.socket(fileno=child.listener))
    except HeadishError as error:
        print(f"headish {child.name}: {error}", file=sys.stderr, flush=True)
        return UNFIT
    return 0


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 4096):  # empty only when the parent has gone, however it ended
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    # Nobody is left who would kill a child that hangs, and it would keep the port from the next server.
    timer = threading.Timer(PARENT_GONE_SECONDS, os._exit, (1,))
    timer.daemon = True
    timer.start()


def _load(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), attribute)
    return loaded


if __name__ == "__main__":
    sys.exit(main())
