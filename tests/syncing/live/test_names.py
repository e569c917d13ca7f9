"""Names at a live remote: they move where only one side moved them."""

from __future__ import annotations

from typing import Any

import pytest

from headish.syncing.live import conversation
from support.ends import Ends, outcomes, pull, push, say_on, sync
from support.lines import line_to
from support.machines import state


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

    def test_one_that_was_removed_there_is_not_put_there_again_by_a_push_alone(self, started: Ends) -> None:
        desk, box = started
        box.bookmarks.remove("main")
        desk.store.add_turn("elsewhere", bookmark="other")
        assert outcomes(push(started)) == {"other": "made"}
        assert "main" not in box.bookmarks
        assert outcomes(sync(started).pulled) == {"box/main": "removed"}

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

    def test_a_title_that_was_given_there_meanwhile_is_not_replaced_by_a_push_alone(self, started: Ends) -> None:
        desk, box = started
        desk.store.conversations.set("main", title="of the desk", tags=["a"])
        sync(started)
        box.conversations.set("main", title="of the box")
        desk.store.conversations.set("main", tags=["b"])
        push(started)
        assert box.conversations.get("main").record.title == "of the box"
        sync(started)
        for store in (desk.store, box):
            found = store.conversations.get("main").record
            assert (found.title, found.tags) == ("of the box", ("b",))

    def test_a_title_that_waited_for_a_pull_is_said_even_if_that_changes_nothing_here(self, started: Ends) -> None:
        desk, box = started
        box.conversations.set("main", title="of the box")
        desk.store.conversations.set("main", title="of the desk, and later")
        push(started)
        sync(started)
        for store in (desk.store, box):
            assert store.conversations.get("main").record.title == "of the desk, and later"

    def test_a_title_given_without_the_name_that_the_conversation_has_there_is_that_of_the_name(
        self, ends: Ends
    ) -> None:
        desk, box = ends
        question = desk.store.add_turn("q?")
        push(ends)
        box.bookmarks.set("main", question.id)
        desk.store.conversations.set(question.id, title="of the desk")
        push(ends)
        assert box.conversations.get("main").record.title == "of the desk"
        box.conversations.set("main", title="of the box, and later")
        for _ in range(2):
            sync(ends)
        for store in (desk.store, box):
            assert store.conversations.get("main").record.title == "of the box, and later"
        assert (last := sync(ends)).pulled.records == 0
        assert last.pushed.names == ()

    def test_a_title_of_a_new_name_joins_what_was_said_there_without_the_name(self, ends: Ends) -> None:
        """The name takes that over as it is made there, so the title comes after a change that it has not read."""
        desk, box = ends
        question = desk.store.add_turn("q?")
        sync(ends)
        box.conversations.set(question.id, pinned=True)
        desk.store.bookmarks.set("d", question.id)
        desk.store.conversations.set("d", title="T")
        sync(ends)
        sync(ends)
        for store in (desk.store, box):
            found = store.conversations.get("d").record
            assert (found.title, found.pinned) == ("T", True)
        last = sync(ends)
        assert (last.pulled.records, last.pushed.names) == (0, ())
