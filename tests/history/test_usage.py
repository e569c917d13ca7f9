"""Usage: what answers cost, each counted once however many branches share it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headish import Store
from headish.content.drafts import make_message_draft
from headish.errors import InvalidArgument, UnknownTurn
from headish.providers.shared.values import Usage
from headish.values.ids import time_of
from headish.values.messages import Message
from support.growing import grow
from support.insides import add_draft, counted_statements
from support.places import Place


def answer(store: Store, headish: str | list[str], output: int | None, **said: Any) -> str:
    """Stores an answer of so many tokens, and gives its id; None: it says nothing of tokens."""
    usage = None if output is None else {"input_tokens": 10, "cache_read_input_tokens": 1, "output_tokens": output}
    message = {"type": "message", "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn"}
    return store.reply(headish, "anthropic", {**message, "model": "small", "usage": usage, **said}).id


def outputs(store: Store, headish: Any = "@", **by: str) -> dict[str | None, tuple[int, int | None]]:
    """Of each key the number of replies, and their output tokens."""
    return {count.key: (count.replies, count.usage.output_tokens) for count in store.usage(headish, **by)}


@pytest.fixture
def branched(store: Store) -> Store:
    """root? <- answer (1) <- and?, from which two branches go on: main (2) and other (4)."""
    store.add_turn("root?", bookmark="main")
    answer(store, "main", 1)
    fork = store.add_turn("and?", continues="main").id
    store.bookmarks.set("other", fork)
    answer(store, "main", 2)
    answer(store, "other", 4, model="large")
    return store


class TestWhatIsCounted:
    def test_every_kind_of_token_on_the_way_to_a_turn(self, branched: Store) -> None:
        [count] = branched.usage("main")
        assert count.usage == Usage(input_tokens=20, output_tokens=3, cache_read_input_tokens=2)
        assert count.to_dict() == {
            "key": None, "replies": 2, "silent": 0, "input_tokens": 20, "output_tokens": 3,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2, "reasoning_tokens": 0,
        }  # fmt: skip

    def test_a_turn_that_branches_share_counts_once(self, branched: Store) -> None:
        assert outputs(branched, "main") == {None: (2, 3)}
        assert outputs(branched, "other") == {None: (2, 5)}
        assert outputs(branched, ["main", "other"]) == {None: (3, 7)}
        assert outputs(branched, ["main", "main~1", "main"]) == {None: (2, 3)}
        assert outputs(branched, None) == {None: (3, 7)}

    def test_a_half_counts_with_its_whole_in_whatever_order_they_are_asked_for(self, store: Store) -> None:
        question = store.add_turn("and?").id
        half = answer(store, question, 1, id="msg_1", stop_reason=None)
        assert store.get(half).meta.reply["incomplete"]
        whole = answer(store, question, 4, id="msg_1")
        assert outputs(store, [half, whole]) == outputs(store, [whole, half]) == {None: (1, 4)}

    def test_a_merge_counts_what_it_joins_once(self, branched: Store) -> None:
        branched.add_turn("both?", continues=["main", "other"])
        assert outputs(branched, "main") == {None: (3, 7)}

    def test_an_answer_that_was_asked_for_again_counts_both_times_in_the_space(self, branched: Store) -> None:
        answer(branched, branched.get("main").meta.continues[0], 8)
        assert outputs(branched, "main") == {None: (2, 3)}
        assert outputs(branched, None) == {None: (4, 15)}

    def test_only_answers_do(self, store: Store) -> None:
        grow(store, "Hi? <- Hello")
        store.add_document(b"text", name="a.txt", continues="@")
        assert outputs(store) == outputs(store, None) == {None: (0, None)}
        assert store.usage(by="model") == []

    def test_an_empty_space_has_none(self, store: Store) -> None:
        assert outputs(store, None) == {None: (0, None)}
        with pytest.raises(UnknownTurn):
            store.usage("main")

    def test_answers_that_say_nothing_of_tokens_are_counted_as_silent(self, store: Store) -> None:
        store.add_turn("Hi", bookmark="main")
        answer(store, "main", None)
        answer(store, "main", 3)
        [count] = store.usage("main")
        assert (count.replies, count.silent, count.usage.output_tokens) == (2, 1, 3)

    def test_one_that_was_cut_off_counts_as_far_as_was_said(self, store: Store) -> None:
        store.add_turn("Hi", bookmark="main")
        message = {"type": "message", "model": "small", "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}
        store.reply("main", "anthropic", [{"type": "message_start", "message": message}])
        [count] = store.usage("main")
        assert (count.silent, count.usage) == (0, Usage(input_tokens=9, output_tokens=1))

    def test_spaces_are_counted_apart(self, durable_place: Place) -> None:
        one, other = durable_place.open("one"), durable_place.open("other")
        one.add_turn("Hi", bookmark="main")
        answer(one, "main", 3)
        assert outputs(one, None) == {None: (1, 3)}
        assert outputs(other, None) == {None: (0, None)}


class TestCountedApart:
    def test_by_model_and_provider(self, branched: Store) -> None:
        answer(branched, "main", 8, model=None)
        chat = {"model": "small", "choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}
        usage = {"prompt_tokens": 3, "completion_tokens": 16, "completion_tokens_details": {"reasoning_tokens": 6}}
        branched.reply("main", "openai", {**chat, "usage": usage})
        assert outputs(branched, None, by="model") == {"large": (1, 4), "small": (3, 19), None: (1, 8)}
        assert outputs(branched, None, by="provider") == {"anthropic": (4, 15), "openai": (1, 16)}
        assert list(outputs(branched, None, by="model")) == ["large", "small", None]
        assert branched.usage(None)[0].usage.reasoning_tokens == 6

    def test_by_the_bookmark_that_an_answer_moved(self, branched: Store) -> None:
        answer(branched, branched.get("main").meta.continues[0], 8)
        assert outputs(branched, None, by="bookmark") == {"main": (2, 3), "other": (1, 4), None: (1, 8)}

    def test_by_day_in_utc(self, branched: Store) -> None:
        days = outputs(branched, None, by="day")
        answered = [time_of(turn.id).date().isoformat() for turn in branched.turns() if turn.meta.reply]
        assert {day: replies for day, (replies, _) in days.items()} == Counter(answered)

    def test_another_key_is_refused(self, branched: Store) -> None:
        with pytest.raises(InvalidArgument, match="by model, provider, day, bookmark, not by 'colour'"):
            branched.usage(by="colour")


class TestOddities:
    @pytest.mark.parametrize(
        ("reply", "counted"),
        [
            ({"usage": "much", "model": "small"}, [("small", 1, 1)]),
            ({"usage": {"output_tokens": "3"}, "model": 3}, [(None, 1, 1)]),
            ({"usage": {"colour": 3}, "model": ["small"]}, [(None, 1, 0)]),
            ({}, []),
            ("said", []),
        ],
    )
    def test_what_another_writer_calls_a_reply_is_counted_as_far_as_it_can_be_read(
        self, store: Store, reply: Any, counted: list[Any]
    ) -> None:
        add_draft(store, make_message_draft(Message(role="assistant", content=()), 1000, system={"reply": reply}))
        for headish in ("@", None):
            found = [(count.key, count.replies, count.silent) for count in store.usage(headish, by="model")]
            assert found == counted

    @pytest.mark.slow
    def test_a_long_thread_is_read_in_portions(self, store: Store) -> None:
        store.add_turn("Hi", bookmark="main")
        costs = []
        for length in (5, 1500):
            drafted = [{"content": "x", "role": "assistant", "continues": "main"} for _ in range(length)]
            store.add_turns(drafted)
            answer(store, "main", 1)
            with counted_statements() as counted:
                store.usage("main")
                store.usage(None)
            costs.append(counted.count)
        assert costs[1] - costs[0] <= 8
        assert outputs(store, "main") == outputs(store, None) == {None: (2, 2)}

    @pytest.mark.parametrize("page", [1, 2, 3, 4])
    def test_a_space_is_read_to_its_end(self, branched: Store, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
        monkeypatch.setattr("headish.history.reading.usage.PAGE_TURNS", page)
        assert outputs(branched, None) == {None: (3, 7)}
