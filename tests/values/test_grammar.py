"""The grammar of a headish: every way to name a turn, and every way to fail to."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headish import Store
from headish.errors import Ambiguous, InputError, InvalidHeadish, UnknownTurn
from headish.values.grammar import Back, Parent, parse_headish
from headish.values.limits import CANDIDATES_SHOWN, HEADISH_LIMIT
from support.growing import grow
from support.insides import unchanged
from support.places import Place


class TestNewest:
    def test_at_names_the_turn_that_was_committed_last(self, store: Store) -> None:
        grown = grow(store, "a? <- b, a? <- c")
        assert store.get("@").id == grown["c"].id
        assert store.get("@~1").id == grown["a?"].id

    def test_in_an_empty_space_it_names_nothing(self, store: Store) -> None:
        for headish in ("@", "@~1"):
            with pytest.raises(UnknownTurn, match="no turn yet"):
                store.get(headish)

    def test_it_is_what_an_omitted_headish_means(self, store: Store) -> None:
        """Rule R11, names for turns."""
        grow(store, "a? <- b")
        assert store.resolve().to_dict() == store.resolve("@").to_dict()
        assert store.log() == store.log("@")
        assert store.thread() == store.thread("@")
        assert store.tree() == store.tree("@")
        assert store.options() == store.options("@")


class TestSteps:
    def test_back_follows_the_first_parent(self, store: Store) -> None:
        grown = grow(store, "a? <- b <- c? <- d, x? <- y, d + y <- e? <- f")
        head = grown["f"].id
        expected = ["f", "e?", "d", "c?", "b", "a?"]
        assert [store.get(f"{head}~{steps}").id for steps in range(6)] == [grown[name].id for name in expected]
        assert store.get(f"{head}~").id == grown["e?"].id

    def test_parent_names_one_of_several(self, store: Store) -> None:
        grown = grow(store, "a?, b?, c?, a? + b? + c? <- d")
        head = grown["d"].id
        for suffix, name in (("^", "a?"), ("^1", "a?"), ("^2", "b?"), ("^3", "c?"), ("^0", "d")):
            assert store.get(head + suffix).id == grown[name].id

    def test_suffixes_follow_one_another(self, store: Store) -> None:
        grown = grow(store, "a? <- b, x? <- y <- z?, b + z? <- e? <- f")
        assert store.get(f"{grown['f'].id}~1^2~2").id == grown["x?"].id
        assert store.get(f"{grown['f'].id}~^2^").id == grown["y"].id
        assert store.get(f"{grown['f'].id}~~~").id == grown["a?"].id

    def test_a_step_past_the_first_turn_is_unknown(self, store: Store) -> None:
        head = grow(store, "a? <- b")["b"].id
        with pytest.raises(UnknownTurn, match="does not go back so far"):
            store.get(f"{head}~2")
        with pytest.raises(UnknownTurn, match="does not go back so far"):
            store.get(f"{head}~999999999")

    def test_a_parent_that_is_not_there_is_unknown(self, store: Store) -> None:
        grown = grow(store, "a?, b?, a? + b? <- c")
        with pytest.raises(UnknownTurn, match="continues 2 turns"):
            store.get(f"{grown['c'].id}^3")
        with pytest.raises(UnknownTurn, match="continues 0 turns"):
            store.get(f"{grown['a?'].id}^")


class TestRanges:
    """A verb that takes one turn, or a first and a last one, says so when git's range is typed."""

    @pytest.mark.parametrize(
        "text", ["main~1..main", "main~1...main", "@..main", "main~1..", "a..b", "..main", "main.."]
    )
    def test_a_range_in_the_place_of_a_turn_is_refused_with_what_is_taken(self, store: Store, text: str) -> None:
        grow(store, "a? <- b", bookmark="main")
        said = "only log and diff take a range A..B; verbs over several turns take the first and the last"
        for verb in (store.get, store.hide, lambda text: store.summarize(text, "main", "short")):
            with unchanged(store), pytest.raises(InputError, match=re.escape(said)):
                verb(text)


