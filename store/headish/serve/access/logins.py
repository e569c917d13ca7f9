"""Logins of people: a code that opens the page once, and the sessions that such codes began.

A file in the server's folder holds them, hashed, so that a restarted web process still knows them, and one process can
print the address and another redeem the code. Only its owner can read the file (0600).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from blake3 import blake3
from msgspec import Struct

from headish.gateway.files import locked, read_whole, write_whole
from headish.values.forking import fcntl

CODE_SECONDS = 5 * 60
SESSION_SECONDS = 30 * 24 * 60 * 60
LOGIN_PATH = "/login"
_FILE, _LOCK = "logins.json", "logins.lock"


def login_url(origin: str, code: str) -> str:
    """The address that logs in once with a code."""
    return f"{origin}{LOGIN_PATH}?code={code}"


class _Known(Struct, frozen=True):
    """The expiry of each code and session, in Unix seconds, by the hex of its BLAKE3."""

    codes: dict[str, float] = {}
    sessions: dict[str, float] = {}


class Logins:
    """The codes and sessions of one server. Safe to share between threads and processes: a file lock orders changes."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        """Makes ``folder`` if it is missing. ``clock`` gives Unix seconds, as ``time.time`` does."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._clock = folder, clock
        self._read: tuple[tuple[int, int, int], _Known] | None = None

    def make_code(self) -> str:
        """Make a code that logs in once, within five minutes."""
        code = secrets.token_urlsafe(32)
        self._change(lambda known: known.codes.update({_hash(code): self._clock() + CODE_SECONDS}))
        return code

    def redeem(self, code: str) -> str | None:
        """Use up a code and return a new session; None if the code is unknown, used or too old."""
        session = secrets.token_urlsafe(32)

        def use(known: _Known) -> bool:
            expires = known.codes.pop(_hash(code), 0.0)  # under the lock: of two who use it at once, one gets a session
            if expires <= self._clock():
                return False
            known.sessions[_hash(session)] = self._clock() + SESSION_SECONDS
            return True

        return session if self._change(use) else None

    def is_session(self, session: str) -> bool:
        """Whether a session is valid. Cost: one ``stat``, and a read if the file has changed."""
        return self._now().sessions.get(_hash(session), 0.0) > self._clock()

    def end(self, session: str) -> None:
        """End a session."""
        self._change(lambda known: known.sessions.pop(_hash(session), None))

    def _now(self) -> _Known:
        try:
            status = os.stat(self._folder / _FILE)
        except FileNotFoundError:
            return _Known()
        # All three: two writes may fall into one step of the clock, and leave the same size.
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if self._read is None or self._read[0] != stamp:
            self._read = stamp, self._load()
        return self._read[1]

    def _load(self) -> _Known:
        return read_whole(self._folder / _FILE, _Known) or _Known()  # a damaged file logs everybody out

    def _change(self, change: Callable[[_Known], object]) -> bool:
        """Change the stored logins and drop those that have expired. Returns what ``change`` returns."""
        with locked(self._folder / _LOCK, fcntl.LOCK_EX):
            loaded, now = self._load(), self._clock()
            known = _Known(
                {key: expires for key, expires in loaded.codes.items() if expires > now},
                {key: expires for key, expires in loaded.sessions.items() if expires > now},
            )
            result = bool(change(known))
            write_whole(self._folder / _FILE, known)
        return result


def _hash(secret: str) -> str:
    return blake3(secret.encode(errors="surrogatepass")).hexdigest()  # a stranger's code may hold anything
