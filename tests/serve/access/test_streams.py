"""Streams of events end with the admission that began them, and with a client that does not read."""

from __future__ import annotations

import asyncio
import errno
import time
from pathlib import Path
from threading import Thread
from typing import Any, Self

import pytest

from headish import Database, Store
from headish.errors import Closed, DatabaseLocked
from headish.serve.access import watching
from headish.serve.access.problems import SERVER_FAILED
from headish.serve.access.watching import WatchedStream
from headish.serve.api.streaming import _answering
from headish.serve.pages.hub import LOST, WAITING_LIMIT, Hub
from headish.serve.pages.live import _events, write_event
from headish.values.ids import TurnId
from support.capturers import wait_until
from support.serving import serving

FOLLOW = "/api/v1/follow"


def read_all(client: Any, path: str, ended: dict[str, float]) -> None:
    with client.stream(
        "GET",
        path,
    ) as stream:
        assert stream.status_code == 200, stream.read()
        ended[path] = 0.0
        for _ in stream.iter_raw():
            pass
    ended[path] = time.monotonic()


@pytest.mark.slow
def test_a_stream_ends_when_its_token_or_session_does(tmp_path: Path) -> None:
    """And its bytes end as they should: a client sees no broken connection."""
    with Store.open(tmp_path / "talk.db") as store:
        store.add_turn("Hi", bookmark="main")
    with Database.open(tmp_path / "talk.db") as database, serving(tmp_path / "talk.db", tmp_path / "state") as served:
        tokens = database.access_tokens
        removed, stays = (tokens.add(label, space="default", rights=("read",)) for label in ("removed", "stays"))
        expiring = tokens.add("expiring", space="default", rights=("read",), expires_seconds=8)
        person = served.client()
        clients = {
            "removed": served.client(removed),
            "expiring": served.client(expiring),
            "stays": served.client(stays),
            "person": served.client(),
            "logs out": person,
        }
        ended: dict[str, dict[str, float]] = {name: {} for name in clients}
        threads = {
            (name, path): Thread(target=read_all, args=(client, path, ended[name]), daemon=True)
            for name, client in clients.items()
            for path in (FOLLOW, "/live")
        }
        for thread in threads.values():
            thread.start()
        until = time.monotonic() + 60
        while any(len(each) < 2 for each in ended.values()):
            assert time.monotonic() < until, ended
            time.sleep(0.01)
        tokens.remove("removed", space="default")
        assert person.post("/logout").status_code == 200
        for (name, _), thread in threads.items():
            if name in ("removed", "expiring", "logs out"):
                thread.join(60)
                assert not thread.is_alive(), name
        time.sleep(2 * watching.WATCHED_SECONDS)
        assert all(all(each.values()) for name, each in ended.items() if name in ("removed", "expiring", "logs out"))
        assert [thread.is_alive() for (name, _), thread in threads.items() if name in ("stays", "person")] == [True] * 4
        tokens.remove("stays", space="default")
        assert clients["person"].post("/logout").status_code == 200
        for thread in threads.values():
            thread.join(60)


