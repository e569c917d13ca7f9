"""add_turns: a stream of any length in bounded batches, each all or nothing (rule R3, whole batches)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.errors import HeadishError, InvalidArgument, InvalidContent, InvalidRole, UnknownTurn
from headish.limits import BATCH_BYTES, BATCH_TURNS
from support.growing import texts
from support.insides import database_of, dump, unchanged
from support.places import Place, in_memory_too


class Drained:
    """An iterable that knows how far it was drained whenever the database was about to be written."""

    def __init__(self, items: Iterator[Any], store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self._items, self.count, self.at_writes = items, 0, []
        database = database_of(store)
        write = database.write

        def watched(work: Any, settle: Any = None) -> Any:
            self.at_writes.append(self.count)
            self.is_open = True
            try:
                return write(work, settle)
            finally:
                self.is_open = False

        self.is_open = False
        monkeypatch.setattr(database, "write", watched)

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            assert not self.is_open, "the caller's iterable runs inside a transaction"
            self.count += 1
            yield item


class TestBatches:
    def test_a_batch_has_a_bounded_number_of_turns(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        items = Drained((str(index) for index in range(3 * BATCH_TURNS)), store, monkeypatch)
        assert len(store.add_turns(items)) == 3 * BATCH_TURNS
        # One item more was drawn each time, to see that the batch is full.
        assert items.at_writes == [BATCH_TURNS + 1, 2 * BATCH_TURNS + 1, 3 * BATCH_TURNS]

    def test_a_batch_has_a_bounded_number_of_bytes(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        quarter = "x" * (BATCH_BYTES // 4)
        items = Drained((f"{index}{quarter}" for index in range(9)), store, monkeypatch)
        store.add_turns(items)
        assert items.at_writes == [5, 9, 9]

    def test_no_transaction_is_open_while_the_iterable_runs(self, durable_place: Place) -> None:
        store, other = durable_place.open(), durable_place.open()

        def items() -> Iterator[str]:
            for index in range(BATCH_TURNS + 1):
                yield f"mine {index}"
                if index % 400 == 0:
                    other.add_turn(f"another writer's {index}")

        assert len(store.add_turns(items())) == BATCH_TURNS + 1
        assert store.stats().turns == BATCH_TURNS + 1 + 3
        assert store.verify().problems == ()

    @in_memory_too
    def test_a_refused_item_undoes_its_batch_and_keeps_the_earlier_ones(self, store: Store) -> None:
        items = [f"{index}" for index in range(BATCH_TURNS + 10)]
        with pytest.raises(InvalidRole):
            store.add_turns([*items, {"content": "bad", "role": "robot"}])
        assert store.stats().turns == BATCH_TURNS
        assert store.verify().problems == ()

    @pytest.mark.parametrize(
        ("bad", "error"),
        [
            ({"content": "x", "role": "robot"}, InvalidRole),
            ({"content": ["\ud800"]}, InvalidContent),
            ({"content": "x", "continues": "nowhere"}, UnknownTurn),
            ({"content": "x", "continues": 2}, UnknownTurn),
            ({"content": "x", "continues": -1}, UnknownTurn),
            ({"content": "x", "colour": "red"}, InvalidArgument),
            ({"role": "user"}, InvalidArgument),
            (5, InvalidContent),
        ],
    )
    def test_one_batch_is_all_or_nothing(self, store: Store, bad: Any, error: type[Exception]) -> None:
        store.add_turn("before", bookmark="main")
        with unchanged(store), pytest.raises(error):
            store.add_turns([{"content": "a", "continues": "main"}, {"content": "b", "bookmark": "new"}, bad, "c"])

    @in_memory_too
    def test_an_iterable_that_fails_stores_nothing_of_its_batch(self, store: Store) -> None:
        def items() -> Iterator[str]:
            yield "a"
            raise RuntimeError("the caller's own")

        with unchanged(store), pytest.raises(RuntimeError, match="the caller's own"):
            store.add_turns(items())


class TestItems:
    def test_an_item_is_content_or_a_mapping(self, store: Store) -> None:
        stored = store.add_turns(
            [
                "text",
                ["two", "blocks"],
                {"type": "text", "text": "one block"},
                {"content": "arguments", "role": "assistant", "cache": True},
            ]
        )
        assert [turn.meta.role for turn in stored] == ["user", "user", "user", "assistant"]
        assert [len(store.blocks(turn.id)) for turn in stored] == [1, 2, 1, 1]

    def test_no_items_store_nothing(self, store: Store) -> None:
        with unchanged(store):
            stored = store.add_turns([])
        assert len(stored) == 0
        assert list(stored) == stored[:] == []

    def test_an_item_continues_an_earlier_one_by_its_index(self, store: Store) -> None:
        stored = store.add_turns(
            [
                "a",
                {"content": "b", "continues": 0},
                {"content": "c", "continues": 0},
                {"content": "d", "continues": [2, 1]},
            ]
        )
        assert texts(store, stored[3].id) == ["a", "c", "b", "d"]

    def test_an_index_reaches_back_over_batches(self, store: Store) -> None:
        far = [0, BATCH_TURNS - 1, BATCH_TURNS, 2 * BATCH_TURNS + 3]
        items: list[Any] = [str(index) for index in range(2 * BATCH_TURNS + 5)]
        stored = store.add_turns([*items, *({"content": "x", "continues": index} for index in far)])
        assert [texts(store, turn.id)[0] for turn in stored[-4:]] == [str(index) for index in far]

    def test_an_index_reaches_over_what_other_writers_stored_in_between(self, durable_place: Place) -> None:
        store, other = durable_place.open(), durable_place.open()

        def items() -> Iterator[Any]:
            for index in range(BATCH_TURNS + 2):
                yield f"mine {index}"
            other.add_turns(["theirs"] * 7)
            for index in (0, BATCH_TURNS + 1):
                yield {"content": "x", "continues": index}
            for index in range(BATCH_TURNS):
                yield f"more {index}"
            yield {"content": "x", "continues": BATCH_TURNS + 1}

        stored = store.add_turns(items())
        for position, index in ((BATCH_TURNS + 2, 0), (BATCH_TURNS + 3, BATCH_TURNS + 1), (-1, BATCH_TURNS + 1)):
            assert texts(store, stored[position].id) == [f"mine {index}", "x"]

    def test_a_suffix_counts_from_what_stands_before_it_in_the_stream(self, store: Store) -> None:
        stored = store.add_turns(
            [
                {"content": "a", "bookmark": "main"},
                {"content": "b", "continues": "main"},
                {"content": "fork", "continues": "main~1"},
                {"content": "c", "continues": "@~1"},
            ]
        )
        assert [texts(store, turn.id) for turn in stored] == [["a"], ["a", "b"], ["a", "fork"], ["a", "c"]]


class TestStoredTurns:
    def test_it_is_a_sequence(self, store: Store) -> None:
        stored = store.add_turns(str(index) for index in range(BATCH_TURNS + 5))
        listed = list(stored)
        assert [turn.to_dict() for turn in listed] == [turn.to_dict() for turn in store.turns()]
        assert len(stored) == len(listed)
        for index in (0, 1, BATCH_TURNS - 1, BATCH_TURNS, BATCH_TURNS + 4, -1, -5, -len(listed)):
            assert stored[index] == listed[index]
        assert stored[2:5] == listed[2:5]
        assert stored[::-500] == listed[::-500]
        assert stored[-3:] == listed[-3:]
        assert listed[7] in stored
        assert stored.index(listed[7]) == 7
        for index in (len(listed), -len(listed) - 1):
            with pytest.raises(IndexError):
                stored[index]

    def test_it_holds_its_own_turns_alone(self, durable_place: Place) -> None:
        store, other = durable_place.open(), durable_place.open()

        def items() -> Iterator[str]:
            for index in range(BATCH_TURNS + 3):
                yield f"mine {index}"
                if index == BATCH_TURNS:
                    other.add_turns(["theirs"] * 9)

        stored = store.add_turns(items())
        assert [texts(store, turn.id) for turn in stored] == [[f"mine {index}"] for index in range(BATCH_TURNS + 3)]


NAMES = ("main", "dev", "old")


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Items that continue one another by index, by name, as the newest, and by names with suffixes."""
    items: list[dict[str, Any]] = []
    for index in range(draw(st.integers(1, 12))):
        item: dict[str, Any] = {"content": draw(st.sampled_from("abc"))}
        headish = st.one_of(st.sampled_from([*NAMES, "@", "start", "main~1", "dev@{1}", "old^"]))
        links = st.one_of(headish, st.integers(0, index - 1)) if index else headish
        how = draw(st.sampled_from(["nothing", "one", "one", "several", "respond"]))
        if how == "one":
            item["continues"] = draw(links)
        elif how == "several":
            item["continues"] = draw(st.lists(links, min_size=1, max_size=3))
        elif how == "respond":
            item["respond"] = True
        if draw(st.integers(0, 2)) == 0:
            item["bookmark"] = draw(st.sampled_from(NAMES))
        items.append(item)
    return items


