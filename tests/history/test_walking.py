"""The walk and the resolve, over histories of any shape (rule I7, parents first; rule I8, options merge)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.content.inherited import combine, fold, merge
from headish.errors import UnknownTurn
from support.dags import dags, ladder_of_forks, linear, reference_merge_patch, reference_walk, stacked_diamonds
from support.growing import grow, texts
from support.insides import counted_rows, counted_statements
from support.places import FilePlace, Place


@contextmanager
def history(place: Place, parents: list[list[int]], **each: list[Any]) -> Iterator[tuple[Store, list[str]]]:
    """A fresh store with turns "0", "1", …, that continue one another as told, and their ids."""
    with place.fresh() as store:
        items = [
            {"content": str(index), "continues": continues, **{name: values[index] for name, values in each.items()}}
            for index, continues in enumerate(parents)
        ]
        yield store, [turn.id for turn in store.add_turns(items)]


class TestWalk:
    @given(parents=dags(), data=st.data())
    def test_each_ancestor_once_parents_first_as_the_definition_says(
        self, place: Place, parents: list[list[int]], data: st.DataObject
    ) -> None:
        with history(place, parents) as (store, ids):
            for head in {len(parents) - 1, data.draw(st.integers(0, len(parents) - 1))}:
                walked = [ids.index(message.turn) for message in store.resolve(ids[head]).messages]
                assert len(set(walked)) == len(walked)
                for position, turn in enumerate(walked):
                    assert set(parents[turn]) <= set(walked[:position])
                assert walked == reference_walk(parents, [head])
                assert [ids.index(record.id) for record in store.thread(ids[head])] == walked
                assert [ids.index(turn.id) for turn in store.log(ids[head])] == walked[::-1]

    @given(parents=dags(largest=16), data=st.data())
    def test_several_heads_resolve_as_if_one_turn_continued_them_all(
        self, place: Place, parents: list[list[int]], data: st.DataObject
    ) -> None:
        heads = data.draw(st.lists(st.integers(0, len(parents) - 1), min_size=1, max_size=4))
        options = data.draw(st.lists(st.none() | records, min_size=len(parents), max_size=len(parents)))
        with history(place, parents, inherited=options) as (store, ids):
            together = store.resolve([ids[head] for head in heads])
            assert [ids.index(message.turn) for message in together.messages] == reference_walk(parents, heads)
            joined = store.add_turn("all", continues=[ids[head] for head in heads])
            window = store.resolve(joined.id)
            assert window.messages[:-1] == together.messages
            assert window.options == together.options == joined.options

    @given(parents=dags(largest=12))
    def test_one_by_one_gives_the_same_threads_as_in_a_batch(self, place: Place, parents: list[list[int]]) -> None:
        with history(place, parents) as (store, ids), place.fresh() as other:
            singly: list[str] = []
            for index, continues in enumerate(parents):
                singly.append(other.add_turn(str(index), continues=[singly[each] for each in continues]).id)
            for one, two in zip(ids, singly, strict=True):
                assert texts(store, one) == texts(other, two)
                assert store.get(one).digest == other.get(two).digest

    def test_no_heads_resolve_to_an_empty_window(self, store: Store) -> None:
        store.add_turn("a")
        assert store.resolve([]).to_dict() == {"messages": [], "options": {}}
        assert store.thread([]) == []

    def test_a_branch_stays_whole_and_in_the_listed_order(self, store: Store) -> None:
        grown = grow(store, "q? <- a1 <- a2, q? <- b1 <- b2, b2 + a2 <- end")
        assert texts(store, grown["end"].id) == ["q?", "b1", "b2", "a1", "a2", "end"]

    def test_what_other_branches_say_stays_out(self, store: Store) -> None:
        grown = grow(store, "capital? <- Paris <- height?, Paris <- Berlin?, capital? <- Rome")
        assert texts(store, grown["height?"].id) == ["capital?", "Paris", "height?"]
        assert texts(store, grown["Rome"].id) == ["capital?", "Rome"]

    def test_the_order_does_not_follow_the_ids(self, store: Store) -> None:
        """Rule I7, parents first: the older branch was begun later."""
        grown = grow(store, "a? <- late, b? <- early, early + late <- end")
        assert texts(store, grown["end"].id) == ["b?", "early", "a?", "late", "end"]


LARGE = 10_000


@pytest.mark.slow
class TestLargeHistories:
    @pytest.mark.parametrize("shape", [linear, stacked_diamonds, ladder_of_forks], ids=lambda shape: shape.__name__)
    def test_ten_thousand_turns_are_walked_once_each_in_order(self, file_place: FilePlace, shape: Any) -> None:
        parents = shape(LARGE)
        store = file_place.open(durability="normal")
        stored = store.add_turns(
            {"content": str(index), "continues": continues, "inherited": {"last": index} if index % 100 == 0 else None}
            for index, continues in enumerate(parents)
        )
        assert len(stored) == LARGE
        head = stored[-1]
        with counted_statements() as counted:
            window = store.resolve(head.id)
        walked = [int(message.content[0].text) for message in window.messages]
        expected = reference_walk(parents, [LARGE - 1])
        assert walked == expected
        assert window.options == head.options == {"last": max(each for each in expected if each % 100 == 0)}
        assert counted.count <= 4

    def test_what_was_read_is_nothing_to_the_collector(self, store: Store) -> None:
        """It looks at what it follows again and again while a long thread is read, which took a third of the time."""
        turn = store.add_turn(
            [{"type": "text", "text": "hi"}, {"type": "tool_use", "name": "f", "input": {}}], bookmark="main"
        )
        [record], [message] = store.thread("main"), store.resolve("main").messages
        assert [each for each in (turn, record, message, *record.content) if gc.is_tracked(each)] == []

    def test_a_turn_that_ten_thousand_continue_is_walked_alone(self, file_place: FilePlace) -> None:
        store = file_place.open(durability="normal")
        root = store.add_turn("root")
        branches = store.add_turns({"content": str(index), "continues": root.id} for index in range(LARGE))
        assert texts(store, branches[LARGE // 2].id) == ["root", str(LARGE // 2)]
        assert len(store.children(root.id)) == len(store.heads()) == LARGE
        assert store.stats().turns == LARGE + 1

    def test_a_turn_continues_a_thousand_others(self, file_place: FilePlace) -> None:
        store = file_place.open()
        ids = [turn.id for turn in store.add_turns(str(index) for index in range(1000))]
        joined = store.add_turn("joined", continues=ids[::-1])
        assert texts(store, joined.id) == [*map(str, range(999, -1, -1)), "joined"]


class TestStatements:
    """The number of statements depends neither on the thread's length nor on its forks."""

    def counts(self, store: Store, headish: str) -> dict[str, int]:
        calls = {
            "resolve": lambda: store.resolve(headish),
            "thread": lambda: store.thread(headish),
            "options": lambda: store.options(headish),
            "tree": lambda: store.tree(headish),
            "get": lambda: store.get(headish),
            "children": lambda: store.children(headish),
            "blocks": lambda: store.blocks(headish),
            "step": lambda: store.get(f"{headish}~1"),
        }
        found = {}
        for name, call in calls.items():
            with counted_statements() as counted:
                call()
            found[name] = counted.count
        return found

    def test_it_does_not_grow_with_the_length(self, place: Place) -> None:
        found = []
        for length in (3, 300):
            with history(place, linear(length)) as (store, ids):
                found.append(self.counts(store, ids[-1]))
        assert found[0] == found[1]
        assert found[0]["resolve"] == 3

    def test_it_does_not_grow_with_the_forks(self, place: Place) -> None:
        found = []
        for forks in (2, 100):
            with history(place, ladder_of_forks(2 * forks + 1)) as (store, ids):
                store.add_turn("end", continues=ids[-1])
                found.append(self.counts(store, "@"))
        assert found[0] == found[1]

    def test_several_ends_read_what_they_share_once(self, place: Place) -> None:
        read: dict[int, tuple[int, int]] = {}
        for ends in (2, 40):
            with history(place, linear(300)) as (store, ids):
                store.add_turn("options", continues=ids[0], inherited={"a": 1})
                heads = [store.add_turn(f"{index}", continues=ids[-2]).id for index in range(ends)]
                with counted_statements() as counted, counted_rows() as rows:
                    window = store.resolve(heads)
                assert len(window.messages) == len(ids) - 1 + ends
                read[ends] = (counted.count - ends, rows[0] - ends)
                with counted_statements() as counted:
                    store.options(heads)
                    store.usage(heads)
                assert counted.count <= 2 * ends + 2 * ends + 12
        assert read[2][0] == read[40][0]
        assert read[40][1] <= read[2][1] + 3 * 38

    def test_a_long_log_reads_only_as_much_as_was_asked_for(self, place: Place) -> None:
        found = []
        for length in (10, 2000):
            with history(place, linear(length)) as (store, ids), counted_statements() as counted:
                assert len(store.log(ids[-1], limit=5)) == 5
                found.append(counted.count)
        assert found[0] == found[1]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["x", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
records = st.dictionaries(st.sampled_from("abc"), values, max_size=3)

RFC_7396_APPENDIX_A = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]
"""Its rows whose patch is an object: options are records, so the others cannot arise."""


