"""Budgets: how many tokens a window has, what is left out of one that is too large, and compaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headish import Message, Store
from headish.errors import InvalidArgument, OverBudget, UnknownPointer
from headish.history.budgets.estimates import estimate
from headish.history.budgets.fitting import Counted, Sample, find_samples, fit
from headish.values.blocks import Base64Source, Document, Text, ToolResult, ToolUse

WORDS = "word " * 40


def by_words(text: str) -> int:
    return len(text.split())


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as opened:
        yield opened


def talk(store: Store, rounds: int, name: str = "main", **reply: Any) -> None:
    """Rounds of a question and an answer of forty words each."""
    for number in range(rounds):
        store.add_turn(f"q{number} {WORDS}", bookmark=None if name in store.bookmarks else name,
                       continues=name if name in store.bookmarks else None)  # fmt: skip
        store.add_turn(f"a{number} {WORDS}", role="assistant", continues=name)


def first_words(store: Store, budget: Any, headish: str = "main", **how: Any) -> list[str]:
    return [message.text.split()[0] for message in store.resolve(headish, budget=budget, **how).messages]


def answered(store: Store, question: str, usage: int, name: str = "main", model: str = "m") -> None:
    """A question, and a reply whose provider counted its request."""
    store.add_turn(question, continues=name if name in store.bookmarks else None, bookmark=name)
    message = {"role": "assistant", "content": "a " + WORDS}
    usage_said = {"prompt_tokens": usage, "completion_tokens": 5}
    store.reply(name, "openai", {"model": model, "usage": usage_said,
                                 "choices": [{"finish_reason": "stop", "message": message}]})  # fmt: skip


class TestCutting:
    def test_leaves_the_middle_out_and_says_so(self, store: Store) -> None:
        store.add_turn("be kind", role="system", bookmark="main")
        talk(store, 6)
        window = store.resolve("main", budget=400, count=by_words)
        assert [message.text.split()[0] for message in window.messages] == [
            "be",
            "q0",
            "a0",
            "q3",
            "a3",
            "q4",
            "a4",
            "q5",
            "a5",
        ]
        assert "4 messages are left out" in window.notes[-1].what
        assert window.notes[-1].turn == store.get("main~9").id

    @pytest.mark.parametrize(("words", "stays"), [(5, True), (60, False)])
    def test_keeps_the_first_exchange_whole_where_its_answer_comes_behind_calls(
        self, store: Store, words: int, stays: bool
    ) -> None:
        store.add_turn("q0", bookmark="main")
        for number in range(2):
            call = {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}}
            store.add_turn([f"call{number}", call], role="assistant", continues="main")
            result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "word " * words}
            store.add_turn([result], role="tool", continues="main")
        store.add_turn("a0", role="assistant", continues="main")
        talk(store, 8)
        for window in (store.resolve("main", budget=400, count=by_words), self.compacted(store)):
            said = [message.text.split()[0] if message.text else "result" for message in window.messages]
            assert said[:2] == ["q0", "call0"]
            assert ("a0" in said[:6]) is stays
            assert ("call1" in said) is stays
            assert said[-1] == "a7"

    def compacted(self, store: Store) -> Any:
        store.compact("main", to=400, count=by_words)
        return store.resolve("main")

    def test_of_a_window_that_fits_changes_nothing(self, store: Store) -> None:
        talk(store, 3)
        assert store.resolve("main", budget=10_000) == store.resolve("main")

    def test_keeps_what_is_to_be_kept(self, store: Store) -> None:
        talk(store, 6)
        store.keep("main~8")
        assert first_words(store, 350, count=by_words) == ["q0", "a0", "a1", "q5", "a5"]

    def test_keeps_a_summary_and_the_last_question(self, store: Store) -> None:
        talk(store, 2)
        store.summarize("main~1", "main", "short")
        store.add_turn(f"last? {WORDS}", continues="main")
        for number in range(6):
            store.add_turn([ToolUse(id=f"c{number}", name="f", input={})], role="assistant", continues="main")
            store.add_turn(
                [ToolResult(tool_use_id=f"c{number}", content=(Text(WORDS),))], role="tool", continues="main"
            )
        window = store.resolve("main", budget=300, count=by_words)
        said = [message.text.split()[:1] for message in window.messages]
        assert said[:4] == [["q0"], ["a0"], ["short"], ["last?"]]
        calls = [block.id for message in window.messages for block in message.content if isinstance(block, ToolUse)]
        results = [b.tool_use_id for message in window.messages for b in message.content if isinstance(b, ToolResult)]
        assert calls == results == ["c3", "c4", "c5"]

    def test_refuses_what_cannot_be_cut_and_names_the_largest_turns(self, store: Store) -> None:
        talk(store, 1)
        with pytest.raises(OverBudget) as refused:
            store.resolve("main", budget=50, count=by_words)
        assert refused.value.turns == {store.get("main~1").id: 45, store.get("main").id: 45}
        assert (refused.value.tokens, refused.value.budget) == (90, 50)

    def test_of_a_request_counts_its_tools_and_goes_by_the_pointer(self, store: Store) -> None:
        store.pointers.set("small", "openai/gpt-5", context_window=600)
        store.add_turn("be kind", role="system", bookmark="main", provider_ptr="small")
        talk(store, 6)
        whole = store.request("main", count=by_words).body["messages"]
        cut = store.request("main", budget="auto", count=by_words)
        assert (len(whole), len(cut.body["messages"])) == (13, 8)
        assert any("left out" in note.what for note in cut.notes)
        tools = [{"name": "f", "description": WORDS * 3, "inputSchema": {"type": "object"}}]
        assert len(store.request("main", budget="auto", count=by_words, tools=tools).body["messages"]) < 8

    def test_to_auto_needs_a_context_window(self, store: Store) -> None:
        talk(store, 1)
        with pytest.raises(InvalidArgument, match="context_window"):
            store.resolve("main", budget="auto")
        with pytest.raises(InvalidArgument, match="does not go with raw"):
            store.resolve("main", budget=100, raw=True)

    def test_a_late_result_of_a_call_that_was_left_out_is_left_out_too(self, store: Store) -> None:
        talk(store, 2)
        store.add_turn([ToolUse(id="c", name="f", input={})], role="assistant", continues="main")
        talk(store, 3)
        store.add_turn([ToolResult(tool_use_id="c"), Text("thanks")], continues="main")
        last = store.resolve("main", budget=300, count=by_words).messages[-1]
        assert last.content == (Text("thanks"),)


class TestCounting:
    def test_takes_the_function_that_is_given_and_says_so(self, store: Store) -> None:
        talk(store, 1)
        counted = store.tokens("main", count=by_words)
        assert (counted.tokens, counted.source, counted.error) == (90, "count", 0.0)
        assert [turn.tokens for turn in counted.turns] == [45, 45]

    @pytest.mark.parametrize("wrong", [-1, "5", None, 0.5, True])
    def test_refuses_a_function_that_gives_no_number(self, store: Store, wrong: Any) -> None:
        talk(store, 1)
        with pytest.raises(InvalidArgument, match="the number of tokens of a text"):
            store.tokens("main", count=lambda _: wrong)

    def test_goes_by_bytes_where_nothing_else_is_known(self, store: Store) -> None:
        talk(store, 1)
        assert store.tokens("main").source == "bytes"
        with pytest.raises(UnknownPointer):
            store.tokens("main", ptr="nobody")

    def test_weighs_turns_by_the_usage_of_the_replies_around_them(self, store: Store) -> None:
        for number in range(4):
            answered(store, f"q{number} {WORDS}", 100 + 200 * number)
        counted = store.tokens("main")
        assert counted.source == "usage"
        # The last request had 700, and the reply to it weighs about as much as the others.
        assert 750 < counted.tokens < 850
        assert sum(turn.tokens for turn in counted.turns[:-1]) == pytest.approx(700, abs=5)
        assert [turn.source for turn in counted.turns][-2:] == ["usage", "usage"]

    def test_guesses_better_once_other_threads_were_counted(self, store: Store) -> None:
        for number in range(5):
            answered(store, f"q{number} {WORDS}", 100 + 200 * number, name="other")
        talk(store, 1)
        counted = store.tokens("main", model="m")
        assert counted.source == "ratio"
        assert counted.tokens == pytest.approx(200, rel=0.1)
        assert counted.error < 0.25

    def test_does_not_believe_a_difference_that_cannot_be(self) -> None:
        guesses = [10.0, 100.0, 10.0, 100.0, 10.0]
        replies = [Counted(1, "m", 12), Counted(3, "m", 5), Counted(4, "m", 100)]
        assert [each.end for each in find_samples(guesses, replies, 0.0)] == [1, 4]
        assert find_samples([None, 10.0], [Counted(1, "m", 10)], 0.0) == []

    def test_prefers_the_samples_of_the_model(self) -> None:
        samples = [Sample(0, 1, 20, 10.0, "m")] * 3 + [Sample(0, 1, 10, 10.0, "n")] * 9
        assert fit(samples, "m") == (2.0, 0.0, "m")
        assert fit(samples, "x") == (1.0, 0.0, None)
        assert fit(samples[:2]) is None

    def test_an_image_is_no_text(self) -> None:
        image = Document(Base64Source("image/png", "A" * 1_000_000))
        assert estimate(Message(role="user", content=(image,))) < 2_000

    @pytest.mark.parametrize(("text", "bytes_per_token"), [
        ("The quick brown fox jumps over the lazy dog. " * 40, 4.77),
        ("天気がいいから散歩しましょう。" * 40, 4.79),
        ('{"id":"3f9a0c","sum":"b71e"}' * 40, 2.05),
    ])  # fmt: skip
    def test_guesses_are_near_the_ratios_that_were_measured(self, text: str, bytes_per_token: float) -> None:
        measured = len(text.encode()) / bytes_per_token
        assert estimate(Message(role="user", content=(Text(text),))) == pytest.approx(measured, rel=0.3)


class TestCompaction:
    def test_hides_the_oldest_part_and_leaves_the_first_exchange_and_the_tail(self, store: Store) -> None:
        talk(store, 6)
        overlay = store.compact("main", to=0.5, count=by_words)
        assert overlay is not None
        assert overlay.meta.bookmark == "main"
        assert first_words(store, None) == ["q0", "a0", "q4", "a4", "q5", "a5"]
        assert len(store.resolve("main", raw=True).messages) == 12

    def test_does_nothing_where_the_thread_is_small_enough(self, store: Store) -> None:
        talk(store, 1)
        assert store.compact("main") is None
        talk(store, 5)
        assert store.compact("main", to=0.5, over=10_000) is None
        assert store.compact("main", to=100_000) is None
        with pytest.raises(InvalidArgument, match="a share of a context window"):
            store.compact("main", over=0.5)

    def test_covers_no_turn_that_is_kept(self, store: Store) -> None:
        talk(store, 6)
        store.keep("main~8")
        store.compact("main", to=0.3, count=by_words)
        assert first_words(store, None) == ["q0", "a0", "a1", "q5", "a5"]

    def test_of_more_than_one_overlay_can_cover_goes_in_parts(self, store: Store, monkeypatch: Any) -> None:
        monkeypatch.setattr("headish.history.budgets.compacting.COVERED_LIMIT", 4)
        talk(store, 8)
        for left in (12, 8, 4, 4):
            store.compact("main", to=0.1, count=by_words)
            assert len(store.resolve("main").messages) == left

    @pytest.mark.parametrize("wrong", [0, 1.5, -0.5, "half", True, float("nan")])
    def test_refuses_a_size_that_is_none(self, store: Store, wrong: Any) -> None:
        talk(store, 1)
        with pytest.raises(InvalidArgument, match="a share between 0 and 1"):
            store.compact("main", to=wrong)
