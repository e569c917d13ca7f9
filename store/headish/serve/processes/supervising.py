"""The parent: takes the ports, starts the children, restarts them when they die, and ends them in order.

The parent listens on the ports and hands the sockets down. So a client that connects while a child restarts waits a
moment, and is not refused.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import msgspec
from msgspec import Struct

from headish.errors import InvalidArgument
from headish.gateway.passing.access import ACCESS_FILE
from headish.gateway.settings import ENDING_SIGNALS, STREAMS_SECONDS
from headish.serve.access.logins import Logins, login_url
from headish.serve.processes.children import UNFIT, ChildTold
from headish.serve.processes.settings import ServeSettings
from headish.values.access.hosts import local_url
from headish.values.forking import fcntl

FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 1.0, 30.0
"""The parent restarts a child that died after the first delay; each further death in a row doubles the delay."""
LIVED_SECONDS = 60.0
"""After a child has lived this long, the next death starts a new row."""
# The gateway before the recorder, which stores the gateway's last calls; the gateway first gives its streams time.
ENDING_SECONDS = {"syncer": 5.0, "gateway": STREAMS_SECONDS + 10.0, "recorder": 60.0, "web": 15.0}
"""The order in which children end, and how long each may take before it is killed."""

DRAINING = ("recorder",)
"""The children that the parent starts once more at the end if they have just died: the recorder stores what the spool
still holds."""
NAME_VARIABLE = "HEADISH_PROCESS"
"""The variable that names the child in its environment, for people who look at processes."""

Say = Callable[[str], None]


class Addresses(Struct, frozen=True):
    """The process and the addresses of a server, for a second server and for other commands."""

    pid: int
    web: str
    gateway: str | None = None


class Child:
    """One child, from its first start to its end."""

    def __init__(self, told: ChildTold, say: Say) -> None:
        self.name = told.name
        self._told, self._say = told, say
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()
        self._is_ending = asyncio.Event()
        self._has_lived = False

    async def keep(self) -> bool:
        """Start the child, and restart it whenever it has died, until ``end`` or ``kill``. False if it cannot run with
        its settings at all."""
        delay = FIRST_DELAY_SECONDS
        while True:
            started_at = time.monotonic()
            try:
                if (process := await self._begin()) is None:
                    return True
                code = await process.wait()
            except OSError as error:  # the machine has no process or memory for it
                if not self._has_lived:
                    raise
                why = f"cannot be started ({error.strerror})"
            else:
                if self._is_ending.is_set():
                    return True
                # Only at its first start: later, the same code can mean a database that is away for a while.
                if code == UNFIT and not self._has_lived:
                    return False
                why = f"has ended ({_meaning(code)})"
            self._has_lived = True
            delay = FIRST_DELAY_SECONDS if time.monotonic() - started_at > LIVED_SECONDS else delay
            with suppress(OSError):  # nobody reads it, or the disk is full
                self._say(f"headish serve: {self.name} {why}; it is started again in {delay:g} s")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_ending.wait(), delay)
            delay = min(2 * delay, LONGEST_DELAY_SECONDS)

    async def end(self) -> None:
        """Ask the child to end, wait, and kill it if it does not. A child that has work to do at its end, but has just
        died, is started once more for that."""
        self._is_ending.set()
        async with self._starting:
            process = self._process
            if process is None or process.returncode is not None:
                if self.name not in DRAINING:
                    return
                process = await self._start()
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), ENDING_SECONDS[self.name])
        except TimeoutError:
            process.kill()

    def kill(self) -> None:
        """Kill the child now."""
        self._is_ending.set()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def _begin(self) -> asyncio.subprocess.Process | None:
        """Start the child, unless it is to end."""
        async with self._starting:
            return None if self._is_ending.is_set() else await self._start()

    async def _start(self) -> asyncio.subprocess.Process:
        listener = self._told.listener
        with _held_back():
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "headish.serve.processes.children",
                stdin=asyncio.subprocess.PIPE,
                pass_fds=() if listener is None else (listener,),
                env={**os.environ, NAME_VARIABLE: self.name},
                process_group=0,  # Ctrl-C in a terminal is for the parent, which ends the others in order
            )
        assert process.stdin is not None
        # Not as an argument, which every user of the machine can read (ADR 0090). The pipe stays open: the child ends
        # when it closes.
        process.stdin.write(msgspec.json.encode(self._told) + b"\n")
        return process


def run_server(settings: ServeSettings, *, say: Say, opened: Callable[[str], None] | None = None) -> bool:
    """Serve until SIGTERM or SIGINT; a second signal ends at once. ``opened`` is called with the address that logs in.

    Returns: whether every child could run.
    Raises: InvalidArgument for settings that contradict each other, for a port that is taken, and if another server
    serves the database; InvalidAddress; OSError.
    """
    settings.check()
    with _alone(Path(settings.folder)) as lock, _listening(settings) as (listeners, bound_settings):
        addresses = Addresses(
            pid=os.getpid(),
            web=local_url(bound_settings.host, bound_settings.port),
            gateway=bound_settings.web.gateway,
        )
        os.pwrite(lock, msgspec.json.encode(addresses), 0)
        # A token in an earlier server's file may be revoked by now: none is valid until this server has read them.
        (Path(bound_settings.folder) / ACCESS_FILE).unlink(missing_ok=True)
        code = Logins(Path(bound_settings.folder), time.time).make_code()
        login_address = login_url((bound_settings.public_urls or (addresses.web,))[0].rstrip("/"), code)

        def announce() -> None:
            say(f"headish serve: {login_address} (opens once, within five minutes)")
            if addresses.gateway is not None:
                say(f"gateway: {addresses.gateway} with /anthropic, /openai/v1, /gemini, /ollama, /to/POINTER")
            if opened is not None:
                opened(login_address)

        return asyncio.run(_supervise(_children(bound_settings, listeners, say), announce))


def find_addresses(folder: Path) -> Addresses | None:
    """The addresses of the server that runs in a folder; None if none runs."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # A server holds the lock as long as it lives. If the lock is free, the addresses in its file are out of date.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_addresses(lock)
    finally:
        os.close(lock)
    return None