@pytest.mark.slow
def test_a_server_that_ends_ends_its_streams_and_logs_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Ctrl-C took five seconds, and printed a traceback for each open page."""
    Store.open(tmp_path / "talk.db").close()
    ended: dict[str, float] = {}
    with serving(tmp_path / "talk.db", tmp_path / "state") as served:
        person = served.client()
        readers = [Thread(target=read_all, args=(person, path, ended)) for path in ("/live", FOLLOW)]
        for reader in readers:
            reader.start()
        wait_until(lambda: len(ended) == 2, "both streams have begun")
    for reader in readers:
        reader.join(60)
    assert all(ended.values()), "the bytes of a stream did not end as they should"
    assert [each.getMessage() for each in caplog.records if each.name.startswith("uvicorn")] == []


@pytest.mark.slow
def test_a_head_of_a_stream_is_answered_and_its_connection_goes_on(tmp_path: Path) -> None:
    with Store.open(tmp_path / "talk.db") as store:
        store.add_turn("Hi", bookmark="main")
    with serving(tmp_path / "talk.db", tmp_path / "state") as served, served.client() as client:
        for path in (FOLLOW, "/live"):
            answer = client.head(path)
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
            with client.stream("GET", path) as stream:
                assert dict(stream.headers) | {"date": ""} == dict(answer.headers) | {"date": ""}
        assert client.get("/api/v1/log").status_code == 200


async def test_a_client_that_reads_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "WATCHED_SECONDS", 0.01)
    monkeypatch.setattr(watching, "SLOW_SECONDS", 0.05)
    sent: list[str] = []

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        while True:
            await send({"type": "http.response.body", "body": b": \n\n", "more_body": True})

    async def send(message: Any) -> None:
        sent.append(message["type"])
        if len(sent) > 3:
            await asyncio.Event().wait()

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def admitted(_scope: Any) -> bool:
        return True

    async with asyncio.timeout(60):
        await WatchedStream({"type": "http"}, send, admitted).run(application, receive)
    assert len(sent) == 4, "nothing more is said to whoever does not read"


def test_a_stream_ends_when_nobody_can_say_whether_it_may_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that fails now and then does not end it."""
    monkeypatch.setattr(watching, "WATCHED_SECONDS", 0.001)
    out = OSError(errno.EMFILE, "too many open files")
    locked = DatabaseLocked("history.db", "another process holds it")
    closed = Closed("the database")
    for failures, looks in (
        ([out] * 9, 3),
        ([locked, out, locked], 3),
        ([out, None, locked, out, None, out, out, out, None], 8),
        ([None, closed, None], 2),
        ([None, ZeroDivisionError(), None], 2),
    ):
        assert asyncio.run(_looks_until_the_end(failures)) == looks, failures


async def _looks_until_the_end(failures: list[Exception | None]) -> int:
    looks = 0

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await asyncio.Event().wait()

    async def send(_message: Any) -> None:
        pass

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def admitted(_scope: Any) -> bool:
        nonlocal looks
        looks += 1
        failure = failures[looks - 1] if looks <= len(failures) else None
        if failure is not None:
            raise failure
        return looks <= len(failures)

    async with asyncio.timeout(60):
        await WatchedStream({"type": "http"}, send, admitted).run(application, receive)
    return looks


async def test_a_page_that_falls_behind_is_told_to_come_again() -> None:
    hub = Hub()
    with hub.listening("default") as slow, hub.listening("default") as quick:
        for _ in range(3 * WAITING_LIMIT):
            hub.changed("default")
            assert quick.get_nowait() == {"event": "change"}
        assert slow.qsize() <= WAITING_LIMIT
        assert (slow.get_nowait(), slow.empty()) == (LOST, True)


class Odd:
    """A store whose streams meet an error that no code expects, and an answer that does."""

    space, failure = "default", None

    def follow(self, *_: Any, **__: Any) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        raise KeyError("a name of the server's own")


def test_an_unexpected_error_ends_a_stream_with_words_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    store: Any = Odd()

    async def ask(**_: Any) -> None:
        raise KeyError("a name of the server's own")

    async def opening() -> Any:
        return store

    async def run() -> tuple[bytes, list[bytes], str | None]:
        async with asyncio.timeout(60):
            answered = b"".join([piece async for piece in _answering(ask, {})])
            told = [piece async for piece in _events(store, Hub(), "cursor")]
            hub = Hub()
            with hub.listening("default") as queue:
                arriving = await hub.begin(store, TurnId("a"), opening())
                while (await queue.get())["event"] != "change":
                    pass
            return answered, told, arriving.failure

    answered, told, failure = asyncio.run(run())
    assert answered.startswith(b'event: problem\ndata: {"status":500,"code":"InternalError"')
    assert told[-1] == write_event(LOST)
    assert failure == SERVER_FAILED
    assert b"own" not in answered
    assert caplog.text.count('KeyError: "a name of the server\'s own"') == 3
