"""Reach another store by a command (``ssh://host/path`` or ``cmd:…``), and talk to it through pipes.

The ssh command is the system's, so its configuration, agent and jump hosts apply. No part of a URL can become an option
of ssh, and no shell of this machine reads any of it.
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
"""The longest silence of the other store, in both directions, before headish gives up."""
AT_WORK_SECONDS = 1800.0
"""The longest time for which the other store may only say that it is at work, and neither take nor answer anything."""
_SSH = re.compile(
    r"ssh://(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]*)@)?"
    r"(?:(?P<host>[A-Za-z0-9_][A-Za-z0-9._-]*)|\[(?P<address>[0-9A-Fa-f:.]+(?:%[A-Za-z0-9]+)?)\])"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>/[^?#]*)?",
    re.ASCII,
)
"""The form of an ssh URL. No user, host or address begins with ``-``, so ssh cannot take one for an option."""
LAST_PORT = 65535
_TOLD_BYTES = 2000
_CHUNK_BYTES = 64 * 1024
_LEAST_BYTES = 4096
"""The least part of a message that must arrive within a silence. Beats of a store at work are shorter: if the length of
a frame was altered on the way, they would fill that frame, and headish would wait for it as long as they come."""
_AHEAD_BYTES = 1024 * 1024
"""The most that is read ahead from a store while headish writes to it. The rest waits in the pipe."""
_WRITE_BYTES = 4096
"""A pipe that polls writable takes this much at once without blocking (POSIX: PIPE_BUF is 512 or more; on Linux and
macOS such a pipe has room for a page)."""
_END_SECONDS = 5.0


def printable(text: str) -> str:
    """Return text of another machine without the characters that would steer a terminal."""
    return "".join(each if each.isprintable() else "�" for each in text)


class SshAddress(NamedTuple):
    """The parts of an ``ssh://`` URL. ``path`` is that of the database there, empty for the default one."""

    host: str
    user: str | None
    port: str | None
    path: str


def check_command(url: str) -> str:
    """Check the URL of a live remote, and return it. Raises: InvalidArgument if ssh or a shell could take it for
    something else."""
    command_of(url, "default", trust=False)
    return url


def command_of(url: str, space: str, *, trust: bool, writes: bool = True, create: bool = False) -> list[str]:
    """Return the arguments of the command that reaches a store.

    ``trust``: the store there treats this one as a device of its owner. ``writes``: the conversation may change the
    store there; otherwise ssh opens it read-only. ``create``: a missing database or space is made there.
    Raises: InvalidArgument.
    """
    if _has_controls(url):
        raise InvalidArgument("the URL of a remote holds no control character")
    if url.startswith("cmd:"):
        if create:
            raise InvalidArgument("a command says itself whether a database is made: 'headish … serve-stdio --create'")
        return _split(url.removeprefix("cmd:"))
    address = _read_address(url)
    words = ["headish"]
    if address.path:
        words.append(f"--db={address.path}")
    if space != "default":
        words.append(f"--space={space}")
    if not writes:
        words.append("--read-only")
    words += ["serve-stdio", *(["--trust"] if trust else []), *(["--create"] if create else [])]
    port = ["-p", address.port] if address.port else []
    user = ["-l", address.user] if address.user else []
    # The shell of the other machine reads the command, so each word of it is quoted.
    return ["ssh", "-T", *port, *user, "--", address.host, shlex.join(words)]


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidArgument(f"the command of a remote cannot be read ({error})") from None
    if not words:
        raise InvalidArgument("cmd: is followed by a command, such as cmd:headish --db other.db serve-stdio")
    return words


def _read_address(url: str) -> SshAddress:
    match = _SSH.fullmatch(url)
    path = unquote(match["path"] or "") if match else ""
    if match is None or _has_controls(path) or not 1 <= int(match["port"] or 22) <= LAST_PORT:
        form = "a machine is ssh://[USER@]HOST[:PORT][/PATH]; passwords and options stay out of it"
        raise InvalidArgument(f"{form}, not {url[:80]!r}")
    # ``/~/x`` is below the home there. No shell expands the ``~`` of a quoted path, but the command begins in the home.
    path = f"./{path[3:]}" if path.startswith("/~/") else path.rstrip("/")
    return SshAddress(match["host"] or match["address"], match["user"], match["port"], path)


def _has_controls(text: str) -> bool:
    return any(ord(each) < 32 or ord(each) == 127 for each in text)


class Pipes:
    """Bytes to and from a store over two pipes, with a limit to silence: a file to read from and to write to.

    ``read`` returns fewer bytes if the other side has ended; ``ended`` is True from then on.
    Raises: RemoteUnavailable if the other side is silent for too long, sends too little, or takes nothing any more.
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
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data

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
        """The last line that the command wrote to stderr. It may say anything, but has no control characters."""
        self._drain()
        lines = self._told.decode(errors="replace").splitlines()
        last = next((each for each in reversed(lines) if each.strip()), "")
        return printable(last)[:300]

    def _fill_to(self, wanted: int) -> bool:
        """Read until ``wanted`` bytes are in the buffer, for no longer than a silence. Returns whether they are."""
        until = time.monotonic() + SILENCE_SECONDS
        while len(self._buffer) < wanted and self._fill():
            if len(self._buffer) < wanted and until <= time.monotonic():
                reason = f"it said only a part of a message in {SILENCE_SECONDS:g} seconds"
                raise RemoteUnavailable(self.name, reason)
        return len(self._buffer) >= wanted

    def _fill(self) -> bool:
        """Wait for bytes, and read what has come. Returns whether there was anything before the end."""
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
        """Wait until a direction is ready, and read the others meanwhile.

        If nobody read stderr, the command would block once that pipe is full. What the store sends while it takes
        nothing shows that it is there and at work.
        """
        poll = select.poll()
        poll.register(ready, event)
        if self._errors is not None:
            poll.register(self._errors, select.POLLIN)
        if ready != self._reads and not self._is_at_end and len(self._buffer) < _AHEAD_BYTES:
            poll.register(self._reads, select.POLLIN)
        until, last = time.monotonic() + SILENCE_SECONDS, time.monotonic() + AT_WORK_SECONDS
        while True:
            events = dict(poll.poll(max(0, (until - time.monotonic()) * 1000)))
            if ready in events:
                return
            # A pipe at its end is always ready: left in the poll, it would make this loop spin.
            if self._errors in events and not self._drain_once():
                poll.unregister(self._errors)
                self._errors = None
            if self._reads in events:
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
        """Read what is left on the command's stderr."""
        poll = select.poll()
        if self._errors is not None:
            poll.register(self._errors, select.POLLIN)
        while self._errors is not None and poll.poll(0):
            if not self._drain_once():
                self._errors = None


class Command:
    """A running command that reaches a store. Talk to it through ``pipes``."""

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
        """End the command: closing its pipes ends it. If it goes on, it is terminated, then killed."""
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
        """Whether the command has ended."""
        return self._process.poll() is not None

    def why(self, reason: str) -> str:
        """Return why the command ended, with its last line on stderr; ``reason`` if it still runs."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        code, last_line = self._process.poll(), self.pipes.told()
        how = reason if code is None else f"the command ended with exit code {code}"
        return f"{how}: {last_line}" if last_line else how