class TestPrefixes:
    def test_a_unique_prefix_of_at_least_eight_digits_names_a_turn(self, place: Place, monkeypatch) -> None:
        store = place.open()
        first = store.add_turn("a")
        later = time.time_ns() + 10**9 * 86_400
        monkeypatch.setattr(time, "time_ns", lambda: later)
        second = store.add_turn("b")
        assert first.id[:8] != second.id[:8]
        for turn in (first, second):
            for length in range(8, 26):
                assert store.get(turn.id[:length]).id == turn.id
                assert store.get(turn.id[:length].upper()).id == turn.id
            with pytest.raises(UnknownTurn):
                store.get(turn.id[:7])

    def test_an_ambiguous_prefix_names_its_candidates(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now)
        ids = [store.add_turn(str(number)).id for number in range(3)]
        with unchanged(store), pytest.raises(Ambiguous) as refused:
            store.add_turn("x", continues=ids[0][:8])
        assert refused.value.candidates == tuple(ids)
        assert refused.value.prefix == ids[0][:8]
        assert all(turn_id in str(refused.value) for turn_id in ids)

    def test_of_many_candidates_some_are_named(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now)
        ids = [turn.id for turn in store.add_turns(["a"] * (CANDIDATES_SHOWN + 5))]
        with pytest.raises(Ambiguous) as refused:
            store.get(ids[0][:8])
        assert refused.value.candidates == tuple(ids[:CANDIDATES_SHOWN])

    def test_a_bookmark_wins_over_a_prefix(self, store: Store) -> None:
        """Rule R11, names for turns."""
        a, b = store.add_turn("a"), store.add_turn("b")
        name = a.id[:20]
        assert store.get(name).id == a.id
        store.bookmarks.set(name, b.id)
        assert store.get(name).id == b.id
        store.bookmarks.remove(name)
        assert store.get(name).id == a.id

    def test_steps_follow_a_prefix(self, store: Store) -> None:
        grown = grow(store, "a? <- b")
        assert store.get(f"{grown['b'].id[:24]}~1").id == grown["a?"].id

    def test_a_prefix_has_no_past_positions(self, store: Store) -> None:
        a = store.add_turn("a")
        with pytest.raises(UnknownTurn):
            store.get(f"{a.id[:24]}@{{0}}")
        with pytest.raises(InvalidHeadish, match="an id has none"):
            store.get(f"{a.id}@{{0}}")


class TestSpaces:
    def test_what_lies_in_another_space_is_simply_unknown(self, durable_place: Place) -> None:
        """Rule R6, another space is unknown: with no hint that it exists."""
        one, other = durable_place.open("one"), durable_place.open("other")
        turn = one.add_turn("secret", bookmark="main")
        other.add_turn("x")
        for headish in (turn.id, turn.id[:20], "main", "main~0", "main@{0}"):
            with unchanged(other), pytest.raises(UnknownTurn) as foreign:
                other.add_turn("y", continues=headish)
            assert str(foreign.value).startswith(f"no turn is named {headish!r} in this space")
        made_up = turn.id[:-1] + ("0" if turn.id[-1] != "0" else "1")
        messages = []
        for turn_id in (turn.id, made_up):
            with pytest.raises(UnknownTurn) as unknown:
                other.get(turn_id)
            messages.append(str(unknown.value).replace(turn_id, "ID"))
        assert messages[0] == messages[1]

    def test_a_prefix_that_two_spaces_share_is_ambiguous_in_neither(
        self, durable_place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now)
        stores = [durable_place.open("one"), durable_place.open("other")]
        turns = [store.add_turn("a") for store in stores]
        assert turns[0].id[:8] == turns[1].id[:8]
        for store, turn in zip(stores, turns, strict=True):
            assert store.get(turn.id[:8]).id == turn.id


