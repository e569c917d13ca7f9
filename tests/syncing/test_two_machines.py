"""Two machines: what was said on one is read on the other, whatever the order, and names and titles are met."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.growing import texts
from support.machines import Pair, invite, state, url_of
from support.places import Place

DEEP = pytest.param(b'{"app":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}", id="deep")


class TestTwoMachines:
    def test_what_was_said_on_one_is_read_on_the_other(self, place: Place, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk", place.open()), machine("laptop", place.fresh())
        url = url_of(tmp_path / "box")
        # The folder of a space is named after it, so both are in a space of one name on machines of their own.
        laptop.store.space = desk.store.space
        desk.add(url)
        invite(desk, laptop, url)
        desk.store.add_turn("hello", bookmark="main")
        desk.store.conversations.set("main", title="Hi", tags=["a"])
        assert desk.sync().pushed.turns == 1
        assert laptop.sync().pulled.stored == 1
        assert texts(laptop.store, "main") == ["hello"]
        laptop.store.add_turn("and hello", role="assistant", continues="main")
        assert laptop.sync().pushed.turns == 1
        assert [each.outcome for each in desk.sync().pulled.names] == ["moved"]
        assert state(desk.store) == state(laptop.store)
        assert desk.store.conversations.get("main").record == laptop.store.conversations.get("main").record
        assert [each.store.verify().problems for each in (desk, laptop)] == [(), ()]
        again = laptop.sync()
        assert (again.pushed.objects, again.pulled.stored, again.pulled.names) == (0, 0, ())
        assert laptop.store.get("desk/main").id == desk.store.get("main").id

    def test_what_both_said_stays_and_is_told(self, pair: Pair) -> None:
        desk, laptop = pair
        desk.store.add_turn("q", bookmark="main")
        desk.sync()
        laptop.sync()
        mine = desk.store.add_turn("of the desk", continues="main")
        theirs = laptop.store.add_turn("of the laptop", continues="main")
        desk.sync()
        [name] = laptop.sync().pulled.names
        assert (name.name, name.outcome, name.here, name.there) == ("desk/main", "diverged", 1, 1)
        desk.sync()
        assert desk.store.get("main").id == mine.id
        assert desk.store.get("laptop/main").id == theirs.id
        with desk as store:
            assert store.remotes.status("box").diverged == ("laptop/main",)
        merged = desk.store.add_turn("both", continues=["main", "laptop/main"])
        desk.sync()
        assert [each.outcome for each in laptop.sync().pulled.names] == ["moved"]
        assert laptop.store.get("main").id == merged.id
        with laptop as store:
            assert store.remotes.status("box").diverged == ()

    def test_a_move_back_and_sideways_goes_along_where_only_one_moved(self, pair: Pair) -> None:
        desk, laptop = pair
        first = desk.store.add_turn("q", bookmark="main")
        desk.store.add_turn("a", continues="main")
        for each in (desk, laptop, desk):
            each.sync()
        desk.store.bookmarks.undo("main")
        desk.sync()
        assert [each.outcome for each in laptop.sync().pulled.names] == ["moved"]
        assert laptop.store.get("main").id == first.id
        edited = desk.store.edit("main", "other").turn
        desk.sync()
        laptop.sync()
        assert laptop.store.get("main").id == edited.id
        desk.store.bookmarks.remove("main")
        desk.sync()
        assert [(each.name, each.outcome) for each in laptop.sync().pulled.names] == [("desk/main", "removed")]
        assert laptop.store.get("main").id == edited.id
        assert desk.sync().pulled.names == ()
        assert "main" not in desk.store.bookmarks

    def test_a_removed_name_goes_where_it_is_asked(self, pair: Pair) -> None:
        desk, laptop = pair
        for name in ("one", "two"):
            desk.store.add_turn(name, bookmark=name)
        for each in (desk, laptop, desk):
            each.sync()
        laptop.store.add_turn("mine", continues="two")
        for name in ("one", "two"):
            desk.store.bookmarks.remove(name)
        desk.sync()
        laptop.sync(prune=True)
        assert list(laptop.store.bookmarks) == ["two"]

    @pytest.mark.parametrize("data", [b'{"title":"\xff"}', b'{"tags":["\xff"]}', b'{"title":1}', b"\xff", b"", DEEP])
    def test_what_a_machine_says_of_a_conversation_and_nobody_can_read_changes_nothing(
        self, pair: Pair, data: bytes
    ) -> None:
        desk, laptop = pair
        desk.store.add_turn("q", bookmark="main")
        desk.store.conversations.set("main", title="of the desk")
        desk.sync()
        laptop.sync()
        with closing(sqlite3.connect(laptop.store._backend.target)) as damaged, damaged:
            damaged.execute("UPDATE conversation SET data = ?", (data,))
        laptop.sync()
        desk.sync()
        assert desk.store.conversations.get("main").record.title == "of the desk"
        assert desk.store.verify().problems == ()

    def test_tags_come_to_the_same_order_whoever_syncs_first(self, pair: Pair) -> None:
        desk, laptop = pair
        desk.store.add_turn("q", bookmark="main")
        desk.store.conversations.set("main", tags=["work"])
        for each in (desk, laptop):
            each.sync()
        desk.store.conversations.set("main", tags=["work", "zoo", "a"])
        laptop.store.conversations.set("main", tags=["work", "b"])
        for each in (desk, laptop, desk):
            each.sync()
        assert [each.store.conversations.get("main").record.tags for each in pair] == [("a", "b", "work", "zoo")] * 2
        # One tag each, and then the other's: two equal sets.
        desk.store.conversations.set("main", tags=["c", "d"])
        time.sleep(0.002)  # which of the two is later is told in milliseconds
        laptop.store.conversations.set("main", tags=["d", "c"])
        for each in (desk, laptop, desk, laptop):
            each.sync()
        assert [each.store.conversations.get("main").record.tags for each in pair] == [("d", "c")] * 2

    def test_a_name_that_comes_again_brings_its_title(self, pair: Pair) -> None:
        """The laptop's own name had taken it along."""
        desk, laptop = pair
        desk.store.add_turn("hello", bookmark="main")
        desk.store.conversations.set("main", title="T", tags=["a"])
        desk.sync()
        laptop.sync()
        laptop.store.bookmarks.rename("main", "mine")
        desk.store.add_turn("more", continues="main")
        desk.sync()
        laptop.sync()
        titles = [laptop.store.conversations.get(name).record.title for name in ("main", "mine")]
        assert titles == ["T", "T"]

    def test_a_title_given_where_the_conversation_has_no_name_is_that_of_its_name(
        self, pair: Pair, machine: Any, tmp_path: Path
    ) -> None:
        desk, laptop = pair
        question = desk.store.add_turn("hello")
        desk.sync()
        laptop.sync()
        desk.store.bookmarks.set("main", question.id)
        laptop.store.conversations.set(question.id, title="of the laptop")
        laptop.sync()
        desk.sync()
        assert desk.store.conversations.get("main").record.title == "of the laptop"
        desk.store.conversations.set("main", title="of the desk, and later")
        for each in (laptop, desk, laptop, desk):
            each.sync()
        phone = machine("phone")
        invite(desk, phone, url_of(tmp_path / "box"))
        phone.sync()
        for each in (desk, laptop, phone):
            assert each.store.conversations.get("main").record.title == "of the desk, and later"

    def test_titles_and_tags_are_met_field_by_field(self, pair: Pair) -> None:
        desk, laptop = pair
        desk.store.add_turn("q", bookmark="main")
        desk.store.conversations.set("main", title="one", tags=["a", "b"])
        for each in (desk, laptop, desk):
            each.sync()
        desk.store.conversations.set("main", title="two", tags=["b", "c"])
        laptop.store.conversations.set("main", pinned=True, tags=["a", "b", "d"])
        for each in (desk, laptop, desk):
            each.sync()
        for each in (desk, laptop):
            record = each.store.conversations.get("main").record
            assert (record.title, record.pinned, set(record.tags)) == ("two", True, {"b", "c", "d"})
        desk.store.conversations.set("main", title="of the desk")
        time.sleep(0.002)  # which of the two is later is told in milliseconds
        laptop.store.conversations.set("main", title="of the laptop")
        desk.sync()
        assert laptop.sync().pulled.kept == ("main",)
        desk.sync()
        assert {each.store.conversations.get("main").record.title for each in (desk, laptop)} == {"of the laptop"}
