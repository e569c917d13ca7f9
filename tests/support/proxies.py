"""nginx with the settings that a how-to gives, where it is installed."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.relays import make_certificate

HOW_TO = Path(__file__).parents[2] / "docs/how-to/sync-over-https.md"


class Nginx:
    """An nginx on a loopback port, with TLS. ``certificate`` is the file of who trusts it, ``log`` that of its
    warnings."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if program is None:
            pytest.skip("install nginx to try headish behind it")
        self.folder, self._program = folder, program
        folder.mkdir()
        self.certificate, _ = make_certificate(folder)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.log = folder / "error.log"
        self.url = f"https://127.0.0.1:{self.port}"

    @contextmanager
    def before(self, port: int, **changed: str) -> Iterator[None]:
        """Run it before a server, with the block of the how-to. ``changed`` are other values of its directives."""
        [block] = re.findall(r"^```nginx\n(.*?)^```$", HOW_TO.read_text(), re.MULTILINE | re.DOTALL)
        own = {
            "listen": f"127.0.0.1:{self.port} ssl", "ssl_certificate": str(self.certificate),
            "ssl_certificate_key": str(self.folder / "private.pem"), "proxy_pass": f"http://127.0.0.1:{port}",
        }  # fmt: skip
        for directive, value in {**own, **changed}.items():
            block, count = re.subn(rf"\b{directive} [^;]+;", f"{directive} {value};", block)
            assert count == 1, directive
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in kinds)
        settings = self.folder / "nginx.conf"
        settings.write_text(
            f"daemon off; master_process off; pid {self.folder}/pid; error_log {self.log} warn;"
            f"events {{}} http {{ access_log off; {folders} {block} }}"
        )
        process = subprocess.Popen(
            [self._program, "-p", self.folder, "-c", settings, "-e", self.log], stderr=subprocess.DEVNULL
        )
        try:
            self._await(process)
            yield
        finally:
            process.terminate()
            process.wait()

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        for _ in range(400):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if process.poll() is not None:
                break
            time.sleep(0.05)
        pytest.fail(f"nginx did not start: {self.log.read_text() if self.log.exists() else 'it said nothing'}")
