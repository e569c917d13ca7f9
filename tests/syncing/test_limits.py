"""A quota holds what comes over each kind of remote; and a bucket is all that two machines need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headish import Database, Store
from headish.errors import QuotaExceeded, RemoteRefused, RemoteRolledBack, SecretsFound
from headish.remotes.objects import ObjectPlace
from headish_cli.printing.hints import refusal
from support.buckets import started_bucket
from support.lines import line_to
from support.machines import Machine, Pair, invite, state, url_of


def limit(store: Store, turns: int | str) -> None:
    with Database.open(store._database.target) as database:
        database.spaces.limit(store.space, turns=turns)


def say(store: Store, count: int) -> None:
    store.add_turns({"content": f"{number}"} for number in range(count))


class TestAQuota:
    def test_holds_what_a_log_brings_and_the_next_pull_goes_on(self, pair: Pair) -> None:
        desk, laptop = pair
        say(desk.store, 3)
        desk.sync()
        laptop.sync()
        say(desk.store, 5)
        desk.sync()
        limit(laptop.store, 7)
        for _ in range(2):
            with pytest.raises(QuotaExceeded, match="limited to 7 turns"):
                laptop.sync()
            assert laptop.store.stats().turns == 3
        limit(laptop.store, "none")
        assert laptop.sync().pulled.stored == 5
        assert state(laptop.store) == state(desk.store)

    def test_holds_what_a_caller_sends_and_what_a_store_answers(self, machine: Callable[..., Machine]) -> None:
        desk, box = machine("desk"), machine("box").store
        desk.add("cmd:headish serve-stdio")
        say(desk.store, 5)
        limit(box, 4)
        with line_to(box), pytest.raises(RemoteRefused, match="QuotaExceeded"):
            desk.sync()
        assert box.stats().turns == 0
        limit(box, "none")
        say(box, 4)
        limit(desk.store, 7)
        with line_to(box), pytest.raises(QuotaExceeded):
            desk.sync()
        # What there is no room for here keeps nothing from going there.
        assert (desk.store.stats().turns, box.stats().turns) == (5, 9)
        limit(desk.store, "none")
        with line_to(box):
            desk.sync()
        assert state(desk.store) == state(box)

    @pytest.mark.parametrize("made", ["by both", "there"])
    def test_that_keeps_turns_from_coming_keeps_no_name_and_no_title_from_going(
        self, machine: Callable[..., Machine], made: str
    ) -> None:
        desk, box = machine("desk"), machine("box").store
        desk.add("cmd:headish serve-stdio")
        if made == "by both":
            desk.store.add_turn("before", bookmark="old")
            with line_to(box):
                desk.sync()
            box.bookmarks.remove("old")
        say(box, 40)
        first = desk.store.add_turn("one", bookmark="main")
        desk.store.conversations.set("main", title="a title")
        limit(desk.store, desk.store.stats().turns + 3)
        with line_to(box), pytest.raises(QuotaExceeded):
            desk.sync()
        assert box.bookmarks["main"] == first.id
        assert box.conversations.get("main").record.title == "a title"
        assert "old" not in box.bookmarks, "it was removed there, which no pull has met yet"
        with line_to(box), pytest.raises(QuotaExceeded):
            desk.sync()
        limit(desk.store, "none")
        with line_to(box):
            assert desk.sync().pulled.stored == 40
            again = desk.sync()
        assert (again.pulled.stored, again.pushed.turns, again.pushed.names) == (0, 0, ())
        assert box.stats().turns == desk.store.stats().turns == 41 + (made == "by both")

    def test_before_what_lets_nobody_write_is_the_only_error(
        self, machine: Callable[..., Machine], tmp_path: Path
    ) -> None:
        desk, box = machine("desk"), machine("box").store
        desk.add("cmd:headish serve-stdio")
        say(box, 4)
        desk.store.add_turn("one")
        limit(desk.store, 3)
        with Store.open(tmp_path / "box.db", read_only=True) as closed, line_to(closed), pytest.raises(QuotaExceeded):
            desk.sync()
        assert box.stats().turns == 4

    @pytest.mark.parametrize("kind", ["a store", "a folder"])
    def test_and_a_push_that_fails_as_well_are_both_told(
        self, machine: Callable[..., Machine], tmp_path: Path, kind: str
    ) -> None:
        desk, box = machine("desk"), machine("box")
        if kind == "a store":
            desk.add("cmd:headish serve-stdio")
        else:
            box.add(url_of(tmp_path / "folder"))
            invite(box, desk, url_of(tmp_path / "folder"))
        say(box.store, 4)
        if kind == "a folder":
            box.sync()
        desk.store.add_turn("it is sk-" + "a1B2c3D4e5F6g7H8")
        limit(desk.store, 3)
        with line_to(box.store), pytest.raises(SecretsFound) as failed:
            desk.sync()
        [note] = failed.value.__notes__
        assert note.startswith("the pull before it failed: ")
        assert "limited to 3 turns" in note
        told = refusal(failed.value, None).message
        assert told.endswith(f"; {note}")
        assert "--allow-secrets" in told


@pytest.mark.slow
def test_two_machines_and_a_bucket(machine: Callable[..., Machine], tmp_path: Path) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    with started_bucket() as url:
        place = ObjectPlace(url)
        desk.add(url)
        invite(desk, laptop, url)
        desk.store.add_turn("a particular sentence", bookmark="main")
        slip = desk.store.add_turn("a slip of the tongue", continues="main")
        desk.sync()
        old = objects(place)
        assert laptop.sync().pulled.stored == 2
        laptop.store.add_turn("answered", continues="main", role="assistant")
        desk.store.erase(slip.id, reason="r")
        for each in (laptop, desk, laptop, desk):
            each.sync()
        assert state(desk.store) == state(laptop.store)
        assert laptop.store.get(slip.id).erased is not None
        assert desk.store.remotes.not_reached() == {}
        assert not any(word in data for data in objects(place).values() for word in (b"particular", b"main", b"slip"))
        again = laptop.sync()
        assert (again.pushed.objects, again.pulled.stored) == (0, 0)
        for path in objects(place).keys() - old.keys():
            place.delete(path)
        for path, data in old.items():
            place.put(path, data)
        with pytest.raises(RemoteRolledBack):
            laptop.sync()


def objects(place: ObjectPlace) -> dict[str, Any]:
    return {path: place.get(path) for path in place.list("v1")}
