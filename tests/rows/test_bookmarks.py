"""Bookmarks: names that move. Turns never do (rule I1, turns never change)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from headish import ABSENT, Store
from headish.errors import BookmarkMoved, BookmarkTaken, InvalidArgument, InvalidName, UnknownBookmark, UnknownTurn
from headish.values.limits import BOOKMARK_LIMIT_BYTES
from support.growing import grow
from support.insides import dump, unchanged
from support.places import Place


def where(store: Store) -> dict[str, str]:
    """Every name and the id that it names."""
    return {bookmark.name: bookmark.turn for bookmark in store.bookmarks.list()}


class TestTheBookmarkRule:
    """Rule R2, one name moves: only one name moves with a turn."""

    @pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool"])
    def test_continuing_a_name_moves_it_whatever_the_role(self, store: Store, role: str) -> None:
        store.add_turn("a", bookmark="main")
        b = store.add_turn("b", role=role, continues="main")
        assert b.meta.bookmark == "main"
        assert where(store) == {"main": b.id}

    def test_continuing_the_turn_that_one_name_points_at_moves_the_name(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues=a.id)
        assert b.meta.bookmark == "main"
        assert where(store) == {"main": b.id}

    def test_a_turn_on_an_older_turn_starts_an_unnamed_branch(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues="main")
        fork = store.add_turn("fork", continues=a.id)
        assert fork.meta.bookmark is None
        assert where(store) == {"main": b.id}

    def test_of_several_names_at_one_turn_only_the_named_one_moves(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        store.bookmarks.set("draft", a.id)
        b = store.add_turn("b", continues="draft")
        assert b.meta.bookmark == "draft"
        assert where(store) == {"main": a.id, "draft": b.id}

    def test_by_bare_id_no_name_moves_where_several_point_there(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        store.bookmarks.set("draft", a.id)
        b = store.add_turn("b", continues=a.id)
        assert b.meta.bookmark is None
        assert where(store) == {"main": a.id, "draft": a.id}

    def test_only_the_first_that_is_continued_moves_its_name(self, store: Store) -> None:
        store.add_turn("a", bookmark="one")
        b = store.add_turn("b", bookmark="two")
        c = store.add_turn("c", continues=["one", "two"])
        assert c.meta.bookmark == "one"
        assert where(store) == {"one": c.id, "two": b.id}

    def test_a_nameless_first_leaves_the_second_ones_name_where_it_is(self, store: Store) -> None:
        a = store.add_turn("a")
        b = store.add_turn("b", bookmark="two")
        c = store.add_turn("c", continues=[a.id, "two"])
        assert c.meta.bookmark is None
        assert where(store) == {"two": b.id}

    def test_a_given_bookmark_is_set_and_the_continued_name_stays(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues="main", bookmark="other")
        assert b.meta.bookmark == "other"
        assert where(store) == {"main": a.id, "other": b.id}

    def test_a_given_bookmark_is_not_taken_from_another_conversation(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        for continues in (None, store.add_turn("other").id):
            with unchanged(store), pytest.raises(BookmarkTaken, match=r"continue 'main'.*or take it") as taken:
                store.add_turn("elsewhere", bookmark="main", continues=continues)
            assert (taken.value.name, taken.value.turn) == ("main", a.id)

    def test_it_is_not_moved_back_or_sideways_either(self, store: Store) -> None:
        grown = grow(store, "a <- b <- c, a <- d")
        store.bookmarks.set("main", grown["c"].id)
        for continues in ("a", "b", "d"):
            with unchanged(store), pytest.raises(BookmarkTaken):
                store.add_turn("x", bookmark="main", continues=grown[continues].id)

    def test_it_moves_forward_however_far(self, store: Store) -> None:
        grown = grow(store, "a <- b <- c <- d, b <- e")
        store.bookmarks.set("main", grown["a"].id)
        x = store.add_turn("x", bookmark="main", continues=[grown["e"].id, grown["d"].id])
        assert where(store) == {"main": x.id}

    def test_force_takes_it_from_wherever_it_was(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        b = store.add_turn("elsewhere", bookmark="main", force=True)
        assert b.meta.continues == ()
        assert where(store) == {"main": b.id}

    def test_the_items_of_a_batch_follow_the_same_rule(self, store: Store) -> None:
        chain: list[dict[str, Any]] = [{"content": "a", "bookmark": "main"}]
        chain += [{"content": "b", "continues": 0}, {"content": "c", "continues": 1, "bookmark": "main"}]
        assert where(store) == {}
        stored = store.add_turns(chain)
        assert where(store) == {"main": stored[2].id}
        with unchanged(store), pytest.raises(BookmarkTaken, match="an earlier item of this batch"):
            store.add_turns([{"content": "x", "bookmark": "new"}, {"content": "y", "bookmark": "new"}])

    @pytest.mark.parametrize("where_it_was", ["in the store", "at an item"])
    def test_it_moves_forward_through_earlier_items_of_a_batch(self, store: Store, where_it_was: str) -> None:
        """Rule R24, not taken away. Two names at the first turn: a bare id moves neither of them."""
        a = store.add_turn("a", bookmark="stored")
        store.bookmarks.set("twin", "stored")
        name = "stored" if where_it_was == "in the store" else "new"
        chain: list[dict[str, Any]] = [{"content": "b", "continues": a.id, "bookmark": "new"}]
        chain += [{"content": "c", "continues": 0, "bookmark": "side"}, {"content": "d", "continues": 1}]
        stored = store.add_turns([*chain, {"content": "e", "continues": [2, 1], "bookmark": name}])
        assert where(store)[name] == stored[3].id
        apart = [{"content": "x"}, {"content": "y", "continues": 0}, {"content": "z", "continues": 1, "bookmark": name}]
        with unchanged(store), pytest.raises(BookmarkTaken, match=stored[3].id):
            store.add_turns(apart)

    def test_respond_moves_the_name_of_the_newest_turn(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        b = store.add_turn("b", respond=True)
        assert b.meta.bookmark == "main"
        assert where(store) == {"main": b.id}

    @pytest.mark.parametrize("headish", ["@", "main~0", "main^0", "main@{0}"])
    def test_any_other_words_for_the_turn_count_as_its_bare_id(self, store: Store, headish: str) -> None:
        store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues=headish)
        assert b.meta.bookmark == "main"
        assert where(store) == {"main": b.id}

    def test_a_suffix_that_leads_to_an_older_turn_leaves_the_name(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues="main")
        for headish in ("main~1", "main^", "main@{1}"):
            fork = store.add_turn("fork", continues=headish)
            assert fork.meta.continues == (a.id,)
            assert fork.meta.bookmark is None
        assert where(store) == {"main": b.id}

    def test_a_name_that_stood_on_the_older_turn_moves_with_the_branch(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues="main")
        store.bookmarks.set("old", a.id)
        fork = store.add_turn("fork", continues="main~1")
        assert fork.meta.bookmark == "old"
        assert where(store) == {"main": b.id, "old": fork.id}

    def test_names_of_another_space_neither_move_nor_count(self, durable_place: Place) -> None:
        """Rule R6, another space is unknown."""
        one, other = durable_place.open("one"), durable_place.open("other")
        a = one.add_turn("a", bookmark="main")
        x = other.add_turn("x", bookmark="main")
        other.bookmarks.set("second", x.id)
        b = one.add_turn("b", continues="main")
        assert where(one) == {"main": b.id}
        assert where(other) == {"main": x.id, "second": x.id}
        assert b.meta.continues == (a.id,)


class TestExpect:
    def test_the_name_moves_where_it_still_is_what_was_read(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues="main", expect=a.id.upper())
        c = store.add_turn("c", continues=a.id, bookmark="main", expect=b.id, force=True)
        assert where(store) == {"main": c.id}

    def test_the_turn_is_refused_where_the_name_has_moved(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues="main")
        with unchanged(store), pytest.raises(BookmarkMoved, match="read it again") as refused:
            store.add_turn("c", continues="main", expect=a.id)
        assert (refused.value.name, refused.value.expected, refused.value.actual) == ("main", a.id, b.id)

    def test_the_turn_is_refused_where_the_name_is_gone(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        store.bookmarks.remove("main")
        with unchanged(store), pytest.raises(BookmarkMoved, match="no such bookmark") as refused:
            store.add_turn("b", bookmark="main", expect=a.id)
        assert refused.value.actual is None

    def test_it_needs_a_name_to_expect_it_of(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        for arguments in ({}, {"continues": a.id}, {"respond": True}):
            with unchanged(store), pytest.raises(InvalidArgument, match="bookmark="):
                store.add_turn("b", expect=a.id, **arguments)

    @pytest.mark.parametrize("expect", ["main", "", 5, "f" * 24, "z" * 25])
    def test_it_takes_the_whole_id(self, store: Store, expect: object) -> None:
        store.add_turn("a", bookmark="main")
        with unchanged(store), pytest.raises(InvalidArgument, match="25 digits"):
            store.add_turn("b", continues="main", expect=expect)  # type: ignore[arg-type]


class TestHistory:
    """Rule I6, every move is logged, so a move can be undone."""

    def test_every_move_is_told_the_last_first(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues="main")
        store.bookmarks.set("main", a.id)
        store.bookmarks.remove("main")
        store.bookmarks.set("main", b.id)
        moves = store.bookmarks.history("main")
        assert [(move.number, move.turn) for move in moves] == [
            (5, b.id), (4, None), (3, a.id), (2, b.id), (1, a.id),
        ]  # fmt: skip

    def test_the_time_of_a_move_is_told_in_utc(self, store: Store) -> None:
        before = time.time_ns() // 1_000_000
        store.add_turn("a", bookmark="main")
        [move] = store.bookmarks.history("main")
        assert before <= move.time.timestamp() * 1000 <= time.time_ns() // 1_000_000
        assert move.time.tzinfo is UTC

    def test_a_move_is_undone_through_the_past_position(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues="main")
        store.bookmarks.set("main", "main@{1}")
        assert where(store) == {"main": a.id}
        store.bookmarks.set("main", "main@{1}")
        assert where(store) == {"main": b.id}

    def test_past_positions_count_back_from_where_the_name_is(self, store: Store) -> None:
        ids = [store.add_turn("0", bookmark="main").id]
        ids += [store.add_turn(str(number), continues="main").id for number in range(1, 5)]
        assert [store.get(f"main@{{{back}}}").id for back in range(5)] == ids[::-1]
        with pytest.raises(UnknownTurn, match="history does not reach"):
            store.get("main@{5}")

    def test_steps_follow_a_past_position(self, store: Store) -> None:
        ids = [store.add_turn("0", bookmark="main").id]
        ids += [store.add_turn(str(number), continues="main").id for number in range(1, 4)]
        assert store.get("main@{1}~2").id == ids[0]

    def test_a_time_names_where_the_bookmark_was_then(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        noon = int(datetime(2030, 1, 1, 12, tzinfo=UTC).timestamp())
        ids = []
        for minute in range(3):
            monkeypatch.setattr(time, "time_ns", lambda at=noon + 60 * minute: at * 10**9)
            ids.append(store.add_turn("a", bookmark="main", force=True).id)
        found = {
            "2030-01-01T12:00:00Z": ids[0],
            "2030-01-01T12:00:59.999Z": ids[0],
            "2030-01-01T12:01:00Z": ids[1],
            "2030-01-01T13:01:30+01:00": ids[1],
            "2030-01-01 12:01": ids[1],
            "2031-01-01": ids[2],
        }
        assert {text: store.get(f"main@{{{text}}}").id for text in found} == found
        with pytest.raises(UnknownTurn, match="history does not reach"):
            store.get("main@{2030-01-01T11:59:59Z}")

    def test_at_a_time_when_the_name_was_removed_it_names_nothing(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        a = store.add_turn("a")
        noon = int(datetime(2030, 1, 1, 12, tzinfo=UTC).timestamp())
        for minute, move in enumerate(
            [lambda: store.bookmarks.set("main", a.id), lambda: store.bookmarks.remove("main")]
        ):
            monkeypatch.setattr(time, "time_ns", lambda at=noon + 60 * minute: at * 10**9)
            move()
        assert store.get("main@{2030-01-01T12:00:30Z}").id == a.id
        with pytest.raises(UnknownTurn):
            store.get("main@{2030-01-01T12:01:30Z}")

    def test_a_removed_name_is_brought_back_through_its_past_position(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        b = store.add_turn("b", continues="main")
        store.bookmarks.remove("main")
        assert [store.get(f"main@{{{back}}}").id for back in (1, 2)] == [b.id, a.id]
        for back in (0, 3):
            with pytest.raises(UnknownTurn, match="history does not reach"):
                store.get(f"main@{{{back}}}")
        store.bookmarks.set("main", "main@{1}")
        assert where(store) == {"main": b.id}
        assert [store.get(f"main@{{{back}}}").id for back in (0, 2, 3)] == [b.id, b.id, a.id]

    def test_a_renamed_name_leaves_no_past_behind(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="old")
        store.bookmarks.rename("old", "new")
        assert store.get("new@{0}").id == a.id
        with pytest.raises(UnknownTurn):
            store.get("old@{1}")

    def test_names_have_histories_of_their_own(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="one")
        store.bookmarks.set("two", a.id)
        store.add_turn("b", continues="one")
        assert len(store.bookmarks.history("one")) == 2
        assert len(store.bookmarks.history("two")) == 1

    def test_a_batch_moves_a_name_once(self, store: Store) -> None:
        """Nobody could see where it stood in between (rule R39, one row)."""
        before = store.add_turn("before", bookmark="main", continues=[])
        items = [{"content": "a", "continues": "main"}, *({"content": "b", "continues": "main"},) * 3]
        turns = list(store.add_turns(items))
        assert [move.turn for move in store.bookmarks.history("main")] == [turns[-1].id, before.id]
        assert store.get("main@{1}").id == before.id
        assert [turn.meta.bookmark for turn in turns] == [None, None, None, "main"]
        assert store.verify().problems == ()


class TestNaming:
    def test_a_name_is_set_moved_and_listed_by_name(self, store: Store) -> None:
        grown = grow(store, "a? <- b")
        assert store.bookmarks.set("zoe", grown["a?"].id).turn == grown["a?"].id
        store.bookmarks.set("ann", grown["a?"].id)
        store.bookmarks.set("zoe", grown["b"].id)
        assert [(each.name, each.turn) for each in store.bookmarks.list()] == [
            ("ann", grown["a?"].id), ("zoe", grown["b"].id),
        ]  # fmt: skip

    def test_a_removed_name_is_unknown_and_its_turns_stay(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        store.bookmarks.remove("main")
        assert store.bookmarks.list() == []
        assert store.get(a.id) == a
        for read in (store.get, store.bookmarks.remove, store.bookmarks.__getitem__):
            with unchanged(store), pytest.raises(UnknownTurn):
                read("main")

    def test_a_name_that_never_was_has_no_history(self, store: Store) -> None:
        with pytest.raises(UnknownTurn, match="never was"):
            store.bookmarks.history("main")

    def test_moving_a_name_alters_no_turn(self, store: Store) -> None:
        """Rule I1, turns never change."""
        grown = grow(store, "a? <- b")
        before = dump(store)
        store.bookmarks.set("main", grown["b"].id)
        store.bookmarks.set("main", grown["a?"].id)
        after = dump(store)
        assert {table: after[table] for table in ("turn", "payload", "link", "space")} == {
            table: before[table] for table in ("turn", "payload", "link", "space")
        }

    @pytest.mark.parametrize(
        "name",
        ["main", "a", "feature/x", "naïve", "日本語", "a.b-c_d", "1234", "#1", "x" * BOOKMARK_LIMIT_BYTES,
         "é" * (BOOKMARK_LIMIT_BYTES // 2), "0123456789abcdefghijklmno0"],
    )  # fmt: skip
    def test_a_name_is_kept_as_it_was_given(self, store: Store, name: str) -> None:
        a = store.add_turn("a", bookmark=name)
        assert a.meta.bookmark == name
        assert store.get(name).id == a.id
        assert [each.name for each in store.bookmarks.list()] == [name]

    def test_names_that_differ_by_case_are_different(self, store: Store) -> None:
        a = store.add_turn("a")
        for name in ("main", "Main", "\u00e9"):
            store.bookmarks.set(name, a.id)
        assert len(store.bookmarks.list()) == 3

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("e\u0301", "normal form NFC"),
            ("a\u202eb", "U\\+202E, a character that cannot be seen"),
            ("a\u200bb", "U\\+200B"),
            ("a\u2066b", "U\\+2066"),
            ("a..b", "holds `\\.\\.`"),
        ],
    )
    def test_a_new_name_that_could_be_taken_for_another_one_is_refused(
        self, store: Store, name: str, reason: str
    ) -> None:
        a = store.add_turn("a")
        for write in (
            lambda: store.bookmarks.set(name, a.id),
            lambda: store.add_turn("b", bookmark=name),
            lambda: store.record([{"role": "user", "content": "c"}], bookmark=name),
            lambda: store.pointers.set(name, "openai/m"),
        ):
            with unchanged(store), pytest.raises(InvalidName, match=reason):
                write()

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("", "empty"),
            ("-x", "begins with `-`"),
            ("a b", "whitespace"),
            ("a\u00a0b", "whitespace"),
            ("a\u2028b", "whitespace"),
            ("a\tb", "whitespace"),
            ("a\nb", "whitespace"),
            ("a\0b", "control character"),
            ("a\x7fb", "control character"),
            ("a\ud800", "surrogate"),
            *((f"a{character}b", "one of") for character in "~^@{}:\\"),
            ("@", "one of"),
            ("0123456789abcdefghijklmno", "an id"),
            ("0123456789ABCDEFGHIJKLMNO", "an id"),
            ("z" * 25, "an id"),
            ("x" * (BOOKMARK_LIMIT_BYTES + 1), "longer than 255"),
            ("é" * (BOOKMARK_LIMIT_BYTES // 2 + 1), "longer than 255"),
            (5, "must be text"),
            (b"main", "must be text"),
        ],
        ids=repr,
    )
    def test_a_name_that_the_rules_refuse_is_refused_with_the_rule(self, store: Store, name: str, reason: str) -> None:
        store.add_turn("a")
        calls = [
            lambda: store.add_turn("b", bookmark=name),
            lambda: store.add_turns([{"content": "b", "bookmark": name}]),
            lambda: store.add_document(b"b", bookmark=name),
            lambda: store.record([{"role": "user", "content": "b"}], bookmark=name),
            lambda: store.bookmarks.set(name, "@"),
            lambda: store.bookmarks.remove(name),
            lambda: store.bookmarks.history(name),
        ]
        for call in calls:
            with unchanged(store), pytest.raises(InvalidName, match=reason):
                call()

    @pytest.mark.parametrize("space", ["", "a b", "~", "-x", "0123456789abcdefghijklmno"])
    def test_the_same_rules_hold_for_spaces(self, space: str) -> None:
        with pytest.raises(InvalidName, match="name of a space"):
            Store.open(":memory:", space=space)


class TestSettingWithExpect:
    def test_a_name_moves_only_from_where_it_is_expected(self, store: Store) -> None:
        grown = grow(store, "a <- b <- c")
        a, b, c = (grown[name].id for name in "abc")
        store.bookmarks.set("main", a, expect=ABSENT)
        store.bookmarks.set("main", b, expect=a)
        for expect in (a, ABSENT):
            with unchanged(store), pytest.raises(BookmarkMoved) as moved:
                store.bookmarks.set("main", c, expect=expect)
            assert moved.value.actual == b
            with unchanged(store), pytest.raises(BookmarkMoved):
                store.bookmarks.remove("main", expect=expect)
        store.bookmarks.remove("main", expect=b)
        with unchanged(store), pytest.raises(BookmarkMoved, match="there is no such bookmark"):
            store.bookmarks.set("main", c, expect=b)

    def test_a_turn_can_ask_for_a_new_name(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main", expect=ABSENT)
        with unchanged(store), pytest.raises(BookmarkMoved, match="bookmark 'main' exists already") as moved:
            store.add_turn("b", bookmark="main", continues="main", expect=ABSENT)
        assert (moved.value.expected, moved.value.actual) == (None, a.id)


class TestUndo:
    def test_a_name_goes_back_and_says_what_left_it(self, store: Store) -> None:
        grown = grow(store, "a <- b <- c <- d")
        store.bookmarks.set("main", grown["d"].id)
        assert [turn.id for turn in store.bookmarks.undo("main")] == [grown["d"].id]
        assert [turn.id for turn in store.bookmarks.undo("main", 2)] == [grown["b"].id, grown["c"].id]
        assert where(store) == {"main": grown["a"].id}
        store.bookmarks.set("main", "main@{1}")
        assert where(store) == {"main": grown["c"].id}, "the last move is undone by its own suffix"

    def test_past_the_root_the_name_goes(self, store: Store) -> None:
        grown = grow(store, "a <- b")
        store.bookmarks.set("main", grown["b"].id)
        assert [turn.id for turn in store.bookmarks.undo("main", 5)] == [grown["a"].id, grown["b"].id]
        assert where(store) == {}
        with unchanged(store), pytest.raises(UnknownBookmark):
            store.bookmarks.undo("main")
        assert store.verify().problems == ()

    def test_it_follows_the_first_of_several(self, store: Store) -> None:
        grown = grow(store, "a <- b, a <- c, b + c <- d")
        store.bookmarks.set("main", grown["d"].id)
        store.bookmarks.undo("main", 2)
        assert where(store) == {"main": grown["a"].id}

    def test_a_long_way_back_is_read_in_portions(self, store: Store) -> None:
        stored = store.add_turns({"content": str(index), "respond": index > 0} for index in range(700))
        store.bookmarks.set("main", "@")
        left = store.bookmarks.undo("main", 650)
        assert [turn.id for turn in left] == [turn.id for turn in stored[50:]]
        assert where(store) == {"main": stored[49].id}

    def test_expect_holds_for_it_too(self, store: Store) -> None:
        grown = grow(store, "a <- b")
        store.bookmarks.set("main", grown["b"].id)
        with unchanged(store), pytest.raises(BookmarkMoved):
            store.bookmarks.undo("main", expect=grown["a"].id)
        for wrong in (0, -1, "1", None):
            with unchanged(store), pytest.raises(InvalidArgument):
                store.bookmarks.undo("main", wrong)  # type: ignore[arg-type]


class TestRename:
    def test_the_name_goes_with_its_history(self, store: Store) -> None:
        first = store.add_turn("a", bookmark="old")
        second = store.add_turn("b", continues="old")
        renamed = store.bookmarks.rename("old", "new")
        assert (renamed.name, renamed.turn, where(store)) == ("new", second.id, {"new": second.id})
        assert [move.turn for move in store.bookmarks.history("new")] == [second.id, first.id]
        assert (store.get("new@{1}").id, store.get("new~1").id) == (first.id, first.id)
        with pytest.raises(UnknownBookmark):
            store.bookmarks.history("old")
        assert store.verify().problems == ()

    def test_it_moves_along_under_its_new_name(self, store: Store) -> None:
        tip = store.add_turn("a", bookmark="old")
        store.bookmarks.rename("old", "new")
        by_id = store.add_turn("b", continues=tip.id)
        by_name = store.add_turn("c", continues="new")
        assert (by_id.meta.bookmark, by_name.meta.bookmark, where(store)) == ("new", "new", {"new": by_name.id})
        assert store.verify().problems == ()

    def test_renaming_back_and_on_is_in_order(self, store: Store) -> None:
        store.add_turn("a", bookmark="one")
        for old, new in (("one", "two"), ("two", "one"), ("one", "three")):
            store.bookmarks.rename(old, new)
            store.add_turn("b", continues=new)
            assert store.verify().problems == ()
        store.add_turn("another", bookmark="one")
        store.bookmarks.undo("three", 2)
        assert (where(store).keys(), store.verify().problems) == ({"one", "three"}, ())

    def test_a_name_that_is_or_was_one_is_not_taken(self, store: Store) -> None:
        store.add_turn("a", bookmark="old")
        store.add_turn("b", bookmark="there")
        store.add_turn("c", bookmark="gone")
        store.bookmarks.remove("gone")
        with unchanged(store):
            for new in ("there", "old"):
                with pytest.raises(BookmarkMoved, match="exists already"):
                    store.bookmarks.rename("old", new)
            with pytest.raises(InvalidArgument, match="there was a bookmark 'gone' before"):
                store.bookmarks.rename("old", "gone")
            with pytest.raises(UnknownBookmark):
                store.bookmarks.rename("nowhere", "new")
            with pytest.raises(InvalidName):
                store.bookmarks.rename("old", "a..b")

    def test_a_name_that_moved_is_not_renamed(self, store: Store) -> None:
        first = store.add_turn("a", bookmark="old")
        second = store.add_turn("b", continues="old")
        with unchanged(store), pytest.raises(BookmarkMoved):
            store.bookmarks.rename("old", "new", expect=first.id)
        assert store.bookmarks.rename("old", "new", expect=second.id).turn == second.id


class TestTheMapping:
    def test_it_reads_as_one(self, store: Store) -> None:
        a, b = store.add_turn("a", bookmark="x"), store.add_turn("b", bookmark="a/b")
        names = store.bookmarks
        assert (dict(names), len(names), list(names)) == ({"a/b": b.id, "x": a.id}, 2, ["a/b", "x"])
        assert ("x" in names, "y" in names, "no name" in names, 5 in names) == (True, False, False, False)
        assert names.get("y") is None
        with pytest.raises(KeyError):
            names["y"]
        with pytest.raises(UnknownBookmark, match=r"^no turn is named 'y' in this space: there is no such bookmark$"):
            names["y"]

    def test_iteration_pages(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headish.store.keeping.bookmarks.PAGE", 3)
        for name in "hgfedcba":
            store.add_turn(name, bookmark=name)
        assert list(store.bookmarks) == list("abcdefgh")

    def test_lists_are_narrowed_and_ordered(self, store: Store) -> None:
        for name in ("a/1", "b/1", "a/2", "a0", "\u00fc"):
            store.add_turn(name, bookmark=name)
        store.add_turn("again", continues="a/1")
        names = [each.name for each in store.bookmarks.list(by="recency")]
        assert sorted(names) == ["a/1", "a/2", "a0", "b/1", "\u00fc"]
        assert [each.name for each in store.bookmarks.list(prefix="a/")] == ["a/1", "a/2"]
        assert [each.name for each in store.bookmarks.list(prefix="\u00fc")] == ["\u00fc"]
        assert [each.name for each in store.bookmarks.list(limit=2)] == ["a/1", "a/2"]
        for wrong in ({"limit": 0}, {"limit": "2"}, {"by": "size"}, {"limit": 2**64}):
            with pytest.raises(InvalidArgument):
                store.bookmarks.list(**wrong)  # type: ignore[arg-type]

    def test_the_last_moved_is_the_first_by_recency(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        for second, name in enumerate(("a", "b", "c", "a")):
            monkeypatch.setattr(time, "time_ns", lambda at=second: (1_900_000_000 + at) * 10**9)
            store.add_turn("x", **({"continues": "a"} if second == 3 else {"bookmark": name}))
        assert [each.name for each in store.bookmarks.list(by="recency")] == ["a", "c", "b"]


def test_a_rename_is_no_move(store: Store) -> None:
    """R39: what was before it is reached as if the name had never been another."""
    ids = [turn.id for turn in store.add_turns(["one", {"content": "two", "continues": [0], "bookmark": "old"}])]
    store.bookmarks.set("old", ids[0])
    moves = store.bookmarks.history("old")
    store.bookmarks.rename("old", "new")
    assert store.bookmarks.history("new") == moves
    assert [store.get(f"new@{{{back}}}").id for back in range(2)] == [ids[0], ids[1]]
    store.bookmarks.set("new", "new@{1}")
    store.bookmarks.rename("new", "newer")
    store.bookmarks.rename("newer", "newest")
    assert store.bookmarks["newest"] == ids[1]
    assert [store.get(f"newest@{{{back}}}").id for back in range(3)] == [ids[1], ids[0], ids[1]]
    with pytest.raises(UnknownTurn):
        store.get("newest@{3}")
    assert store.verify().problems == ()
