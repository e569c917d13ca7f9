"""The command at a real terminal: a process of its own, with a terminal for its input, its output and its errors."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping

from support.command import HEADISH

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\([A-Z]|\r|\x07")
PATIENCE_SECONDS = 60


class Terminal:
    """A terminal of so many columns and lines; ``words`` are those of the command, or of another ``program``."""

    def __init__(
        self, *words: str, columns: int = 80, lines: int = 24, env: Mapping[str, str] | None = None,
        program: str | os.PathLike[str] = HEADISH,
    ) -> None:  # fmt: skip
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        unset = ("HEADISH_", "NO_COLOR", "COLUMNS", "LINES", "PAGER", "LESS")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(unset)}
        self.process = subprocess.Popen(
            [program, *words], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            env={**kept, "TERM": "xterm", **(env or {})}, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self.raw = ""

    @property
    def shown(self) -> str:
        """What was written so far, without what only steers the terminal."""
        return ANSI.sub("", self.raw)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, text: str) -> str:
        """Read until a text was shown. It fails loudly if the text never comes."""
        end = time.monotonic() + PATIENCE_SECONDS
        while text not in self.shown:
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"{text!r} was never shown, but {self.shown!r}")
        return self.shown

    def wait(self) -> int:
        """Read to the end; the exit code."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self._read(end - time.monotonic()):
            pass
        os.close(self._ours)
        return self.process.wait(PATIENCE_SECONDS)

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._ours], [], [], seconds)[0]:
            self.process.kill()
            return False
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # so Linux says that no process has the other end open
            return False
        self.raw += piece.decode(errors="replace")
        return bool(piece)
