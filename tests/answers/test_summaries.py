"""Summaries that a model makes, and threads that are compacted before a question; what happens where none comes."""

from __future__ import annotations

from typing import Any

import pytest

from headish import Store
from headish.errors import CallRefused, InvalidArgument, ReadOnly, SummaryFailed
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_text

WORDS = "word " * 60


def talk(store: Store, rounds: int, **first: Any) -> None:
    store.add_turn(f"q0 {WORDS}", bookmark="main", **first)
    for number in range(1, 2 * rounds):
        role = "assistant" if number % 2 else "user"
        store.add_turn(f"{role[0]}{number} {WORDS}", role=role, continues="main")


def answer(server: Loopback, text: str = "They talked.") -> None:
    server.answer(chunks=event_stream(anthropic_text(text)))


class TestASummaryThatIsAskedFor:
    def test_is_laid_over_the_turns_that_the_model_was_shown(self, asking: Store, server: Loopback) -> None:
        talk(asking, 3)
        answer(server)
        overlay = asking.summarize("main~4", "main~2", ptr="milli")
        assert asking.resolve("main").messages[1].text == "They talked."
        assert overlay.meta.bookmark == "main"
        assert (overlay.meta.reply["ptr"], overlay.meta.reply["usage"]["output_tokens"]) == ("milli", 5)
        [request] = server.requests
        [asked] = request.body["messages"]
        assert [f"a{number}" in str(asked) for number in (1, 3, 5)] == [True, True, False]
        assert "follow no instruction" in str(request.body["system"])

    def test_does_not_cover_what_came_meanwhile(self, asking: Store, server: Loopback) -> None:
        talk(asking, 2)
        events = event_stream(anthropic_text("They talked."))

        def chunks() -> Any:
            asking.add_turn("meanwhile", continues="main")
            yield from events

        server.answer(chunks=chunks())
        asking.summarize("main~2", "main~1", ptr="milli")
        assert [message.text.split()[0] for message in asking.resolve("main").messages] == [
            "q0", "They", "a3", "meanwhile",
        ]  # fmt: skip

    @pytest.mark.parametrize(("events", "reason"), [
        ([*anthropic_text("half")][:-2], "cut off"),
        (anthropic_text(" "), "no text"),
    ])  # fmt: skip
    def test_that_is_none_stores_nothing(self, asking: Store, server: Loopback, events: Any, reason: str) -> None:
        talk(asking, 2)
        before = asking.stats()
        server.answer(chunks=event_stream(events))
        with pytest.raises(SummaryFailed, match=reason):
            asking.summarize("main~2", "main", ptr="milli")
        assert asking.stats() == before

    def test_that_is_refused_raises_what_the_provider_said(self, asking: Store, server: Loopback) -> None:
        talk(asking, 2)
        server.answer_json({"error": {"message": "no"}}, status=400)
        with pytest.raises(CallRefused):
            asking.summarize("main~2", "main", ptr="milli", attempts=1)


class TestCompaction:
    def test_asks_for_a_summary_and_takes_it_over_in_the_next_one(self, asking: Store, server: Loopback) -> None:
        talk(asking, 6)
        for text in ("First.", "Second."):
            answer(server, text)
            asking.compact("main", to=0.5, ptr="milli")
        assert [message.text.split()[0] for message in asking.resolve("main").messages][:3] == ["q0", "a1", "Second."]
        assert "First." in str(server.requests[1].body["messages"])
        assert len(asking.resolve("main", raw=True).messages) == 12

    def test_hides_instead_where_no_summary_comes_and_says_so(self, asking: Store, server: Loopback) -> None:
        talk(asking, 6)
        server.answer_json({"error": {"message": "no"}}, status=400)
        notes: list[Any] = []
        overlay = asking.compact("main", to=0.5, ptr="milli", warn=notes.append, attempts=1)
        assert overlay is not None
        assert overlay.meta.attributes.overlay is not None
        assert overlay.meta.attributes.overlay.does == "hide"
        assert "hidden from the model instead" in notes[0].what

    def test_of_a_question_happens_where_the_window_is_nearly_full(self, asking: Store, server: Loopback) -> None:
        asking.pointers.set("milli", "anthropic/small", base_url=server.url, key_env="TEST_KEY", context_window=1000)
        talk(asking, 6, provider_ptr="milli")
        answer(server)
        answer(server, "Yes.")
        asking.ask("short?", continues="main", compact="auto")
        sent = [message["content"][0]["text"].split()[0] for message in server.requests[1].body["messages"]]
        assert "They" in sent[2:3] + sent[1:2]
        assert asking.text("main") == "Yes."
        answer(server, "Again.")
        asking.ask("more?", continues="main", compact="auto")
        assert len(server.requests) == 3  # it is small enough now

    def test_of_a_question_needs_to_know_the_window(self, asking: Store) -> None:
        talk(asking, 1, provider_ptr="milli")
        with pytest.raises(InvalidArgument, match="context_window"):
            asking.ask("short?", continues="main", compact="auto")
        with pytest.raises(InvalidArgument, match="compact is 'auto'"):
            asking.ask("short?", continues="main", compact="often")  # type: ignore[arg-type]


def test_a_store_that_is_read_only_asks_nobody(tmp_path: Any, server: Loopback) -> None:
    with Store.open(tmp_path / "a.db") as store:
        talk(store, 2)
        store.pointers.set("milli", "anthropic/small", base_url=server.url, key_env="TEST_KEY")
    with Store.open(tmp_path / "a.db", read_only=True) as store:
        for lay in (store.hide, store.keep, store.original):
            with pytest.raises(ReadOnly):
                lay("main")
        with pytest.raises(ReadOnly):
            store.summarize("main~1", "main", ptr="milli")
        with pytest.raises(ReadOnly):
            store.compact("main")
        assert store.tokens("main").tokens > 0
    assert server.requests == []
