"""Lists in pages: heads, children, bookmarks and spaces, and what a page costs however long the list is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given

from headish import Database, Store, Turn
from headish.errors import InvalidArgument, UnknownBookmark, UnknownTurn
from support.dags import dags
from support.growing import grow, names_of
from support.insides import counted_statements, counted_steps
from support.places import FilePlace, Place

DRAWING = "q? <- a <- r?, q? <- b, b + r? <- end"


def pages(read: Callable[..., list[Any]], mark: Callable[[Any], str], limit: int) -> Iterator[list[Any]]:
    """The pages of a list, to its end."""
    after = None
    while page := read(limit=limit, after=after):
        yield page
        after = mark(page[-1])


def joined(read: Callable[..., list[Turn]], limit: int) -> list[str]:
    """The ids of all pages."""
    return [turn.id for page in pages(read, lambda turn: turn.id, limit) for turn in page]


class TestHeads:
    @given(parents=dags(largest=16))
    def test_the_pages_are_the_list(self, place: Place, parents: list[list[int]]) -> None:
        with place.fresh() as store:
            store.add_turns({"content": "a", "continues": each} for each in parents)
            for by in ("start", "tip"):
                whole = [turn.id for turn in store.heads(by=by)]  # type: ignore[arg-type]
                for limit in (1, 2, 5):
                    assert joined(lambda by=by, **page: store.heads(by=by, **page), limit) == whole

    def test_the_branch_that_began_last_is_first(self, store: Store) -> None:
        grown = grow(store, "a? <- b, c? <- d, a? <- e")
        grown["more?"] = store.add_turn("more?", continues=grown["b"].id)
        assert names_of(store.heads(), grown) == ["e", "d", "more?"]
        assert names_of(store.heads(by="tip"), grown) == ["more?", "e", "d"]

    def test_a_page_begins_where_a_branch_began_that_has_gone_on(self, store: Store) -> None:
        grown = grow(store, "a?, b?, c?")
        [first] = store.heads(limit=1)
        store.add_turn("on", continues=first.id)
        assert names_of(store.heads(after=first.id), grown) == ["b?", "a?"]

    def test_chains_without_heads_are_passed_over(self, store: Store) -> None:
        ids = [turn.id for turn in store.add_turns(str(index) for index in range(20))]
        store.add_turn("joined", continues=ids[10:])
        assert [turn.id for turn in store.heads(limit=2)][1:] == [ids[9]]

    def test_wrong_pages_are_refused(self, store: Store) -> None:
        for wrong in ({"limit": 0}, {"limit": True}, {"limit": "2"}, {"by": "size"}):
            with pytest.raises(InvalidArgument):
                store.heads(**wrong)  # type: ignore[arg-type]
        with pytest.raises(UnknownTurn):
            store.heads(after="nowhere")


class TestChildren:
    @given(parents=dags(largest=16))
    def test_the_pages_are_the_list(self, place: Place, parents: list[list[int]]) -> None:
        with place.fresh() as store:
            for turn in list(store.add_turns({"content": "a", "continues": each} for each in parents)):
                whole = [child.id for child in store.children(turn.id)]
                assert joined(lambda turn=turn, **page: store.children(turn.id, **page), 2) == whole

    def test_a_limit_below_one_is_refused(self, store: Store) -> None:
        grown = grow(store, DRAWING)
        with pytest.raises(InvalidArgument):
            store.children(grown["q?"].id, limit=0)


class TestBookmarks:
    def test_the_pages_are_the_list(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        for index, name in enumerate("hgbadecf"):
            # Several in one millisecond: of these the last name comes first.
            monkeypatch.setattr(time, "time_ns", lambda at=index // 3: (1_900_000_000_000 + at) * 10**6)
            store.add_turn(name, bookmark=name)
        for by, order in (("name", "abcdefgh"), ("recency", "fcedahgb")):
            found = [
                [each.name for each in page]
                for page in pages(
                    lambda by=by, **page: store.bookmarks.list(by=by, **page),
                    lambda each: each.name,
                    3,
                )
            ]
            assert found == [list(order[:3]), list(order[3:6]), list(order[6:])]

    def test_a_name_that_is_gone_is_a_place_among_names_alone(self, store: Store) -> None:
        store.add_turn("a", bookmark="a")
        assert [each.name for each in store.bookmarks.list(after="0")] == ["a"]
        with pytest.raises(UnknownBookmark):
            store.bookmarks.list(by="recency", after="0")


class TestSpaces:
    def test_the_pages_are_the_list(self, file_place: FilePlace) -> None:
        with Database.open(file_place.target) as database:
            for name in "bca":
                database.spaces.add(name)
            assert list(pages(database.spaces.list, str, 2)) == [["a", "b"], ["c"]]
            assert list(database.spaces) == ["a", "b", "c"]
            assert (len(database.spaces), "b" in database.spaces, "d" in database.spaces) == (3, True, False)
            assert ("no name" in database.spaces, 3 in database.spaces) == (False, False)
            with pytest.raises(InvalidArgument):
                database.spaces.list(limit=0)

    def test_removed_ones_do_not_count(self, file_place: FilePlace) -> None:
        with Database.open(file_place.target) as database:
            database.spaces.add("a")
            database.spaces.remove("a")
            assert (list(database.spaces), len(database.spaces)) == ([], 0)


class TestPartsOfTrees:
    """``tree(limit=)``: half of the turns lead to the one that is named, the others grew from it."""

    def test_a_part_is_the_nearest(self, store: Store) -> None:
        grown = grow(store, "a? <- b <- c? <- d <- e? <- f <- g?, d <- h?, b <- i?, d <- j? <- k")
        part = store.tree(grown["d"].id, limit=5)
        assert names_of(part, grown) == ["c?", "d", "e?", "h?", "j?"]
        assert {turn.content[0].text: turn.more for turn in part} == {"c?": 0, "d": 0, "e?": 1, "h?": 0, "j?": 1}
        first = part[0]
        assert first.continues == (grown["b"].id,)
        assert first.children == (grown["d"].id,)
        assert names_of(store.tree(grown["b"].id, limit=2), grown) == ["b", "c?"]
        assert [turn.more for turn in store.tree(grown["b"].id, limit=2)] == [1, 1]

    def test_a_short_thread_leaves_room_for_what_grew(self, store: Store) -> None:
        grown = grow(store, "a? <- b <- c? <- d <- e?, a? <- f")
        assert names_of(store.tree(grown["a?"].id, limit=4), grown) == ["a?", "b", "c?", "f"]
        assert names_of(store.tree(grown["e?"].id, limit=1), grown) == ["e?"]

    def test_another_conversation_that_begins_alike_is_no_part(self, store: Store) -> None:
        system = store.add_turn("s", role="system").id
        said = [store.add_turn(f"q{number}", continues=system, bookmark=f"n{number}").id for number in range(9)]
        other = store.edit("n3", "or").turn.id
        answer = store.add_turn("a", role="assistant", continues=said[3]).id
        for limit in (4, 100):
            part = store.tree(other, limit=limit)
            assert [turn.id for turn in part] == [system, said[3], other, answer]
            assert [turn.more for turn in part] == [8, 0, 0, 0]
            assert [turn.versions for turn in part] == [1, 2, 2, 1]
        assert [turn.id for turn in store.tree(other, limit=3)] == [other]
        assert len(store.tree(other)) == len(store.tree(system, limit=12)) == 12

    @given(parents=dags(largest=12))
    def test_a_part_as_large_as_the_tree_says_the_same_of_its_turns(
        self, place: Place, parents: list[list[int]]
    ) -> None:
        with place.fresh() as store:
            stored = store.add_turns({"content": "a", "continues": each} for each in parents)
            for turn in list(stored):
                whole = {each.id: each for each in store.tree(turn.id)}
                part = store.tree(turn.id, limit=100)
                drawn = {each.id for each in part}
                for each in part:
                    of_whole = whole[each.id]
                    assert (each.continues, each.bookmarks) == (of_whole.continues, of_whole.bookmarks)
                    assert each.children == tuple(child for child in of_whole.children if child in drawn)
                    assert each.more == len(of_whole.children) - len(each.children)

    def test_names_are_those_of_the_turns(self, store: Store) -> None:
        grown = grow(store, "q? <- a <- r?, q? <- b")
        store.bookmarks.set("set", grown["a"].id)
        moved = store.add_turn("moved", continues=grown["b"].id, bookmark="moved")
        store.add_turn("on", continues="moved")
        store.bookmarks.set("back", "moved")
        store.bookmarks.undo("moved")
        store.add_turn("elsewhere", bookmark="elsewhere")
        expected = {"a": ("set",), "moved": ("moved",), "on": ("back",)}
        for turns in (store.tree(moved.id), store.tree(moved.id, limit=100)):
            names = {turn.text: turn.bookmarks for turn in turns if turn.bookmarks}
            assert names.items() <= expected.items()
        assert {turn.text: turn.bookmarks for turn in store.tree(moved.id) if turn.bookmarks} == expected
        assert store.bookmarks.at([grown["a"].id, moved.id, grown["q?"].id]) == {
            grown["a"].id: ["set"],
            moved.id: ["moved"],
        }


LISTS: dict[str, Callable[[Store, Turn], Any]] = {
    "heads": lambda store, root: store.heads(limit=20),
    "heads behind one": lambda store, root: store.heads(limit=20, after=store.heads(limit=1)[0].id),
    "children": lambda store, root: store.children(root.id, limit=20),
    "bookmarks": lambda store, root: store.bookmarks.list(limit=20),
    "bookmarks by recency": lambda store, root: store.bookmarks.list(limit=20, by="recency"),
    "tree": lambda store, root: [*store.tree("apart"), *[None] * 18],
    "a part of a tree": lambda store, root: store.tree(store.heads(limit=1)[0].id, limit=20) + [root] * 18,
    "a page with names": lambda store, root: [store.render("apart", "text", debug=True)] * 20,
    "names": lambda store, root: [store.bookmarks.at([root.id, store.get("apart").id])] * 20,
    "spaces": lambda store, root: Database(store._database).spaces.list(limit=20),
}


def steps_among(others: int, read: Callable[[Store, Turn], Any]) -> int:
    """The steps of a page of a list with so many entries."""
    with Store.open(":memory:") as store:
        root = store.add_turn("root")
        store.add_turns(
            {"content": f"{index}", "continues": root.id, "bookmark": f"b{index:05}"} for index in range(others)
        )
        apart = store.add_turn("apart", bookmark="apart")
        store.add_turn("behind", continues=apart.id)
        for index in range(others // 20):
            Database(store._database).spaces.add(f"space-{index:05}")
        read(store, root)
        with counted_steps(store) as steps:
            assert len(read(store, root)) == 20
        return steps[0]


@pytest.mark.parametrize("name", LISTS)
def test_a_page_costs_the_same_in_a_short_list_and_in_a_long_one(name: str) -> None:
    small, large = steps_among(400, LISTS[name]), steps_among(2000, LISTS[name])
    assert 0 < large <= small + 20


WHOLE: dict[str, Callable[[Store, Turn], Any]] = {
    "heads": lambda store, root: store.heads(),
    "children": lambda store, root: store.children(root.id),
    "turns": lambda store, root: list(store.turns()),
    "a page of heads": lambda store, root: store.heads(limit=50),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_list_takes_a_statement_for_many_turns(place: Place, name: str) -> None:
    with place.open() as store:
        root = store.add_turn("root")
        middle = store.add_turn("middle", continues=root.id)
        store.add_turns({"content": f"{index}", "continues": root.id} for index in range(100))
        store.add_turns({"content": f"{index}", "continues": [root.id, middle.id]} for index in range(100))
        with counted_statements() as counted:
            WHOLE[name](store, root)
        assert counted.count <= 8


def test_a_slice_of_what_was_stored_is_read_in_pages(place: Place) -> None:
    with place.open() as store:
        stored = store.add_turns({"content": f"{index}"} for index in range(1100))
        with counted_statements() as counted:
            found = stored[900:1060]
        assert [store.text(turn.id) for turn in found[:2] + found[-1:]] == ["900", "901", "1059"]
        assert counted.count <= 8
        ids = [turn.id for turn in stored]
        for wanted in (
            slice(3, 1),
            slice(None, None, -1),
            slice(990, 1010),
            slice(5, 40, 7),
            slice(None),
            slice(-2, None),
        ):
            assert [turn.id for turn in stored[wanted]] == ids[wanted]
