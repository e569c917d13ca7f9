"""Keys: what another system calls a turn, so that it is stored once (rule R35, keys)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import ABSENT, Store
from headish.errors import InvalidArgument, KeyTaken, UnknownTurn
from headish.values.limits import BATCH_TURNS, KEY_LIMIT_BYTES
from support.growing import texts
from support.insides import counted_statements, run_sql, unchanged
from support.places import FilePlace, Place

KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40)


class TestFind:
    def test_a_turn_is_found_by_its_key(self, store: Store) -> None:
        turn = store.add_turn("hi", key="chatgpt:c1:n1")
        assert store.find("chatgpt:c1:n1") == turn
        assert turn.meta.key == "chatgpt:c1:n1"
        assert store.get(turn.id).to_dict()["meta"]["key"] == "chatgpt:c1:n1"
        assert store.verify().problems == ()

    def test_what_has_no_such_key_is_none(self, store: Store) -> None:
        store.add_turn("hi", key="one")
        assert store.find("two") is None

    @given(key=KEYS)
    def test_a_key_is_any_text(self, place: Place, key: str) -> None:
        with place.fresh() as store:
            turn = store.add_turn("hi", key=key)
            assert store.find(key) == turn
            assert store.add_turn("hi", key=key) == turn
            assert store.verify().problems == ()

    @pytest.mark.parametrize("key", ["", "a\0b", "\ud800", 5, b"a", "k" * (KEY_LIMIT_BYTES + 1)])
    def test_what_cannot_be_one_is_refused(self, store: Store, key: Any) -> None:
        with unchanged(store), pytest.raises(InvalidArgument, match="key"):
            store.add_turn("hi", key=key)
        with pytest.raises(InvalidArgument, match="key"):
            store.find(key)

    def test_the_longest_one_is_kept(self, store: Store) -> None:
        key = "ü" * (KEY_LIMIT_BYTES // 2)
        assert store.add_turn("hi", key=key) == store.find(key)

    def test_another_space_has_keys_of_its_own(self, durable_place: Place) -> None:
        """Rule R6, another space is unknown."""
        one, other = durable_place.open("one"), durable_place.open("other")
        turn = one.add_turn("hi", key="k")
        assert other.find("k") is None
        assert other.add_turn("other", key="k") != turn

    def test_finding_costs_the_same_among_many_keys(self, store: Store) -> None:
        store.add_turns({"content": "x", "key": f"k{number}"} for number in range(200))
        with counted_statements() as counted:
            store.find("k7")
        assert counted.count <= 4


class TestAKnownKey:
    def test_the_known_turn_is_returned_and_nothing_moves(self, store: Store) -> None:
        first = store.add_turn("hi", key="k", bookmark="main")
        store.add_turn("more", continues="main")
        with unchanged(store):
            again = store.add_turn(
                "hi", key="k", continues="main", bookmark="main", expect=ABSENT, inherited={"t": 1},
                meta={"a": 1}, said_at=5, cache=True,
            )  # fmt: skip
        assert again == first
        assert again.meta == first.meta

    @pytest.mark.parametrize(
        "other",
        [
            {"content": "HI"},
            {"content": "hi", "role": "assistant"},
            {"content": "hi", "attributes": {"speaker": "Ada"}},
            {"content": ["hi", "hi"]},
        ],
    )
    def test_one_that_says_something_else_is_refused(self, store: Store, other: dict[str, Any]) -> None:
        first = store.add_turn("hi", key="k")
        with unchanged(store), pytest.raises(KeyTaken, match=first.id) as caught:
            store.add_turn(**other, key="k")
        assert (caught.value.key, caught.value.holder) == ("k", first.id)

    def test_a_document_is_compared_with_its_name_and_type(self, store: Store) -> None:
        first = store.add_document(b"hi", name="a.txt", key="k")
        assert store.add_document(b"hi", name="a.txt", key="k") == first
        for other in ({"name": "b.txt"}, {"name": "a.txt", "content_type": "text/csv"}):
            with pytest.raises(KeyTaken):
                store.add_document(b"hi", key="k", **other)
        with pytest.raises(KeyTaken):
            store.add_turn("hi", key="k")

    def test_a_turn_with_attributes_is_recognised(self, store: Store) -> None:
        given = {"attributes": {"speaker": "Ada", "extra": {"b": "1", "a": "2"}}, "key": "k"}
        assert store.add_turn("hi", **given) == store.add_turn("hi", **given)

    def test_equal_words_without_the_key_are_another_turn(self, store: Store) -> None:
        first = store.add_turn("hi", key="k")
        assert store.add_turn("hi") != first
        assert store.add_turn("hi", key="l") != first


class TestABatch:
    def test_what_is_known_stands_where_it_was(self, store: Store) -> None:
        items = [{"content": str(n), "key": f"k{n}", "continues": [n - 1] if n else None} for n in range(4)]
        first = list(store.add_turns(items[:2]))
        stored = store.add_turns(items)
        assert list(stored)[:2] == first
        assert [stored[0], stored[-1]] == [first[0], store.get("@")]
        assert stored[1:3] == [first[1], store.find("k2")]
        assert texts(store, stored[3].id) == ["0", "1", "2", "3"]
        with unchanged(store):
            assert list(store.add_turns(items)) == list(stored)

    def test_a_known_one_between_new_ones_is_continued(self, store: Store) -> None:
        known = store.add_turn("b", key="b")
        stored = store.add_turns(
            [{"content": "a"}, {"content": "b", "key": "b", "continues": 0}, {"content": "c", "continues": [0, 1]}]
        )
        assert stored[2].meta.continues == (stored[0].id, known.id)

    def test_a_key_twice_in_a_batch_is_one_turn(self, store: Store) -> None:
        stored = store.add_turns(
            [{"content": "a", "key": "k"}, {"content": "a", "key": "k"}, {"content": "b", "continues": 1}]
        )
        assert stored[0] == stored[1]
        assert stored[2].meta.continues == (stored[0].id,)
        assert store.stats().turns == 2

    def test_a_batch_that_disagrees_with_itself_is_refused_whole(self, store: Store) -> None:
        with unchanged(store), pytest.raises(KeyTaken, match="earlier item of this batch"):
            store.add_turns([{"content": "a", "key": "k"}, {"content": "b", "key": "k"}])

    def test_an_item_still_continues_only_those_before_it(self, store: Store) -> None:
        store.add_turn("a", key="a")
        for index in (1, 2, -1):
            with unchanged(store), pytest.raises(UnknownTurn):
                store.add_turns([{"content": "a", "key": "a"}, {"content": "b", "continues": index}])

    def test_the_newest_turn_is_not_a_known_one(self, store: Store) -> None:
        store.add_turn("known", key="k")
        newest = store.add_turn("newest")
        stored = store.add_turns([{"content": "known", "key": "k"}, {"content": "reply", "respond": True}])
        assert stored[1].meta.continues == (newest.id,)

    def test_items_of_earlier_batches_are_found(self, store: Store) -> None:
        known = store.add_turn("5", key="k5")
        items = [{"content": str(n), "key": f"k{n}"} for n in range(BATCH_TURNS)]
        stored = store.add_turns([*items, {"content": "x", "continues": 5}, {"content": "y", "continues": 6}])
        assert stored[BATCH_TURNS].meta.continues == (known.id,)
        assert stored[BATCH_TURNS + 1].meta.continues == (stored[6].id,)
        assert store.find("k6") == stored[6]
        assert len(list(stored)) == BATCH_TURNS + 2
        assert store.stats().turns == BATCH_TURNS + 2

    def test_looking_keys_up_costs_a_statement_for_each_64(self, store: Store) -> None:
        items = [{"content": str(n), "key": f"k{n}"} for n in range(256)]
        with counted_statements() as plain:
            store.add_turns({"content": str(n)} for n in range(256))
        with counted_statements() as keyed:
            store.add_turns(items)
        assert keyed.count <= plain.count + 4
        with counted_statements() as known:
            store.add_turns(items)
        assert known.count <= plain.count + 4


class TestVersions:
    def test_find_gives_the_newest_of_those_that_supersede(self, store: Store) -> None:
        first = store.add_turn("a", key="k")
        second = store.add_turn("b", key="k;2", supersedes=first.id)
        assert store.find("k") == second
        third = store.add_turn("c", key="k;3", supersedes=second.id)
        assert store.find("k") == third
        assert store.find("k;2") == second
        assert store.verify().problems == ()

    def test_of_two_that_supersede_the_same_the_later_one_counts(self, store: Store) -> None:
        first = store.add_turn("a", key="k")
        store.add_turn("b", key="k;2", supersedes=first.id)
        later = store.add_turn("c", key="k;3", supersedes=first.id)
        assert store.find("k") == later

    def test_a_key_that_only_looks_so_is_another_key(self, store: Store) -> None:
        first = store.add_turn("a", key="k")
        store.add_turn("b", key="k;2")
        store.add_turn("c", supersedes=first.id)
        store.add_turn("d", key="kk;2", supersedes=first.id)
        assert store.find("k") == first

    @pytest.mark.parametrize("fact", ["supersedes", "copy_of"])
    def test_it_names_a_turn_of_the_space(self, durable_place: Place, fact: str) -> None:
        store, other = durable_place.open("one"), durable_place.open("other")
        there, here = other.add_turn("a"), store.add_turn("a")
        with unchanged(store), pytest.raises(UnknownTurn, match=there.id):
            store.add_turn("b", **{fact: there.id})
        assert store.add_turn("b", **{fact: here.id.upper()}).meta.system[fact] == here.id
        with unchanged(store), pytest.raises(InvalidArgument, match=fact):
            store.add_turn("b", **{fact: "@"})

    def test_verify_compares_the_copies(self, file_place: FilePlace) -> None:
        store = file_place.open()
        first = store.add_turn("a", key="k")
        second = store.add_turn("b", key="k;2", supersedes=first.id)
        run_sql(store, "UPDATE turn SET key = CAST('x' AS BLOB) WHERE pos = 0 AND seq = 1")
        run_sql(store, "UPDATE turn SET supersedes = NULL WHERE seq = 2")
        assert {(each.subject, each.what) for each in store.verify().problems} == {
            (f"turn {first.id}", "its key is not the one under its seal"),
            (f"turn {second.id}", "its supersedes is not the one under its seal"),
        }


class TestAuthor:
    def test_a_store_says_who_wrote(self, durable_place: Place) -> None:
        durable_place.open()
        with Store.open(durable_place.target, space=durable_place.space, author="ada@example.org") as store:
            turns = [
                store.add_turn("a"),
                store.add_turns(["b"])[0],
                store.add_document(b"c"),
                store.record([{"role": "user", "content": "d"}]).tip,
            ]
            assert {turn.meta.system["author"] for turn in turns} == {"ada@example.org"}
            assert turns[0].digest == durable_place.open().add_turn("a").digest
            assert store.verify().problems == ()

    @pytest.mark.parametrize("author", ["", "a\0b", "\ud800", 5])
    def test_what_is_no_author_is_refused(self, file_place: FilePlace, author: Any) -> None:
        with pytest.raises(InvalidArgument, match="author"):
            Store.open(file_place.target, author=author)


class TestRecord:
    def test_new_messages_get_their_keys(self, store: Store) -> None:
        messages = [{"role": "user", "content": word, "key": word} for word in ("a", "b")]
        recorded = store.record(messages)
        assert store.find("b") == recorded.tip
        assert store.record(messages).added == 0

    def test_a_key_of_another_turn_is_refused(self, store: Store) -> None:
        store.record([{"role": "user", "content": word, "key": word} for word in ("a", "b")])
        edited = [{"role": "user", "content": "A"}, {"role": "user", "content": "b", "key": "b"}]
        with unchanged(store), pytest.raises(KeyTaken):
            store.record(edited)
        with unchanged(store), pytest.raises(KeyTaken):
            store.record([{"role": "user", "content": word, "key": "x"} for word in ("c", "d")])


def test_of_many_writers_with_one_key_one_stores_it(durable_place: Place) -> None:
    writers, rounds = 8, 5
    stores = [durable_place.open() for _ in range(writers)]
    barrier = Barrier(writers)

    def write(store: Store) -> list[str]:
        ids = []
        for number in range(rounds):
            barrier.wait()
            ids.append(store.add_turn("hi", key=f"k{number}").id)
            ids += [turn.id for turn in store.add_turns([{"content": "x", "key": f"x{number}"}, "own"])][:1]
        return ids

    with ThreadPoolExecutor(writers) as pool:
        answers = list(pool.map(write, stores))
    assert len(set(map(tuple, answers))) == 1
    assert stores[0].stats().turns == rounds * (2 + writers)
    assert stores[0].verify().problems == ()
