"""Reading: log, children, heads, turns, tree, thread, stats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.errors import InvalidArgument, UnknownTurn
from headish.store.reading.lists import PAGE_TURNS
from headish.values.blocks import Text
from headish.values.ids import TurnId
from support.dags import dags
from support.growing import grow, names_of
from support.insides import counted_statements
from support.places import FilePlace, Place, in_memory_too

DRAWING = "q? <- a <- r?, q? <- b, b + r? <- end"


class TestLog:
    def test_it_is_the_thread_newest_first(self, store: Store) -> None:
        grown = grow(store, DRAWING)
        assert names_of(store.log(grown["r?"].id), grown) == ["r?", "a", "q?"]
        assert names_of(store.log(), grown) == ["end", "r?", "a", "b", "q?"]

    def test_it_stops_at_the_limit(self, store: Store) -> None:
        grown = grow(store, DRAWING)
        for limit in range(6):
            assert len(store.log(limit=limit)) == limit
        assert len(store.log(limit=100)) == len(grown)

    def test_its_turns_are_complete(self, store: Store) -> None:
        for turn in grow(store, DRAWING).values():
            assert store.log(turn.id, limit=1)[0].to_dict() == turn.to_dict()

    def test_what_contains_a_text_is_found_among_many_in_few_statements(self, store: Store) -> None:
        texts = [f"{'needle' if each % 50 == 7 else 'hay'} {each} {'x' * 3000 * (each % 3)}" for each in range(200)]
        turns = store.add_turns({"content": text, "respond": index > 0} for index, text in enumerate(texts))
        with counted_statements() as counted:
            found = store.log(grep="NEEDLE")
        assert [turn.id for turn in found] == [turns[each].id for each in (157, 107, 57, 7)]
        assert counted.count < 40
        assert [turn.id for turn in store.log(grep="needle", limit=1)] == [turns[157].id]

    def test_a_thread_longer_than_a_portion_comes_whole(self, store: Store) -> None:
        ids = [turn.id for turn in store.add_turns({"content": "a", "respond": index > 0} for index in range(700))]
        assert [turn.id for turn in store.log()] == ids[::-1]
        assert [turn.meta.continues for turn in store.log()] == [(turn_id,) for turn_id in ids[-2::-1]] + [()]


class TestContents:
    def test_they_are_the_blocks_of_each_turn(self, store: Store) -> None:
        texts = ["a", "b" * 5000, "c", "d" * 5000, "e" * 2048, "f" * 2049]
        turns = [*store.add_turns({"content": each} for each in texts), store.add_document(b"of it", name="g.txt")]
        for order in (turns, turns[::-1], [turns[3], turns[1], turns[5], turns[0]]):
            found = store.contents(each.id for each in order)
            assert [*found] == [each.id for each in order]
            assert found == {each.id: store.blocks(each.id) for each in order}
        assert store.contents([]) == {}
        assert store.contents([turns[0].id] * 3) == {turns[0].id: (Text("a"),)}

    def test_so_many_are_read_at_once_and_the_others_when_they_are_asked_for(self, store: Store) -> None:
        small = [turn.id for turn in store.add_turns({"content": "a"} for _ in range(150))]
        large = [turn.id for turn in store.add_turns({"content": each * 1_500_000} for each in "abcdef")]
        assert [*store.contents(small)] == small[:64]
        assert [*store.contents(large)] == large[:3]
        assert [*store.contents([*small[:10], *large[::-1]])] == [*small[:10], *large[:2:-1]]

    def test_what_is_no_turn_is_refused(self, store: Store) -> None:
        turn = store.add_turn("a")
        with pytest.raises(UnknownTurn):
            store.contents([turn.id, TurnId("0" * 25)])
        with pytest.raises(InvalidArgument, match="contents are looked up by whole ids, not by 'main'"):
            store.contents([TurnId("main")])

    def test_they_take_few_statements(self, durable_place: Place) -> None:
        with durable_place.open() as store:
            ids = [turn.id for turn in store.add_turns({"content": "a" * 3000 * (each % 2)} for each in range(64))]
            with counted_statements() as counted:
                store.contents(ids[:2])
                few = counted.count
                store.contents(ids)
            assert counted.count - few == few


class TestChildrenAndHeads:
    @given(parents=dags(largest=16))
    def test_they_are_the_links_read_the_other_way(self, place: Place, parents: list[list[int]]) -> None:
        with place.fresh() as store:
            items = [{"content": "a", "continues": each} for each in parents]
            ids = [turn.id for turn in store.add_turns(items)]
            children = {index: [c for c, each in enumerate(parents) if index in each] for index in range(len(parents))}
            for index, turn_id in enumerate(ids):
                assert [ids.index(turn.id) for turn in store.children(turn_id)] == children[index]
                assert store.get(turn_id).meta.continues == tuple(ids[each] for each in parents[index])
            heads = [index for index in children if not children[index]]
            assert [ids.index(turn.id) for turn in store.heads(by="tip")] == heads[::-1]
            assert sorted(ids.index(turn.id) for turn in store.heads()) == heads
            stats = store.stats()
            assert stats.heads == len(heads)
            assert stats.roots == sum(not each for each in parents)

    def test_their_turns_are_complete(self, store: Store) -> None:
        grown = grow(store, DRAWING, meta={"k": 1})
        assert [turn.to_dict() for turn in store.children(grown["q?"].id)] == [
            grown["a"].to_dict(), grown["b"].to_dict(),
        ]  # fmt: skip
        assert [turn.to_dict() for turn in store.heads()] == [grown["end"].to_dict()]

    def test_an_empty_space_has_no_heads(self, store: Store) -> None:
        assert store.heads() == []


class TestTurns:
    """Rule R1, commit order."""

    def test_all_turns_come_in_commit_order(self, store: Store) -> None:
        grown = grow(store, DRAWING)
        assert names_of(store.turns(), grown) == ["q?", "a", "r?", "b", "end"]
        assert [turn.to_dict() for turn in store.turns()] == [turn.to_dict() for turn in grown.values()]

    def test_a_reader_goes_on_behind_the_turn_that_it_saw_last(self, store: Store) -> None:
        grown = grow(store, DRAWING)
        assert names_of(store.turns(after=grown["r?"].id), grown) == ["b", "end"]
        assert list(store.turns(after="@")) == []

    def test_more_than_a_page_comes_without_gap_or_repetition(self, store: Store) -> None:
        ids = [turn.id for turn in store.add_turns(["a"] * (2 * PAGE_TURNS + 1))]
        assert [turn.id for turn in store.turns()] == ids
        assert [turn.id for turn in store.turns(after=ids[0])] == ids[1:]

    @in_memory_too
    def test_what_is_stored_while_reading_is_read_too(self, store: Store) -> None:
        store.add_turns(["a"] * PAGE_TURNS)
        reading = store.turns()
        next(reading)
        last = store.add_turn("late")
        assert list(reading)[-1] == last

    def test_an_unknown_start_is_refused(self, store: Store) -> None:
        with pytest.raises(UnknownTurn):
            list(store.turns(after="main"))


class TestTree:
    def test_a_tree_is_all_branches_of_a_thread_with_their_names(self, store: Store) -> None:
        grown = grow(store, DRAWING + ", other? <- thread")
        store.bookmarks.set("main", grown["end"].id)
        store.bookmarks.set("old", grown["a"].id)
        store.bookmarks.set("older", grown["a"].id)
        for name in ("q?", "a", "b", "end"):
            tree = store.tree(grown[name].id)
            assert names_of(tree, grown) == ["q?", "a", "r?", "b", "end"]
        by_name = dict(zip(names_of(tree, grown), tree, strict=True))
        assert by_name["a"].bookmarks == ("old", "older")
        assert by_name["end"].bookmarks == ("main",)
        assert by_name["q?"].bookmarks == ()
        assert by_name["q?"].children == (grown["a"].id, grown["b"].id)
        assert by_name["end"].continues == (grown["b"].id, grown["r?"].id)
        assert by_name["a"].content == (Text("a"),)
        assert (by_name["q?"].role, by_name["a"].role) == ("user", "assistant")

    def test_threads_that_a_turn_joins_are_one_tree(self, store: Store) -> None:
        grown = grow(store, "a? <- b, x? <- y <- z, b + y <- end, apart?")
        for name in ("a?", "z", "end"):
            assert names_of(store.tree(grown[name].id), grown) == ["a?", "b", "x?", "y", "z", "end"]
        assert names_of(store.tree(grown["apart?"].id), grown) == ["apart?"]

    @given(parents=dags(largest=16), data=st.data())
    def test_a_tree_is_all_that_links_lead_to(
        self, place: Place, parents: list[list[int]], data: st.DataObject
    ) -> None:
        member = data.draw(st.integers(0, len(parents) - 1))
        reached = {member}
        while True:
            linked = [{child, *above} for child, above in enumerate(parents) if {child, *above} & reached]
            if all(reached >= each for each in linked):
                break
            reached.update(*linked)
        with place.fresh() as store:
            ids = [turn.id for turn in store.add_turns({"content": "a", "continues": each} for each in parents)]
            assert [ids.index(turn.id) for turn in store.tree(ids[member])] == sorted(reached)


class TestThread:
    def test_thread_records_are_the_schema_references(self, store: Store) -> None:
        a = store.add_turn("q", inherited={"t": 1, "x": None}, cache=True)
        b = store.add_turn("r", role="assistant", continues=a.id)
        assert [record.to_dict() for record in store.thread(b.id)] == [
            {
                "id": a.id,
                "role": "user",
                "content": [{"type": "text", "text": "q"}],
                "inherited": {"t": 1, "x": None},
                "cache": True,
            },
            {
                "id": b.id,
                "role": "assistant",
                "content": [{"type": "text", "text": "r"}],
                "inherited": {},
                "cache": False,
            },
        ]

    def test_a_message_knows_its_turn_and_its_attributes(self, store: Store) -> None:
        """Rule R7, one message type."""
        turn = store.add_turn("a", attributes={"speaker": "Ada", "extra": {"mood": "calm"}})
        [message] = store.resolve().messages
        assert message.turn == turn.id
        assert message.attributes == turn.meta.attributes
        assert message.attributes.extra == {"mood": "calm"}


class TestStats:
    def test_they_count_the_space(self, store: Store) -> None:
        grown = grow(store, DRAWING + ", other? <- a2")
        store.add_turn("a")
        store.bookmarks.set("main", grown["end"].id)
        stats = store.stats()
        assert (stats.turns, stats.roots, stats.heads, stats.bookmarks) == (8, 3, 3, 1)
        assert stats.payload_bytes == sum(len(store.payload(turn.id)) for turn in store.turns())

    def test_an_empty_space_counts_nothing(self, place: Place) -> None:
        stats = place.fresh().stats()
        assert (stats.turns, stats.roots, stats.heads, stats.bookmarks, stats.payload_bytes) == (0, 0, 0, 0, 0)

    def test_another_space_is_not_counted(self, durable_place: Place) -> None:
        one, other = durable_place.open("one"), durable_place.open("other")
        grow(one, DRAWING)
        assert other.stats().turns == 0
        assert other.heads() == other.bookmarks.list() == list(other.turns()) == []

    def test_the_files_size_is_told(self, file_place: FilePlace) -> None:
        store = file_place.open()
        store.add_document(b"x" * 100_000)
        assert store.stats().database_bytes >= 100_000
