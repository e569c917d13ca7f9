"""Pass a call: its bytes go to the upstream and back unchanged, and a copy goes to the recording.

Each chunk is passed on before it is recorded. The proxy never retries: a client's SDK does, and knows what it may
repeat. If one side goes away, the proxy ends the other at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp import web
from msgspec import Struct
from multidict import CIMultiDict
from yarl import URL

from headish.gateway.passing.headers import (
    UPGRADE,
    Pairs,
    asks_for_websocket,
    is_packed,
    keep_headers,
    pairs_of,
    pass_headers,
    split_query,
)
from headish.gateway.passing.refusals import Cause, write_refusal
from headish.gateway.passing.tunnel import Tunnel
from headish.gateway.passing.upstreams import CallTarget, Shape, Upstream
from headish.gateway.recording.redacting import KeyFilter
from headish.gateway.recording.sockets import SocketRecording, is_read
from headish.gateway.recording.spooling import Recording, Spooler, unforeseen
from headish.gateway.spool import CallBegin, CallEnd, Outcome, ResponseHead, SpoolKind, now
from headish.values.checks.addresses import Address
from headish.values.ids import IdMint

AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that aiohttp would add if the client sent none."""


class Passage(NamedTuple):
    """How a call is to pass. ``headers`` go to the upstream; ``secrets`` are written nowhere. ``is_socket``: the call
    asks for a WebSocket."""

    target: CallTarget
    upstream: Upstream
    headers: Pairs
    secrets: list[str]
    space: str | None
    token: str | None
    is_socket: bool = False


class Passed(web.StreamResponse):
    """An answer of the upstream. ``own`` are the names of its headers: ``undress`` removes any other."""

    own: frozenset[str] = frozenset()


class _Counts(Struct):
    request_bytes: int = 0
    response_bytes: int = 0
    first_byte_at: int | None = None


class _ClientGone(Exception):
    """The client no longer takes the answer."""


