"""Run the gateway: an HTTP server in front of the proxy, and ``/healthz``.

listener = socket.create_server(("127.0.0.1", 8322))
run_gateway(GatewaySettings(folder="…", port=8322), listener)
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct

from headish.gateway.passing.access import ACCESS_FILE, AccessFile
from headish.gateway.passing.gate import Gate, Refused
from headish.gateway.passing.proxy import Proxy, refuse, undress
from headish.gateway.passing.upstreams import UPSTREAMS
from headish.gateway.recording.spooling import Spooler
from headish.gateway.settings import ENDING_SIGNALS, STREAMS_SECONDS, GatewaySettings
from headish.gateway.spool import SpoolWriter, now
from headish.gateway.spool.state import SPOOL_FOLDER, find_problems
from headish.gateway.spool.writer import sum_of
from headish.values.access.hosts import known_hosts, own_networks
from headish.values.checks.controls import report

CLOSE_SECONDS = 5.0
"""How long writing the last frames may take after ``STREAMS_SECONDS``."""
TOLD_SECONDS = 60.0
"""How often the gateway reports calls that were not recorded."""
CONNECT_SECONDS = 30.0
HEAD_SECONDS = 10.0
"""How long a client may take to send the head of a request, and may keep a connection without one."""
HEAD_BYTES = 64 * 1024
"""The longest line of a head, in either direction: providers send long policies, clients long lists of features."""

LOG = logging.getLogger("headish.gateway")


class Health(Struct, frozen=True, kw_only=True):
    """The answer of ``/healthz``.

    ``status`` is ``unrecorded`` while calls pass that cannot be spooled, ``degraded`` if the gateway has missed calls
    since it began or something keeps recorded calls from the history, else ``ok``; ``problems`` gives each reason in
    words. It names no space, because anybody who reaches the gateway may ask.
    """

    status: str
    calls: int
    open: int
    unrecorded: int
    spool_bytes: int
    failure: str | None
    problems: list[str]


class Gateway:
    """The parts of a running gateway."""

    def __init__(self, settings: GatewaySettings, gate: Gate, proxy: Proxy, spooler: Spooler) -> None:
        self._settings, self._gate, self._proxy, self.spooler = settings, gate, proxy, spooler
        self._calls = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        try:
            if request.raw_path == "/healthz":
                self._gate.check_sender(request)
                return web.Response(body=msgspec.json.encode(self.health()), content_type="application/json")
            passage = await self._gate.admit(request)
        except Refused as refused:
            return refused.response
        self._calls += 1
        return await self._proxy.pass_on(request, passage)

    async def expect(self, request: web.Request) -> web.StreamResponse | None:
        """Answer ``Expect: 100-continue``: ask the client for the body that it holds back, unless it is a stranger."""
        try:
            self._gate.check_sender(request)
        except Refused as refused:
            return refused.response
        if request.headers["Expect"].lower() != "100-continue":
            return refuse("expectation", "openai", "the gateway knows no expectation but 100-continue")
        if request.transport is not None:  # the client may have gone
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return None

    def health(self) -> Health:
        """The gateway's health now."""
        failure, problems = self.spooler.failure, self._problems()
        return Health(
            status="unrecorded" if failure is not None else "degraded" if problems else "ok",
            calls=self._calls,
            open=self.spooler.open_calls,
            unrecorded=self.spooler.unrecorded,
            spool_bytes=sum_of(Path(self._settings.folder) / SPOOL_FOLDER),
            failure=failure,
            problems=problems,
        )

    def _problems(self) -> list[str]:
        missed = self.spooler.unrecorded
        own = [f"calls that were not recorded: {missed:,} ({self.spooler.reason})"] if missed else []
        return own + find_problems(Path(self._settings.folder), now(), are_strangers=True)

    def stop(self) -> None:
        """Note that the gateway ends: calls that break off from now on are recorded as broken by the gateway."""
        self._proxy.stopping.set()

    async def tell(self, say: Callable[[str], None]) -> None:
        """Report once a minute how many calls were not recorded since the last report, and what holds up the
        recorder."""
        reported = 0
        while True:
            await asyncio.sleep(TOLD_SECONDS)
            if self.spooler.unrecorded > reported:
                say(f"headish gateway: {self.spooler.unrecorded - reported} calls not recorded: {self.spooler.reason}")
                reported = self.spooler.unrecorded
            for problem in find_problems(Path(self._settings.folder), now()):
                say(f"headish gateway: {problem}")


