"""pgbouncer, which lends a server's connections for one transaction each, where it is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import URL, make_url


@contextmanager
def started_pooler(target: str, *, connections: int, login: str | None = None, password: str = "") -> Iterator[str]:
    """The URL of a database behind a pooler that logs in as the user of ``target``, or as ``login``, for everybody."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("install pgbouncer to try headish behind a pooler")
    server = make_url(target)
    port, host, user = _free_port(), server.query.get("host", server.host), login or server.username
    folder = Path(tempfile.mkdtemp(prefix="headish-pooler-"))
    users, settings = folder / "users.txt", folder / "pgbouncer.ini"
    users.write_text(f'"{user}" "{password}"\n')
    settings.write_text(
        f"""[databases]
{server.database} = user={user} host={host} port={server.query.get("port", server.port or 5432)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
auth_file = {users}
pool_mode = transaction
default_pool_size = {connections}
"""
    )
    for path in (folder, users, settings):
        path.chmod(0o755)
    # It does not run as root; the server's socket lies in a folder of the server's own user.
    own = ["-u", Path(str(host)).owner()] if os.geteuid() == 0 and str(host).startswith("/") else []
    process = subprocess.Popen([program, *own, str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        url = URL.create("postgresql+psycopg", username=user, host="127.0.0.1", port=port,
                         database=server.database, query={"prepared": "false"})  # fmt: skip
        yield url.render_as_string(hide_password=False)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("pgbouncer does not listen")
