"""A live remote: a store that answers. What is new goes both ways, and names move where only one side moved them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from headish import Store, restore
from headish.bundles.live import Hello
from headish.errors import (
    CorruptRecord,
    InvalidArgument,
    RemoteRefused,
    RemoteUnavailable,
    SecretsFound,
    UnknownErasure,
)
from headish.remotes.commands import Pipes
from headish.rows.elsewhere.notices import all_notices
from headish.store.asking.origins import is_strangers
from headish.store.keeping import live
from headish.store.keeping import remotes as remotes_verbs
from headish.syncing import erasures, naming
from headish.syncing.live import answering, conversation, moves, taking, wire
from headish.syncing.live.answering import Answering
from headish.syncing.live.wire import Wire
from headish.syncing.remotes import SeenLog, read_remotes, store_remote
from headish.values.results.sharing import Pulled
from support.lines import line_to
from support.machines import Machine, state

Ends = tuple[Machine, Store]
"""The desk, whose live remote is the box; and the store of the box."""


@pytest.fixture
def ends(machine: Callable[..., Machine]) -> Ends:
    desk, box = machine("desk"), machine("box")
    desk.add("cmd:headish serve-stdio")
    return desk, box.store


def sync(ends: Ends, **options: Any) -> Any:
    desk, box = ends
    with line_to(box, **options):
        return desk.sync()


def push(ends: Ends, **options: Any) -> Any:
    with line_to(ends[1]), ends[0] as store:
        return store.remotes.push("box", **options)


def pull(ends: Ends, **options: Any) -> Any:
    with line_to(ends[1]), ends[0] as store:
        return store.remotes.pull("box", **options)


def say_on(store: Store, count: int, name: str = "main", text: str = "") -> str:
    """Say turns, each of which continues the one before, under a name; the id of the last one."""
    store.add_turn(f"0 {text}", bookmark=name)
    return [store.add_turn(f"{number} {text}", continues=name) for number in range(1, count)][-1].id


def _cut(*_: Any) -> None:
    raise RemoteUnavailable("box", "it was cut off")


def outcomes(done: Any) -> dict[str, str]:
    return {each.name: each.outcome for each in done.names}


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
                    patch.setattr(remotes_verbs, "send_all", _cut)
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
        assert desk.store.remotes._find("box").state.taken == 0
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
        assert desk.store.remotes._find("box").state.taken
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

    def test_erasures_go_first_and_wait_to_be_confirmed(self, ends: Ends) -> None:
        desk, box = ends
        turn = desk.store.add_turn("to be forgotten", bookmark="main")
        sync(ends)
        desk.store.erase(turn.id, reason="asked to")
        assert desk.store.remotes.not_reached() == {desk.store.erasures.list()[0].id: ("1 of 1 devices on box",)}
        sync(ends)
        assert box.get(turn.id).erased is None
        assert len(box.remotes.pending_erasures()) == 1
        box.remotes.erase_pending()
        sync(ends)
        assert box.get(turn.id).erased is not None
        assert desk.store.remotes.not_reached() == {}

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

    def test_what_somebody_dismisses_stays_and_asks_no_more(self, ends: Ends) -> None:
        desk, box = ends
        turns = [desk.store.add_turn(f"{number}").id for number in range(4)]
        sync(ends)
        for each in turns:
            desk.store.erase(each, reason="asked to")
        sync(ends)
        waiting = {each.turns[0].id: each.id for each in box.remotes.pending_erasures()}
        for verb in (box.remotes.dismiss_pending, box.remotes.erase_pending):
            with pytest.raises(UnknownErasure):
                verb([waiting[turns[0]], "03hapqwkbfc5blg7smu5a74ph"])
        assert len(box.remotes.pending_erasures()) == 4
        assert box.remotes.dismiss_pending([waiting[turns[0]]]) == 1
        assert box.remotes.erase_pending([waiting[turns[1]]]) == 1
        assert box.remotes.dismiss_pending() == 2
        assert box.remotes.erase_pending() == 0
        with desk as store:  # both are compared anew
            store.remotes.remove("box")
        desk.add("cmd:headish serve-stdio")
        sync(ends)
        assert box.remotes.pending_erasures() == []
        assert [box.get(each).erased is None for each in turns] == [True, False, True, True]
        assert len(desk.store.remotes.not_reached()) == 3
        assert box.verify().problems == ()

    @pytest.mark.parametrize("first", ["erase_pending", "dismiss_pending"])
    def test_what_somebody_else_has_decided_meanwhile_stays_so(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch, first: str
    ) -> None:
        desk, box = ends
        turn = desk.store.add_turn("gone").id
        sync(ends)
        desk.store.erase(turn, reason="asked to")
        sync(ends)
        write_locked = erasures.write_locked

        def late(*given: Any) -> Any:
            monkeypatch.setattr(erasures, "write_locked", write_locked)
            assert getattr(box.remotes, first)() == 1
            return write_locked(*given)

        monkeypatch.setattr(erasures, "write_locked", late)
        [second] = {"erase_pending", "dismiss_pending"} - {first}
        assert getattr(box.remotes, second)() == 0
        [notice] = box._read(lambda connection: all_notices(connection, box._number))
        is_erased = first == "erase_pending"
        assert (notice.state, box.get(turn).erased is not None) == ("applied" if is_erased else "ignored", is_erased)

    def test_so_many_erasures_of_who_is_ignored_are_kept_and_no_more(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, box = ends
        monkeypatch.setattr(erasures, "PENDING_LIMIT", 2)
        turns = [box.add_turn(f"{number}").id for number in range(5)]
        with desk as store:
            store.remotes.set("box", erasures="ignore")
        sync(ends)
        for each in turns:
            box.erase(each, reason="r")
        later = box.add_turn("never seen here while it said something").id
        box.erase(later, reason="r")
        for _ in range(2):
            sync(ends)
        kept = desk.store._read(lambda connection: all_notices(connection, desk.store._number))
        assert [each.state for each in kept] == ["ignored"] * 2
        assert [desk.store.get(each).erased is None for each in turns] == [True] * 5
        assert desk.store.get(later).erased is not None
        assert desk.store.verify().problems == ()

    def test_so_many_erasures_wait_and_no_more(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those that list nothing there have half of the room, and what they list arrives as erased all the same."""
        desk, box = ends
        monkeypatch.setattr(erasures, "PENDING_LIMIT", 4)
        known = [desk.store.add_turn(f"known {number}").id for number in range(5)]
        sync(ends)
        unknown = [desk.store.add_turn(f"unknown {number}").id for number in range(3)]
        for each in (*unknown, *known):
            desk.store.erase(each, reason="r")
        refused = "erasures wait here to be confirmed, and no more are taken"
        for waiting in (2, 4):
            with pytest.raises(RemoteRefused, match=f"{waiting} {refused}"):
                sync(ends)
            assert len(box.remotes.pending_erasures()) == waiting
            box.remotes.erase_pending()
        sync(ends)
        assert len(box.remotes.pending_erasures()) == 2
        box.remotes.erase_pending()
        assert all(box.get(each).erased is not None for each in (*known, *unknown))
        assert box.verify().problems == ()

    def test_receipts_that_wait_have_so_many_bytes_and_no_more(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, box = ends
        monkeypatch.setattr(erasures, "PENDING_LIMIT_BYTES", 1000)
        turn = desk.store.add_turn("known").id
        sync(ends)
        desk.store.erase(turn, reason="r" * 1000)
        with pytest.raises(RemoteRefused, match="0 erasures wait"):
            sync(ends)
        sync(ends, trust=True)
        assert box.get(turn).erased is not None

    def test_erasures_there_come_here(self, ends: Ends) -> None:
        desk, box = ends
        turn = desk.store.add_turn("to be forgotten", bookmark="main")
        sync(ends)
        with desk as store:
            store.remotes.set("box", erasures="apply")
        box.erase(turn.id, reason="asked to")
        assert sync(ends).pulled.erased == 1
        assert desk.store.get(turn.id).erased is not None

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

    def test_a_caller_who_is_trusted_erases(self, ends: Ends) -> None:
        desk, box = ends
        turn = desk.store.add_turn("to be forgotten", bookmark="main")
        sync(ends, trust=True)
        desk.store.erase(turn.id, reason="asked to")
        sync(ends, trust=True)
        assert box.get(turn.id).erased is not None
        assert desk.store.remotes.not_reached() == {}

    def test_whose_turns_they_are_is_what_each_side_trusts(self, ends: Ends) -> None:
        desk, box = ends
        turn = desk.store.add_turn("of the desk", bookmark="main").id
        there = box.add_turn("of the box", bookmark="other").id
        sync(ends)
        assert is_strangers(box, turn)
        assert is_strangers(desk.store, there)
        with desk as store:
            store.remotes.set("box", trust=True)
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


class TestNames:
    """A name moves where only one side has moved it; the lease is where it was seen there."""

    @pytest.fixture
    def started(self, ends: Ends) -> Ends:
        desk, _ = ends
        say_on(desk.store, 3)
        sync(ends)
        return ends

    def test_forward_on_either_side(self, started: Ends) -> None:
        desk, box = started
        box.add_turn("there", continues="main")
        assert outcomes(pull(started)) == {"box/main": "moved"}
        desk.store.add_turn("here", continues="main")
        assert outcomes(push(started)) == {"main": "moved"}
        assert box.bookmarks["main"] == desk.store.bookmarks["main"]

    def test_sideways_where_only_this_side_moved(self, started: Ends) -> None:
        desk, box = started
        desk.store.bookmarks.undo("main")
        assert outcomes(push(started)) == {"main": "moved"}
        other = desk.store.add_turn("edited", continues="main")
        assert outcomes(push(started)) == {"main": "moved"}
        assert box.bookmarks["main"] == other.id
        desk.store.bookmarks.undo("main", 2)
        assert outcomes(sync(started).pushed) == {"main": "moved"}
        assert box.bookmarks["main"] == desk.store.bookmarks["main"]

    def test_sideways_there_comes_along(self, started: Ends) -> None:
        desk, box = started
        box.bookmarks.undo("main")
        box.add_turn("edited there", continues="main")
        assert outcomes(sync(started).pulled) == {"box/main": "moved"}
        assert desk.store.bookmarks["main"] == box.bookmarks["main"]

    def test_one_that_is_behind_is_left(self, started: Ends) -> None:
        desk, box = started
        box.add_turn("there", continues="main")
        done = push(started)
        assert outcomes(done) == {}, "nothing is new here"
        desk.store.add_turn("elsewhere")
        assert outcomes(push(started)) == {"main": "unknown"}, "its turn there has not come"
        assert box.bookmarks["main"] != desk.store.bookmarks["main"]

    def test_a_diverged_one_stays_unless_its_lease_is_given(self, started: Ends) -> None:
        desk, box = started
        there = box.add_turn("there", continues="main")
        here = desk.store.add_turn("here", continues="main")
        done = sync(started)
        assert [(each.outcome, each.here, each.there) for each in done.pulled.names] == [("diverged", 1, 1)]
        assert [(each.outcome, each.here, each.there) for each in done.pushed.names] == [("diverged", 1, 1)]
        assert (desk.store.bookmarks["main"], box.bookmarks["main"]) == (here.id, there.id)
        assert desk.store.remotes.status("box").diverged == ("box/main",)
        wrong = push(started, force_with_lease=here.id)
        assert outcomes(wrong) == {"main": "diverged"}
        newer = box.add_turn("newer there", continues="main")
        assert outcomes(push(started, force_with_lease="box/main")) == {"main": "unknown"}
        assert box.bookmarks["main"] == newer.id, "the lease has run out"
        pull(started)
        assert outcomes(push(started, force_with_lease="box/main")) == {"main": "moved"}
        assert box.bookmarks["main"] == here.id

    def test_what_is_said_here_during_a_push_goes_with_the_next_one(
        self, started: Ends, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, box = started
        sent = desk.store.add_turn("sent", bookmark="sent")
        head = conversation.LiveSync.head

        def head_late(live: Any) -> Any:
            found = head(live)
            desk.store.add_turn("meanwhile", continues="main")
            desk.store.add_turn("meanwhile", bookmark="new")
            return found

        with monkeypatch.context() as patch:
            patch.setattr(conversation.LiveSync, "head", head_late)
            assert outcomes(push(started)) == {"sent": "made"}
        assert box.bookmarks["sent"] == sent.id
        assert outcomes(push(started)) == {"main": "moved", "new": "made"}
        assert state(desk.store) == state(box)

    def test_two_callers_who_force_at_once_do_not_both_win(self, started: Ends) -> None:
        desk, box = started
        there = box.add_turn("there", continues="main")
        desk.store.add_turn("here", continues="main")
        sync(started)
        with line_to(box) as line, desk as store:
            line_answers = line._answer

            def late(reads: int, writes: int) -> object:
                box.add_turn("just now", continues="main")
                return line_answers(reads, writes)

            line._answer = late
            done = store.remotes.push("box", force_with_lease=there.id)
        assert outcomes(done) == {"main": "unknown"}
        assert box.text("main") == "just now"

    def test_continued_by_both(self, started: Ends) -> None:
        desk, box = started
        box.add_turn("there", continues="main")
        desk.store.add_turn("here", continues="main")
        sync(started)
        both = desk.store.add_turn("both", continues=["main", "box/main"])
        assert outcomes(sync(started).pushed) == {"main": "moved"}
        assert box.bookmarks["main"] == both.id

    def test_one_that_was_removed_there_is_left_and_not_put_there_again(self, started: Ends) -> None:
        desk, box = started
        box.bookmarks.remove("main")
        assert outcomes(sync(started).pulled) == {"box/main": "removed"}
        desk.store.add_turn("elsewhere", bookmark="other")
        assert outcomes(sync(started).pushed) == {"other": "made"}
        assert "main" not in box.bookmarks
        desk.store.add_turn("on", continues="main")
        assert outcomes(sync(started).pushed) == {"main": "made"}, "it has moved here since"

    def test_one_that_was_removed_there_goes_with_prune(self, started: Ends) -> None:
        desk, box = started
        box.bookmarks.remove("main")
        pull(started, prune=True)
        assert "main" not in desk.store.bookmarks

    def test_one_that_was_removed_here_goes_there_with_delete(self, started: Ends) -> None:
        desk, box = started
        desk.store.bookmarks.remove("main")
        assert outcomes(sync(started).pushed) == {}
        assert "main" in box.bookmarks
        assert outcomes(push(started, delete=True)) == {"main": "removed"}
        assert "main" not in box.bookmarks
        assert "main" not in {each.name.partition("/")[2] for each in desk.store.remotes.bookmarks()}

    def test_one_that_has_moved_there_is_not_deleted(self, started: Ends) -> None:
        desk, box = started
        desk.store.bookmarks.remove("main")
        there = box.add_turn("there", continues="main")
        assert outcomes(push(started, delete=True)) == {"main": "diverged"}
        assert box.bookmarks["main"] == there.id

    def test_twins_have_not_diverged(self, ends: Ends) -> None:
        desk, box = ends
        for store in (desk.store, box):
            store.add_turn("imported", bookmark="s", key="s:1")
        desk.store.add_turn("on", continues="s")
        done = sync(ends)
        assert outcomes(done.pushed) == {"s": "moved"}
        assert box.bookmarks["s"] == desk.store.bookmarks["s"]

    def test_titles_and_tags_are_met_field_by_field(self, started: Ends) -> None:
        desk, box = started
        desk.store.conversations.set("main", title="of the desk", tags=["a"])
        sync(started)
        assert box.conversations.get("main").record.title == "of the desk"
        box.conversations.set("main", title="of the box")
        desk.store.conversations.set("main", tags=["a", "b"])
        sync(started)
        for store in (desk.store, box):
            found = store.conversations.get("main").record
            assert (found.title, sorted(found.tags)) == ("of the box", ["a", "b"])
        last = sync(started)
        assert (last.pulled.records, last.pushed.names) == (0, ())


class TestWhatIsAllowed:
    """The store that answers says what a caller may do, whatever the caller says."""

    def test_a_reader_is_only_pulled(self, ends: Ends, tmp_path: Any) -> None:
        desk, box = ends
        box.add_turn("there", bookmark="main")
        with Store.open(tmp_path / "box.db", read_only=True) as closed:
            desk.store.add_turn("here", bookmark="own")
            done = sync((desk, closed))
            assert (done.pulled.stored, done.pushed.turns) == (1, 0)
            with pytest.raises(RemoteRefused, match="readers alone"):
                push((desk, closed))
        assert desk.store.remotes.status("box").unsent == 1
        assert "own" not in box.bookmarks

    def test_names_outside_the_pattern_stay(self, ends: Ends) -> None:
        desk, box = ends
        desk.store.add_turn("a", bookmark="team/a")
        desk.store.add_turn("b", bookmark="mine")
        desk.store.conversations.set("mine", title="t")
        done = sync(ends, names="team/*")
        assert outcomes(done.pushed) == {"team/a": "made"}
        assert dict(box.bookmarks).keys() == {"team/a"}
        assert len(list(box.turns())) == 2

    def test_another_space_is_refused(self, machine: Callable[..., Machine]) -> None:
        desk, box = machine("desk", space="work"), machine("box").store
        desk.add("cmd:x")
        with pytest.raises(RemoteRefused, match=r"'work'.*'default'"):
            sync((desk, box))

    def test_a_database_from_elsewhere_names_no_command(self, ends: Ends, tmp_path: Any) -> None:
        desk, _ = ends
        desk.store.add_turn("x")
        stranger = Machine(desk.store, tmp_path / "keys of another machine", "stranger")
        with pytest.raises(RemoteUnavailable, match="has not named its command"):
            sync((stranger, ends[1]))
        with stranger as store:
            assert "has not named" in store.remotes.list()[0].waits

    def test_a_remote_whose_id_is_a_path_runs_no_command_and_takes_no_file(self, ends: Ends, tmp_path: Any) -> None:
        desk, box = ends
        theirs = tmp_path / "repo" / "x.command"
        theirs.parent.mkdir()
        theirs.write_text("cmd:headish serve-stdio")
        remote, number = desk.store.remotes._find("box"), desk.store._number
        for strange in ("../repo/x", str(theirs.with_suffix(""))):
            altered = remote._replace(settings=replace(remote.settings, id=strange))
            desk.store._write(lambda connection, altered=altered: store_remote(connection, number, altered))
            with pytest.raises(InvalidArgument, match="the id of a remote"):
                sync(ends)
            with pytest.raises(InvalidArgument, match="the id of a remote"), desk as store:
                store.remotes.remove("box")
            assert desk.store.remotes._space._read(lambda connection: read_remotes(connection, number)) == []
        assert theirs.exists()
        assert list(box.turns()) == []

    def test_a_remote_whose_device_is_a_path_is_damage(self, ends: Ends) -> None:
        desk, _ = ends
        remote, number = desk.store.remotes._find("box"), desk.store._number
        for altered in (
            remote._replace(settings=replace(remote.settings, device="../../elsewhere")),
            remote._replace(state=replace(remote.state, seen={"..": SeenLog("x")})),
        ):
            desk.store._write(lambda connection, altered=altered: store_remote(connection, number, altered))
            for work in (desk.store.remotes.list, lambda: desk.store.remotes.push("box")):
                with pytest.raises(CorruptRecord, match="the id of a device"), desk:
                    work()

    def test_a_remote_that_is_not_kept_leaves_no_command(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        desk, _ = ends
        before = set(desk.keys.iterdir())

        def fail(*_: Any) -> None:
            raise OSError

        monkeypatch.setattr(remotes_verbs, "store_remote", fail)
        with pytest.raises(OSError), desk as store:
            store.remotes.add("other", "cmd:headish serve-stdio")
        assert set(desk.keys.iterdir()) == before

    def test_who_only_takes_makes_no_database_there(
        self, machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, box = machine("desk"), machine("box").store
        box.add_turn("there", bookmark="main")
        asked: list[bool] = []
        with line_to(box) as line, desk as store:

            def command(url: str, arguments: list[str]) -> Any:
                asked.append("--read-only" in arguments[-1])
                return line(url, arguments)

            monkeypatch.setattr(live, "Command", command)
            store.remotes.clone("box", "ssh://box/slip.db")
            store.remotes.pull("box")
            store.add_turn("here", continues="main")
            store.remotes.push("box")
            store.remotes.exchange("box")
        assert asked == [True, True, False, False]

    def test_nobody_is_invited_to_a_live_remote(self, ends: Ends) -> None:
        with ends[0] as store, pytest.raises(InvalidArgument, match="has no key to give"):
            store.remotes.invite("box", "age1x")

    def test_what_is_for_places_alone_is_refused(self, ends: Ends, tmp_path: Any) -> None:
        desk, _ = ends
        with desk as store:
            for work in (
                lambda: store.remotes.add("x", "cmd:x", plain=True),
                lambda: store.remotes.add("x", "ssh://h", passphrase=True),
                lambda: store.remotes.set("box", key="0" * 32),
                lambda: store.remotes.invite("box", "age1x"),
                lambda: store.remotes.revoke("box", "box"),
            ):
                with pytest.raises(InvalidArgument):
                    work()
            store.remotes.add("folder", (tmp_path / "folder").as_uri(), plain=True)
            for options in ({"delete": True}, {"force_with_lease": "main"}):
                store.add_turn("x", bookmark="main", force=True)
                with pytest.raises(InvalidArgument, match="is no store"):
                    store.remotes.push("folder", **options)