def one_by_one(store: Store, items: list[dict[str, Any]]) -> None:
    """add_turn for each item, indexes replaced by the ids of the turns that they stand for."""
    ids: list[str] = []
    for item in items:
        given_links = item.get("continues")
        listed = [given_links] if isinstance(given_links, str | int) else given_links or []
        links = [ids[each] if isinstance(each, int) else each for each in listed]
        ids.append(store.add_turn(**{**item, "continues": links}).id)


def drawn(store: Store) -> Any:
    """All that two stores agree on that were told the same: everything but ids, seals, times, and where a name stood
    inside a batch (rule R39, one row)."""
    turns = list(store.turns())
    number = {turn.id: index for index, turn in enumerate(turns)}
    last = {turn.meta.bookmark: turn.id for turn in turns}
    moved = {turn.id: turn.meta.bookmark for turn in turns if last[turn.meta.bookmark] == turn.id}
    histories = {
        name: [number.get(move.turn or "") for move in history(store, name)]
        for name in (*NAMES, "start", "twin", "third")
    }
    return (
        [(turn.digest, moved.get(turn.id), [number[each] for each in turn.meta.continues]) for turn in turns],
        {name: [*moves[:1], *(each for each in moves[1:] if each == 0)] for name, moves in histories.items()},
        {each.name: number[each.turn] for each in store.bookmarks.list()},
        [number[turn.id] for turn in store.heads()],
        [row[1:4] for row in dump(store)["turn"]],
    )