class Proxy:
    """Passes calls. ``stopping`` is set once the gateway ends: a call that breaks off then is not blamed on the
    client."""

    def __init__(self, session: aiohttp.ClientSession, spooler: Spooler, *, require_record: bool) -> None:
        self._session, self._spooler, self.require_record = session, spooler, require_record
        self._mint = IdMint()
        self.stopping = asyncio.Event()

    async def pass_on(self, request: web.Request, passage: Passage) -> web.StreamResponse:
        """Pass a call to its upstream, and the answer back."""
        query, hidden = split_query(passage.target.query)
        keys = KeyFilter([*passage.secrets, *hidden])
        recording = Recording(self._spooler, self._mint.mint(), [*passage.secrets, *hidden])
        begun = recording.begin(
            CallBegin(
                at=now(),
                api=passage.upstream.api,
                method=request.method,
                path=keys.clean(passage.target.path),
                query=keys.clean(query),
                headers=keep_headers(request.headers.items(), keys),
                space=passage.space,
                token=passage.token,
            )
        )
        if self.require_record:
            # A WebSocket of another API would pass, and nothing in it could be read for the record.
            is_readable = not passage.is_socket or is_read(passage.target.path)
            if not await self._spooler.confirm(begun) or not is_readable:
                recording.end(CallEnd(outcome="unrecorded", at=now()))
                reason = "this call cannot be recorded, and headish serve was started with --require-record"
                return refuse("unrecordable", passage.upstream.shape, reason)
        else:
            recording.start(begun)
        return await _Exchange(self, request, passage, recording, keys).run()

    def record_socket(self, recording: Recording, answer: ResponseHead, *, is_packed: bool) -> SocketRecording:
        """Begin the record of the WebSocket that a call has opened."""
        return SocketRecording(self._spooler, recording, answer, self._mint.mint, is_packed=is_packed)

    def open(
        self, request: web.Request, passage: Passage, body: AsyncIterator[bytes] | None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Prepare the request to the upstream; entering the returned context sends it."""
        address = passage.upstream.address
        query = f"?{passage.target.query}" if passage.target.query else ""
        return self._session.request(
            request.method,
            # As the client spelled it: to an upstream, another spelling may be another path.
            URL(f"{address.origin}{address.path}{passage.target.path}{query}", encoded=True),
            headers=CIMultiDict(passage.headers),
            skip_auto_headers=AUTOMATIC,
            data=body,
            # A redirect could take the key to another host, so the client decides about it.
            allow_redirects=False,
            proxy=find_proxy(address),
        )


def find_proxy(address: Address) -> str | None:
    """The proxy that the environment names for an address; None for this machine itself.

    aiohttp could read the environment (``trust_env``), but would read ``~/.netrc`` with it: a password from there has
    no place in a call.
    """
    if address.is_loopback or proxy_bypass(address.host):
        return None
    proxy = getproxies().get(address.scheme)
    return proxy if proxy is not None and proxy.startswith("http") else None  # aiohttp knows no SOCKS proxy


class _Exchange:
    """One call while it passes."""

    def __init__(
        self, proxy: Proxy, request: web.Request, passage: Passage, recording: Recording, keys: KeyFilter
    ) -> None:
        self._proxy, self._request, self._passage = proxy, request, passage
        self._recording, self._keys = recording, keys
        self._counts = _Counts()
        self._response: Passed | None = None
        self._is_taken = self._is_over = False

    async def run(self) -> web.StreamResponse:
        try:
            failure = await self._try()
        except asyncio.CancelledError:
            if self._proxy.stopping.is_set():
                self._end("broken", "the gateway was stopped")
            else:
                self._end("client gone")
            raise
        except _ClientGone:
            self._end("client gone")
        except Exception as error:  # the server's log tells it; the record must not wait for the end of this call
            self._end("broken", unforeseen(error))
            raise
        else:
            if failure is not None:
                return self._break_off(failure)
            self._end("ok")
        assert self._response is not None
        return self._response

    async def _try(self) -> Exception | None:
        """Pass the call. Returns the error of its upstream, once the request is recorded; None if there was none."""
        try:
            await self._pass()
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            # A connection that was refused has taken nothing, but a person may have asked something.
            if self._request.body_exists and not self._is_taken:
                async for _ in self._send():
                    pass
            return error
        return None

    async def _pass(self) -> None:
        request = self._request
        body = self._send() if request.body_exists else None
        if body is None:
            self._recording.sent()
        async with self._proxy.open(request, self._passage, body) as answer:
            is_switched = answer.status == HTTPStatus.SWITCHING_PROTOCOLS
            # Passed on, it would turn the client's connection into a tunnel that no rule here has admitted.
            if is_switched and not (self._passage.is_socket and asks_for_websocket(pairs_of(answer.raw_headers))):
                raise aiohttp.ClientError("the server changed to a protocol that nobody asked for")
            self._response = response = dress(answer, self._relocate)
            head = ResponseHead(
                status=answer.status, at=now(), headers=keep_headers(answer.headers.items(), self._keys)
            )
            self._recording.head(head)
            if is_switched:
                await self._tunnel(response, answer, head)
                return
            self._recording.expect(
                SpoolKind.RESPONSE,
                answer.headers.get("Content-Type", ""),
                answer.headers.get("Content-Encoding", ""),
                is_refusal=answer.status >= 400,
            )
            await _to_client(response.prepare(request))
            async for chunk in answer.content.iter_any():
                # The client before the record: nothing that is written down may delay an answer.
                await _to_client(response.write(chunk))
                self._count(chunk)
                self._recording.chunk(SpoolKind.RESPONSE, chunk)
            await _to_client(response.write_eof())

    def _relocate(self, location: str) -> str:
        """Where a redirect leads, as the client has to ask for it: a mere path is one of the provider's."""
        passage = self._passage
        rest = location.removeprefix(passage.upstream.address.path)
        if not location.startswith(f"{passage.upstream.address.path}/") or location.startswith("//"):
            return location
        return self._request.raw_path.partition("?")[0].removesuffix(passage.target.path) + rest

    async def _tunnel(self, response: Passed, answer: aiohttp.ClientResponse, head: ResponseHead) -> None:
        """Open the WebSocket and pass its bytes. The call that asked for it ends when it opens."""
        response.headers.extend(UPGRADE)
        response.force_close()
        await _to_client(response.prepare(self._request))
        self._end("ok")
        recording = self._proxy.record_socket(self._recording, head, is_packed=is_packed(answer.headers.items()))
        tunnel = Tunnel(self._request, response, answer, recording, must_record=self._proxy.require_record)
        await tunnel.run(self._proxy.stopping)

    def _count(self, chunk: bytes) -> None:
        if self._counts.first_byte_at is None:
            self._counts.first_byte_at = now()
        self._counts.response_bytes += len(chunk)

    async def _send(self) -> AsyncIterator[bytes]:
        """Yield the body of the request. Each chunk is recorded once the upstream's connection has taken it."""
        self._is_taken = True
        headers = self._request.headers
        self._recording.expect(SpoolKind.REQUEST, headers.get("Content-Type", ""), headers.get("Content-Encoding", ""))
        async for chunk in self._request.content.iter_any():
            yield chunk
            self._counts.request_bytes += len(chunk)
            self._recording.chunk(SpoolKind.REQUEST, chunk)
        self._recording.sent()

    def _break_off(self, error: Exception) -> web.StreamResponse:
        """Handle a failed upstream: report it if no answer has begun, else break the answer off as the upstream did."""
        reason = self._keys.clean(_explain(error)) or type(error).__name__
        if self._response is None:
            self._end("unreachable", reason)
            origin = self._passage.upstream.address.origin
            return refuse("unreachable", self._passage.upstream.shape, f"headish cannot reach {origin}: {reason}")
        self._end("broken", reason)
        if self._request.transport is not None:
            self._request.transport.close()  # sends what was written, but no end of the body
        return self._response

    def _end(self, outcome: Outcome, error: str | None = None) -> None:
        if self._is_over:  # a WebSocket has ended its call when it opened
            return
        self._is_over = True
        counts = self._counts
        self._recording.end(
            CallEnd(
                outcome=outcome,
                at=now(),
                first_byte_at=counts.first_byte_at,
                request_bytes=counts.request_bytes,
                response_bytes=counts.response_bytes,
                error=error,
            )
        )


def _explain(error: Exception) -> str:
    """Why an upstream failed, in one line. aiohttp's own texts quote what came, addresses and its settings."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"its answer is not valid HTTP ({error.message.partition(':')[0]})"
    if isinstance(error, aiohttp.ClientConnectorError):
        # Negative: of a name that was not found. OpenSSL has numbers of its own.
        number = 0 if isinstance(error, aiohttp.ClientSSLError) else error.errno or 0
        return os.strerror(number) if number > 0 else error.strerror or str(error)
    if isinstance(error, aiohttp.ServerDisconnectedError):  # its text has the headers that came until then
        return "it closed the connection before its answer began"
    if isinstance(error, aiohttp.ClientPayloadError):  # its text has a status 400 that nobody sent
        return "its answer broke off before its end"
    return str(error)


async def _to_client(writing: Awaitable[object]) -> None:
    try:
        await writing
    except (ConnectionError, aiohttp.ClientConnectionError):
        raise _ClientGone from None


def dress(answer: aiohttp.ClientResponse, relocate: Callable[[str], str]) -> Passed:
    """Make the client's response from the head of the upstream's answer. ``relocate`` changes where it redirects to."""
    response = Passed(status=answer.status, reason=answer.reason)
    for name, value in pass_headers(pairs_of(answer.raw_headers)):
        response.headers.add(name, relocate(value) if name.lower() == "location" else value)
    response.own = frozenset(name.lower() for name in response.headers)
    if answer.content_type == "text/event-stream":
        response.headers.setdefault("X-Accel-Buffering", "no")  # nginx in front would gather events
    return response


def refuse(cause: Cause, shape: Shape, message: str) -> web.Response:
    """Make an answer of the gateway's own that refuses a call."""
    status, body = write_refusal(cause, shape, message)
    return web.Response(status=status, body=body, content_type="application/json")


async def undress(_request: web.Request, response: web.StreamResponse) -> None:
    """Remove the headers that aiohttp adds to an answer. aiohttp calls it before it sends a head."""
    if isinstance(response, Passed):
        for name in ("Server", "Date", "Content-Type"):
            if name.lower() not in response.own:
                response.headers.popall(name, None)
    else:
        response.headers.popall("Server", None)
