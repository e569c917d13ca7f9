"""``headish serve`` as people start it: real processes, found by what they print.

with served(tmp_path, upstream) as server:
    ...ask server.gateway + "/anthropic/v1/messages"...
    server.kill("gateway")
"""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from headish.gateway.passing.upstreams import UPSTREAMS
from support.processes import children_of
from support.sockets import SocketUpstream
from support.upstream import Upstream

PATIENCE_SECONDS = 90.0


class Served:
    """A server that runs."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.process = folder, process
        self.database = folder / "history.db"
        self.spool = folder / "history.db.serve" / "spool"
        self.gateway = self.login = ""

    def told(self) -> str:
        """What it has printed so far."""
        return (self.folder / "told.txt").read_text("utf-8")

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until it has printed what matches."""
        until = time.monotonic() + PATIENCE_SECONDS
        while (found := re.search(pattern, self.told())) is None:
            assert self.process.poll() is None, self.told()
            assert time.monotonic() < until, self.told()
            time.sleep(0.02)
        return found

    def children(self) -> dict[str, int]:
        """The numbers of its processes, by the names of the children that have told what they are."""
        names = {}
        for each in children_of(self.process.pid):
            with suppress(OSError):
                names[_name_of(each)] = int(each.name)
        return names

    def child(self, name: str) -> int:
        """The number of a child, once it is there."""
        until = time.monotonic() + PATIENCE_SECONDS
        while (number := self.children().get(name)) is None:
            assert time.monotonic() < until, f"there is no {name}"
            time.sleep(0.02)
        return number

    def kill(self, name: str) -> int:
        """Kill a child at once; its number."""
        number = self.child(name)
        os.kill(number, signal.SIGKILL)
        return number

    def ask(self, path: str, body: bytes | None = b"{}", headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """Ask the gateway: status and body. What breaks off raises."""
        connection = http.client.HTTPConnection(urlsplit(self.gateway).netloc, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET" if body is None else "POST", path, body, dict(headers or {}))
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def end(self) -> int:
        """Tell it to end, and wait; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)


def _name_of(process: Path) -> str:
    """The name of a child: no argument says it, but its environment does."""
    variables = (process / "environ").read_bytes().split(b"\0")
    return next((each.partition(b"=")[2].decode() for each in variables if each.startswith(b"HEADISH_PROCESS=")), "")


@contextmanager
def served(
    folder: Path, upstream: Upstream | SocketUpstream | str, *options: str, space: str = "default"
) -> Iterator[Served]:
    """A server whose every API is the upstream, on ports of its own, with a database in the folder. A string is the
    address of the upstream."""
    base_url = upstream if isinstance(upstream, str) else upstream.url
    places = [each for api in UPSTREAMS for each in ("--upstream", f"{api}={base_url}")]
    command = [sys.executable, "-m", "headish_cli", "--db", str(folder / "history.db"), "--space", space]
    with (folder / "told.txt").open("ab") as told:
        process = subprocess.Popen(
            [*command, "serve", "--port", "0", "--gateway-port", "0", *places, *options],
            stdout=told,
            stderr=told,
            env={**os.environ, "HEADISH_CONFIG": os.devnull},
        )
    server = Served(folder, process)
    try:
        server.login = server.wait_for(r"headish serve: (http\S+code=\S+)")[1]
        if "--no-gateway" not in options:
            server.gateway = server.wait_for(r"gateway: (http://[\d.:]+)")[1]
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
