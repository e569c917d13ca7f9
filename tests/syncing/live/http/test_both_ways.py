"""A live remote over HTTP: ``headish serve`` answers, each question is a request."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from headish import Database, Store
from headish.calls import posting
from headish.errors import InvalidArgument, RemoteRefused, RemoteUnavailable
from headish.rows.elsewhere.arrivals import arrivals_among
from headish.store.asking.origins import acting_options, is_strangers
from headish.syncing.live import answering
from support.machines import SYNCS, Machine, state
from support.offices import VARIABLE, Office, both_ways, office_at
from support.relays import relayed
from support.served import served
from support.serving import serving
from support.upstream import Upstream


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
                syncs = [sys.executable, "-c", SYNCS, str(tmp_path / "desk.db")]
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
