"""``store.search``: what is found, where, and by which filters; the same on every database, and without an index."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Database, Store
from headish.content.searching.questions import NESTED
from headish.errors import InvalidArgument, InvalidRole, ReadOnly
from headish.history.searching import candidates, hits, reaching
from headish.rows.searching import indexing
from headish.values.limits import QUESTION_WORDS_LIMIT
from support.growing import grow
from support.insides import counted_rows, counted_statements, counted_steps, database_of, unchanged
from support.places import FilePlace, Place

WORDS = (
    "cat",
    "dog",
    "Cats",
    "catalogue",
    "the",
    "Zürich",
    "zurich",
    "天気予報",
    "天",
    "予報です",
    "foo_bar",
    "bar",
    "x1",
    "\x1b[31mdog\x1b[0m",
    "\x1b]8;;cat\x07",
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
ASKED = st.recursive(
    st.one_of(
        st.sampled_from((*WORDS, "cat*", "ca*", "気", '"foo bar"', '"dog the"', "zur*")),
        st.lists(st.sampled_from(WORDS), min_size=2, max_size=3).map(lambda words: f'"{" ".join(words)}"'),
    ),
    lambda inner: st.one_of(
        *(st.tuples(inner, inner).map(lambda pair, by=by: f"({pair[0]}{by}{pair[1]})") for by in (" ", " OR ", " NOT "))
    ),
    max_leaves=4,
)


def found(store: Store, query: str, **options: Any) -> list[str]:
    return [hit.turn.id for hit in store.search(query, **options)]


def call(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": "c1", "name": name, "input": arguments}]


class TestWhatIsFound:
    def test_text_calls_results_and_documents_are_searched_and_reasoning_if_it_is_asked_for(self, store: Store) -> None:
        thinking = [{"type": "thinking", "text": "a secret plan"}, {"type": "text", "text": "a plain answer"}]
        answer = store.add_turn(thinking, role="assistant")
        called = store.add_turn(call("read_file", path="notes/plan.txt", deep=[{"key": "value"}]), role="assistant")
        result = store.add_turn(
            [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "no such file"}]}],
            role="tool", continues=called.id,
        )  # fmt: skip
        document = store.add_document("Über den Plan".encode(), name="sketch.txt")
        assert set(found(store, "plan")) == {called.id, document.id}
        assert found(store, "plan", fields="reasoning") == [answer.id]
        assert found(store, "plan", fields=["calls"]) == [called.id]
        assert found(store, "uber sketch") == [document.id]
        assert found(store, '"no such file"') == [result.id]
        assert found(store, "key value read_file") == [called.id]
        assert [hit.field for hit in store.search("plan file")] == ["calls"]
        assert found(store, "plain", fields="calls") == []

    @pytest.mark.parametrize(
        "source",
        [
            {"type": "base64", "media_type": "text/plain", "data": "R3L832U="},  # Latin-1
            {"type": "base64", "media_type": "text/plain", "data": "!"},
            {"type": "url", "media_type": "text/html", "url": "https://example.org/page"},
        ],
    )
    def test_a_text_document_that_cannot_be_read_is_found_by_its_name(
        self, store: Store, source: dict[str, str]
    ) -> None:
        turn = store.add_turn([{"type": "document", "name": "greetings.txt", "source": source}])
        assert found(store, "greetings") == [turn.id]
        assert store.verify().problems == ()

    def test_a_document_inside_a_message_is_searched_and_an_image_is_not(self, store: Store) -> None:
        kinds = {"a.txt": "text/plain", "b.png": "image/png"}
        blocks = [
            {"type": "document", "name": name, "source": {"type": "base64", "media_type": kind, "data": "aGVsbG8="}}
            for name, kind in kinds.items()
        ]
        turn = store.add_turn(blocks)
        assert found(store, "hello") == found(store, "png") == [turn.id]
        assert store.search("hello")[0].field == "documents"

    def test_long_words_are_told_apart_behind_the_letters_that_an_index_holds(self, store: Store) -> None:
        for letter in ("x", "ж"):
            long = letter * 70
            turns = [store.add_turn(f"the {word} end") for word in (f"{long}1", f"{long}2", long)]
            for number, word in enumerate((f"{long}1", f"{long}2", long)):
                assert found(store, word) == found(store, f'"the {word} end"') == [turns[number].id]
            assert set(found(store, f"{long}*")) == {each.id for each in turns}
            assert found(store, letter * 64) == []

    def test_other_forms_of_a_letter_and_fractions_are_found(self, store: Store) -> None:
        kana, half = store.add_turn("ﾃﾞｰﾀ ベース"), store.add_turn("take 2½ cups")
        assert found(store, "データ") == found(store, "ﾃﾞｰﾀ") == [kana.id]
        assert found(store, "2½") == found(store, '"2 1/2 cups"') == [half.id]
        assert found(store, "212") == []

    def test_a_phrase_runs_over_text_that_a_provider_cut_in_two(self, store: Store) -> None:
        turn = store.add_turn([{"type": "text", "text": "black c"}, {"type": "text", "text": "ats sleep"}])
        assert found(store, '"black cats sleep"') == [turn.id]

    def test_a_turn_that_was_just_stored_is_found_and_a_large_one_too(self, store: Store) -> None:
        assert found(store, "needle") == []
        large = store.add_turn("hay " * 5000 + "needle")
        assert found(store, "needle") == [large.id]
        small = store.add_turn("a needle")
        assert found(store, "needle", order="time") == [small.id, large.id]

    def test_a_turn_of_more_words_than_an_entry_takes_is_found(self, store: Store) -> None:
        turn = store.add_turn(" ".join(f"word{number:060}" for number in range(16_000)) + " needle")
        store.add_turn("needless")
        assert found(store, f"needle {'word':0<63}7") == [turn.id]
        assert found(store, "needle") == [turn.id]
        assert store.verify().problems == ()

    def test_a_space_finds_its_own_turns_alone(self, place: Place) -> None:
        store, other = place.open(), None
        with Database(store._database) as database:
            other = database.store(f"{store.space}0")  # its number may begin as the other's does
            mine, theirs = store.add_turn("a cat"), other.add_turn("a cat and a dog")
            assert (found(store, "cat"), found(other, "cat")) == ([mine.id], [theirs.id])
            assert found(store, "dog") == []

    def test_nothing_that_cannot_be_decoded_keeps_others_from_being_found(self, file_place: FilePlace) -> None:
        with file_place.open() as store:
            store.add_turn("a cat")
            whole = store.add_turn("a cat, too")
        with Database.open(file_place.target) as database, database.backend.schema_connection() as connection:
            connection.execute("UPDATE turn SET data = x'ff' WHERE seq = 1")
        assert found(file_place.open(), "cat") == [whole.id]


class TestHits:
    def test_they_show_the_words_around_the_match_and_mark_them(self, store: Store) -> None:
        store.add_turn("The\ncapital of France is Paris")
        [hit] = store.search("paris capit*")
        assert hit.snippet == "The capital of France is Paris"
        assert [hit.snippet[start:end] for start, end in hit.marks] == ["capital", "Paris"]

    def test_they_name_the_bookmarks_and_heads_that_reach_them(self, store: Store) -> None:
        grown = grow(store, "root? <- a <- b? <- c, a <- d? <- e, root? <- f")
        for name, turn in (("one", "c"), ("two", "e"), ("middle", "a"), ("apart", "f")):
            store.bookmarks.set(name, grown[turn].id)
        [hit] = store.search("a")
        assert hit.names == ("middle", "one", "two")
        assert hit.heads == (grown["c"].id, grown["e"].id)
        [last] = store.search("f")
        assert (last.names, last.heads) == (("apart",), (grown["f"].id,))
        [first] = store.search("root")
        assert len(first.names), len(first.heads) == (4, 3)

    def test_the_best_come_first_or_the_newest(self, store: Store) -> None:
        best = store.add_turn("cat cat cat")
        late = store.add_turn("one cat among so many other words that it hardly counts")
        assert found(store, "cat") == [best.id, late.id]
        assert found(store, "cat", order="time") == [late.id, best.id]
        assert found(store, "cat", order="time", limit=1) == [late.id]

    def test_a_word_that_few_turns_have_counts_more(self, store: Store) -> None:
        common = [store.add_turn(f"common words {number}") for number in range(8)]
        rare = store.add_turn("rare words")
        assert found(store, "common OR rare")[0] == rare.id
        assert len(found(store, "common OR rare")) == len(common) + 1

    def test_a_word_that_is_too_common_to_be_counted_is_as_common_as_among_the_newest(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(12):
            store.add_turn(f"always {'sometimes' if number % 3 == 2 else ''} {number}")
        before = [(hit.turn.id, hit.score) for hit in store.search("always OR sometimes")]
        monkeypatch.setattr(hits, "COUNTED", 2)
        assert [(hit.turn.id, hit.score) for hit in store.search("always OR sometimes")] == before

    def test_a_page_of_them_takes_as_many_statements_as_one_hit(self, store: Store) -> None:
        """How far the index is, what may match, the turns, what grew from them, and the names and heads there."""
        grow(store, "cat? <- cat 1 <- cat 2? <- cat 3 <- cat 4?")
        found(store, "cat")
        for limit in (1, 5):
            with counted_statements() as counted:
                assert len(found(store, "cat", order="time", limit=limit)) == limit
            assert counted.count == 6

    def test_their_turns_say_what_they_continue(self, store: Store) -> None:
        grown = grow(store, "cat? <- cat 1 <- cat 2, cat? <- cat 3, cat 1 + cat 3 <- cat 4, cat 5?")
        continues = {hit.turn.id: hit.turn.meta.continues for hit in store.search("cat")}
        assert continues == {turn.id: turn.meta.continues for turn in grown.values()}

    def test_they_are_plain_data_with_their_turn(self, store: Store) -> None:
        turn = store.add_turn("a cat", bookmark="main")
        [record] = [hit.to_dict() for hit in store.search("cat")]
        assert record["id"] == turn.id
        assert record["said_at"] == record["time"]
        assert record["marks"] == [[2, 5]]
        assert (record["field"], record["names"], record["heads"]) == ("text", ["main"], [turn.id])


class TestFilters:
    def test_role_model_and_tool(self, store: Store) -> None:
        asked = store.add_turn("the cat?", bookmark="main")
        said = {"role": "assistant", "content": "the cat!"}
        body = {"model": "acme/Cat-1.5", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}
        answer = store.reply("main", "openai", body)
        called = store.add_turn(call("Search", q="cat"), role="assistant")
        assert found(store, "cat", role="user") == [asked.id]
        for model in ("acme/cat-1.5", "Cat-1.5", "cat-*", "acme/*"):
            assert found(store, "cat", model=model) == [answer.id]
        assert found(store, "cat", model="dog") == []
        assert found(store, "cat", tool="search") == [called.id]
        assert found(store, "cat", tool="other") == []

    def test_a_result_that_names_its_call_alone_is_one_of_the_tool_of_the_call(self, store: Store) -> None:
        def result(id: str, text: str = "a cat") -> list[dict[str, Any]]:
            return [{"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]}]

        calls = [{"type": "tool_use", "id": id, "name": f"look_{id}", "input": {}} for id in ("c1", "c2")]
        called = store.add_turn(calls, role="assistant", bookmark="main")
        first = store.add_turn(result("c1"), role="tool", continues=called.id)
        second = store.add_turn(result("c2"), role="tool", continues=first.id)
        branch = store.add_turn(result("c1", "a lion " * 3000 + "cat"), role="tool", continues=called.id)
        other = store.add_turn([{**calls[0], "name": "other"}], role="assistant")
        merged = store.add_turn(result("c1"), role="tool", continues=[other.id, called.id])
        store.add_turn(result("c1"), role="tool")  # of a call that nobody has
        assert found(store, "cat", tool="LOOK_c2") == [second.id]
        assert set(found(store, "cat", tool="look_c1")) == {first.id, branch.id}
        assert found(store, "cat", tool="other") == [merged.id]
        assert set(found(store, "", tool="look_c1")) == {called.id, first.id, branch.id}
        assert found(store, "cat", tool="nobody") == []

    def test_times_are_those_at_which_turns_were_said(self, store: Store) -> None:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        days = [store.add_turn("cat", said_at=start + timedelta(days=number)) for number in range(4)]
        now = store.add_turn("cat")
        assert set(found(store, "cat", since=start + timedelta(days=2))) == {days[2].id, days[3].id, now.id}
        assert set(found(store, "cat", until=start + timedelta(days=1))) == {days[0].id}
        assert found(store, "cat", since=start + timedelta(days=1), until=start + timedelta(days=2)) == [days[1].id]

    def test_a_bound_inside_a_millisecond_is_that_of_the_log(self, store: Store) -> None:
        said = datetime(2026, 1, 1, tzinfo=UTC)
        turn = store.add_turn("cat", said_at=said, bookmark="main")
        inside = said + timedelta(microseconds=700)
        for bounds, expected in (({"until": inside}, [turn.id]), ({"since": inside}, []), ({"until": said}, [])):
            assert found(store, "cat", **bounds) == [each.id for each in store.log("main", **bounds)] == expected

    def test_a_conversation_holds_what_grew_from_an_edited_first_turn(self, store: Store) -> None:
        first = store.add_turn("cat?")
        edited = store.edit(first.id, "CAT?").turn
        called = store.add_turn(
            [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}], role="assistant", continues=edited.id
        )
        [entry] = store.conversations.list(tool="look").entries
        assert entry.conversation.first == first.id
        store.conversations.set(called.id, tags=["home"])
        assert set(found(store, "cat", tag="home")) == {first.id, edited.id}

    def test_a_conversation_of_many_branches_is_searched_whole(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reaching, "GROWN_LIMIT", 3)
        root = store.add_turn("cat?")
        branches = store.add_turns({"content": call("bash", at=f"branch{n}"), "continues": [root.id]} for n in range(9))
        store.conversations.set(root.id, tags=["work"])
        assert len(found(store, "", tag="work")) == 10
        assert found(store, "branch8", tag="work") == [branches[8].id]
        # Only in the last branch.
        store.add_turn(call("rare"), continues=branches[8].id)
        assert [each.conversation.first for each in store.conversations.list(tool="rare").entries] == [root.id]

    def test_a_turn_of_many_branches_leaves_the_names_of_the_other_hits_alone(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reaching, "GROWN_LIMIT", 3)
        first = store.add_turn("other cat")
        store.add_turn("left", continues=first.id)
        store.add_turn("right", continues=first.id, bookmark="right")
        root = store.add_turn("cat")
        store.add_turns({"content": f"branch {n}", "continues": [root.id]} for n in range(9))
        names = {hit.turn.id: hit.names for hit in store.search("cat", order="time")}
        assert names[first.id] == ("right",)

    def test_names_and_tags_are_those_of_conversations_that_hold_the_turn(self, store: Store) -> None:
        grown = grow(store, "cat? <- one, cat? <- two, other cat? <- three")
        store.bookmarks.set("project-a", grown["one"].id)
        store.bookmarks.set("private", grown["two"].id)
        store.conversations.set("private", tags=["home"])
        store.conversations.set(grown["three"].id, tags=["work"])
        assert set(found(store, "one OR two OR cat", name="project-*")) == {grown["one"].id, grown["cat?"].id}
        assert found(store, "cat", name="nobody") == []
        assert set(found(store, "two OR cat", tag="home")) == {grown["two"].id, grown["cat?"].id}
        assert set(found(store, "three OR cat", tag="work")) == {grown["three"].id, grown["other cat?"].id}
        assert found(store, "cat", tag="work", name="private") == []

    def test_without_words_the_filters_choose_and_the_newest_come_first(self, store: Store) -> None:
        for number in range(70):
            store.add_turn(f"said {number}", role="assistant" if number % 2 else "user", bookmark=f"b{number}")
        used = store.add_turn(call("look_up", city="Lima"), role="assistant")
        assert [hit.turn.id for hit in store.search(tool="look_up")] == [used.id]
        hits = store.search(role="user", limit=3)
        assert [hit.snippet for hit in hits] == ["said 68", "said 66", "said 64"]
        assert [hit.snippet for hit in store.search(name="b7")] == ["said 7"]
        with pytest.raises(InvalidArgument):
            store.search()

    @pytest.mark.parametrize(
        "options",
        [{"fields": []}, {"fields": ["titles"]}, {"order": "size"}, {"limit": 0}, {"limit": 1001}, {"since": "today"},
         {"until": datetime(2026, 1, 1)}],
    )  # fmt: skip
    def test_what_cannot_be_asked_for_is_refused(self, store: Store, options: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgument):
            store.search("cat", **options)

    def test_a_role_that_there_is_not_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidRole):
            store.search("cat", role='user" OR "x')


class TestLargeQuestions:
    @pytest.mark.parametrize("step", ["(a OR zz ", "(a (zz OR ", "(a zz OR "])
    def test_the_deepest_that_is_read_is_one_that_an_index_reads_too(self, store: Store, step: str) -> None:
        turn = store.add_turn("a b zz")
        opened = step.count("(")
        for depth in range(1, NESTED // opened + 3):
            query = f"{step * depth}b{')' * depth * opened}"
            # What is deeper is taken as words, and "or" is then one of them.
            expected = [turn.id] if depth * opened <= NESTED else []
            assert found(store, query, fields=["text", "reasoning"]) == expected

    def test_as_many_words_as_a_question_may_have(self, store: Store) -> None:
        turn = store.add_turn("a cat")
        words = " OR ".join(f"word{number}" for number in range(QUESTION_WORDS_LIMIT - 1))
        assert found(store, f"{words} OR cat", fields=["text", "reasoning"]) == [turn.id]


class TestTheSameEverywhere:
    @settings(max_examples=12)
    @given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(ASKED, min_size=1, max_size=4))
    def test_an_index_finds_what_reading_every_turn_finds(
        self, durable_place: Place, texts: list[str], asked: list[str]
    ) -> None:
        """On every database each is held to the same reading, so they find the same as each other."""
        store = durable_place.fresh()
        for text in texts:
            store.add_turn(text)
        space = store.space.removeprefix(f"{durable_place.space}-")
        reading = durable_place.open(space, read_only=True)
        expected = [found(reading, each, order="time", limit=100) for each in asked]
        assert [found(store, each, order="time", limit=100) for each in asked] == expected
        assert [found(reading, each, order="time", limit=100) for each in asked] == expected

    def test_a_short_beginning_is_looked_for_among_the_newest_turns_before_the_index_is_asked(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        turns = [store.add_turn(text) for text in ("cat", "dog", "cow", "a cat", "dog", "cut")]
        cats = [turns[number].id for number in (5, 3, 2, 0)]
        for read_first in (0, 1, 2, 5, 6, 2000):
            monkeypatch.setattr(candidates, "READ_FIRST", read_first)
            assert found(store, "c*", order="time") == cats
            assert found(store, "c* NOT cow", order="time", limit=2) == cats[:2]
            assert set(found(store, "c*")) == set(cats)
        database_of(store).write(lambda connection: indexing.empty(connection, store._number))
        assert found(store, "c*", order="time") == cats

    def test_a_read_only_store_writes_nothing_and_reads_what_no_index_holds(self, durable_place: Place) -> None:
        store = durable_place.open()
        first = store.add_turn("a cat")
        assert found(store, "cat") == [first.id]
        second = store.add_turn("another cat")
        reading = durable_place.open(read_only=True)
        with unchanged(store):
            assert found(reading, "cat", order="time") == [second.id, first.id]
        with pytest.raises(ReadOnly):
            reading.reindex()

    def test_a_hit_costs_the_same_among_many_turns_that_do_not_match(self) -> None:
        """Counted in steps of SQLite's machine."""
        steps = []
        with Store.open(":memory:") as store:
            for more in (50, 3000):
                store.add_turns({"content": f"number {number}"} for number in range(more))
                needle = store.add_turn(f"needle{more}")
                found(store, f"needle{more}")
                with counted_steps(store) as counted:
                    assert found(store, f"needle{more}") == [needle.id]
                steps.append(counted[0])
        assert steps[1] <= 2 * steps[0]  # sixty times as many turns, in four portions of the index

    def test_by_time_the_newest_pages_are_enough(self) -> None:
        with Store.open(":memory:") as store:
            store.add_turns({"content": f"cat {number}"} for number in range(4000))
            found(store, "cat")
            with counted_rows() as rows:
                assert len(found(store, "cat", order="time", limit=1)) == 1
        assert rows[0] < 2000

    def test_what_a_search_costs_is_what_its_own_space_holds(self) -> None:
        """Counted in steps of SQLite's machine, for two spaces of one database."""
        with Store.open(":memory:") as large, Database(large._database) as database:
            small = database.store("small")
            for store, turns in ((small, 50), (large, 50)):
                store.add_turns({"content": f"cat number {number}"} for number in range(turns))
                found(store, "cat number")
            with counted_steps(small) as alone:
                found(small, "cat number", limit=5)
            large.add_turns({"content": f"cat number {number}"} for number in range(3000))
            found(large, "cat number")
            with counted_steps(small) as beside:
                found(small, "cat number", limit=5)
            assert beside[0] <= 1.1 * alone[0]
