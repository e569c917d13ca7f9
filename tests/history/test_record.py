"""Record: of a message list that is sent again and again, exactly the new tail is stored (rule I4, digest and seal;
rule R4, only the new tail)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.errors import InvalidArgument, InvalidContent, InvalidRole, UnknownTurn
from headish.history.reading.find import find_turn
from headish.history.writing.messages import _message_draft
from headish.history.writing.record import (
    TWINS_TRIED,
    ListMatch,
    digests_of_list,
    match_by_each,
    match_recorded,
    thread_roots,
)
from headish.rows.bookmarks import find_bookmark
from headish.values.grammar import parse_headish
from support.growing import grow, texts
from support.insides import counted_statements, counted_steps, dump, read, unchanged
from support.places import Place


def said(*words: str) -> list[dict[str, Any]]:
    """Messages that the user and the assistant say in turn."""
    return [{"role": ("user", "assistant")[index % 2], "content": word} for index, word in enumerate(words)]


class TestTheTail:
    def test_the_first_time_everything_is_new(self, store: Store) -> None:
        recorded = store.record(said("a", "b", "c"))
        assert recorded.added == 3
        assert texts(store, recorded.tip.id) == ["a", "b", "c"]

    def test_the_second_time_nothing_is_new(self, store: Store) -> None:
        first = store.record(said("a", "b", "c"), bookmark="main")
        before = dump(store)
        for arguments in ({}, {"bookmark": "main"}):
            again = store.record(said("a", "b", "c"), **arguments)
            assert (again.added, again.tip) == (0, first.tip)
        assert dump(store) == before

    def test_a_longer_list_adds_its_end(self, store: Store) -> None:
        first = store.record(said("a", "b"))
        longer = store.record(said("a", "b", "c", "d"))
        assert longer.added == 2
        assert longer.tip.meta.continues == (store.get(f"{longer.tip.id}~1").id,)
        assert store.get(f"{longer.tip.id}~2") == first.tip

    def test_a_shorter_list_finds_an_older_turn(self, store: Store) -> None:
        store.record(said("a", "b", "c"))
        shorter = store.record(said("a"))
        assert (shorter.added, texts(store, shorter.tip.id)) == (0, ["a"])

    def test_an_edited_message_begins_a_branch(self, store: Store) -> None:
        store.record(said("a", "b", "c"))
        edited = store.record(said("a", "B", "c"))
        assert edited.added == 2
        assert texts(store, edited.tip.id) == ["a", "B", "c"]
        assert store.stats().roots == 1

    @given(lists=st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=6), min_size=1, max_size=6))
    def test_the_store_is_the_tree_of_all_prefixes(self, place: Place, lists: list[list[str]]) -> None:
        with place.fresh() as store:
            known: set[tuple[str, ...]] = set()
            for words in lists:
                prefixes = {tuple(words[: length + 1]) for length in range(len(words))}
                recorded = store.record(said(*words))
                assert recorded.added == len(prefixes - known)
                assert texts(store, recorded.tip.id) == words
                known |= prefixes
            assert store.stats().turns == len(known)
            assert store.verify().problems == ()

    @given(words=st.lists(st.sampled_from("ab"), min_size=1, max_size=8), cut=st.integers(0, 8))
    def test_what_was_appended_turn_by_turn_is_recognised(self, place: Place, words: list[str], cut: int) -> None:
        with place.fresh() as store:
            tip = None
            for message in said(*words[:cut]):
                tip = store.add_turn(message["content"], role=message["role"], continues=tip and tip.id)
            recorded = store.record(said(*words))
            assert recorded.added == len(words[cut:])
            assert texts(store, recorded.tip.id) == words

    def test_what_a_message_says_beside_its_text_counts(self, store: Store) -> None:
        store.record([{"role": "user", "content": "a"}])
        different = [
            {"role": "system", "content": "a"},
            {"role": "user", "content": ["a", "b"]},
            {"role": "user", "content": "a", "attributes": {"speaker": "Ada"}},
        ]
        assert [store.record([message]).added for message in different] == [1, 1, 1]

    def test_cache_does_not_count(self, store: Store) -> None:
        first = store.record(said("a"))
        again = store.record([{"role": "user", "content": "a", "cache": True}])
        assert (again.added, again.tip) == (0, first.tip)

    def test_the_messages_of_a_window_are_recognised(self, store: Store) -> None:
        grown = grow(store, "a? <- b, x? <- y")
        store.add_turn("c", continues=grown["b"].id, attributes={"channel": "final"})
        window = store.resolve("@")
        assert store.record(window.messages).added == 0


class TestWhere:
    """Rule R4, only the new tail."""

    def test_below_what_it_continues(self, store: Store) -> None:
        grown = grow(store, "q? <- a, a <- x?, other? <- x?2")
        recorded = store.record([{"role": "user", "content": "x?"}], continues=grown["a"].id)
        assert (recorded.added, recorded.tip) == (0, grown["x?"])
        elsewhere = store.record([{"role": "user", "content": "x?"}], continues=grown["other?"].id)
        assert elsewhere.added == 1
        assert elsewhere.tip.meta.continues == (grown["other?"].id,)

    def test_below_a_bookmark_by_its_name(self, store: Store) -> None:
        store.add_turn("a", bookmark="main")
        recorded = store.record(said("b"), continues="main")
        assert recorded.tip.meta.continues == (store.get("main").id,)

    def test_inside_the_tree_of_the_given_bookmark(self, store: Store) -> None:
        grow(store, "a? <- b <- c?")
        mine = grow(store, "a? <- b")
        store.bookmarks.set("mine", mine["b"].id)
        recorded = store.record(said("a?", "b", "c?"), bookmark="mine")
        assert recorded.added == 1
        assert recorded.tip.meta.continues == (mine["b"].id,)

    def test_on_another_branch_of_the_bookmarks_tree(self, store: Store) -> None:
        grown = grow(store, "a? <- b <- c?, a? <- d")
        store.bookmarks.set("main", grown["d"].id)
        recorded = store.record(said("a?", "b", "c?"), bookmark="main")
        assert (recorded.added, recorded.tip) == (0, grown["c?"])
        assert store.get("main") == grown["c?"]

    def test_below_turns_that_set_options_where_the_bookmark_leads_there(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main", inherited={"t": 1})
        recorded = store.record(said("a", "b"), bookmark="main")
        assert recorded.added == 1
        assert recorded.tip.meta.continues == (a.id,)
        assert recorded.tip.options == {"t": 1}

    def test_without_either_only_threads_that_set_no_options_count(self, store: Store) -> None:
        store.add_turn("a", inherited={"t": 1})
        recorded = store.record(said("a", "b"))
        assert recorded.added == 2
        assert recorded.tip.options == {}

    def test_options_anywhere_on_the_way_count(self, store: Store) -> None:
        a = store.add_turn("a")
        store.add_turn("b", role="assistant", continues=a.id, inherited={"t": 1})
        recorded = store.record(said("a", "b", "c"))
        assert recorded.added == 2
        assert store.get(f"{recorded.tip.id}~2") == a

    def test_options_of_other_turns_do_not_count(self, store: Store) -> None:
        a = store.add_turn("a")
        store.add_turn("fork", continues=a.id, inherited={"t": 1})
        assert store.record(said("a")).tip == a

    def test_of_equals_the_first_committed_one_is_taken(self, store: Store) -> None:
        first, *_ = [store.add_turn("a") for _ in range(3)]
        assert store.record(said("a")).tip == first
        assert store.record(said("a", "b")).tip.meta.continues == (first.id,)

    def test_the_longest_match_wins_over_the_first_committed(self, store: Store) -> None:
        store.add_turn("a")
        grown = grow(store, "a <- b")
        second = store.add_turn("a")
        longer = store.add_turn("b", role="assistant", continues=second.id)
        recorded = store.record(said("a", "b"))
        assert (recorded.added, recorded.tip) == (0, longer)
        assert grown["b"].id != longer.id

    def test_a_turn_of_several_parents_is_no_match_for_a_list(self, store: Store) -> None:
        grow(store, "a?, b?, a? + b? <- c")
        assert store.record(said("a?", "c")).added == 1

    def test_what_lies_in_another_space_is_not_recognised(self, durable_place: Place) -> None:
        """Rule R6, another space is unknown."""
        one, other = durable_place.open("one"), durable_place.open("other")
        one.record(said("a", "b"))
        assert other.record(said("a", "b")).added == 2

    @pytest.mark.parametrize("twins", [1, TWINS_TRIED, TWINS_TRIED + 1])
    def test_among_equal_threads_the_one_that_belongs_is_found(self, store: Store, twins: int) -> None:
        for _ in range(twins):
            store.add_turns([{"content": "a", "inherited": {"t": 1}}, {"content": "b", "continues": 0}])
        mine = store.add_turns(["a", {"content": "b", "continues": 0}])[1]
        messages = [{"role": "user", "content": word} for word in "ab"]
        assert store.record(messages).tip == mine
        store.bookmarks.set("mine", mine.id)
        assert store.record(messages, bookmark="mine").tip == mine
        assert store.record(messages[1:], continues=f"{mine.id}~1").tip == mine

    @pytest.mark.parametrize("known", [0, 1, 31, 32, 33, 250, 467, 468, 469, 499, 500])
    def test_wherever_a_long_list_stops_being_known(self, store: Store, known: int) -> None:
        messages = said(*map(str, range(500)))
        if known:
            store.record(messages[:known], bookmark="main")
        recorded = store.record(messages, bookmark="main")
        assert recorded.added == 500 - known
        assert texts(store, "main") == [message["content"] for message in messages]

    @given(
        grown=st.lists(
            st.tuples(st.integers(-1, 12), st.sampled_from("ab"), st.booleans(), st.booleans()), max_size=14
        ),
        words=st.lists(st.sampled_from("ab"), min_size=1, max_size=5),
        where=st.tuples(st.sampled_from(["", "base", "name"]), st.integers(0, 13)),
    )
    def test_the_last_known_message_tells_as_much_as_each(
        self, place: Place, grown: list[tuple[int, str, bool, bool]], words: list[str], where: tuple[str, int]
    ) -> None:
        """Trees with equal threads, options and merges: looking at the last known message finds the same turn."""
        with place.fresh() as store:
            ids: list[str] = []
            for number, (before, word, sets, merges) in enumerate(grown):
                parents = [before] if 0 <= before < number else []
                parents += [number - 1] if merges and number and number - 1 not in parents else []
                continues = [ids[each] for each in parents] or None
                ids.append(store.add_turn(word, continues=continues, inherited={"t": 1} if sets else None).id)
            chosen = ids[where[1] % len(ids)] if ids else None
            if chosen and where[0] == "name":
                store.bookmarks.set("name", chosen)
            drafts = [_message_draft({"role": "user", "content": word}, 1000, None) for word in words]

            def both(connection: Any) -> list[Any]:
                space = store._number
                base = find_turn(connection, space, parse_headish(chosen)) if chosen and where[0] == "base" else None
                named = find_bookmark(connection, space, b"name") if where[0] == "name" else None
                wanted = ListMatch(digests_of_list(drafts, base), base, thread_roots(connection, space, named))
                return [match_recorded(connection, space, wanted), match_by_each(connection, space, wanted)]

            quick, slow = read(store, both)
            assert quick == slow


class TestWhatItCosts:
    """Rule R17, cost is counted."""

    def known(self, store: Store, length: int) -> list[dict[str, Any]]:
        messages = said(*(f"message {number}" for number in range(length)))
        store.record(messages, bookmark="main")
        return messages

    @pytest.mark.parametrize("where", [{}, {"bookmark": "main"}, {"continues": "base"}])
    def test_a_long_list_takes_no_more_statements_than_a_short_one(self, store: Store, where: dict[str, str]) -> None:
        base = store.add_turn("base", bookmark="base")
        counts = []
        for length in (10, 1000):
            messages = said(*(f"{length} {number}" for number in range(length)))
            store.record(messages, continues=base.id if "continues" in where else None, bookmark=f"b{length}")
            given = {key: f"b{length}" if key == "bookmark" else name for key, name in where.items()}
            with counted_statements() as counted:
                assert store.record([*messages, {"role": "user", "content": "new"}], **given).added == 1
            counts.append(counted.count)
        assert counts[1] <= counts[0] + 1 <= 25  # the second list may fork

    def test_the_database_does_as_much_for_a_long_list_as_for_a_short_one(self) -> None:
        steps = []
        for length in (50, 1000):
            with Store.open(":memory:") as store:
                messages = self.known(store, length)
                store.record(messages, bookmark="main")
                with counted_steps(store) as counted:
                    store.record([*messages, {"role": "user", "content": "new"}], bookmark="main")
                steps.append(counted[0])
        assert steps[1] <= steps[0] * 1.5

    def test_a_list_that_is_known_takes_few_statements_too(self, store: Store) -> None:
        messages = self.known(store, 1000)
        with counted_statements() as counted:
            assert store.record(messages, bookmark="main").added == 0
        assert counted.count <= 12


class TestNames:
    def test_only_the_given_bookmark_moves(self, store: Store) -> None:
        first = store.record(said("a", "b"), bookmark="main")
        store.bookmarks.set("other", first.tip.id)
        recorded = store.record(said("a", "b", "c"))
        assert {each.name: each.turn for each in store.bookmarks.list()} == {
            "main": first.tip.id,
            "other": first.tip.id,
        }
        assert recorded.tip.meta.bookmark is None
        moved = store.record(said("a", "b", "c"), bookmark="main")
        assert moved.tip == recorded.tip
        assert {each.name: each.turn for each in store.bookmarks.list()} == {
            "main": moved.tip.id,
            "other": first.tip.id,
        }

    def test_a_name_that_is_continued_stays(self, store: Store) -> None:
        a = store.add_turn("a", bookmark="main")
        store.record(said("b"), continues="main")
        assert store.get("main") == a

    def test_a_new_name_is_set(self, store: Store) -> None:
        recorded = store.record(said("a"), bookmark="new")
        assert store.get("new") == recorded.tip

    def test_a_name_that_is_there_already_makes_no_move(self, store: Store) -> None:
        store.record(said("a"), bookmark="main")
        store.record(said("a"), bookmark="main")
        assert len(store.bookmarks.history("main")) == 1


@pytest.mark.parametrize(
    ("messages", "arguments", "error"),
    [
        ([], {}, InvalidArgument),
        ("text", {}, InvalidArgument),
        ([5], {}, InvalidArgument),
        ([{"role": "user"}], {}, InvalidArgument),
        ([{"role": "user", "content": "a", "bookmark": "main"}], {}, InvalidArgument),
        ([*said("x"), {"content": "a", "said_at": "now"}], {}, InvalidArgument),
        pytest.param([*said("x"), {"content": "a", "meta": {"a": b""}}], {}, InvalidContent, id="bytes"),
        ([*said("a"), {"role": "robot", "content": "b"}], {}, InvalidRole),
        ([*said("a"), {"role": "user", "content": [{"type": 5}]}], {}, InvalidContent),
        (said("new"), {"continues": "nowhere"}, UnknownTurn),
    ],
)
def test_what_is_no_list_of_messages_is_refused_whole(
    store: Store, messages: Any, arguments: dict[str, str], error: type[Exception]
) -> None:
    store.record(said("x"), bookmark="main")
    with unchanged(store), pytest.raises(error):
        store.record(messages, **arguments)
