"""Who may ask a server, how much, and how often; and what goes astray there."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from errno import ENOSPC
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from headish import Database
from headish.bundles.live import LIVE, AskHead, AskPages, LiveKind, NameLease, NameLeases
from headish.calls.posting import MEDIA_TYPE
from headish.content.frames import read_frames
from headish.errors import RemoteRefused, RemoteUnavailable
from headish.serve.sync import endpoint
from headish.syncing.live import answering
from support.machines import Machine
from support.offices import KIND, VARIABLE, Office, question

ANSWERED = LIVE._replace(last=LiveKind.REFUSED)
"""What one side says, where that is the last."""


class TestWhoIsLetIn:
    def test_nobody_without_the_right(self, office: Office, tmp_path: Path) -> None:
        office.store.add_turn("there")
        with Database.open(office.served.settings.target) as database:
            other = database.access_tokens.add("other", rights=["read", "write", "gateway", "erase"])
            database.spaces.add("theirs")
            foreign = database.access_tokens.add("foreign", space="theirs", rights=["sync"])
        assert office.post(other).status_code == 403
        assert office.post(foreign, params={"space": "default"}).status_code == 404
        assert httpx.post(f"{office.url}/sync", headers=KIND).status_code == 401
        assert office.post("hdsh_" + "x" * 49).status_code == 401
        assert office.post(headers={"host": "evil.example"}).status_code == 421
        with office.served.client() as browser:
            refused = browser.post("/sync", headers={**KIND, "origin": office.url})
            assert (refused.status_code, refused.json()["code"]) == (403, "TokenNeeded")
            assert browser.get("/sync").status_code == 405

    def test_what_is_no_question(self, office: Office) -> None:
        assert office.post(headers={"content-type": "text/plain"}).status_code == 415
        assert office.post(headers={"content-encoding": "gzip"}).status_code == 415
        answer = office.post(content=b"hello")
        assert (answer.status_code, answer.headers["content-type"]) == (200, MEDIA_TYPE)
        assert b"headish-live-1\n" in answer.content
        with slow_bodies(office, 1, 2**40) as [large]:
            assert b" 413 " in large.recv(65536)

    def test_who_asks_more_than_one_question_in_a_request(self, office: Office) -> None:
        asked = question(*[(LiveKind.ASK_HEAD, AskHead())] * 3)
        said = list(read_frames(BytesIO(office.post(content=asked).content), "it", ANSWERED))
        assert [kind.name for kind, _ in said] == ["WELCOME", "HEAD", "REFUSED"]

    def test_so_many_are_answered_at_once(self, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(endpoint, "WAIT_SECONDS", 0.2)
        with Database.open(office.served.settings.target) as database:
            further, other = (database.access_tokens.add(each, rights=["sync"]) for each in ("further", "other"))
        read_head, begun, going_on = answering._read_head, threading.Semaphore(0), threading.Event()

        def read_slowly(*given: Any, **named: Any) -> Any:
            begun.release()
            assert going_on.wait(60)
            return read_head(*given, **named)

        monkeypatch.setattr(answering, "_read_head", read_slowly)
        asked, done = question((LiveKind.ASK_HEAD, AskHead())), list[int]()

        def ask(*token: Any) -> None:
            done.append(len(office.post(*token, content=asked).content))

        # One token alone does not take all places.
        by_one = [threading.Thread(target=ask) for _ in range(endpoint.PER_TOKEN)]
        rest = range(endpoint.AT_ONCE - endpoint.PER_TOKEN)
        threads = [*by_one, *(threading.Thread(target=ask, args=(further,)) for _ in rest)]
        assert len(by_one) < len(threads)
        for thread in threads:
            thread.start()
        for _ in threads:
            assert begun.acquire(timeout=60)
        busy = office.post(other, content=asked)
        assert (busy.status_code, busy.json()["code"]) == (503, "Busy")
        going_on.set()
        for thread in threads:
            thread.join()
        assert min(done) > 100
        assert office.post(other, content=asked).status_code == 200

    @pytest.mark.slow
    def test_who_reads_nothing_is_left(
        self, office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(endpoint, "PORTION_SECONDS", 1.0)
        caplog.set_level(logging.INFO, endpoint.LOG.name)
        office.store.add_turn(os.urandom(6_000_000).hex())
        asked, opened = question((LiveKind.ASK_PAGES, AskPages((1,)))), list[socket.socket]()
        for _ in range(endpoint.PER_TOKEN):
            each = socket.socket()
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.connect(("127.0.0.1", office.served.settings.port))
            each.sendall(office.head(len(asked)) + asked)
            opened.append(each)
        until = time.monotonic() + 60
        while caplog.messages.count("a store that syncs took nothing for 1 seconds") < endpoint.PER_TOKEN:
            assert time.monotonic() < until
            time.sleep(0.05)
        wait_for_room(office, full=False)
        for each in opened:
            each.close()

    def test_another_space_is_refused(self, machine: Callable[..., Machine], office: Office) -> None:
        desk = machine("desk", space="work")
        desk.add(office.url, key_env=VARIABLE)
        with pytest.raises(RemoteRefused, match=r"'work'.*'default'"):
            desk.sync()

    def test_a_token_that_is_removed_ends_a_sync(self, desk: Machine, office: Office) -> None:
        desk.sync()
        with Database.open(office.served.settings.target) as database:
            database.access_tokens.remove("desk-of-ann")
        time.sleep(1.1)
        with pytest.raises(RemoteRefused, match="status 401"):
            desk.sync()

    def test_a_token_that_is_removed_while_it_asks_changes_nothing(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        take, under_way = endpoint._take, list[Any]()

        async def noted(*given: Any) -> None:
            under_way.append(given)
            await take(*given)

        monkeypatch.setattr(endpoint, "_take", noted)
        turn = office.store.add_turn("there", bookmark="other").id
        asked = question((LiveKind.MOVES, NameLeases((NameLease(b"other", None, turn),))))
        with socket.create_connection(("127.0.0.1", office.served.settings.port), timeout=60) as slow:
            slow.sendall(office.head(len(asked)) + asked[:10])
            until = time.monotonic() + 30
            while not under_way:
                assert time.monotonic() < until
                time.sleep(0.01)
            with Database.open(office.served.settings.target) as database:
                database.access_tokens.remove("desk-of-ann")
            time.sleep(1.1)
            slow.sendall(asked[10:])
            assert b" 401 " in slow.recv(65536)
        assert "other" in office.store.bookmarks

    def test_a_slow_body_is_given_up(self, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(endpoint, "PORTION_SECONDS", 0.3)
        with slow_bodies(office, 1) as [slow]:
            assert b" 408 " in slow.recv(65536)

    def test_so_many_requests_of_a_token_and_no_more(
        self, desk: Machine, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        take, under_way = endpoint._take, threading.Semaphore(0)

        async def noted(*given: Any) -> None:
            under_way.release()
            await take(*given)

        monkeypatch.setattr(endpoint, "_take", noted)
        with slow_bodies(office, endpoint.PER_TOKEN):
            for _ in range(endpoint.PER_TOKEN):  # a request before the last of them would take its room
                assert under_way.acquire(timeout=60)
            answer = wait_for_room(office, full=True)
            assert int(answer.headers["retry-after"]) > 0
            with pytest.raises(RemoteUnavailable, match="status 429"):
                desk.sync()
        wait_for_room(office, full=False)  # those that went take none
        desk.sync()


def wait_for_room(office: Office, *, full: bool) -> httpx.Response:
    """Ask until there is room for another request of the token, or is none."""
    until = time.monotonic() + 30
    while ((answer := office.post(content=b"x")).status_code == 429) is not full:
        assert time.monotonic() < until
        time.sleep(0.02)
    return answer


@contextmanager
def slow_bodies(office: Office, number: int, size: int = 1000) -> Iterator[list[socket.socket]]:
    """Callers that begin to ask, and go no further."""
    opened = []
    try:
        for _ in range(number):
            each = socket.create_connection(("127.0.0.1", office.served.settings.port), timeout=60)
            each.sendall(office.head(size) + b"x")
            opened.append(each)
        yield opened
    finally:
        for each in opened:
            each.close()


def test_a_disk_that_takes_half_of_a_piece_is_full() -> None:
    class Half:
        def write(self, piece: bytes) -> int:
            return len(piece) // 2

    class Asked:
        async def stream(self) -> AsyncIterator[bytes]:
            yield b"a question"

    with pytest.raises(OSError, match="No space left") as raised:
        asyncio.run(endpoint._take(Asked(), Half()))  # type: ignore[arg-type]
    assert raised.value.errno == ENOSPC