@asynccontextmanager
async def open_gateway(settings: GatewaySettings, listener: socket.socket) -> AsyncIterator[Gateway]:
    """Serve on a listening socket until the block ends; begun calls then get ``STREAMS_SECONDS`` to finish.

    Raises: OSError if the spool's folder cannot be made; InvalidAddress.
    """
    folder = Path(settings.folder)
    spooler = Spooler(SpoolWriter(folder / SPOOL_FOLDER, limit_bytes=settings.spool_limit_bytes))
    upstreams = {
        api: upstream if (url := settings.base_urls.get(api)) is None else upstream.moved(url)
        for api, upstream in UPSTREAMS.items()
    }
    gate = Gate(
        AccessFile(folder / ACCESS_FILE),
        upstreams=upstreams,
        hosts=known_hosts(settings.port, settings.public_urls, host=settings.host),
        origins=settings.origins,
        peers=(*own_networks(settings.host), *settings.behind_proxy),
        needs_token=bool(settings.behind_proxy),  # through a proxy, others than the owner of this machine can call
    )
    async with _open_session() as session:
        gateway = Gateway(settings, gate, Proxy(session, spooler, require_record=settings.require_record), spooler)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", gateway.handle, expect_handler=gateway.expect)
        app.on_response_prepare.append(undress)
        runner = web.AppRunner(
            app,
            access_log=None,  # a path may hold a token
            logger=LOG,
            # Without this, an upstream would go on answering a client that has gone.
            handler_cancellation=True,
            auto_decompress=False,  # here and in the session: a body passes as it was sent
            keepalive_timeout=HEAD_SECONDS,
            max_line_size=HEAD_BYTES,
            max_field_size=HEAD_BYTES,
            shutdown_timeout=STREAMS_SECONDS,
        )
        await runner.setup()
        await web.SockSite(runner, listener).start()
        try:
            yield gateway
        finally:
            gateway.stop()
            await runner.cleanup()
            # Last: the calls that the cleanup cuts off still hand over their ends.
            await spooler.close(CLOSE_SECONDS)


def _leave_out_quotes(record: logging.LogRecord) -> bool:
    """Log a request that is not valid HTTP in one line. aiohttp quotes the line at fault, which may hold a key."""
    if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
        record.msg, record.exc_info = "headish gateway: a request of %s is not valid HTTP", None
    return True


LOG.addFilter(_leave_out_quotes)


def _open_session() -> aiohttp.ClientSession:
    session = aiohttp.ClientSession(
        # Agents open many streams at once, and one that waits for a connection would look like a slow model.
        connector=aiohttp.TCPConnector(limit=0),
        # A cookie from the answer to one client must not go out with the call of another.
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        # A model may think for an hour before its first word: only connecting has a limit.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        max_line_size=HEAD_BYTES,
        max_field_size=HEAD_BYTES,
    )
    # aiohttp would send a request again, if its method may be repeated, when a kept connection turns out to be closed.
    # No public setting ends that; aiohttp's own test client sets the same attribute.
    session._retry_connection = False
    return session


def run_gateway(settings: GatewaySettings, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT. Raises: as ``open_gateway``."""
    asyncio.run(_serve(settings, listener))


async def _serve(settings: GatewaySettings, listener: socket.socket) -> None:
    ended = asyncio.Event()
    for number in ENDING_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    # The parent blocks them while a child starts: before its handlers are set, one would kill it without an end.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    async with open_gateway(settings, listener) as gateway:
        telling = asyncio.create_task(gateway.tell(report))
        await ended.wait()
        telling.cancel()