class TestWords:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "must begin with"),
            ("~1", "must begin with"),
            ("^", "must begin with"),
            ("@{1}", "behind the name of a bookmark"),
            ("main~x", "not a suffix"),
            ("main~-1", "not a suffix"),
            ("main~1234567890", "not a suffix"),
            ("main^1234567890", "not a suffix"),
            ("main@", "not a suffix"),
            ("main@{1", "not a suffix"),
            ("main}", "not a suffix"),
            ("@main", "not a suffix"),
            ("main@{}", "neither a number"),
            ("main@{x}", "neither a number"),
            ("main@{-1}", "neither a number"),
            ("main@{last week}", "neither a number"),
            ("main@{999999999.weeks.ago}", "neither a number"),
            ("main@{2024-13-01}", "neither a number"),
            ("main@{1}@{1}", "must follow the name"),
            ("main~1@{1}", "must follow the name"),
            ("@@{1}", "must follow the name"),
            ("-x", "begins with `-`"),
            ("a b", "whitespace"),
            ("a:b", "one of"),
            ("a\\b", "one of"),
            ("a\0", "control character"),
            ("\ud800", "surrogate"),
            ("z" * 25, "an id"),
            ("x" * (HEADISH_LIMIT + 1), "longer than 1024 characters"),
            (None, "must be text"),
            (5.0, "must be text"),
            (b"main", "must be text"),
        ],
        ids=lambda value: repr(value)[:40],
    )
    def test_text_that_is_no_headish_is_refused_with_the_reason(self, store: Store, text: str, reason: str) -> None:
        store.add_turn("a", bookmark="main")
        calls = [store.get, store.payload, store.blocks, store.children, store.log, store.tree]
        calls += [lambda bad: store.add_turn("b", continues=[bad]), lambda bad: store.bookmarks.set("x", bad)]
        calls += [lambda bad: store.resolve([bad]), lambda bad: store.options([bad]), lambda bad: store.thread([bad])]
        with unchanged(store):
            for call in calls:
                with pytest.raises(InvalidHeadish, match=reason):
                    call(text)

    def test_it_is_taken_apart_without_looking_anything_up(self) -> None:
        parsed = parse_headish("main@{2024-05-01T12:00:00+02:00}~2^3^0~")
        assert parsed.name == "main"
        assert parsed.past == datetime(2024, 5, 1, 10, tzinfo=UTC)
        assert parsed.steps == (Back(2), Parent(3), Parent(0), Back(1))
        assert parsed.bookmark is None
        assert parse_headish("main").bookmark == "main"
        assert parse_headish("@").bookmark is None


headish_like = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="@~^{}0123456789main:\\ -azTZ+é\0\ud800", max_size=40),
    st.from_regex(r"\A(@|main|[0-9a-z]{8,25})((~|\^)[0-9]{0,9}|@\{[0-9T:+Z-]{0,30}\}){0,4}\Z"),
)


@given(text=headish_like)
@example(text="main@{0001-01-01T00:00:00+23:59}")
@example(text="main@{9999-12-31T23:59:59-23:59}")
@example(text="main@{999999999}")
@example(text="main~999999999^999999999")
@example(text="\u212a" * 25)
@example(text="İ" * 25)
def test_arbitrary_text_names_a_turn_or_raises_only_headish_errors(place: Place, text: str) -> None:
    store = place.reuse()
    if not store.bookmarks.list():
        store.add_turn("a", bookmark="main")
    calls = (store.get, store.resolve, store.log, lambda each: store.bookmarks.set("x", each))
    took = []
    for call in calls:
        # Anything else than an error of the caller's ends the test.
        with suppress(InputError):
            call(text)
            took.append(call)
    assert len(took) in (0, len(calls)), "all of them read it alike"


def test_the_beginning_of_an_id_that_is_too_short_is_told(store: Store) -> None:
    turn = store.add_turn("a")
    with pytest.raises(UnknownTurn, match="the beginning of an id has at least 8 digits"):
        store.get(turn.id[:7])