def history(store: Store, name: str) -> list[Any]:
    try:
        return store.bookmarks.history(name)
    except UnknownTurn:
        return []


@given(items=streams(), twins=st.integers(0, 2))
def test_a_stream_gives_what_its_items_give_one_by_one(place: Place, items: list[dict[str, Any]], twins: int) -> None:
    """Rules R2 (one name moves) and R3 (whole batches): names carried within a batch exactly as if the turns had been
    added alone."""
    with place.fresh() as whole, place.fresh() as single:
        for store in (whole, single):
            store.add_turn("start", bookmark="start")
            for name in ("twin", "third")[:twins]:
                store.bookmarks.set(name, "start")
        try:
            one_by_one(single, items)
        except HeadishError as error:
            with pytest.raises(type(error)):
                whole.add_turns(items)
        else:
            whole.add_turns(items)
            assert drawn(whole) == drawn(single)
        assert whole.verify().problems == ()


def test_a_name_that_is_left_alone_within_a_batch_moves_as_it_would_one_by_one(place: Place) -> None:
    """Rule R2, one name moves: of four names at one turn two move away, then two are left; after the third, one."""
    items = [{"content": str(index), "continues": name} for index, name in enumerate(("a", "b", "ID", "c", "ID"))]
    found = []
    for batch in (True, False):
        with place.fresh() as store:
            first = store.add_turn("first", bookmark="a")
            for name in ("b", "c", "d"):
                store.bookmarks.set(name, first.id)
            told = [
                {**item, "continues": first.id if item["continues"] == "ID" else item["continues"]} for item in items
            ]
            if batch:
                store.add_turns(told)
            else:
                one_by_one(store, told)
            found.append([turn.meta.bookmark for turn in store.turns()])
    assert found[0] == found[1] == ["a", "a", "b", None, "c", "d"]
