"""A store that a command reaches: ``ssh://host/path`` and ``cmd:…``, and the pipes through which a store talks.

ssh is the system's: its configuration, agent and jump hosts apply. Nothing of a URL can become an option of ssh, and no
shell of this machine reads any of it.
"""

from __future__ import annotations

import os
import re
import select
import shlex
import subprocess
import time
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple
from urllib.parse import unquote

from headish.errors import InvalidArgument, RemoteUnavailable

SILENCE_SECONDS = 60.0
"""A store that says nothing for so long, or takes nothing, is given up."""
AT_WORK_SECONDS = 1800.0
"""So is one that says for so long that it is at work, and neither takes nor answers anything."""
_SSH = re.compile(
    r"ssh://(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]*)@)?"
    r"(?:(?P<host>[A-Za-z0-9_][A-Za-z0-9._-]*)|\[(?P<address>[0-9A-Fa-f:.]+(?:%[A-Za-z0-9]+)?)\])"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>/[^?#]*)?",
    re.ASCII,
)
"""What an ssh URL may be. A user, host or address begins with no ``-``, so ssh takes none of them for an option."""
LAST_PORT = 65535
_TOLD_BYTES = 2000
_CHUNK_BYTES = 64 * 1024
_LEAST_BYTES = 4096
"""So much at least of what is read comes within the time of a silence. A store that is at work says less: where the
length of a frame was altered on the way, the frame would be waited for as long as it says so."""
_AHEAD_BYTES = 1024 * 1024
"""So much is read of a store that talks while it is written to; what it says behind that waits."""
_WRITE_BYTES = 4096
"""A pipe that can be written to takes so much at once, and does not wait (POSIX: PIPE_BUF is 512 or more; on Linux and
macOS a pipe that polls writable has room for a page)."""
_END_SECONDS = 5.0


def printable(text: str) -> str:
    """What another machine says, without what would steer a terminal."""
    return "".join(each if each.isprintable() else "�" for each in text)


class SshAddress(NamedTuple):
    """An ``ssh://`` URL, taken apart. ``path`` is that of the database there, empty for the usual one."""

    host: str
    user: str | None
    port: str | None
    path: str


def check_command(url: str) -> str:
    """The URL of a live remote. Raises: InvalidArgument for one that could mean something else to ssh or to a shell."""
    command_of(url, "default", trust=False)
    return url


def command_of(url: str, space: str, *, trust: bool, writes: bool = True, create: bool = False) -> list[str]:
    """The command that reaches a store, as its arguments. ``trust``: the store there takes what comes as that of a
    device of its owner. ``writes``: something is to change there; else ssh has it opened read-only. ``create``: where
    there is no database, or no such space, it is made. Raises: InvalidArgument."""
    if _has_controls(url):
        raise InvalidArgument("the URL of a remote holds no control character")
    if url.startswith("cmd:"):
        if create:
            raise InvalidArgument("a command says itself whether a database is made: 'headish … serve-stdio --create'")
        return _split(url.removeprefix("cmd:"))
    address = _read_address(url)
    asked = ["headish"]
    if address.path:
        asked.append(f"--db={address.path}")
    if space != "default":
        asked.append(f"--space={space}")
    if not writes:
        asked.append("--read-only")
    asked += ["serve-stdio", *(["--trust"] if trust else []), *(["--create"] if create else [])]
    port = ["-p", address.port] if address.port else []
    user = ["-l", address.user] if address.user else []
    # The shell of the other machine reads the command, so each word of it is quoted.
    return ["ssh", "-T", *port, *user, "--", address.host, shlex.join(asked)]


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidArgument(f"the command of a remote cannot be read ({error})") from None
    if not words:
        raise InvalidArgument("cmd: is followed by a command, such as cmd:headish --db other.db serve-stdio")
    return words


def _read_address(url: str) -> SshAddress:
    found = _SSH.fullmatch(url)
    path = unquote(found["path"] or "") if found else ""
    if found is None or _has_controls(path) or not 1 <= int(found["port"] or 22) <= LAST_PORT:
        told = "a machine is ssh://[USER@]HOST[:PORT][/PATH]; passwords and options stay out of it"
        raise InvalidArgument(f"{told}, not {url[:80]!r}")
    path = f"./{path[3:]}" if path.startswith("/~/") else path.rstrip("/")
    return SshAddress(found["host"] or found["address"], found["user"], found["port"], path)


def _has_controls(text: str) -> bool:
    return any(ord(each) < 32 or ord(each) == 127 for each in text)


class Pipes:
    """Two directions of bytes to a store, with an end to silence: a file to read from and to write to.

    ``read`` gives fewer bytes where the other side has ended, and ``ended`` says so from then on.
    Raises: RemoteUnavailable where it is silent for too long, says too little, or takes nothing any more.
    """

    def __init__(self, name: str, reads: int, writes: int, errors: int | None = None) -> None:
        self.name = name
        self.ended = self._is_at_end = False
        self._reads, self._writes, self._errors = reads, writes, errors
        self._buffer, self._told = bytearray(), bytearray()

    def read(self, length: int) -> bytes:
        while len(self._buffer) < length and self._fill_to(min(length, len(self._buffer) + _LEAST_BYTES)):
            pass
        self.ended = self.ended or len(self._buffer) < length
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._writes, select.POLLOUT)
            try:
                # A pipe that is ready takes this much without blocking. A larger write could block while the other side
                # waits for us to read.
                view = view[os.write(self._writes, view[:_WRITE_BYTES]) :]
            except OSError as error:
                raise RemoteUnavailable(self.name, f"it takes nothing any more ({error.strerror})") from None

    def takes(self) -> bool:
        """Whether a short message can be written at once."""
        poll = select.poll()
        poll.register(self._writes, select.POLLOUT)
        return bool(poll.poll(0))

    def told(self) -> str:
        """The last line that the command wrote for people; it may hold anything but control characters."""
        self._drain()
        lines = self._told.decode(errors="replace").splitlines()
        last = next((each for each in reversed(lines) if each.strip()), "")
        return printable(last)[:300]

    def _fill_to(self, wanted: int) -> bool:
        """Read until so many bytes are here, for no longer than a silence; whether they are."""
        until = time.monotonic() + SILENCE_SECONDS
        while len(self._buffer) < wanted and self._fill():
            if len(self._buffer) < wanted and until <= time.monotonic():
                told = f"it said only a part of a message in {SILENCE_SECONDS:g} seconds"
                raise RemoteUnavailable(self.name, told)
        return len(self._buffer) >= wanted

    def _fill(self) -> bool:
        """Read what has come; whether anything has."""
        if self._is_at_end:
            return False
        self._wait(self._reads, select.POLLIN)
        return self._take_in()

    def _take_in(self) -> bool:
        try:
            data = os.read(self._reads, _CHUNK_BYTES)
        except OSError as error:
            raise RemoteUnavailable(self.name, f"it cannot be read ({error.strerror})") from None
        self._is_at_end = not data
        self._buffer += data
        return bool(data)

    def _wait(self, ready: int, event: int) -> None:
        """Wait until a direction is ready. What the command writes for people is read meanwhile, so that it never waits
        for us; and what the store says while it takes nothing, since it is there then and at work."""
        poll = select.poll()
        poll.register(ready, event)
        if self._errors is not None:
            poll.register(self._errors, select.POLLIN)
        if ready != self._reads and not self._is_at_end and len(self._buffer) < _AHEAD_BYTES:
            poll.register(self._reads, select.POLLIN)
        until, last = time.monotonic() + SILENCE_SECONDS, time.monotonic() + AT_WORK_SECONDS
        while True:
            found = dict(poll.poll(max(0, (until - time.monotonic()) * 1000)))
            if ready in found:
                return
            if self._errors in found and not self._drain_once():
                poll.unregister(self._errors)
                self._errors = None
            if self._reads in found:
                until = time.monotonic() + SILENCE_SECONDS
                if not self._take_in() or len(self._buffer) >= _AHEAD_BYTES:
                    poll.unregister(self._reads)
            if last <= time.monotonic():
                raise RemoteUnavailable(self.name, f"it has taken nothing for {AT_WORK_SECONDS:g} seconds")
            if until <= time.monotonic():
                raise RemoteUnavailable(self.name, f"it said nothing for {SILENCE_SECONDS:g} seconds")

    def _drain_once(self) -> bool:
        assert self._errors is not None
        data = os.read(self._errors, _CHUNK_BYTES)
        self._told = (self._told + data)[-_TOLD_BYTES:]
        return bool(data)

    def _drain(self) -> None:
        """Take what the command has written for people and nobody has read."""
        poll = select.poll()
        if self._errors is not None:
            poll.register(self._errors, select.POLLIN)
        while self._errors is not None and poll.poll(0):
            if not self._drain_once():
                self._errors = None


