"""``store.follow``: every change once, in the order of the commits; what its cursors say, and when they are lost."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from threading import Thread
from typing import Any

import pytest

from headish import Database, Store
from headish.database.query import Query
from headish.errors import Closed, CorruptRecord, CorruptTurn, CursorLost, InvalidArgument, InvalidName, RemovedSpace
from headish.history.feeds import pages
from headish.values.results.changes import KINDS, Change
from support.growing import grow
from support.insides import database_of, run_sql
from support.places import FilePlace, Place, in_memory_too


def live(store: Store) -> dict[str, str]:
    """Something of every kind that is not an erasure. The ids of what was drawn."""
    ids = {name: turn.id for name, turn in grow(store, "q? <- a <- r?, q? <- b").items()}
    store.bookmarks.set("main", ids["a"])
    store.conversations.set("main", title="Mountains")
    store.add_turn("more", continues="main")
    store.pointers.set("small", "openai/gpt-5-mini")
    store.bookmarks.rename("main", "peaks")
    store.bookmarks.set("peaks", ids["b"])
    store.bookmarks.remove("peaks")
    return ids


def told(change: Change) -> str:
    """A change in a few words."""
    match change.kind:
        case "turn":
            return f"turn {change.turn.meta.bookmark or '-'}"
        case "move":
            return f"move {change.was + ' to ' if change.was else ''}{change.name}{'' if change.new else ' gone'}"
        case "record":
            return f"record {change.subject} {change.record.title if change.record else '-'}"
        case "definition":
            return f"{change.of} {change.name}"
        case _:
            return change.kind


def past(store: Store, after: str | None = None, **filters: Any) -> list[Change]:
    return list(store.follow(after, wait=False, **filters))


def in_words(changes: Iterable[Change]) -> list[str]:
    return [told(change) for change in changes]


@in_memory_too
class TestOrder:
    def test_every_change_comes_once_in_the_order_of_the_commits(self, store: Store) -> None:
        live(store)
        changes = past(store)
        assert in_words(changes) == [
            *["turn -"] * 4,
            "move peaks",  # the log says the newest name
            "record main -",
            "turn main",
            "pointer small",
            "move main to peaks",
            "record peaks Mountains",
            "move peaks",
            "move peaks gone",
            "live",
        ]
        assert [each.turn.id for each in changes if each.kind == "turn"] == [turn.id for turn in store.turns()]

    def test_behind_each_cursor_comes_what_came_behind_it(self, store: Store) -> None:
        live(store)
        changes = past(store)
        for index, change in enumerate(changes):
            assert past(store, change.cursor) == changes[index + 1 :] + changes[-1:] * (change.kind == "live")

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_pages_of_any_size_give_the_same(self, store: Store, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
        live(store)
        whole = past(store)
        monkeypatch.setattr(pages, "PAGE", size)
        assert past(store) == whole

    def test_a_position_is_the_cursor_of_what_was_stored_last(self, store: Store) -> None:
        live(store)
        assert store.position() == past(store)[-1].cursor
        before = store.position()
        store.add_turn("new")
        assert in_words(past(store, before)) == ["turn -", "live"]

    def test_an_empty_space_is_live_at_once(self, store: Store) -> None:
        assert in_words(past(store)) == ["live"]
        assert in_words(past(store, store.position())) == ["live"]

    def test_a_record_goes_to_the_first_name_and_is_told_again(self, store: Store) -> None:
        turn = store.add_turn("q")
        store.conversations.set(turn.id, title="First")
        before = store.position()
        store.add_turn("a", continues=turn.id, bookmark="main")
        store.add_turn("b", continues="main")
        assert in_words(past(store, before)) == ["turn main", "record main First", "turn main", "live"]
        assert store.verify().problems == ()

    def test_a_mirror_of_the_names_is_kept_by_them_alone(self, store: Store) -> None:
        live(store)
        store.bookmarks.set("side", "@")
        store.add_turn("next", continues="side")
        store.bookmarks.rename("side", "other")
        names: dict[str, str] = {}
        for change in past(store, kinds=["move"]):
            if change.kind == "move":
                names.pop(change.was or "", None)
                names.pop(change.name, None)
                names |= {change.name: change.new} if change.new else {}
        assert names == dict(store.bookmarks)


class TestFilters:
    def test_only_the_kinds_that_are_asked_for_come(self, store: Store) -> None:
        live(store)
        for kind in KINDS:
            assert {change.kind for change in past(store, kinds=kind)} <= {kind, "live"}
        assert past(store, kinds="erasure")[-1].cursor == store.position()

    def test_without_turns_a_move_that_a_turn_made_is_a_move(self, store: Store) -> None:
        first = store.add_turn("a", bookmark="main")
        second = store.add_turn("b", continues="main")
        moves = [(each.name, each.old, each.new) for each in past(store, kinds=["move"]) if each.kind == "move"]
        assert moves == [("main", None, first.id), ("main", first.id, second.id)]

    @pytest.mark.parametrize("kinds", [["nothing"], [], "Turn", ["turn", "live"]])
    def test_other_kinds_are_refused_before_anything_is_read(self, store: Store, kinds: Any) -> None:
        with pytest.raises(InvalidArgument, match="kinds are some of turn, move, record, definition, erasure"):
            store.follow(kinds=kinds)

    def test_what_is_no_cursor_is_refused_before_anything_is_read(self, store: Store) -> None:
        for cursor in ("", "5", "0" * 32, f"{'0' * 32}.1.1.{'0' * 9}", f"{'0' * 32}.{10**19}.1.{'0' * 8}"):
            with pytest.raises(InvalidArgument, match="a cursor is what follow or position gave"):
                store.follow(cursor)
        with pytest.raises(InvalidName):
            store.follow(bookmark="a b")


class TestBookmark:
    def test_a_move_comes_behind_the_turns_that_it_brought(self, store: Store) -> None:
        ids = {name: turn.id for name, turn in grow(store, "q? <- a <- r?, q? <- b <- c?").items()}
        store.bookmarks.set("main", ids["r?"])
        store.add_turn("other")
        store.bookmarks.set("main", ids["c?"])
        changes = past(store, bookmark="main")
        moves = [each.new if each.kind == "move" else each.turn.id for each in changes if each.kind in KINDS]
        assert moves == [*(ids[name] for name in ("q?", "a", "r?", "r?")), *(ids[name] for name in ("b", "c?", "c?"))]

    def test_a_move_back_to_the_branch_that_it_left_brings_all_behind_the_fork(self, store: Store) -> None:
        """Also where the fork is at the first turn: of a chain that was joined at 0 all from 1 on is new."""
        ids = {name: turn.id for name, turn in grow(store, "a <- b <- c, a <- d").items()}
        store.bookmarks.set("main", ids["d"])
        before = store.position()
        store.bookmarks.set("main", ids["c"])
        brought = [each.turn.id for each in past(store, before, bookmark="main") if each.kind == "turn"]
        assert brought == [ids["b"], ids["c"]]

    def test_going_back_brings_nothing(self, store: Store) -> None:
        for words in ("a", "b", "c"):
            store.add_turn(words, continues="main" if words != "a" else None, bookmark="main")
        before = store.position()
        store.bookmarks.undo("main", 2)
        assert in_words(past(store, before, bookmark="main")) == ["move main", "live"]
        before = store.position()
        store.add_turn("d", continues="main")
        assert in_words(past(store, before, bookmark="main")) == ["turn main", "live"]

    def test_a_turn_that_joins_brings_the_other_branch(self, store: Store) -> None:
        main = store.add_turn("a", bookmark="main")
        side = store.add_turn("s")
        joined = store.add_turn("j", continues=["main", side.id])
        changes = past(store, bookmark="main")
        assert [each.turn.id for each in changes if each.kind == "turn"] == [main.id, side.id, joined.id]

    @pytest.mark.parametrize("size", [1, 500])
    def test_a_reader_that_died_sees_a_move_again_and_no_gap(
        self, store: Store, size: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pages, "PAGE", size)
        ids = {name: turn.id for name, turn in grow(store, "q? <- a <- r?, q? <- b <- c?").items()}
        store.bookmarks.set("main", ids["a"])
        store.add_turn("next", continues="main")
        store.bookmarks.set("main", ids["c?"])
        whole = in_order(past(store, bookmark="main"))
        for stopped in range(1, len(whole)):
            cursor, seen = "", []
            for change in past(store, bookmark="main")[:stopped]:
                cursor, seen = change.cursor, [*seen, change]
            again = in_order(past(store, cursor, bookmark="main"))
            assert in_order(seen) + again == whole[:stopped] + whole[len(whole) - len(again) :]
            assert len(again) >= len(whole) - stopped

    def test_a_name_that_was_renamed_is_heard_of_under_both(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        before = store.position()
        store.add_turn("b", continues="main")
        store.bookmarks.rename("main", "peaks")
        store.add_turn("c", continues="peaks")
        assert in_words(past(store, before, bookmark="main")) == ["turn main", "move main to peaks", "live"]
        assert in_words(past(store, before, bookmark="peaks")) == [
            "turn main",
            "move main to peaks",
            "turn peaks",
            "live",
        ]

    def test_a_name_that_another_bookmark_gets_brings_that_ones_turns(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        store.add_turn("b", bookmark="side")
        before = store.position()
        store.bookmarks.rename("main", "peaks")
        store.bookmarks.rename("side", "main")
        brought = ["turn side", "move side to main", "live"]
        assert in_words(past(store, before, bookmark="main")) == ["move main to peaks", *brought]

    def test_a_name_that_is_made_again_after_a_rename_brings_a_whole_thread(self, store: Store) -> None:
        turn = store.add_turn("a", bookmark="main")
        before = store.position()
        store.bookmarks.rename("main", "peaks")
        between = store.position()
        store.bookmarks.set("main", turn.id)
        rest = in_words(past(store, between, bookmark="main"))
        assert rest[0] == "turn main"
        assert in_words(past(store, before, bookmark="main")) == ["move main to peaks", *rest]


def in_order(changes: Iterable[Change]) -> list[str]:
    return [each.turn.id if each.kind == "turn" else told(each) for each in changes]


class TestWaiting:
    def test_a_reader_sees_what_another_store_writes_later(self, durable_place: Place) -> None:
        store, writer = durable_place.open(), durable_place.open()
        store.add_turn("before")
        changes = store.follow()
        assert [told(next(changes)), told(next(changes))] == ["turn -", "live"]

        def write() -> None:
            for index in range(5):
                writer.add_turn(f"{index}", bookmark=f"b{index}")

        thread = Thread(target=write)
        thread.start()
        assert [told(next(changes)) for _ in range(5)] == [f"turn b{index}" for index in range(5)]
        thread.join()

    def test_a_pulse_has_the_cursor_that_a_filter_let_nothing_through_to(self, store: Store) -> None:
        store.add_turn("a")
        changes = store.follow(kinds=["erasure"], pulse=0.01)
        assert next(changes).kind == "live"
        store.add_turn("b")
        cursor = store.position()
        assert next(change.cursor for change in changes if change.cursor == cursor)

    def test_a_store_that_is_closed_ends_it(self, durable_place: Place) -> None:
        store = durable_place.open()
        changes = store.follow()
        assert next(changes).kind == "live"
        store.close()
        with pytest.raises(Closed):
            next(changes)


class TestLostCursors:
    def test_a_store_that_was_put_back_is_never_skipped_over(self, file_place: FilePlace) -> None:
        copy = file_place.path.with_name("copy.db")
        with file_place.open() as store:
            store.add_turn("a", bookmark="main")
        shutil.copy(file_place.path, copy)
        with file_place.open() as store:
            store.add_turn("b", continues="main")
            cursor = store.position()
        with Store.open(str(copy)) as store:
            with pytest.raises(CursorLost, match="the space ends at 1/0") as lost:
                past(store, cursor)
            assert (lost.value.cursor, lost.value.now) == (cursor, (1, 0))
            store.add_turn("another b", continues="main")
            with pytest.raises(CursorLost, match="other changes have its numbers now"):
                past(store, cursor)
            store.add_turn("c", continues="main")
            with pytest.raises(CursorLost, match="other changes have its numbers now"):
                past(store, cursor)

    @pytest.mark.parametrize("kind", ["title", "name", "pointer"])
    def test_changes_beside_the_turns_are_told_apart_too(self, file_place: FilePlace, kind: str) -> None:
        def change(store: Store, words: str) -> None:
            if kind == "title":
                store.conversations.set("main", title=words)
            elif kind == "name":
                store.bookmarks.set(words, "main")
            else:
                store.pointers.set("small", f"openai/{words}")

        copy = file_place.path.with_name("copy.db")
        with file_place.open() as store:
            store.add_turn("a", bookmark="main")
        shutil.copy(file_place.path, copy)
        with file_place.open() as store:
            change(store, "one")
            cursor = store.position()
            change(store, "two")
            assert len(past(store, cursor)) == 2
        with Store.open(str(copy)) as store:
            change(store, "other")
            with pytest.raises(CursorLost):
                past(store, cursor)

    def test_a_restore_under_a_reader_ends_it(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.add_turn("a")
        changes = store.follow()
        assert [next(changes).kind, next(changes).kind] == ["turn", "live"]
        run_sql(store, "UPDATE counter SET epoch = zeroblob(16)")
        with pytest.raises(CursorLost, match="of another space, or the space was restored"):
            next(changes)

    @pytest.mark.parametrize("column", ["seq", "change"])
    def test_a_server_that_lost_commits_ends_a_reader_that_had_seen_them(self, store: Store, column: str) -> None:
        """Either number alone tells it: turns and other changes are lost apart."""
        store.add_turn("a", bookmark="main")
        store.pointers.set("small", "openai/m")
        changes = store.follow()
        assert [next(changes).kind for _ in range(3)] == ["turn", "definition", "live"]
        lose = Query("lose the last", f"UPDATE counter SET {column} = {column} - 1 WHERE space = :space")
        database_of(store).write(lambda connection: connection.run(lose, space=store._number))
        with pytest.raises(CursorLost, match=r"it is at 1/1, and the space ends at (0/1|1/0)"):
            next(changes)

    def test_a_cursor_is_of_one_space(self, place: Place) -> None:
        store, other = place.open(), place.fresh()
        store.add_turn("a")
        with pytest.raises(CursorLost, match="of another space"):
            past(other, store.position())

    def test_a_space_that_is_removed_ends_it(self, durable_place: Place) -> None:
        store = durable_place.open("doomed")
        changes = store.follow()
        assert next(changes).kind == "live"
        Database(store._database).spaces.remove(store.space)
        with pytest.raises(RemovedSpace):
            next(changes)


class TestDamage:
    @pytest.mark.parametrize(
        ("sql", "error"),
        [
            ("DELETE FROM turn WHERE seq = 2", CorruptTurn),
            ("DELETE FROM bookmark_log WHERE change = 1", CorruptRecord),
            ("DELETE FROM record_log WHERE change = 2", CorruptRecord),
            ("UPDATE definition SET seq = 0 WHERE change = 3", CorruptRecord),
            ("UPDATE bookmark_log SET milliseconds = -1 WHERE change = 1", CorruptRecord),
            ("UPDATE conversation SET data = x'00'", CorruptRecord),
        ],
    )
    def test_what_is_missing_or_does_not_decode_is_named_and_never_skipped(
        self, file_place: FilePlace, sql: str, error: type[Exception]
    ) -> None:
        store = file_place.open()
        turns = [store.add_turn(words) for words in "abc"]
        store.bookmarks.set("main", turns[0].id)
        store.conversations.set("main", title="Mountains")
        store.pointers.set("small", "openai/gpt-5-mini")
        assert len(past(store)) == 7
        run_sql(store, "PRAGMA foreign_keys = OFF")
        run_sql(store, sql)
        with pytest.raises(error):
            past(store)


def test_a_reader_that_goes_away_leaves_no_transaction_open(durable_place: Place) -> None:
    store = durable_place.open()
    for _ in range(3):
        changes: Iterator[Change] = store.follow()
        next(changes)
        store.add_turn("a", bookmark="main", force=True)
    assert store.stats().turns == 3
