"""Calls to a server of the test, and what comes of them. Used by tests/calls."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from headish.calls import open_call
from support.loopback import Loopback

BODY = {"model": "m", "messages": [], "stream": True}
KEY = "sk-very-secret+key/123"
EVENTS = [{"type": "a", "n": 1}, {"type": "b", "n": 2}]
HTML = {"content-type": "text/html; charset=utf-8"}


def ask(server: Loopback, provider: str = "openai", **settings: Any) -> list[Any]:
    """The events of a call to the server."""
    settings = {"base_url": server.url, "key_env": "TEST_KEY", **settings}
    with open_call(provider, BODY, **settings) as call:
        return list(call)


def keep(server: Loopback, **settings: Any) -> tuple[list[Any], Exception]:
    """The events of a call that breaks off, and what broke it off."""
    events: list[Any] = []
    with open_call("openai", BODY, base_url=server.url, **settings) as call:
        try:
            for event in call:
                events.append(event)  # noqa: PERF402
        except Exception as error:
            return events, error
    pytest.fail("the call ended well")


class Rerouted(httpx2.HTTPTransport):
    """What would go to a provider goes to a server of the test, over real HTTP."""

    def __init__(self, server: Loopback) -> None:
        super().__init__()
        self._port = int(server.url.rpartition(":")[2])

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request = httpx2.Request(
            request.method,
            request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return super().handle_request(request)
