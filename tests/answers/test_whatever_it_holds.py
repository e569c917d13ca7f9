"""Whatever an answer holds, it is stored; and where storing fails, nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import repeat
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headish import Store, Turn
from headish.calls import Timeouts
from headish.errors import DatabaseFull, TimedOut, TooLarge
from headish.providers import PROVIDERS
from headish.store.answers.capture import Capture
from headish.values.blocks import Text
from headish.values.limits import MAPPING_LIMIT_BYTES
from support.capturers import journalled
from support.insides import run_sql
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_message, anthropic_text
from support.providers.replies import CASES, read_lines
from support.providers.spoiling import spoil

LONE = "\ud800"
MUCH = 1_100_000


def store_reply(store: Store, provider: str, events: list[Any]) -> Turn:
    """The turn of an answer that was captured, with its root."""
    asked = store.add_turn("Hi")
    capture = store.capture(asked.id, provider)
    for event in events:
        capture.feed(event)
    turn = capture.finish()
    assert store.get(turn.id) == turn
    assert store.streams.list() == []
    return turn


def said(store: Store, turn: Turn) -> str:
    content = store.resolve(turn.id).messages[-1].content
    return "".join(block.text for block in content if isinstance(block, Text))


PLACES: dict[str, Callable[[dict[str, Any], Any], None]] = {
    "the stop reason": lambda message, value: message.update(stop_reason=value),
    "the model": lambda message, value: message.update(model=value),
    "the id": lambda message, value: message.update(id=value),
    "a key": lambda message, value: message.update({value: 1}),
    "a key of the usage": lambda message, value: message["usage"].update({value: 1}),
    "a detail": lambda message, value: message.update(stop_sequence=value),
    "the type of a block": lambda message, value: message["content"].append({"type": value}),
    "the name of a call": lambda message, value: message["content"].append(
        {"type": "tool_use", "id": value, "name": value, "input": {value: value}}
    ),
    "a signature": lambda message, value: message["content"].append(
        {"type": "thinking", "thinking": value, "signature": value}
    ),
    "a citation": lambda message, value: message["content"][0].update(citations=[{value: value}]),
}


IN_CONTENT = ("the type of a block", "the name of a call", "a signature", "a citation")
"""Places in the content, which may be long."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [LONE, "x" * MUCH], ids=["half a character", "a million characters"])
def test_an_answer_is_stored_whatever_stands_in_it(asking: Store, place: str, value: str) -> None:
    message = anthropic_message({"type": "text", "text": "Yes."})
    PLACES[place](message, value)
    turn = store_reply(asking, "anthropic", [message])
    assert said(asking, turn) == "Yes."
    assert turn.meta.reply.get("notes") or (value != LONE and place in IN_CONTENT)
    assert asking.verify().problems == ()


def test_a_number_without_end_and_an_object_without_bottom_are_stored(asking: Store) -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    for odd in (10**5000, deep, object()):
        message = anthropic_message({"type": "text", "text": "Yes."}, odd=odd)
        assert said(asking, store_reply(asking, "anthropic", [message])) == "Yes."


def test_an_answer_with_numbers_that_only_python_writes_is_kept_and_says_so(asking: Store, server: Loopback) -> None:
    """As vLLM sends them, among the probabilities of the tokens."""
    odd = {"logprobs": {"content": [{"token": "Yes", "logprob": float("nan")}, {"token": ".", "logprob": -inf}]}}
    end = {"index": 0, "finish_reason": "stop", **odd}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "odd": inf}
    whole = {"choices": [{**end, "message": {"role": "assistant", "content": "Yes."}}], "usage": usage}
    server.answer(chunks=event_stream([{"choices": [{**end, "delta": {"content": "Yes."}}]}]))
    server.answer_json(whole)
    asked = asking.add_turn("Hi")
    call = {"to": "openai", "model": "m", "base_url": server.url}
    turns = [
        asking.reply(asked.id, "openai", json.dumps(whole)),
        asking.ask(continues=asked.id, **call),
        asking.ask(continues=asked.id, **call, stream=False),
    ]
    for turn in turns:
        assert said(asking, turn) == "Yes."
        assert "incomplete" not in turn.meta.reply
        assert any("replaced" in note for note in turn.meta.reply["notes"])
    assert turns[0].meta.reply["usage"] == turns[2].meta.reply["usage"] == {"input_tokens": 7, "output_tokens": 2}
    assert '"logprob":null' in msgspec.json.encode(turns[0].meta.reply).decode()


def test_what_does_not_fit_is_cut_and_noted(asking: Store) -> None:
    message = {**anthropic_message({"type": "text", "text": "Yes."}), "model": "m" * MUCH}
    turn = store_reply(asking, "anthropic", [message])
    assert turn.meta.reply["model"] == "m" * 1000
    assert turn.meta.reply["notes"] == ["the model is cut: it has 1,100,000 characters"]