class TestOptions:
    @pytest.mark.parametrize(("target", "patch", "result"), RFC_7396_APPENDIX_A)
    def test_merge_gives_what_the_rfc_says(self, target: Any, patch: Any, result: Any) -> None:
        assert merge(target, patch) == result
        assert reference_merge_patch(target, patch) == result

    @given(target=values, patch=records)
    def test_merge_is_the_rfcs_function(self, target: Any, patch: dict[str, Any]) -> None:
        assert merge(target, patch) == reference_merge_patch(target, patch)

    @given(options=records, first=records, second=records)
    def test_combined_patches_do_what_they_do_one_after_the_other(self, options: Any, first: Any, second: Any) -> None:
        options = merge({}, options)
        assert merge(options, combine(first, second)) == merge(merge(options, first), second)

    @given(patches=st.lists(records, max_size=4))
    def test_no_argument_is_modified(self, patches: list[dict[str, Any]]) -> None:
        before = repr(patches)
        fold(patches)
        for patch in patches:
            combine(patch, patch)
        assert repr(patches) == before

    @given(parents=dags(largest=14), data=st.data())
    def test_options_are_the_fold_over_the_walk(
        self, place: Place, parents: list[list[int]], data: st.DataObject
    ) -> None:
        """Rule I8, options merge."""
        given_options = data.draw(st.lists(st.none() | records, min_size=len(parents), max_size=len(parents)))
        with history(place, parents, inherited=given_options) as (store, ids):
            for head in {len(parents) - 1, len(parents) // 2}:
                expected: Any = {}
                for turn in reference_walk(parents, [head]):
                    expected = reference_merge_patch(expected, given_options[turn] or {})
                assert store.resolve(ids[head]).options == expected
                assert store.options(ids[head]) == expected
                assert store.get(ids[head]).options == expected

    def test_the_turns_own_options_come_last(self, store: Store) -> None:
        a = store.add_turn("a", inherited={"model": "a", "t": 1})
        b = store.add_turn("b", inherited={"model": "b"})
        c = store.add_turn("c", continues=[b.id, a.id], inherited={"t": 2})
        assert c.options == {"model": "a", "t": 2}

    def test_a_window_as_json_is_the_schema_references(self, store: Store) -> None:
        a = store.add_turn("q", inherited={"t": 1}, cache=True, attributes={"speaker": "Ada"})
        store.add_turn(["r"], role="assistant", continues=a.id)
        assert store.resolve().to_json() == (
            b'{"messages":[{"role":"user","content":[{"type":"text","text":"q"}],"cache":true},'
            b'{"role":"assistant","content":[{"type":"text","text":"r"}]}],"options":{"t":1}}'
        )


def test_a_thread_of_many_branches_is_read_in_few_statements(place: Place) -> None:
    """Ranges are read ``AT_ONCE`` in a statement, and so are the links of the turns that begin one. A log begins with
    few turns in a statement, and each next one brings four times as many."""
    expected = {
        10: {"log": 6, "messages": 6, "usage": 6, "list": 4, "versions": 5, "page": 9, "text": 8},
        40: {"log": 7, "messages": 6, "usage": 7, "list": 4, "versions": 5, "page": 9, "text": 8},
        120: {"log": 7, "messages": 6, "usage": 7, "list": 4, "versions": 5, "page": 9, "text": 8},
    }
    with place.fresh() as store:
        store.add_turn("q0", bookmark="main")
        asked = 0
        for questions in (10, 40, 120):
            for number in range(asked, questions):
                store.add_turn(f"a{number}", role="assistant", continues="main", moves=False)
                store.add_turns([
                    {"content": f"b{number}", "role": "assistant", "continues": "main"},
                    {"content": f"q{number + 1}", "continues": "main"},
                ])  # fmt: skip
            asked = questions
            reads: dict[str, Callable[[], object]] = {
                "log": lambda: store.log("main"),
                "messages": lambda: store.messages("main"),
                "usage": lambda: store.usage("main"),
                "list": store.conversations.list,
                "versions": partial(store.versions, [turn.id for turn in store.log("main")]),
                "page": lambda: store.render("main"),
                "text": lambda: store.render("main", "text"),
            }
            counts: dict[str, int] = {}
            for name, read in reads.items():
                with counted_statements() as counted:
                    read()
                counts[name] = counted.count
            assert counts == expected[questions]
            assert len(store.log("main")) == len(store.messages("main")) == 2 * questions + 1
            said = [each.turn for each in store.resolve("main").messages]
            assert [turn.id for turn in reversed(store.log("main"))] == said


def test_a_place_far_back_and_what_differs_from_it_are_found_in_few_statements(place: Place) -> None:
    """Forks are stepped over in portions that grow fourfold, and the turns that differ are read ``AT_ONCE``."""
    counts: dict[int, tuple[int, int]] = {}
    with place.fresh() as store:
        asked = store.add_turn("q0", bookmark="main").id
        for number in range(1, 121):
            store.add_turn(f"a{number}", role="assistant", continues=asked)
            answered = store.add_turn("b", role="assistant", continues=asked).id
            asked = store.add_turn(f"q{number}", continues=answered).id
            if number in (10, 40, 120):
                with counted_statements() as back:
                    assert store.text(f"{asked}~{2 * number}") == "q0"
                first = store.log(asked)[-1].id
                with counted_statements() as diff:
                    assert len(store.diff(first, asked).changes) == 2 * number
                counts[number] = (back.count, diff.count)
        with pytest.raises(UnknownTurn, match="does not go back so far"):
            store.get(f"{asked}~241")
    assert counts == {10: (6, 10), 40: (7, 10), 120: (8, 11)}
