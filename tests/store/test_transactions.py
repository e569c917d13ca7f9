"""``Store.read`` and ``Store.write``: one transaction that a caller's function fills."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headish import ABSENT, ReadTransaction, Store, WriteTransaction
from headish.adapters.messages import make_draft, place
from headish.errors import (
    BarredContent,
    Closed,
    InputError,
    InvalidArgument,
    InvalidName,
    KeyTaken,
    RecordChanged,
    TooLarge,
    UnknownBookmark,
    UnknownConversation,
    UnknownTurn,
)
from headish.values.limits import REASON_LIMIT_BYTES
from support.growing import grow
from support.insides import counted_statements, unchanged
from support.places import Place


def extend(store: Store, *texts: str, name: str = "main", **said: Any) -> list[str]:
    return [*store.write(lambda write: write.extend(name, texts, **said))]


def texts_of(store: Store, name: str = "main") -> list[str]:
    return [store.text(each.id) for each in reversed(store.log(name))]


class TestAWrite:
    def test_stores_turns_names_and_objects_together(self, store: Store) -> None:
        def work(write: WriteTransaction) -> int:
            [first, _] = write.extend("main", ["a", {"content": "b", "role": "assistant"}])
            write.set_bookmark("start", first)
            return write.put("x/state", "main", b"1", expect=ABSENT)

        assert store.write(work) == 1
        assert (texts_of(store), texts_of(store, "start")) == (["a", "b"], ["a"])
        assert store.objects.get("x/state", "main").data == b"1"
        assert store.verify().problems == ()

    def test_that_raises_stores_nothing_and_raises_the_same(self, store: Store) -> None:
        class OwnError(ValueError):
            pass

        def work(write: WriteTransaction) -> None:
            write.extend("main", ["a"])
            write.put("x/state", "main", b"1")
            raise OwnError("no")

        with pytest.raises(OwnError, match="no"):
            store.write(work)
        assert (list(store.turns()), list(store.bookmarks), store.objects.list("x/state")) == ([], [], [])

    def test_sees_what_it_wrote(self, store: Store) -> None:
        def work(write: WriteTransaction) -> list[Any]:
            write.extend("main", ["a"])
            write.put("x/state", "k", b"1")
            found = write.object("x/state", "k")
            write.extend("main", ["b"])
            write.undo("main")
            return [found and found.data, len(write.thread("main")), write.remove("x/state", "k")]

        assert store.write(work) == [b"1", 1, True]
        assert texts_of(store) == ["a"]

    def test_sees_each_name_that_its_batch_moved(self, store: Store) -> None:
        [old] = extend(store, "a")

        def work(write: WriteTransaction) -> str | None:
            write.bookmark("main")
            write.add_turns([{"content": "b", "continues": "main", "bookmark": "main"}, "beside it"])
            moved = write.bookmark("main")
            write.set_bookmark("main", old)
            return moved

        moved = store.write(work)
        assert moved is not None
        assert (store.text(moved), store.bookmarks["main"]) == ("b", old)

    def test_stores_a_key_once(self, store: Store) -> None:
        known = store.add_turn("a", key="k", bookmark="main")
        again = {"content": "a", "key": "k"}
        assert store.write(lambda write: write.add_turns([again])) == [known.id]
        assert store.write(lambda write: write.extend("main", [again])) == [known.id]
        assert store.write(lambda write: write.extend("other", [again], key="system:1")) == [known.id]
        assert store.write(lambda write: write.extend("main", [again, "b"]))[0] == known.id
        assert (texts_of(store), list(store.bookmarks)) == (["a", "b"], ["main"])
        with pytest.raises(KeyTaken):
            store.write(lambda write: write.add_turns(["c", {"content": "another", "key": "k"}]))
        assert texts_of(store) == ["a", "b"]
        assert store.conversations.get("main").record.key is None
        with pytest.raises(UnknownConversation):
            store.conversations.find("system:1")

    def test_refuses_to_supersede_a_turn_that_is_not_there(self, store: Store) -> None:
        extend(store, "a")
        unknown = "0" * 25
        for item in ({"content": "b", "supersedes": unknown}, {"content": "b", "copy_of": unknown}):
            with pytest.raises(UnknownTurn, match=unknown):
                store.write(lambda write, item=item: write.extend("main", [item]))
        assert texts_of(store) == ["a"]

    def test_that_caught_the_failure_of_an_append_stores_nothing(self, store: Store) -> None:
        store.add_turn("secret word", bookmark="main")
        store.erase("main", reason="asked", content=True)

        def work(write: WriteTransaction) -> None:
            write.put("x/state", "k", b"1")
            try:
                write.extend("other", ["secret word"])
            except BarredContent:
                pass  # a part of what it did stands there now

        with pytest.raises(BarredContent):
            store.write(work)
        assert store.objects.list("x/state") == []
        assert store.verify().problems == ()

    def test_may_catch_the_refusal_of_an_object(self, store: Store) -> None:
        store.objects.put("x/state", "k", b"old")

        def work(write: WriteTransaction) -> bytes:
            try:
                write.put("x/state", "k", b"new", expect=ABSENT)
            except RecordChanged:
                write.extend("main", ["went on"])
            found = write.object("x/state", "k")
            assert found is not None
            return found.data

        assert (store.write(work), texts_of(store)) == (b"old", ["went on"])

    def test_is_over_with_its_function(self, store: Store) -> None:
        held: list[WriteTransaction] = []
        store.write(held.append)
        for use in (lambda: held[0].put("x/y", "k", b""), lambda: held[0].thread("main")):
            with pytest.raises(Closed, match="this transaction"):
                use()

    def test_refuses_what_the_verbs_refuse(self, store: Store) -> None:
        refused: list[tuple[Any, type[Exception]]] = [
            (lambda write: write.put("Bad Kind", "k", b""), InvalidArgument),
            (lambda write: write.put("x/y", "", b""), InvalidArgument),
            (lambda write: write.put("x/y", "k", bytes(store.payload_limit_bytes + 1)), TooLarge),
            (lambda write: write.set_bookmark("a..b", "@"), InvalidName),
            (lambda write: write.undo("none"), UnknownBookmark),
            (lambda write: write.set_bookmark("name", "none"), UnknownTurn),
            (lambda write: write.add_turns([{"content": "a", "rolle": "user"}]), InvalidArgument),
        ]
        for work, error in refused:
            with pytest.raises(error):
                store.write(work)
        assert list(store.turns()) == []

    def test_refuses_arguments_of_the_wrong_kind_by_name(self, store: Store) -> None:
        [turn] = extend(store, "a")
        refused: list[tuple[Any, str]] = [
            (lambda read: read.thread("main", -1), "limit is a number"),
            (lambda read: read.thread(5), "end is text"),
            (lambda read: read.thread_unless_known("main", "ids"), "known is a collection"),
            (lambda read: read.last("main", -1), "turns is a number"),
            (lambda read: read.first("main", "2"), "turns is a number"),
            (lambda read: read.names_at(turn, -1), "limit is a number"),
            (lambda read: read.names_at(5), "turn is text"),
            (lambda read: read.turn_of_key("\ud800"), "key is text"),
            (lambda read: read.bookmark(None), "name is text"),
            (lambda read: read.conversation("main", removed=1), "removed is True or False"),
        ]
        for work, words in refused:
            with pytest.raises(InvalidArgument, match=words):
                store.read(work)
        written: list[tuple[Any, str]] = [
            (lambda write: write.extend("main", "abc"), "turns is a list"),
            (lambda write: write.undo("main", "1"), "turns is a number"),
            (lambda write: write.erase_unshared("main", "asked"), "ends is a list"),
            (lambda write: write.erase_unshared([None], "asked"), "an end is text"),
        ]
        for work, words in written:
            with unchanged(store), pytest.raises(InvalidArgument, match=words):
                store.write(work)

    def test_takes_a_huge_number_for_all(self, store: Store) -> None:
        [turn] = extend(store, "a")
        store.objects.put("x/y", "k", b"1")

        def work(read: ReadTransaction) -> list[int]:
            found: list[list[Any]] = [
                read.names_at(turn, 10**30), read.names_through(turn, 10**30), read.objects("x/y", limit=10**30),
                read.objects("x/y", backwards=True, limit=10**30), read.thread("main", 10**30),
            ]  # fmt: skip
            return [*map(len, found)]

        assert store.read(work) == [1] * 5

    def test_looks_up_what_can_be_no_name(self, store: Store) -> None:
        extend(store, "a")
        for name in ("\ud800", "a b", ""):
            found = store.read(lambda read, name=name: (read.bookmark(name), read.thread(name), read.key_of(name)))
            assert found == (None, [], None)
            assert store.read(lambda read, name=name: read.conversation(name, removed=True)) is None

    def test_of_many_writers_loses_nothing(self, store: Store) -> None:
        def add(at: int) -> None:
            def work(write: WriteTransaction) -> None:
                found = write.object("x/count", "all")
                write.extend("main", [str(at)])
                write.put("x/count", "all", str(int(found.data if found else 0) + 1).encode())

            store.write(work)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(add, range(40)))
        assert sorted(map(int, texts_of(store))) == list(range(40))
        assert store.objects.get("x/count", "all").data == b"40"


class TestExtending:
    def test_a_remembered_name_takes_four_statements(self, store: Store) -> None:
        extend(store, "a")
        with counted_statements() as statements:
            extend(store, "b")
        assert statements.count == 4

    def test_gives_a_new_conversation_its_key_once(self, store: Store) -> None:
        extend(store, "a", key="system:1", app={"id": 1})
        extend(store, "b", key="system:2")
        record = store.conversations.get("main").record
        assert (record.key, record.app) == ("system:1", {"id": 1})

    def test_finds_a_conversation_by_its_key(self, store: Store) -> None:
        extend(store, "a", key="system:1")
        store.bookmarks.rename("main", "renamed")
        extend(store, "b", key="system:1")
        assert (texts_of(store, "renamed"), [*store.bookmarks]) == (["a", "b"], ["renamed"])

    def test_keeps_the_name_where_another_conversation_has_the_key(self, store: Store) -> None:
        first = store.add_turn("nameless")
        store.conversations.set(first.id, key="system:1")
        extend(store, "a", key="system:1")
        assert store.conversations.get("main").record.key is None

    def test_moves_the_name_once(self, store: Store) -> None:
        extend(store, *"abc")
        assert len(store.bookmarks.history("main")) == 1

    def test_nothing_changes_nothing(self, store: Store) -> None:
        assert extend(store) == []
        assert list(store.bookmarks) == []


class TestPlaces:
    def test_a_draft_continues_what_it_names(self, store: Store) -> None:
        first = store.add_turn("a", bookmark="main")
        limit = store.payload_limit_bytes

        def work(write: WriteTransaction) -> list[str]:
            drafts = [make_draft(text, {}, limit) for text in "bc"]
            return [*write.add_turns([
                place(drafts[0], continues=first.id), place(drafts[1], continues=0, bookmark="side", expect=ABSENT),
            ])]  # fmt: skip

        ids = store.write(work)
        assert [each.id for each in store.log("side")] == [*ids[::-1], first.id]
        assert store.bookmarks["main"] == first.id  # nothing moves but what is named


class TestARead:
    def test_is_of_one_moment(self, durable_place: Place) -> None:
        store = durable_place.open()
        grow(store, "a")
        store.bookmarks.set("main", "@")

        def work(read: ReadTransaction) -> tuple[int, int]:
            before = len(read.thread("main"))
            with ThreadPoolExecutor(1) as pool:
                pool.submit(extend, store, "b").result()
            return before, len(read.thread("main"))

        assert store.read(work) == (1, 1)

    def test_takes_no_prefix_for_a_name(self, store: Store) -> None:
        turn = store.add_turn("a")
        assert store.read(lambda read: read.thread(turn.id[:8])) == []
        assert store.read(lambda read: read.bookmark(turn.id[:8])) is None
        with pytest.raises(UnknownTurn):
            store.read(lambda read: read.thread("0" * 25))

    def test_of_the_last_turns_is_the_end_of_the_whole(self, store: Store) -> None:
        grown = grow(store, "a? <- b <- c? <- d, b <- e? <- f, f + d <- end")
        for end in (grown["f"].id, grown["end"].id):
            whole = store.read(lambda read, end=end: read.thread(end))
            for limit in range(len(whole) + 2):
                last = store.read(lambda read, end=end, limit=limit: read.thread(end, limit))
                assert last == whole[max(0, len(whole) - limit) :]

    def test_finds_the_first_and_the_last_turns(self, store: Store) -> None:
        ids = extend(store, *"abcd")
        store.add_turn("e", continues="main~2", bookmark="side")
        assert store.read(lambda read: [read.first("side"), read.first("main", 3), read.first("main", 9)]) == [
            ids[0], ids[2], ids[3],
        ]  # fmt: skip
        assert store.read(lambda read: read.first("none")) is None
        assert store.read(lambda read: read.last("main", 2)) == ids[2:]
        assert store.read(lambda read: sorted(read.names_through(ids[1]))) == ["main", "side"]
        assert store.read(lambda read: read.names_at(ids[3])) == ["main"]

    def test_lists_objects_both_ways(self, store: Store) -> None:
        for key in ("a/1", "a/2", "a/3", "b/1"):
            store.objects.put("x/y", key, key.encode())

        def keys(**options: Any) -> list[str]:
            return store.read(lambda read: [each.key for each in read.objects("x/y", "a/", **options)])

        assert keys() == ["a/1", "a/2", "a/3"]
        assert keys(after="a/1", limit=1) == ["a/2"]
        assert keys(backwards=True, before="a/3") == ["a/2", "a/1"]
        with pytest.raises(InvalidArgument):
            keys(before="a/3")

    def test_shows_a_window_with_its_overlays(self, store: Store) -> None:
        extend(store, *"abc")
        store.hide("main~1", "main")
        said = store.read(lambda read: [kept.message.text for kept in read.window("main")])
        assert said == [message.text for message in store.resolve("main").messages]


class TestErasing:
    def test_takes_a_conversation_with_what_is_said_of_it(self, store: Store) -> None:
        extend(store, "a", "b", key="system:1")
        store.conversations.set("main", title="private")
        store.write(lambda write: write.erase_conversation("main", "asked"))
        assert all(each.erased for each in store.turns())
        assert list(store.bookmarks) == []
        assert store.verify().problems == ()

    def test_leaves_what_something_else_leads_to(self, store: Store) -> None:
        ids = extend(store, *"abc")
        store.bookmarks.set("other", ids[1])
        assert store.write(lambda write: write.erase_unshared([ids[2]], "asked", name="main")) == 1
        assert [each.erased is not None for each in store.turns()] == [False, False, True]

    @pytest.mark.parametrize("reason", ["", " ", "\ud800", 5, ["asked"], "x" * (REASON_LIMIT_BYTES + 1)], ids=repr)
    def test_without_a_reason_that_a_receipt_can_hold_is_refused(self, store: Store, reason: Any) -> None:
        ids = extend(store, *"abc")
        erasures: list[Callable[[WriteTransaction], Any]] = [
            lambda write: write.undo("main", erase=reason),
            lambda write: write.erase_unshared([ids[-1]], reason, name="main"),
            lambda write: write.erase_conversation("main", reason),
            lambda write: write.erase_bookmark("main", reason),
        ]
        for erase in erasures:
            with unchanged(store), pytest.raises(InputError):
                store.write(erase)
        assert store.verify().problems == ()

    def test_undoes_and_erases(self, store: Store) -> None:
        extend(store, *"abc")
        said = store.write(lambda write: write.undo("main", 2, erase="asked"))
        assert [each.payload for each in said] == [b'[{"type":"text","text":"b"}]', b'[{"type":"text","text":"c"}]']
        assert (texts_of(store), sum(each.erased is not None for each in store.turns())) == (["a"], 2)