ODD = st.sampled_from([LONE, "x" * 2000, 10**4000, {LONE: LONE}, [[[{}]]], float("nan"), None, -1])


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.slow
def test_no_stream_whatever_its_values_is_refused(asking: Store, provider: str, data: st.DataObject) -> None:
    events = read_lines(data.draw(st.sampled_from(sorted((CASES / provider).glob("*/events.jsonl")))))
    for _ in range(3):
        spoil(data, ODD, data.draw(st.sampled_from(events)))
    store_reply(asking, provider, events)


def test_of_too_many_details_those_that_fit_are_kept_in_order(asking: Store) -> None:
    """And a note says how much was dropped."""
    unknown = [{"type": "odd", "number": number, "said": "y" * 1000} for number in range(1500)]
    events = anthropic_text("Yes.")
    turn = store_reply(asking, "anthropic", [*events[:1], *unknown, *events[1:]])
    kept = turn.meta.reply["details"]["unknown_events"]
    assert kept == unknown[: len(kept)]
    assert len(kept) * 1000 > MAPPING_LIMIT_BYTES * 0.9
    assert [note for note in turn.meta.reply["notes"] if note.endswith("more unknown events are not kept")]


def test_a_detail_that_is_too_large_alone_leaves_room_for_the_others(asking: Store) -> None:
    message = anthropic_message({"type": "text", "text": "Yes."})
    message |= {"stop_sequence": "x" * MUCH, "container": {"id": "c"}, "stop_details": {"a": "y" * MUCH, "b": 1}}
    turn = store_reply(asking, "anthropic", [message])
    assert turn.meta.reply["details"] == {"container": {"id": "c"}, "stop_details": {"b": 1}}
    [note] = turn.meta.reply["notes"]
    dropped, whole = (int(word.replace(",", "")) for word in note.split() if word[0].isdigit())
    assert whole > dropped > 2 * MUCH
    assert note.endswith("bytes that the provider said beside the answer are not kept: a turn holds no more")


@pytest.fixture
def begun(durable: Store) -> Capture:
    durable.add_turn("Hi", bookmark="main")
    capture = durable.capture("main", "anthropic")
    for event in anthropic_text("Yes", ", indeed."):
        capture.feed(event)
    return capture


def fail_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next turn that is appended finds the disk full."""
    from headish.store.asking import reply as replies

    def append(*_: Any) -> Any:
        monkeypatch.undo()
        raise DatabaseFull("test", "the disk is full")

    monkeypatch.setattr(replies, "append_reply", append)


def test_a_finish_that_failed_is_asked_for_again(
    durable: Store, begun: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_once(monkeypatch)
    with pytest.raises(DatabaseFull):
        begun.finish()
    assert begun.reply is None
    turn = begun.finish()
    assert said(durable, turn) == "Yes, indeed."
    assert durable.get("main") == turn == begun.finish()
    assert durable.streams.list() == []


def test_a_finish_that_failed_leaves_all_of_the_answer_to_recover(
    durable: Store, begun: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_once(monkeypatch)
    with pytest.raises(DatabaseFull):
        begun.finish()
    assert b"message_stop" in journalled(durable)
    [turn] = durable.streams.recover(force=True)
    assert said(durable, turn) == "Yes, indeed."
    assert "incomplete" not in turn.meta.reply


def test_an_endless_answer_is_not_in_the_file_twice(tmp_path: Path) -> None:
    """The journal's pages become the turn's: what was deleted first is written over."""
    limit = 4_000_000
    path = tmp_path / "store.sqlite"
    with Store.open(path, payload_limit_bytes=limit) as store:
        before = path.stat().st_size
        store.add_turn("Hi", bookmark="main")
        capture = store.capture("main", "anthropic")
        start, begun, *_ = anthropic_text("x")
        piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 50_000}}
        for event in (start, begun, *repeat(piece, limit // 50_200)):
            capture.feed(event)
        with pytest.raises(TooLarge):
            capture.feed(piece)
        capture._journal.keep()
        turn = capture.finish()
        assert len(said(store, turn)) > 0.95 * limit
        [[free]] = run_sql(store, "PRAGMA freelist_count")
    assert path.stat().st_size - before < 1.2 * limit
    assert free * 4096 < 0.2 * limit


@pytest.mark.slow
def test_a_slow_drip_ends_with_the_time_of_the_whole_call(asking: Store, server: Loopback) -> None:
    """However short the silences are; what had come is stored."""
    chunks = event_stream(anthropic_text("Yes")[:3])
    server.answer(chunks=[*chunks, *repeat(b": still here\n\n", 10_000)], delay_seconds=0.02)
    asked = asking.say("Hi", ptr="milli")
    with asking.open_answer(*asked, attempts=1, timeouts=Timeouts(total_seconds=3, silence_seconds=60)) as answer:
        list(answer)
    assert isinstance(answer.failure, TimedOut)
    turn = answer.finish()
    assert said(asking, turn) == "Yes"
    assert turn.meta.reply["incomplete"] is True
    assert Timeouts().total_seconds == 3600
