"""A live remote over HTTP: ``headish serve`` answers, each question is a request, and no token goes astray."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from errno import ENOSPC
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2 as httpx
import pytest

from headish import Database, Store
from headish.bundles.live import (
    LIVE,
    AskHead,
    AskPages,
    Hello,
    LiveKind,
    LiveRefusal,
    NameLease,
    NameLeases,
    Nothing,
    Welcome,
)
from headish.calls import posting
from headish.calls.posting import MEDIA_TYPE
from headish.content.frames import FrameWriter, read_frames
from headish.errors import (
    HeadishError,
    InvalidAddress,
    InvalidArgument,
    InvalidBundle,
    InvalidKey,
    MissingKey,
    RemoteRefused,
    RemoteUnavailable,
)
from headish.rows.elsewhere.arrivals import arrivals_among
from headish.serve.sync import endpoint
from headish.store.asking.origins import acting_options, is_strangers
from headish.syncing.live import answering
from headish.values.access.tokens import make_token
from support.loopback import Loopback
from support.machines import Machine, state
from support.offices import KIND, VARIABLE, Office, both_ways, office_at
from support.relays import make_certificate, relayed
from support.served import served
from support.serving import serving
from support.upstream import Upstream

ANSWERED = LIVE._replace(last=LiveKind.REFUSED)
"""What one side says, where that is the last."""


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with office_at(str(tmp_path / "office.db"), "default", tmp_path / "state") as made:
        yield made


@pytest.fixture
def desk(machine: Callable[..., Machine], office: Office) -> Machine:
    """A machine whose remote is the office."""
    made = machine("desk")
    made.add(office.url, key_env=VARIABLE)
    return made


def test_a_server_makes_no_space_for_a_caller(desk: Machine) -> None:
    for verb in ("push", "exchange"):
        with desk as store, pytest.raises(InvalidArgument, match="makes no space for a caller"):
            getattr(store.remotes, verb)("box", create=True)


class TestBothWays:
    def test_two_stores_have_the_same_in_the_end(self, desk: Machine, office: Office) -> None:
        both_ways(desk, office.store)

    @pytest.mark.slow
    @pytest.mark.postgresql
    def test_a_store_on_a_server_does(
        self, machine: Callable[..., Machine], postgresql_url: str, tmp_path: Path
    ) -> None:
        space = f"office-{uuid4().hex}"
        with office_at(postgresql_url, space, tmp_path / "state") as office:
            desk = machine("desk", space=space)
            desk.add(office.url, key_env=VARIABLE)
            both_ways(desk, office.store)

    def test_turns_come_from_the_token_whatever_the_caller_calls_itself(self, desk: Machine, office: Office) -> None:
        desk.store.add_turn("asked", bookmark="main")
        desk.sync()
        arrived = office.store._read(lambda connection: arrivals_among(connection, office.store._number, 0, 9))
        assert [each.by for each in arrived] == [b"desk-of-ann"]

    def test_a_token_that_may_erase_erases(self, machine: Callable[..., Machine], tmp_path: Path) -> None:
        with office_at(str(tmp_path / "office.db"), "default", tmp_path / "state", "erase") as office:
            desk = machine("desk")
            desk.add(office.url, key_env=VARIABLE)
            turn = desk.store.add_turn("to be forgotten", bookmark="main")
            desk.sync()
            desk.store.erase(turn.id, reason="asked to")
            desk.sync()
            assert office.store.get(turn.id).erased is not None
            assert desk.store.remotes.not_reached() == {}

    @pytest.mark.slow
    def test_what_a_machine_may_do_there_is_what_its_token_says(
        self, machine: Callable[..., Machine], tmp_path: Path
    ) -> None:
        for number, rights in enumerate(((), ("trust",), ("erase",), ("trust", "erase"))):
            folder = tmp_path / str(number)
            folder.mkdir()
            with office_at(str(folder / "office.db"), "default", folder / "state", *rights) as office:
                desk = machine(f"desk-{number}")
                desk.add(office.url, key_env=VARIABLE)
                with desk as store:  # what is trusted here says nothing of what is there
                    store.remotes.set("box", trust=True, erasures="apply")
                turn = desk.store.add_turn("mine", bookmark="main", servers=["files"]).id
                slip = desk.store.add_turn("a slip", continues="main").id
                desk.sync()
                desk.store.erase(slip, reason="r")
                desk.sync()
                assert is_strangers(office.store, turn) == ("trust" not in rights), rights
                assert ("servers" in acting_options(office.store, "main")) == ("trust" in rights), rights
                assert (office.store.get(slip).erased is not None) == ("erase" in rights), rights

    def test_what_a_stranger_said_stays_a_strangers_on_the_way_of_a_machine_that_is_trusted(
        self, machine: Callable[..., Machine], tmp_path: Path
    ) -> None:
        with office_at(str(tmp_path / "office.db"), "default", tmp_path / "state", "trust") as office:
            stranger, desk = machine("stranger"), machine("desk")
            theirs = stranger.store.add_turn("theirs", bookmark="theirs").id
            with stranger as store:
                store.bundles.create(tmp_path / "of-a-stranger.hb")
            desk.store.bundles.apply(tmp_path / "of-a-stranger.hb")
            mine = desk.store.add_turn("mine", bookmark="mine").id
            desk.add(office.url, key_env=VARIABLE)
            desk.sync()
            assert (is_strangers(office.store, theirs), is_strangers(office.store, mine)) == (True, False)

    @pytest.mark.slow
    def test_large_turns_take_several_requests(
        self, desk: Machine, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(answering, "BATCH_BYTES", 1_000_000)
        for store, name in ((desk.store, "here"), (office.store, "there")):
            store.add_turns({"content": f"{name} {number} " + os.urandom(1_300_000).hex()} for number in range(3))
        sent: list[int] = []
        post = posting.SyncServer.post

        def noted(server: Any, question: Any, size_bytes: int) -> Any:
            sent.append(size_bytes)
            return post(server, question, size_bytes)

        monkeypatch.setattr(posting.SyncServer, "post", noted)
        done = desk.sync()
        assert (done.pulled.stored, done.pushed.turns) == (3, 3)
        assert sum(each > 100_000 for each in sent) == 3
        assert state(desk.store) == state(office.store)

    def test_a_reader_is_only_pulled(self, machine: Callable[..., Machine], tmp_path: Path) -> None:
        with office_at(str(tmp_path / "office.db"), "default", tmp_path / "state", read_only=True) as office:
            office.store.add_turn("there", bookmark="main")
            desk = machine("desk")
            desk.add(office.url, key_env=VARIABLE)
            desk.store.add_turn("here", bookmark="own")
            assert desk.sync().pulled.stored == 1
            with desk as store, pytest.raises(RemoteRefused, match="readers alone"):
                store.remotes.push("box")
            assert len(list(office.store.turns())) == 1

    def test_a_clone(self, machine: Callable[..., Machine], office: Office) -> None:
        last = office.store.add_turn("there", bookmark="main")
        with machine("laptop") as store:
            store.remotes.clone("origin", office.url, key_env=VARIABLE)
            assert store.get("@").id == last.id

    def test_two_callers_at_once(self, machine: Callable[..., Machine], office: Office) -> None:
        desks = [machine(name) for name in ("desk", "laptop")]
        failed: list[BaseException] = []
        with desks[0]:  # the keys of both
            for each in desks:
                each.store.remotes.add("box", office.url, device=each.name, key_env=VARIABLE)
                each.store.add_turns({"content": f"{each.name} {number}"} for number in range(200))

            def sync(store: Store) -> None:
                try:
                    for _ in range(3):
                        store.remotes.exchange("box")
                except BaseException as error:
                    failed.append(error)

            threads = [threading.Thread(target=sync, args=(each.store,)) for each in desks]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failed == []
            for each in desks:
                each.store.remotes.exchange("box")
        assert state(desks[0].store)[0] == state(desks[1].store)[0] == state(office.store)[0]

    def test_a_store_that_is_put_back_between_two_questions(
        self, desk: Machine, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk.store.add_turn("here", bookmark="main")
        post, posts = posting.SyncServer.post, count()

        def post_late(server: Any, *given: Any) -> Any:
            if next(posts) == 1:
                with sqlite3.connect(office.served.settings.target) as connection:
                    connection.execute("UPDATE counter SET epoch = randomblob(16)")  # as restoring a backup does
            return post(server, *given)

        office.store.add_turn("there", bookmark="other")
        monkeypatch.setattr(posting.SyncServer, "post", post_late)
        with pytest.raises(RemoteUnavailable, match="was put back in the middle"):
            desk.sync()
        monkeypatch.undo()
        assert desk.store.verify().problems == ()


class TestWhereTheTokenIs:
    def test_another_place_is_named_and_what_was_synced_stays(
        self, desk: Machine, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk.store.add_turn("asked", bookmark="main")
        desk.sync()
        monkeypatch.setenv("ANOTHER_PLACE", office.token)
        monkeypatch.delenv(VARIABLE)
        with pytest.raises(MissingKey):
            desk.sync()
        with desk as store:
            store.remotes.set("box", key_env="ANOTHER_PLACE")
        again = desk.sync()
        assert (again.pulled.stored, again.pulled.known, again.pushed.turns) == (0, 0, 0)

    def test_what_is_none_changes_nothing(self, desk: Machine, tmp_path: Path) -> None:
        with desk as store:
            store.remotes.add("folder", (tmp_path / "folder").as_uri(), plain=True)
            with pytest.raises(InvalidArgument, match="only a server"):
                store.remotes.set("folder", key_env="OTHER", names="x/*")
            for place in ("", "two words", make_token()):
                with pytest.raises(InvalidArgument) as refused:
                    store.remotes.set("box", key_env=place)
                assert "hdsh_" not in str(refused.value)
            assert store.remotes.list()[1].names == "*"
        desk.sync()

    def test_an_address_that_came_with_a_database_gets_no_token_by_it(self, desk: Machine, tmp_path: Path) -> None:
        stranger = Machine(desk.store, tmp_path / "keys of another machine", "stranger")
        with stranger as store:
            with pytest.raises(InvalidArgument, match="has not named its server"):
                store.remotes.set("box", key_env=VARIABLE)
            with pytest.raises(RemoteUnavailable, match="has not named its server"):
                store.remotes.pull("box")


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
    def test_who_reads_nothing_is_left(self, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(endpoint, "PORTION_SECONDS", 1.0)
        office.store.add_turn(os.urandom(6_000_000).hex())
        asked, opened = question((LiveKind.ASK_PAGES, AskPages((1,)))), list[socket.socket]()
        for _ in range(endpoint.PER_TOKEN):
            each = socket.socket()
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.connect(("127.0.0.1", office.served.settings.port))
            each.sendall(office.head(len(asked)) + asked)
            opened.append(each)
        wait_for_room(office, full=True)
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

    def test_so_many_requests_of_a_token_and_no_more(self, desk: Machine, office: Office) -> None:
        with slow_bodies(office, endpoint.PER_TOKEN):
            answer = wait_for_room(office, full=True)
            assert int(answer.headers["retry-after"]) > 0
            with pytest.raises(RemoteUnavailable, match="status 429"):
                desk.sync()
        wait_for_room(office, full=False)  # those that went take none
        desk.sync()


def question(*asked: tuple[LiveKind, Any]) -> bytes:
    """The body of a request that asks something."""
    body = BytesIO()
    writer = FrameWriter(body, LIVE)
    for kind, message in ((LiveKind.HELLO, Hello("default", "x")), *asked, (LiveKind.BYE, Nothing())):
        writer.write(kind, message)
    return body.getvalue()


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


class TestWhatIsNamed:
    """The URL and the token: where they come from, and where they go."""

    def test_what_is_no_server_or_tells_others_is_refused(self, machine: Callable[..., Machine]) -> None:
        with machine("desk") as store:
            for url in (
                "http://office.example",
                "https://ann@office.example",
                "https://office.example/?token=x",
                "https:",
            ):
                with pytest.raises(InvalidAddress):
                    store.remotes.add("box", url, key_env=VARIABLE)
            for key_env in (None, "hdsh_" + "-" * 49, "keyring:"):
                with pytest.raises(InvalidArgument) as caught:
                    store.remotes.add("box", "https://office.example", key_env=key_env)
                assert "hdsh_" not in str(caught.value)
            for url in ("file:///x", "cmd:headish serve-stdio"):
                with pytest.raises(InvalidArgument, match="leave out key_env"):
                    store.remotes.add("box", url, key_env=VARIABLE)
            assert store.remotes.list() == []

    def test_only_a_token_of_headish_is_sent(
        self, machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Loopback() as server, machine("desk") as store:
            store.remotes.add("box", server.url, key_env=VARIABLE)
            for found, error in ((None, MissingKey), ("sk-ant-another-secret", InvalidKey), ("two words", InvalidKey)):
                monkeypatch.delenv(VARIABLE, raising=False)
                if found:
                    monkeypatch.setenv(VARIABLE, found)
                with pytest.raises(error) as caught:
                    store.remotes.exchange("box")
                assert found is None or found not in str(caught.value)
            assert server.requests == []

    def test_a_database_from_elsewhere_sends_no_token(self, desk: Machine, office: Office, tmp_path: Path) -> None:
        stranger = Machine(desk.store, tmp_path / "keys of another machine", "stranger")
        with pytest.raises(RemoteUnavailable, match="has not named"):
            stranger.sync()
        with desk as store:
            assert office.token not in str(store.remotes.list())
        assert office.token.encode() not in (tmp_path / "desk.db").read_bytes()

    def test_certificates_are_checked(
        self, machine: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        certificate, context = make_certificate(tmp_path)
        with relayed(context=context) as relay:
            url = f"https://127.0.0.1:{relay.port}"
            with office_at(str(tmp_path / "office.db"), "default", tmp_path / "state", public_urls=(url,)) as office:
                relay.target = office.served.settings.port
                desk = machine("desk")
                desk.add(url, key_env=VARIABLE)
                with pytest.raises(RemoteUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
                    desk.sync()
                monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
                both_ways(desk, office.store)


class TestAServer:
    """Whatever answers: nothing of it is believed, and the token goes nowhere else."""

    @pytest.fixture
    def told(self, machine: Callable[..., Machine], office: Office) -> Callable[..., str]:
        """What becomes of a sync with a server that answers as it was told."""
        number = count()

        def ask(server: Loopback, error: type[HeadishError]) -> str:
            desk = machine(f"desk-{next(number)}")
            desk.store.add_turn("here", bookmark="main")
            desk.add(server.url, key_env=VARIABLE)
            before = state(desk.store)
            with pytest.raises(error) as caught:
                desk.sync()
            assert state(desk.store) == before
            assert office.token not in str(caught.value)
            return str(caught.value)

        return ask

    def test_that_leads_elsewhere(self, told: Callable[..., str]) -> None:
        with Loopback() as server, Loopback() as other:
            server.answer(307, {"location": f"{other.url}/sync"})
            assert "redirects are not followed" in told(server, RemoteUnavailable)
            assert (len(server.requests), other.requests) == (1, [])

    def test_that_is_no_headish(self, told: Callable[..., str]) -> None:
        page = [b"<html>hello</html>"]
        with Loopback() as server:
            server.answer(200, {"content-type": "text/html"}, page)
            assert "no store of headish answers there, but text/html" in told(server, RemoteUnavailable)
            server.answer(200, KIND, page)
            assert "does not begin as" in told(server, InvalidBundle)
            server.answer(200, {**KIND, "content-encoding": "gzip"}, page)
            assert "no store of headish" in told(server, RemoteUnavailable)

    def test_that_repeats_the_token_and_a_terminals_codes(self, told: Callable[..., str], office: Office) -> None:
        with Loopback() as server:
            server.answer_json({"detail": f"\x1b[2J{office.token}"}, 403)
            assert told(server, RemoteRefused).endswith("refused (status 403): [2J***")
            said = BytesIO()
            FrameWriter(said, LIVE).write(LiveKind.REFUSED, LiveRefusal("E", f"\x1b[2J{office.token}"))
            server.answer(200, KIND, [said.getvalue()])
            assert told(server, RemoteRefused).endswith("refused (E): [2J***")
            server.answer_json({"detail": "later"}, 503)
            assert "status 503: later" in told(server, RemoteUnavailable)

    def test_that_breaks_off_or_says_nothing(self, told: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
        with Loopback() as server:
            server.answer(200, KIND, [b"headish-live-1\n"], cut=True)
            assert "it broke off" in told(server, RemoteUnavailable)
            server.answer(200, KIND, [b"headish-live-1\n"])
            assert "stopped in the middle" in told(server, RemoteUnavailable)
            server.hang_up()
            told(server, RemoteUnavailable)
            monkeypatch.setattr(posting, "SILENCE_SECONDS", 0.2)
            server.answer(200, KIND, [b"headish-live-1\n"] * 100, delay_seconds=1)
            assert "said nothing for 0.2 seconds" in told(server, RemoteUnavailable)

    def test_that_sends_without_end(self, told: Callable[..., str]) -> None:
        with Loopback() as server:
            server.answer(200, KIND, (b"\0" * 65536 for _ in count()))
            assert "does not begin as" in told(server, InvalidBundle)
            server.answer(200, KIND, (b"headish-live-1\n\x10\xff\xff\xff\xff" + b"\0" * 65536 for _ in count()))
            assert "larger than any that is written" in told(server, InvalidBundle)

    def test_that_closes_a_kept_connection_is_asked_once_more(self, told: Callable[..., str]) -> None:
        said = BytesIO()
        FrameWriter(said, LIVE).write(LiveKind.WELCOME, Welcome(f"{'0' * 32}.5.5.{'0' * 8}", False))
        with Loopback() as server:
            server.hang_up()  # a new one is not
            told(server, RemoteUnavailable)
            assert len(server.requests) == 1
            server.answer(200, KIND, [said.getvalue()])
            server.hang_up()
            server.answer_json({"detail": "here again"}, 403)
            assert "here again" in told(server, RemoteRefused)
            assert [each.body for each in server.requests[2:3]] == [each.body for each in server.requests[3:]]


class TestCutOff:
    @pytest.mark.slow
    @pytest.mark.parametrize("way", ["cut_out", "cut_back"])
    def test_at_many_bytes_of_a_direction(
        self, machine: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        """What is stored is whole, and the next sync goes on. Each cut has a space of its own."""
        target = str(tmp_path / "office.db")
        with relayed() as relay, Database.open(target, durability="normal") as database:
            url = f"http://127.0.0.1:{relay.port}"
            with serving(target, tmp_path / "state", public_urls=(url,)) as made:
                relay.target = made.settings.port
                for number in count():
                    space = f"space-{number}"
                    desk, office = machine(f"desk-{number}", space=space), database.store(space)
                    monkeypatch.setenv(VARIABLE, database.access_tokens.add("desk", space=space, rights=["sync"]))
                    desk.add(url, key_env=VARIABLE)
                    for store, name in ((desk.store, "main"), (office, "other")):
                        store.add_turn("first", bookmark=name)
                        store.conversations.set(name, title=name)
                        store.erase(store.add_turn("gone").id, reason="r")
                    relay.cut_after(**{way: 40 + 397 * number})
                    try:
                        desk.sync()
                        break
                    except RemoteUnavailable:
                        pass
                    assert desk.store.verify().problems == office.verify().problems == ()
                    relay.cut_after()
                    desk.sync()
                    assert state(desk.store) == state(office)
                    titles = [each.conversations.get("main").record.title for each in (desk.store, office)]
                    assert titles == ["main", "main"]
        assert number > 5

    @pytest.mark.slow
    def test_either_process_is_killed_again_and_again(self, machine: Callable[..., Machine], tmp_path: Path) -> None:
        target = tmp_path / "history.db"
        desk = machine("desk")
        with Store.open(target) as office, Database.open(target) as database:
            token = database.access_tokens.add("desk", rights=["sync"])
            with Upstream() as upstream, served(tmp_path, upstream, "--no-gateway") as server, desk:
                os.environ[VARIABLE] = token
                url = "http://" + urlsplit(server.login).netloc
                desk.store.remotes.add("box", url, key_env=VARIABLE)
                desk.store.remotes.exchange("box")
                syncs = [sys.executable, "-c", _SYNCS, str(tmp_path / "desk.db")]
                for turn in range(4):
                    for store in (desk.store, office):
                        store.add_turns({"content": f"{turn} {number} " + "y" * 100_000} for number in range(10))
                    process = subprocess.Popen(syncs, stdout=subprocess.PIPE)
                    time.sleep(0.4 + turn * 0.1)
                    if turn % 2:
                        server.kill("web")
                    else:
                        process.kill()
                    process.communicate()
                    assert desk.store.verify().problems == office.verify().problems == ()
                desk.store.remotes.exchange("box")
                assert state(desk.store) == state(office)
                assert server.end() == 0


_SYNCS = """
import sys
from headish import Store
from headish.errors import HeadishError
with Store.open(sys.argv[1]) as store:
    try:
        store.remotes.exchange("box")
    except HeadishError as error:
        print(type(error).__name__)
"""


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
