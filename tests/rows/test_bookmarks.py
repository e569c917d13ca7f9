"""Bookmarks: names that move. Turns never do (I1)."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from headish import Store
from headish.errors import BookmarkMoved, InvalidArgument, InvalidName, UnknownTurn
from headish.limits import BOOKMARK_LIMIT_BYTES
from support.growing import grow
from support.insides import dump, unchanged
from support.places import Place


def where(store: Store) -> dict[str, str]:
    """Every name and the id that it names."""
    return {bookmark.name: bookmark.turn for bookmark in store.bookmarks.list()}


class TestTheBookmarkRule:
    """R2: only one name moves with a turn."""

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

    def test_a_given_bookmark_moves_from_wherever_it_was(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        b = store.add_turn("elsewhere", bookmark="main")
        assert b.meta.continues == ()
        assert where(store) == {"main": b.id}

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
        """R6."""
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
        c = store.add_turn("c", continues=a.id, bookmark="main", expect=b.id)
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
    """I6: every move is logged, so a move can be undone."""

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
            ids.append(store.add_turn("a", bookmark="main").id)
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

    def test_names_have_histories_of_their_own(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="one")
        store.bookmarks.set("two", a.id)
        store.add_turn("b", continues="one")
        assert len(store.bookmarks.history("one")) == 2
        assert len(store.bookmarks.history("two")) == 1

    def test_a_batch_logs_each_step_of_a_name(self, store: Store) -> None:
        items = [{"content": "a", "bookmark": "main"}, *({"content": "b", "continues": "main"},) * 3]
        turns = list(store.add_turns(items))
        assert [move.turn for move in store.bookmarks.history("main")] == [turn.id for turn in turns][::-1]


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
        """I1."""
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

    def test_names_that_differ_by_case_or_by_normal_form_are_different(self, store: Store) -> None:
        a = store.add_turn("a")
        for name in ("main", "Main", "\u00e9", "e\u0301"):
            store.bookmarks.set(name, a.id)
        assert len(store.bookmarks.list()) == 4

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
