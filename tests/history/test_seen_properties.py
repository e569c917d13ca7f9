"""Whatever overlays and budgets do to a thread: calls stay with results, what is added changes nothing before it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Message, Store
from headish.errors import OverBudget
from headish.history.budgets import cutting
from headish.history.budgets.cutting import CUT_TO, Weights, cut
from headish.values.blocks import Text
from support.overlays import MESSAGES, OVERLAYS, grown, lay, make, orphans

FEW = settings(max_examples=15)


@FEW
@given(MESSAGES, OVERLAYS)
def test_calls_stay_with_results_and_a_window_that_is_recorded_adds_nothing(
    kinds: list[str], overlays: list[Any]
) -> None:
    with grown(kinds, overlays) as store:
        before = store.resolve("main", raw=True).messages
        window = store.resolve("main")
        assert orphans(window.messages) == []
        assert not store.verify().problems
        if window.messages:
            tip = store.get("main").id
            assert store.record(window.messages, bookmark="main").tip.id == tip
            if any(turn.meta.attributes.overlay or turn.meta.attributes.hidden for turn in store.log("main")):
                assert store.record(window.messages, continues=tip).added == 0
        assert store.resolve("main", raw=True).messages == before


@FEW
@given(MESSAGES, OVERLAYS, MESSAGES)
def test_a_turn_that_is_added_leaves_what_was_seen_before_it(
    kinds: list[str], overlays: list[Any], further: list[str]
) -> None:
    called: list[str] = []
    for number, kind in enumerate(kinds):
        make(kind, number, called)  # which calls wait
    with grown(kinds, overlays) as store:
        for number, kind in enumerate(further, start=100):
            before = store.resolve("main").messages
            store.add_turn(**make(kind, number, called), continues="main")
            after = store.resolve("main").messages
            assert after[: len(before)] == before
            assert orphans(after) == []


@FEW
@given(MESSAGES, OVERLAYS)
def test_a_branch_sees_nothing_of_what_is_laid_over_another(kinds: list[str], overlays: list[Any]) -> None:
    with grown(kinds, []) as store:
        store.bookmarks.set("other", "main")
        before = store.resolve("other")
        for overlay in overlays:
            lay(store, *overlay)
        assert store.resolve("other") == before


@FEW
@given(MESSAGES, OVERLAYS)
def test_a_transcript_of_a_thread_with_overlays_reads_back_as_what_is_seen(
    kinds: list[str], overlays: list[Any]
) -> None:
    with grown([kind for kind in kinds if kind in ("user", "assistant", "hidden")] or ["user"], overlays) as store:
        said = [message.text for message in store.resolve("main").messages]
        assert [message["content"] for message in _chat(store)] == said


@FEW
@given(MESSAGES, OVERLAYS, st.sampled_from(["hide", "keep", "unhide", "original"]), st.integers(0, 20))
def test_an_overlay_that_is_laid_twice_is_stored_once(
    kinds: list[str], overlays: list[Any], verb: str, at: int
) -> None:
    with grown(kinds, overlays) as store:
        said = [turn.id for turn in store.log("main") if turn.meta.attributes.overlay is None]
        chosen = said[at % len(said)]
        getattr(store, verb)(chosen, continues="main")
        tip = store.get("main").id
        assert getattr(store, verb)(chosen, continues="main") is None
        assert store.get("main").id == tip


def _chat(store: Store) -> list[dict[str, Any]]:
    import json

    messages: list[dict[str, Any]] = json.loads(store.export("main", "chat"))["messages"]
    return messages


@settings(max_examples=40)
@given(MESSAGES, st.lists(st.sampled_from(["user", "assistant", "call", "result"]), max_size=30), st.integers(20, 120))
def test_the_cut_point_stays_until_the_budget_is_met_again(first: list[str], rest: list[str], budget: int) -> None:
    called: list[str] = []
    messages: list[Message] = []
    before: tuple[Message, ...] | None = None
    total = 0.0
    for number, kind in enumerate([*first, *rest]):
        made = make(kind, number, called)
        content = made["content"] if isinstance(made["content"], list) else [made["content"]]
        blocks = tuple(Text(each) if isinstance(each, str) else each for each in content)
        messages.append(Message(role=made["role"], content=blocks))
        guesses = [float(5 + index % 7) for index in range(len(messages))]
        try:
            done = cut(messages, Weights(guesses, range(len(messages))), [False] * len(messages), budget)
        except OverBudget:
            before = None
            continue
        assert done.scale.total <= budget
        assert orphans(done.messages) == []
        if before is not None and done.messages[: len(before)] != before:
            assert total + guesses[-1] > budget  # only then may the cut move on
            assert done.scale.total <= budget
        before, total = done.messages, done.scale.total


def test_a_cut_leaves_room_for_what_comes() -> None:
    messages = [Message(role="user" if at % 2 else "assistant", content=(Text("x"),)) for at in range(200)]
    moves, before = 0, ()
    for count in range(20, 200):
        part = messages[:count]
        done = cut(part, Weights([10.0] * count, range(count)), [False] * count, 400)
        moves += done.messages[: len(before)] != tuple(before)
        before = done.messages
    assert moves <= 180 * 10 / (400 * (1 - CUT_TO)) + 1


def test_turns_that_are_kept_are_paired_with_their_calls_in_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    class Counted(dict[Any, Any]):
        def items(self) -> Any:
            looked.append(len(self))
            return super().items()

    pair = cutting.pair_calls
    monkeypatch.setattr(cutting, "pair_calls", lambda messages: Counted(pair(messages)))
    for rounds in (20, 200):
        called: list[str] = []
        kinds = ["user", *(each for _ in range(rounds) for each in ("call", "result"))]
        made = [make(kind, number, called) for number, kind in enumerate(kinds)]
        messages = [Message(role=each["role"], content=tuple(
            Text(one) if isinstance(one, str) else one
            for one in (each["content"] if isinstance(each["content"], list) else [each["content"]])
        )) for each in made]  # fmt: skip
        looked.clear()
        kept = [index % 2 == 0 for index in range(len(messages))]
        done = cut(messages, Weights([1.0] * len(messages), range(len(messages))), kept, 10_000)
        assert len(done.messages) == len(messages)
        assert sum(looked) <= 5 * rounds, "however many turns are kept"