async def _supervise(children: list[Child], announce: Callable[[], None]) -> bool:
    ended, hurried = asyncio.Event(), asyncio.Event()

    def end() -> None:
        (hurried if ended.is_set() else ended).set()

    for number in ENDING_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, end)
    failed = _announced(announce, ended)  # after the handlers: a reader of the address may end the server at once
    keeping = [asyncio.ensure_future(child.keep()) for child in children]
    waiting = asyncio.ensure_future(ended.wait())
    # A child that ends by itself cannot run with its settings.
    await asyncio.wait([waiting, *keeping], return_when=asyncio.FIRST_COMPLETED)
    ended.set()
    hurrying = asyncio.ensure_future(hurried.wait())
    for child in sorted(children, key=lambda each: [*ENDING_SECONDS].index(each.name)):
        ending = asyncio.ensure_future(child.end())
        await asyncio.wait([ending, hurrying], return_when=asyncio.FIRST_COMPLETED)
    if hurried.is_set():
        for child in children:
            child.kill()
    could_run = all(await asyncio.gather(*keeping))
    for task in (waiting, hurrying):
        task.cancel()
    if failed:
        raise failed[0]
    return could_run


def _announced(announce: Callable[[], None], ended: asyncio.Event) -> list[Exception]:
    """Announce in a thread that nobody waits for: a browser in the terminal or a full pipe may block it for ever.

    Returns: a list that gets the error, if announcing fails; that ends the server.
    """
    loop, failed = asyncio.get_running_loop(), list[Exception]()

    def work() -> None:
        try:
            announce()
        except Exception as error:
            failed.append(error)
            with suppress(RuntimeError):  # the server has ended meanwhile
                loop.call_soon_threadsafe(ended.set)

    Thread(target=work, daemon=True).start()
    return failed


def _children(settings: ServeSettings, listeners: dict[str, socket.socket], say: Say) -> list[Child]:
    settings_of: dict[str, Struct] = {"web": settings.web}
    if settings.has_gateway:
        settings_of |= {"gateway": settings.gateway, "recorder": settings.recorder}
    if settings.syncs:
        settings_of["syncer"] = settings.syncer
    numbers = {name: listener.fileno() for name, listener in listeners.items()}
    encoded = {name: msgspec.Raw(msgspec.json.encode(each)) for name, each in settings_of.items()}
    return [Child(ChildTold(name, each, numbers.get(name)), say) for name, each in encoded.items()]


@contextmanager
def _listening(settings: ServeSettings) -> Iterator[tuple[dict[str, socket.socket], ServeSettings]]:
    """Open the listening sockets of the children. Yields them, and the settings with the ports that were taken."""
    ports = {"web": settings.port} | ({"gateway": settings.gateway_port} if settings.has_gateway else {})
    listeners: dict[str, socket.socket] = {}
    try:
        for name, port in ports.items():
            listeners[name] = _listen(settings.host, port, name)
        bound_ports = {name: listener.getsockname()[1] for name, listener in listeners.items()}
        yield listeners, settings.with_ports(bound_ports["web"], bound_ports.get("gateway", settings.gateway_port))
    finally:
        for listener in listeners.values():
            listener.close()


def _listen(host: str, port: int, name: str) -> socket.socket:
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # A long backlog: clients wait in it while a child restarts.
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        option = "--port" if name == "web" else "--gateway-port"
        raise InvalidArgument(f"port {port} cannot be taken ({error.strerror}): choose another with {option}") from None
    listener.set_inheritable(True)
    return listener


_LOCK = "serve.lock"


@contextmanager
def _alone(folder: Path) -> Iterator[int]:
    """Hold the lock of a folder; its file has the addresses of the server. The system frees the lock however the server
    ends."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            addresses = _read_addresses(lock)
            where = f" at {addresses.web}, process {addresses.pid}" if addresses else ""
            raise InvalidArgument(
                f"this database is served already{where}: one server at a time has its spool"
            ) from None
        os.ftruncate(lock, 0)  # the addresses of a killed server
        yield lock
    finally:
        os.close(lock)


def _read_addresses(lock: int) -> Addresses | None:
    try:
        return msgspec.json.decode(os.pread(lock, 4096, 0), type=Addresses)
    except msgspec.DecodeError:  # the server is just about to write
        return None


@contextmanager
def _held_back() -> Iterator[None]:
    """Block the ending signals while a child is started in this block. The child inherits that, and unblocks them when
    it is ready: a signal before that would kill it, and leave undone what it must do at its end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)


def _meaning(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