class Command:
    """A command that reaches a store, while it runs. ``pipes`` are how to talk with it."""

    def __init__(self, url: str, arguments: list[str]) -> None:
        self.url = url
        try:
            self._process = subprocess.Popen(  # noqa: S603  # a person here named it
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise RemoteUnavailable(url, f"{arguments[0]} cannot be started ({reason})") from None
        streams = self._process.stdin, self._process.stdout, self._process.stderr
        assert all(streams)
        self._streams = [each for each in streams if each is not None]
        writes, reads, errors = (each.fileno() for each in self._streams)
        self.pipes = Pipes(url, reads, writes, errors)

    def __enter__(self) -> Command:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it: it ends by itself once nobody talks to it any more, and is killed where it does not."""
        for stream in self._streams[:2]:
            with suppress(OSError):
                stream.close()
        for end in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(_END_SECONDS)
                break
            except subprocess.TimeoutExpired:
                end()
        self._process.wait()
        # Last, because the command may say why it ends while it ends.
        self._streams[2].close()

    @property
    def has_ended(self) -> bool:
        """Whether the command has."""
        return self._process.poll() is not None

    def why(self, reason: str) -> str:
        """Why it ended, as far as it is known; else ``reason``."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        code, told = self._process.poll(), self.pipes.told()
        how = reason if code is None else f"the command ended with exit code {code}"
        return f"{how}: {told}" if told else how
