"""Decide whether a call may pass, which space records it, and whose key it takes along.

The gate checks in the order in which an attacker would try: the host that a request names, the page that sent it, its
token. Only then does it look up the upstream; nothing is forwarded before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from aiohttp import web

from headish.calls.endpoints import find_endpoint
from headish.calls.keys import find_key
from headish.errors import HeadishError
from headish.gateway.passing.access import AccessFile, ShownToken, find_admitted, find_upstream, shape_of, shown_token
from headish.gateway.passing.headers import (
    UPGRADE,
    Pairs,
    asks_for_websocket,
    find_secrets,
    pairs_of,
    pass_headers,
    set_header,
)
from headish.gateway.passing.proxy import Passage, refuse
from headish.gateway.passing.refusals import Cause
from headish.gateway.passing.upstreams import CallTarget, Shape, Upstream, read_target
from headish.values.access.hosts import is_from, own_origin, sender_of
from headish.values.access.tokens import PREFIX, Token
from headish.values.access.trying import WrongTries

KEPT_SECONDS = 60.0
"""How long a key stays in memory after it was looked up: a keyring is slow."""
_BODY = frozenset(("content-length", "transfer-encoding"))


class Refused(Exception):
    """A call that may not pass; ``response`` is the answer to it."""

    def __init__(self, cause: Cause, shape: Shape, message: str) -> None:
        super().__init__(message)
        self.response = refuse(cause, shape, message)


class Gate:
    """Decides about calls.

    ``upstreams`` are by the first word of the path, ``hosts`` those of ``known_hosts``, ``origins`` the pages that are
    trusted, ``peers`` the networks that may connect. ``needs_token`` is set if others than the owner of this machine
    can connect.
    """

    def __init__(
        self,
        access: AccessFile,
        *,
        upstreams: Mapping[str, Upstream],
        hosts: Mapping[str, str],
        origins: tuple[str, ...],
        peers: tuple[str, ...],
        needs_token: bool,
    ) -> None:
        self._access, self._upstreams = access, upstreams
        self._hosts, self._origins = hosts, origins
        self._peers, self._needs_token = peers, needs_token
        self._tries = WrongTries()
        self._keys: dict[Upstream, tuple[float, str | None]] = {}

    def check_sender(self, request: web.Request, shape: Shape = "openai") -> None:
        """Refuse a call that names another host, comes from a network that may not connect, or was sent by a page of
        another site. Raises: Refused."""
        headers = [(name.lower(), value) for name, value in request.raw_headers]
        if own_origin(headers, self._hosts) is None:
            reason = (
                "the gateway does not answer to that host name; start headish serve with --public-url for another one"
            )
            raise Refused("host", shape, reason)
        if not is_from(request.remote or "", self._peers):
            raise Refused("site", shape, "calls come from this machine or its proxy alone")
        if sender_of(headers, self._origins) == "other":
            reason = "a page of another site sent this; start headish serve with --allow-origin for an app of your own"
            raise Refused("site", shape, reason)

    async def admit(self, request: web.Request) -> Passage:
        """Decide how a call passes. Raises: Refused."""
        target = read_target(request.raw_path)
        shape: Shape = "openai" if target is None else shape_of(target)
        self.check_sender(request, shape)
        if target is None:
            reason = "the path begins with /anthropic, /openai/v1, /gemini, /ollama or /to/POINTER"
            raise Refused("unknown", shape, reason)
        headers = pairs_of(request.raw_headers)
        is_socket = asks_for_websocket(headers)
        # The bytes after the head are those of the WebSocket: a body would be taken for its frames.
        if is_socket and (request.method != "GET" or _BODY & {name.lower() for name, _ in headers}):
            raise Refused("socket", shape, "a WebSocket begins with GET, without a body")
        shown = shown_token(target, headers)
        token = self._find_token(request, shape, shown)
        space = None if token is None else token.space
        upstream = find_upstream(self._access.now(), self._upstreams, target, space)
        if upstream is None:
            raise Refused(
                "unknown", shape, f"there is no pointer {(target.pointer or '')[:80]!r}: see headish ptr list"
            )
        passage = await self._dress(target, upstream, headers, shown, token)
        return passage._replace(headers=[*passage.headers, *UPGRADE], is_socket=True) if is_socket else passage

    def _find_token(self, request: web.Request, shape: Shape, shown: ShownToken | None) -> Token | None:
        """Find the token that a call shows; None if it shows none and needs none. Raises: Refused."""
        if PREFIX in request.query_string:  # the query goes to the provider as it is
            raise Refused("token", shape, "a token of headish goes into a header or behind /t/, not into the query")
        if shown is None:
            if self._needs_token:
                raise Refused("token", shape, "calls need a token of headish: headish token add LABEL --right gateway")
            return None
        token = find_admitted(self._access.now(), shown)
        if token is not None:
            return token
        # Only wrong tokens wait: the programs of one machine share an address, and one with an old token must not lock
        # out the others (ADR 0090).
        peer, at = request.remote or "", time.monotonic()
        if self._tries.wait_seconds(peer, at):
            raise Refused("tries", shape, "too many wrong tokens came from this address; wait a minute")
        self._tries.add(peer, at)
        raise Refused("token", shape, "headish knows no such token with the right gateway: headish token list")

    async def _dress(
        self, target: CallTarget, upstream: Upstream, headers: Pairs, shown: ShownToken | None, token: Token | None
    ) -> Passage:
        """The headers for the upstream: its key replaces a token of headish. Raises: Refused."""
        secrets = find_secrets(headers) + ([] if shown is None else [shown.text])
        upstream_headers = pass_headers(headers)
        if shown is not None and shown.header is not None:
            upstream_headers = set_header(upstream_headers, shown.header, None)
            key = await self._key_of(upstream)
            if key is not None:
                endpoint = find_endpoint(upstream.provider or "openai")
                upstream_headers = set_header(upstream_headers, endpoint.key_header, endpoint.key_prefix + key)
                secrets.append(key)
        if any(PREFIX in value for _, value in upstream_headers):  # a second one would go on to the provider
            raise Refused("token", upstream.shape, "a call shows one token of headish")
        return Passage(
            target=target,
            upstream=upstream,
            headers=upstream_headers,
            secrets=secrets,
            space=None if token is None else token.space,
            token=None if token is None else token.label,
        )

    async def _key_of(self, upstream: Upstream) -> str | None:
        """The key for an upstream, from the environment or a keyring; None if it takes none. Raises: Refused."""
        found_at, key = self._keys.get(upstream, (float("-inf"), None))
        if time.monotonic() - found_at > KEPT_SECONDS:
            try:
                key = await asyncio.to_thread(_find_key, upstream)  # a keyring is slow, and other calls go on
            except HeadishError as error:
                raise Refused("key", upstream.shape, str(error)) from None
            self._keys[upstream] = (time.monotonic(), key)
        return key


def _find_key(upstream: Upstream) -> str | None:
    """Find the key of an upstream; None if it gets none. A provider's usual key goes to its own address only; any other
    address gets the key that was named for it."""
    if upstream.provider is None or not (upstream.is_own or upstream.key_env):
        return None
    base_url = None if upstream.is_own else upstream.base_url
    return find_key(upstream.provider, base_url=base_url, key_env=upstream.key_env)
