"""A space may be given a limit of turns and of bytes, which no writer passes, however it writes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from headish import Database, Store
from headish.errors import QuotaExceeded, UnknownSpace
from headish.values.results.reports import Quota
from support.insides import unchanged
from support.places import Place


def limits(store: Store) -> Callable[..., Quota]:
    database: Database = Database(store._database)
    return lambda **given: database.spaces.limit(store.space, **given)


def test_without_a_limit_a_space_takes_what_it_is_given(store: Store) -> None:
    store.add_turn("abc")
    assert limits(store)() == Quota(limit_turns=None, limit_bytes=None, turns=1, bytes=30)


def test_turns_are_taken_up_to_the_limit_and_no_further(store: Store) -> None:
    assert limits(store)(turns=2).limit_turns == 2
    store.add_turn("a", bookmark="main")
    store.add_turn("b", continues="main")
    with unchanged(store), pytest.raises(QuotaExceeded, match="limited to 2 turns, has 2") as refused:
        store.add_turn("c", continues="main")  # by the numbers that the store remembers
    assert (refused.value.what, refused.value.limit, refused.value.used, refused.value.more) == ("turns", 2, 2, 1)
    with unchanged(store), pytest.raises(QuotaExceeded):
        store.add_turn("c")
    limits(store)(turns=3)
    store.add_turn("c", continues="main")
    assert store.verify().problems == ()


def test_bytes_are_those_of_the_payloads_as_given(store: Store) -> None:
    store.add_turn("abc", bookmark="main")
    limits(store)(bytes=60)
    store.add_turn("abc", continues="main")
    with unchanged(store), pytest.raises(QuotaExceeded, match="limited to 60 bytes, has 60 and was given 30 more"):
        store.add_turn("abc", continues="main")
    with unchanged(store), pytest.raises(QuotaExceeded):
        store.add_document(b"x" * 5000, name="x.bin")
    assert limits(store)(bytes="none").limit_bytes is None
    store.add_document(b"x" * 5000, name="x.bin")


def test_a_batch_that_does_not_fit_is_not_stored_in_part(store: Store) -> None:
    limits(store)(turns=3)
    with unchanged(store), pytest.raises(QuotaExceeded, match="was given 4 more"):
        store.add_turns(["a", "b", "c", "d"])
    store.add_turns(["a", "b", "c"])


def test_a_limit_below_what_there_is_takes_nothing_away(store: Store) -> None:
    turn = store.add_turn("a", bookmark="main")
    assert limits(store)(turns=0) == Quota(limit_turns=0, limit_bytes=None, turns=1, bytes=28)
    assert store.text("main") == "a"
    store.bookmarks.set("more", turn.id)  # a name is no turn
    with pytest.raises(QuotaExceeded):
        store.add_turn("b", continues="main")


def test_a_copy_into_a_space_keeps_its_limit(store: Store) -> None:
    store.add_turn("a", bookmark="main")
    store.add_turn("b", continues="main")
    database: Database = Database(store._database)
    there = database.store(f"{store.space}-there")
    limits(there)(turns=1)
    with unchanged(there), pytest.raises(QuotaExceeded):
        store.copy_to(there.space, "main")


def test_an_answer_that_does_not_fit_is_kept_until_it_does(store: Store) -> None:
    store.add_turn("q", bookmark="main")
    answer = store.capture("main", "anthropic")
    answer.feed({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "kept"}})
    limits(store)(turns=1)
    with pytest.raises(QuotaExceeded):
        answer.finish()
    with pytest.raises(QuotaExceeded):
        store.streams.recover(force=True)
    limits(store)(turns="none")
    assert [store.text(turn.id) for turn in store.streams.recover(force=True)] == ["kept"]


def test_a_space_that_is_not_there_has_no_limit(store: Store) -> None:
    for given in ({}, {"turns": 1}):
        with pytest.raises(UnknownSpace):
            Database(store._database).spaces.limit("nowhere-at-all", **given)


@pytest.mark.parametrize("shared", [True, False], ids=["one store", "two stores"])
def test_writers_that_race_to_the_limit_end_exactly_there(durable_place: Place, shared: bool) -> None:
    """Whether the store remembers where it left the name, or must look."""
    first = durable_place.open()
    second = first if shared else durable_place.open()
    for name in "ab":
        first.add_turn("begin", bookmark=name)
    limits(first)(turns=30)

    def write(store: Store, name: str) -> tuple[int, int]:
        stored = refused = 0
        for _ in range(25):
            try:
                store.add_turn("on", continues=name)
                stored += 1
            except QuotaExceeded:
                refused += 1
        return stored, refused

    with ThreadPoolExecutor(2) as threads:
        told = list(threads.map(write, (first, second), "ab"))
    assert [sum(each) for each in zip(*told, strict=True)] == [28, 22]
    assert limits(first)().turns == first.stats().turns == 30
    assert first.verify().problems == ()
