"""Objects: what a program keeps beside its turns, and together with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import ABSENT, Store
from headish.errors import BookmarkMoved, InputError, InvalidArgument, RecordChanged, TooLarge, UnknownObject
from headish.rows.objects import list_objects_backwards, remove_objects
from headish.values.limits import BATCH_TURNS, OBJECT_KEY_LIMIT_BYTES, OBJECT_KIND_LIMIT
from support.insides import counted_statements, unchanged
from support.places import Place


class TestPutAndGet:
    def test_what_was_put_is_given_back_byte_for_byte(self, store: Store) -> None:
        for data in (b"", b"\x00\xff", b"{}", bytes(range(256)) * 100):
            store.objects.put("checkpoint", "a", data)
            assert store.objects.get("checkpoint", "a").data == data

    def test_an_object_says_its_kind_key_revision_and_time(self, store: Store) -> None:
        assert store.objects.put("state", "session 1", b"x") == 1
        assert store.objects.put("state", "session 1", b"y") == 2
        found = store.objects.get("state", "session 1")
        assert (found.kind, found.key, found.revision, found.data) == ("state", "session 1", 2, b"y")
        assert found.time.tzinfo is not None

    def test_kinds_and_spaces_are_apart(self, place: Place) -> None:
        one, other = place.fresh(), place.open("other")
        one.objects.put("a", "k", b"1")
        for store, kind in ((one, "b"), (other, "a")):
            with pytest.raises(UnknownObject):
                store.objects.get(kind, "k")

    def test_an_unknown_object_is_an_input_error_and_a_key_error(self, store: Store) -> None:
        for call in (store.objects.get, store.objects.remove):
            with pytest.raises(UnknownObject, match=r"no object of the kind 'a' has the key 'k'") as refused:
                call("a", "k")
            assert isinstance(refused.value, InputError)
            assert isinstance(refused.value, KeyError)
            assert (refused.value.kind, refused.value.key) == ("a", "k")

    @given(key=st.text(min_size=1, max_size=40), data=st.binary(max_size=50))
    def test_any_text_is_a_key(self, place: Place, key: str, data: bytes) -> None:
        objects = place.reuse().objects
        objects.put("any", key, data)
        assert (objects.get("any", key).key, objects.get("any", key).data) == (key, data)


class TestRefusals:
    @pytest.mark.parametrize(
        "kind", ["", "A", "a b", "-a", "a" * (OBJECT_KIND_LIMIT + 1), "ä", None, b"a", "a\n"], ids=repr
    )
    def test_a_kind_that_cannot_be_one(self, store: Store, kind: Any) -> None:
        calls: list[Callable[[], object]] = [
            lambda: store.objects.put(kind, "k", b""),
            lambda: store.objects.get(kind, "k"),
            lambda: store.objects.list(kind),
            lambda: store.objects.remove(kind, "k"),
        ]
        for call in calls:
            with pytest.raises(InvalidArgument, match="a kind of objects"):
                call()

    @pytest.mark.parametrize("key", ["", "\ud800", "é" * (OBJECT_KEY_LIMIT_BYTES // 2 + 1), None, b"k"], ids=ascii)
    def test_a_key_that_cannot_be_one(self, store: Store, key: Any) -> None:
        for call in (lambda: store.objects.put("a", key, b""), lambda: store.objects.get("a", key)):
            with pytest.raises(InvalidArgument, match="the key of an object"):
                call()

    def test_the_longest_kind_and_key_are_taken(self, store: Store) -> None:
        kind, key = "k" * OBJECT_KIND_LIMIT, "é" * (OBJECT_KEY_LIMIT_BYTES // 2)
        store.objects.put(kind, key, b"x")
        assert store.objects.get(kind, key).data == b"x"

    @pytest.mark.parametrize("data", ["text", None, 5, {"a": 1}], ids=repr)
    def test_data_that_are_no_bytes(self, store: Store, data: Any) -> None:
        with unchanged(store), pytest.raises(InvalidArgument, match="are bytes"):
            store.objects.put("a", "k", data)

    def test_data_past_the_limit(self, place: Place) -> None:
        store = place.open(payload_limit_bytes=10)
        store.objects.put("a", "k", b"x" * 10)
        with unchanged(store), pytest.raises(TooLarge, match=r"the object of kind a cannot be kept: it has 11 bytes"):
            store.objects.put("a", "k", b"x" * 11)

    @pytest.mark.parametrize("expect", [0, -1, "1", 1.0, True], ids=repr)
    def test_what_cannot_be_a_revision(self, store: Store, expect: Any) -> None:
        for call in (lambda: store.objects.put("a", "k", b"", expect=expect),
                     lambda: store.objects.remove("a", "k", expect=expect)):  # fmt: skip
            with pytest.raises(InvalidArgument, match="expect takes the revision"):
                call()


class TestExpect:
    def test_the_revision_that_was_read_may_be_replaced_and_removed(self, store: Store) -> None:
        assert store.objects.put("a", "k", b"1", expect=ABSENT) == 1
        assert store.objects.put("a", "k", b"2", expect=1) == 2
        store.objects.remove("a", "k", expect=2)
        assert store.objects.list("a") == []

    @pytest.mark.parametrize("expect", [1, 3, ABSENT], ids=str)
    def test_another_revision_refuses_and_changes_nothing(self, store: Store, expect: Any) -> None:
        store.objects.put("a", "k", b"1")
        store.objects.put("a", "k", b"2")
        for call in (lambda: store.objects.put("a", "k", b"3", expect=expect),
                     lambda: store.objects.remove("a", "k", expect=expect)):  # fmt: skip
            with unchanged(store), pytest.raises(RecordChanged) as refused:
                call()
            assert (refused.value.expected, refused.value.actual) == (None if expect is ABSENT else expect, 2)

    def test_what_is_not_there_has_no_revision(self, store: Store) -> None:
        with unchanged(store), pytest.raises(RecordChanged, match="has no longer revision 1: it is not there"):
            store.objects.put("a", "k", b"", expect=1)

    def test_a_revision_never_comes_twice(self, store: Store) -> None:
        for _ in range(3):
            store.objects.put("a", "k", b"first")
        store.objects.put("a", "other", b"")
        store.objects.remove("a", "k")
        store.objects.remove("a", "other")
        again = store.objects.put("a", "k", b"again", expect=ABSENT)
        assert again == 4
        with pytest.raises(RecordChanged):
            store.objects.put("a", "k", b"late", expect=3)
        assert store.objects.put("b", "k", b"of another kind") == 1


class TestList:
    def test_objects_are_listed_by_the_bytes_of_their_keys(self, store: Store) -> None:
        for key in ("b", "a", "ä", "a/2", "a/10", "\U0001f600", "z"):
            store.objects.put("a", key, key.encode())
        store.objects.remove("a", "b")
        keys = [each.key for each in store.objects.list("a")]
        assert keys == ["a", "a/10", "a/2", "z", "ä", "\U0001f600"]
        assert [each.data for each in store.objects.list("a")] == [key.encode() for key in keys]

    def test_a_prefix_is_text_and_no_pattern(self, store: Store) -> None:
        for key in ("a%", "a%b", "ab", "A%", "a_"):
            store.objects.put("k", key, b"")
        assert [each.key for each in store.objects.list("k", prefix="a%")] == ["a%", "a%b"]

    def test_pages_follow_one_another(self, store: Store) -> None:
        for index in range(7):
            store.objects.put("k", f"p{index}", b"")
        store.objects.put("k", "q", b"")
        seen, after = [], None
        while page := store.objects.list("k", prefix="p", after=after, limit=3):
            seen += [each.key for each in page]
            after = page[-1].key
        assert seen == [f"p{index}" for index in range(7)]

    @pytest.mark.parametrize("limit", [0, -1, "1", None], ids=repr)
    def test_a_limit_is_a_number_from_1_on(self, store: Store, limit: Any) -> None:
        with pytest.raises(InvalidArgument, match="limit"):
            store.objects.list("k", limit=limit)


class TestWithTurns:
    def test_both_are_stored(self, store: Store) -> None:
        stored = store.add_turns(
            ["a", {"content": "b", "continues": 0}],
            objects=[{"kind": "state", "key": "s", "data": b"1"}, {"kind": "state", "key": "t", "data": b"2"}],
        )
        assert [turn.meta.role for turn in stored] == ["user", "user"]
        assert stored.revisions == (1, 1)
        assert [each.data for each in store.objects.list("state")] == [b"1", b"2"]

    def test_an_object_that_is_refused_refuses_the_turns(self, store: Store) -> None:
        with unchanged(store), pytest.raises(RecordChanged):
            store.add_turns(["a"], objects=[{"kind": "k", "key": "a", "data": b""},
                                            {"kind": "k", "key": "b", "data": b"", "expect": 7}])  # fmt: skip

    def test_a_turn_that_is_refused_refuses_the_objects(self, store: Store) -> None:
        store.add_turn("first", bookmark="main")
        turns = [{"content": "a"}, {"content": "b", "bookmark": "main", "expect": ABSENT}]
        with unchanged(store), pytest.raises(BookmarkMoved):
            store.add_turns(turns, objects=[{"kind": "k", "key": "a", "data": b""}])

    @pytest.mark.slow
    def test_more_turns_than_a_batch_are_all_or_nothing_too(self, store: Store) -> None:
        objects = [{"kind": "k", "key": "a", "data": b""}]
        turns: list[Any] = [{"content": f"{index}", "respond": index > 0} for index in range(BATCH_TURNS + 2)]
        with unchanged(store), pytest.raises(InputError):
            store.add_turns([*turns, {"content": "bad", "continues": "nowhere"}], objects=objects)
        stored = store.add_turns(turns, objects=objects)
        assert (len(stored), len(store.log("@")), store.text(stored[-1].id)) == (len(turns), len(turns), "1001")
        assert store.verify().problems == ()

    def test_objects_may_come_alone(self, store: Store) -> None:
        assert len(store.add_turns([], objects=[{"kind": "k", "key": "a", "data": b"x"}])) == 0
        assert store.objects.get("k", "a").data == b"x"

    def test_one_turn_takes_them_too(self, store: Store) -> None:
        state = {"kind": "state", "key": "s", "expect": ABSENT}
        turn = store.add_turn("a", bookmark="main", objects=[{**state, "data": b"1"}])
        assert (store.bookmarks["main"], store.objects.get("state", "s").data) == (turn.id, b"1")
        with unchanged(store), pytest.raises(RecordChanged):
            store.add_turn("b", continues="main", objects=[{**state, "data": b"2"}])
        with unchanged(store), pytest.raises(BookmarkMoved):
            store.add_turn("b", bookmark="main", expect=ABSENT, objects=[{**state, "data": b"2", "expect": 1}])
        after = store.add_turn("b", continues="main", objects=[{**state, "data": b"2", "expect": 1}])
        assert (store.objects.get("state", "s").revision, store.text(after.id)) == (2, "b")
        assert store.add_turn("c", continues="main").meta.continues == (after.id,)  # what it remembered is old
        assert store.verify().problems == ()

    @pytest.mark.parametrize("given", [5, "text", {"kind": "k", "key": "a", "data": b""}, None], ids=repr)
    def test_what_is_no_list_of_objects_is_refused(self, store: Store, given: Any) -> None:
        with unchanged(store), pytest.raises(InvalidArgument, match="objects is a list"):
            store.add_turn("a", objects=given)

    @pytest.mark.parametrize(
        "given", ["text", {"kind": "k", "key": "a"}, {"kind": "k", "key": "a", "data": b"", "more": 1}], ids=repr
    )
    def test_what_is_no_object_is_refused(self, store: Store, given: Any) -> None:
        with unchanged(store), pytest.raises(InvalidArgument, match="an object is a mapping of kind, key and data"):
            store.add_turns(["a"], objects=[given])


class TestApart:
    def test_no_list_of_turns_shows_them(self, store: Store) -> None:
        before = store.stats()
        store.objects.put("k", "a", b"words")
        assert (store.heads(), list(store.turns()), dict(store.bookmarks)) == ([], [], {})
        assert store.stats().turns == before.turns == 0
        assert store.verify().problems == ()

    def test_a_call_costs_the_same_in_a_full_space(self, place: Place) -> None:
        counts = []
        for others in (1, 300):
            with place.fresh() as store:
                objects = [{"kind": "k", "key": f"{index:04}", "data": b""} for index in range(others)]
                store.add_turns([], objects=objects)
                with counted_statements() as counted:
                    store.objects.put("k", "0000", b"x")
                    store.objects.get("k", "0000")
                    store.objects.list("k", limit=2)
                    store.objects.remove("k", "0000")
                counts.append(counted.count)
        assert counts[0] == counts[1] == 3 + 1 + 1 + 4


class TestWhatAdaptersAsk:
    def test_the_last_keys_come_first_in_pages(self, store: Store) -> None:
        for key in ("a/1", "a/2", "a/3", "b/1", "\x00"):
            store.objects.put("k", key, key.encode())
        store.objects.remove("k", "b/1")

        def listed(prefix: bytes, before: bytes | None = None, limit: int = 9) -> list[bytes]:
            rows = store._read(
                lambda connection: list_objects_backwards(
                    connection, store._number, "k", prefix=prefix, before=before, limit=limit
                )
            )
            return [bytes(row[1]) for row in rows]

        assert listed(b"a/") == [b"a/3", b"a/2", b"a/1"]
        assert listed(b"a/", limit=1) == [b"a/3"]
        assert listed(b"a/", before=b"a/3") == [b"a/2", b"a/1"]
        assert listed(b"") == [b"a/3", b"a/2", b"a/1", b"\x00"]

    def test_what_is_removed_by_the_beginning_of_keys_never_has_its_revisions_again(self, store: Store) -> None:
        for key in ("a/1", "a/2", "b"):
            store.objects.put("k", key, b"x")
        store.objects.put("k", "a/2", b"y")
        removed = [
            store._write(lambda connection: remove_objects(connection, store._number, "k", b"a/")) for _ in range(2)
        ]
        assert removed == [2, 0]
        assert [each.key for each in store.objects.list("k")] == ["b"]
        assert store.objects.put("k", "a/1", b"z") == 3
        assert store.verify().problems == ()
