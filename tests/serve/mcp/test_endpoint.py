"""``/mcp`` where the SDK's server fails, and when the web application ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from starlette.applications import Starlette

from headish.serve.access.settings import WebSettings
from headish.serve.mcp.endpoint import McpEndpoint

pytestmark = pytest.mark.slow
REQUEST: dict[str, Any] = {
    "type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")], "query_string": b"",
}  # fmt: skip


@pytest.fixture
def endpoint(tmp_path: Path) -> McpEndpoint:
    return McpEndpoint(WebSettings("unused.db", str(tmp_path)))


async def ask(endpoint: McpEndpoint) -> int:
    """The status that a request of no content has for its answer."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await endpoint(REQUEST, receive, send)
    return int(sent[0]["status"])


def run(endpoint: McpEndpoint, work: Callable[[], Awaitable[None]]) -> None:
    async def inside() -> None:
        async with endpoint.running(Starlette()):
            await work()

    asyncio.run(asyncio.wait_for(inside(), 60))


def test_one_that_cannot_be_entered_is_told_and_tried_again(
    endpoint: McpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headish.serve.mcp import server

    make, failures = server.make_web_server, [OSError("too many open files")]

    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        raise failures.pop()
        yield

    def made(**given: Any) -> Any:
        manager = make(**given)
        if failures:
            monkeypatch.setattr(manager, "run", broken)
        return manager

    async def work() -> None:
        told = await asyncio.gather(ask(endpoint), ask(endpoint), return_exceptions=True)
        assert list(map(repr, told)) == ["OSError('too many open files')"] * 2
        assert await ask(endpoint) < 500

    monkeypatch.setattr(server, "make_web_server", made)
    run(endpoint, work)


def test_one_whose_tasks_have_died_is_followed_by_another(
    endpoint: McpEndpoint, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from headish.serve.mcp import server

    make, managers = server.make_web_server, list[Any]()

    def made(**given: Any) -> Any:
        managers.append(make(**given))
        return managers[-1]

    async def die() -> None:
        raise ValueError("unforeseen")

    async def work() -> None:
        assert await ask(endpoint) < 500
        managers[0]._task_group.start_soon(die)
        while "unforeseen" not in caplog.text:
            await asyncio.sleep(0)
        assert await ask(endpoint) < 500

    monkeypatch.setattr(server, "make_web_server", made)
    run(endpoint, work)
    assert len(managers) == 2


def test_a_request_that_waits_when_the_application_ends_is_let_go(
    endpoint: McpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headish.serve.mcp import server

    begun, goes_on = Event(), Event()

    def slow(**_: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        raise OSError("it is over")

    async def end() -> None:
        async with endpoint.running(Starlette()):
            waiting = asyncio.ensure_future(ask(endpoint))
            await asyncio.to_thread(begun.wait, 60)
        goes_on.set()
        await asyncio.wait([waiting], timeout=60)
        assert waiting.cancelled()

    monkeypatch.setattr(server, "make_web_server", slow)
    asyncio.run(end())
