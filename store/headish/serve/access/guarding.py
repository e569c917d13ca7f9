"""Check every request before anything else: its host, its peer, its target. Add the headers of every answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headish.errors import TooLarge
from headish.serve.access.problems import problem, problem_of
from headish.serve.access.settings import WebSettings
from headish.values.access.hosts import is_from, is_origin_form, known_hosts, own_networks, own_origin, values_of

BODY_LIMIT_BYTES = 1_000_000
"""The largest body of a request to the page or the API. Error: ``TooLarge``."""

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": a browser would then send the forms of our own pages with "Origin: null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # What was erased must not stay in a browser's cache; it asks each time, and an ETag answers.
    "Cache-Control": "private, no-cache",
}
"""Headers of every answer; a route may set its own instead."""


class Guard:
    """The outermost layer: refuses requests that are not for this server, and adds the headers of every answer.

    It puts the request's own origin into ``scope["state"]["origin"]``.
    """

    def __init__(self, app: ASGIApp, settings: WebSettings) -> None:
        self._app = app
        self._known = known_hosts(settings.port, settings.public_urls, host=settings.host)
        self._peers = (*own_networks(settings.host), *settings.behind_proxy)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        origin = own_origin(scope["headers"], self._known)
        refused = self._refusal(scope, origin)
        if refused is not None and scope["type"] == "websocket":
            await _refuse_socket(receive, send)
            return
        scope.setdefault("state", {})["origin"] = origin
        # A client that goes away while it sends a body is not a failure of this server: no traceback in its log.
        with suppress(ClientDisconnect):
            await (refused or self._app)(scope, receive, _dressed(send))

    def _refusal(self, scope: Scope, origin: str | None) -> ASGIApp | None:
        if origin is None:
            reason = (
                "this server does not answer to that host name. If you reach it through a tunnel or a proxy "
                "(ssh -L, Codespaces), start it with --public-url and the address that the browser shows"
            )
            return problem(scope, 421, "UnknownHost", reason)
        if not is_from((scope.get("client") or ("", 0))[0], self._peers):
            return problem(scope, 403, "UnknownPeer", "requests come from this machine or its proxy alone")
        if not is_origin_form(scope.get("raw_path") or scope["path"].encode()):
            return problem(scope, 400, "InvalidTarget", "the target of a request is a path")
        # A proxy in front may believe the other length, and take the rest of the body for a second request.
        if values_of(scope["headers"], b"transfer-encoding") and values_of(scope["headers"], b"content-length"):
            return problem(scope, 400, "InvalidFraming", "a request has one length")
        return None


async def _refuse_socket(receive: Receive, send: Send) -> None:
    """Refuse a WebSocket before it opens; the client sees status 403."""
    await receive()  # the ASGI event that asks to connect: only then may it be closed
    await send({"type": "websocket.close", "code": 1008})


def _dressed(send: Send) -> Send:
    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return dressed


class BodyLimit:
    """Refuses a body that is too large: by its announced length before any of it is read, otherwise as soon as too much
    has arrived."""

    def __init__(self, app: ASGIApp, limit_of: Callable[[str], int]) -> None:
        """``limit_of`` gives the limit of a path, in bytes."""
        self._app, self._limit_of = app, limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope["path"])
        length = next(iter(values_of(scope["headers"], b"content-length")), "0")
        if length.isdigit() and int(length) > limit:
            error = TooLarge("the body", int(length), limit)
            await problem_of(scope, error)(scope, receive, send)
            return
        await self._app(scope, _counted(receive, limit), send)


def _counted(receive: Receive, limit: int) -> Receive:
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > limit:
            raise TooLarge("the body", read, limit, is_cut=True)
        return message

    return counted
