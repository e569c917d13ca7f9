"""A live remote: a store that answers. What is new goes both ways."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from headish import Store, restore
from headish.bundles.live import Hello
from headish.errors import RemoteUnavailable, SecretsFound
from headish.remotes.commands import Pipes
from headish.store.asking.origins import is_strangers
from headish.store.keeping.sharing import exchanges
from headish.store.keeping.sharing.exchanges import find_remote
from headish.syncing import naming
from headish.syncing.live import answering, conversation, moves, taking, wire
from headish.syncing.live.answering import Answering
from headish.syncing.live.wire import Wire
from headish.values.results.sharing import Pulled
from support.ends import Ends, pull, push, say_on, sync
from support.lines import line_to
from support.machines import Machine, state


def _cut(*_: Any) -> None:
    raise RemoteUnavailable("box", "it was cut off")


class TestTurns:
    """After a sync both stores hold the same."""

    def test_each_takes_what_is_new_at_the_other(self, ends: Ends) -> None:
        desk, box = ends
        desk.store.add_turn("asked at the desk", bookmark="main")
        box.add_turn("asked at the box", bookmark="other")
        done = sync(ends)
        assert (done.pulled.stored, done.pushed.turns) == (1, 1)
        assert state(desk.store) == state(box)
        assert box.verify().problems == desk.store.verify().problems == ()
        assert [each.name for each in desk.store.remotes.bookmarks()] == ["box/main", "box/other"]

    def test_what_went_does_not_come_back(self, ends: Ends) -> None:
        desk, box = ends
        desk.store.add_turn("asked", bookmark="main")
        sync(ends)
        box.add_turn("answered", continues="main", role="assistant")
        done = sync(ends)
        assert (done.pulled.stored, done.pulled.known, done.pushed.turns) == (1, 0, 0)
        desk.store.add_turn("asked again", continues="main")
        done = sync(ends)
        assert (done.pulled.stored, done.pulled.known, done.pushed.turns) == (0, 0, 1)
        assert state(desk.store) == state(box)

    def test_the_newest_turn_of_here_stays_the_newest(self, ends: Ends) -> None:
        desk, box = ends
        own = desk.store.add_turn("said here")
        box.add_turn("said there")
        sync(ends)
        assert desk.store.get("@").id == own.id

    def test_a_store_that_was_put_back_gets_again_what_it_lost(
        self, ends: Ends, machine: Callable[..., Machine], tmp_path: Any
    ) -> None:
        desk, box = ends
        first = desk.store.add_turn("asked", bookmark="main")
        sync(ends)
        box.backup(tmp_path / "backup")
        for number in range(100):
            desk.store.add_turn(f"more {number}", continues="main")
        sync(ends)
        box.add_turn("of the box alone", bookmark="other")
        restore(tmp_path / "backup", tmp_path / "restored.db")
        with Store.open(tmp_path / "restored.db") as restored:
            assert [each.id for each in restored.turns()] == [first.id]
            done = sync((desk, restored))
            assert done.pushed.turns == 100
            assert restored.bookmarks["main"] == desk.store.bookmarks["main"]
            restored.add_turn("new at the box", bookmark="new")
            assert sync((desk, restored)).pulled.stored == 1
            assert state(restored) == state(desk.store)

    @pytest.mark.parametrize("prune", [False, True])
    def test_a_store_that_was_put_back_gets_again_the_names_that_it_lost(
        self, ends: Ends, tmp_path: Any, *, prune: bool
    ) -> None:
        desk, box = ends
        desk.store.add_turn("first", bookmark="main")
        sync(ends)
        box.backup(tmp_path / "backup.hbackup")
        desk.store.add_turn("second", bookmark="later")
        desk.store.conversations.set("later", title="Later")
        sync(ends), sync(ends)
        restore(tmp_path / "backup.hbackup", tmp_path / "restored.db")
        with Store.open(tmp_path / "restored.db") as restored:
            with line_to(restored):
                assert desk.sync(prune=prune).pulled.names == ()
            assert dict(restored.bookmarks) == dict(desk.store.bookmarks)
            assert set(restored.bookmarks) == {"main", "later"}
            assert restored.conversations.get("later").record.title == "Later"

    @pytest.mark.parametrize("first", ["push", "pull", "half of a sync"])
    def test_a_store_that_was_put_back_is_compared_by_whichever_comes_first_and_next(
        self, ends: Ends, machine: Callable[..., Machine], tmp_path: Any, monkeypatch: pytest.MonkeyPatch, first: str
    ) -> None:
        desk, box = ends
        desk.store.add_turn("asked", bookmark="main")
        sync(ends)
        box.backup(tmp_path / "backup")
        desk.store.add_turn("lost there", continues="main")
        box.add_turn("of the box", bookmark="other")
        sync(ends)
        restore(tmp_path / "backup", tmp_path / "restored.db")
        with Store.open(tmp_path / "restored.db") as restored:
            for number in range(6):  # more than it has lost: its commit numbers say nothing
                restored.add_turn(f"since {number}", bookmark=f"since-{number}")
            back = desk, restored
            if first == "push":
                push(back)
                pull(back)
            elif first == "pull":
                pull(back)
                push(back)
            else:
                with monkeypatch.context() as patch:
                    patch.setattr(exchanges, "send_all", _cut)
                    with pytest.raises(RemoteUnavailable):
                        sync(back)
                push(back)
            assert state(restored)[0] == state(desk.store)[0]
            assert restored.bookmarks["main"] == desk.store.bookmarks["main"]

    @pytest.mark.parametrize("met", [True, False], ids=["by cursor", "by list"])
    def test_a_pull_goes_on_where_the_one_before_broke_off(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch, met: bool
    ) -> None:
        for module in (taking, answering):
            monkeypatch.setattr(module, "LISTED_AT_ONCE", 10)
        if not met:
            monkeypatch.setattr(conversation, "find_different", lambda *_: None)
        desk, box = ends
        box.add_turn("first")
        if met:
            sync(ends)
        box.add_turns(f"{number} " + "x" * 500 for number in range(200))
        with pytest.raises(RemoteUnavailable), line_to(box, cut_back=20_000):
            desk.sync()
        came = len(list(desk.store.turns()))
        assert 50 < came < 200
        listed: list[tuple[int, int]] = []
        answers = Answering._list_turns

        def noted(self: Answering, asked: Any) -> None:
            listed.append((asked.after, asked.until))
            answers(self, asked)

        monkeypatch.setattr(Answering, "_list_turns", noted)
        box.add_turn("said meanwhile")
        with line_to(box), desk as store:
            done = store.remotes.pull("box")
        assert done.stored == 202 - came
        assert done.known <= 10  # of what was taken, one list at most is asked for again
        assert listed[0][0] >= came - 10
        assert state(desk.store) == state(box)
        assert find_remote(desk.store, "box").state.taken == 0
        assert sync(ends).pulled == Pulled("box")

    def test_what_a_pull_took_counts_only_in_that_history(
        self, ends: Ends, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in (taking, answering):
            monkeypatch.setattr(module, "LISTED_AT_ONCE", 10)
        desk, box = ends
        box.add_turn("first")
        box.backup(tmp_path / "backup")
        sync(ends)
        box.add_turns(f"{number} " + "x" * 500 for number in range(300))
        with pytest.raises(RemoteUnavailable), line_to(box, cut_back=20_000):
            desk.sync()
        assert find_remote(desk.store, "box").state.taken
        restore(tmp_path / "backup", tmp_path / "restored.db")
        with Store.open(tmp_path / "restored.db") as restored:
            restored.add_turns(f"other {number}" for number in range(100))
            sync((desk, restored))
            assert state(restored)[0] == state(desk.store)[0]

    def test_documents_and_large_payloads_travel(self, ends: Ends) -> None:
        desk, box = ends
        document = desk.store.add_document(b"\0" * 300_000, name="zeros", content_type="application/octet-stream")
        say_on(box, 20, "long", "long " * 200_000)
        sync(ends)
        assert box.get(document.id).id == document.id
        assert state(desk.store) == state(box)
        assert box.verify().problems == desk.store.verify().problems == ()

    def test_one_that_is_at_work_for_ever_is_given_up(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        desk, _ = ends
        monkeypatch.setattr(wire, "AT_WORK_SECONDS", 0.3)
        monkeypatch.setattr(wire, "BEAT_SECONDS", 0.02)

        def answer(reads: int, writes: int) -> None:
            """It greets, and never says anything but that it is there."""
            with Wire(Pipes("it", reads, writes), "it") as talk:
                talk.receive(Hello)
                with suppress(RemoteUnavailable):
                    while True:
                        talk._read()

        with pytest.raises(RemoteUnavailable, match=r"at work for 0\.3 seconds"), line_to(answer):
            desk.sync()

    def test_threads_that_went_apart_are_counted_while_others_may_write(
        self, ends: Ends, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, box = ends
        desk.store.add_turn("asked", bookmark="main")
        sync(ends)
        counted: list[str] = []
        count = naming.count_apart

        def counts(*given: Any) -> Any:
            for name in ("desk", "box"):
                with sqlite3.connect(tmp_path / f"{name}.db", timeout=0) as other:
                    other.execute("BEGIN IMMEDIATE")
                    other.rollback()
                other.close()
            counted.append("once")
            return count(*given)

        for module in (naming, moves):
            monkeypatch.setattr(module, "count_apart", counts)
        desk.store.add_turn("here", continues="main")
        box.add_turn("there", continues="main"), box.add_turn("more", continues="main")
        done = sync(ends)
        [here], [there] = done.pulled.names, done.pushed.names
        assert [(each.outcome, each.here, each.there) for each in (here, there)] == [("diverged", 1, 2)] * 2
        assert counted == ["once"] * 2
        box.bundles.create(tmp_path / "bundle")
        [name] = desk.store.bundles.apply(tmp_path / "bundle").names
        assert (name.outcome, name.here, name.there) == ("diverged", 1, 2)
        assert counted == ["once"] * 3

    def test_what_others_say_there_meanwhile_comes_next(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        desk, box = ends
        desk.store.add_turn("first")
        sync(ends)
        desk.store.add_turn("second")
        take = Answering._take_bundle

        def take_late(answering: Answering, first: Any) -> None:
            box.add_turn("just before")
            take(answering, first)
            box.add_turn("just behind")

        monkeypatch.setattr(Answering, "_take_bundle", take_late)
        sync(ends)
        monkeypatch.undo()
        assert sync(ends).pulled.stored == 2
        assert state(desk.store) == state(box)

    def test_what_is_said_here_while_both_are_compared_goes_too(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, box = ends
        desk.store.add_turn("here")
        box.add_turn("there")
        find = conversation.find_different

        def find_late(*given: Any) -> Any:
            found = find(*given)
            desk.store.add_turn("meanwhile")
            return found

        monkeypatch.setattr(conversation, "find_different", find_late)
        sync(ends)
        assert state(desk.store) == state(box)

    def test_whose_turns_they_are_is_what_each_side_trusts(self, ends: Ends) -> None:
        desk, box = ends
        turn = desk.store.add_turn("of the desk", bookmark="main").id
        there = box.add_turn("of the box", bookmark="other").id
        sync(ends)
        assert is_strangers(box, turn)
        assert is_strangers(desk.store, there)
        desk.set(trust=True)
        assert not is_strangers(desk.store, there)
        turn = desk.store.add_turn("of the desk", continues="main").id
        sync(ends, trust=True)
        assert not is_strangers(box, turn)

    def test_what_looks_like_a_key_does_not_leave(self, ends: Ends) -> None:
        desk, box = ends
        desk.store.add_turn("sk-ant-api03-" + "a1B2" * 24, bookmark="main")
        with pytest.raises(SecretsFound):
            push(ends)
        assert state(box) == ({}, {})
        assert push(ends, allow_secrets=True).turns == 1

    def test_a_clone_takes_all_and_its_last_turn_is_the_newest(self, machine: Callable[..., Machine]) -> None:
        desk, box = machine("desk"), machine("box").store
        with line_to(box), desk as store, pytest.raises(RemoteUnavailable, match="no history"):
            store.remotes.clone("origin", "cmd:headish serve-stdio")
        assert desk.store.remotes.list() == []
        last = say_on(box, 300)
        with line_to(box), desk as store:
            done = store.remotes.clone("origin", "cmd:headish serve-stdio")
        assert done.pulled is not None
        assert done.pulled.stored == 300
        assert desk.store.get("@").id == last
