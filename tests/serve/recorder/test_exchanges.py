"""Recorded answers of the providers as calls that passed, whole and cut off at any byte; and lanes at the same time."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from headish import Store
from headish.gateway.spool import Outcome
from headish.serve.recorder.recording import CallRecorder
from headish.values.blocks import to_mapping
from support.loops import failing
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, assistant, events, passed, user
from support.places import Place

CASES = Path(__file__).parents[2] / "providers" / "cases"
SURFACES = {"anthropic": "anthropic", "openai": "chat", "openai_responses": "responses", "gemini": "gemini"}
SAID: dict[str, dict[str, Any]] = {
    "anthropic": {"messages": [{"role": "user", "content": "?"}]},
    "chat": {"messages": [{"role": "user", "content": "?"}]},
    "responses": {"input": "?"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "?"}]}]},
}


def recorded_cases() -> list[tuple[str, Path]]:
    return [(surface, path) for name, surface in SURFACES.items() for path in sorted((CASES / name).iterdir())]


def test_recorded_answers_are_stored_as_a_capture_stores_them(file_place: Any) -> None:
    store = file_place.open()
    recorder = CallRecorder(lambda _space: store)

    def check(surface: str, case: Path) -> None:
        wanted = json.loads((case / "reply.json").read_text("utf-8"))
        whole, streamed = case / "response.json", case / "events.jsonl"
        lines = streamed.read_text("utf-8").splitlines() if streamed.exists() else []
        answer = events(map(json.loads, lines)) if lines else whole.read_bytes()
        recorded = recorder.record(passed(surface, SAID[surface], answer))
        assert recorded is not None
        if not wanted["content"]:
            assert recorded.call.answer is None
            return
        blocks = [to_mapping(block) for block in store.blocks(str(recorded.call.answer))]
        assert [block["type"] for block in blocks] == [block["type"] for block in wanted["content"]]
        assert store.get(str(recorded.call.answer)).meta.reply["stop_reason"] == wanted["stop_reason"]

    assert failing(recorded_cases(), check) == {}
    assert store.verify().problems == ()


def test_a_call_says_what_the_provider_said_when_it_failed_in_mid_stream(file_place: Any) -> None:
    store = file_place.open()
    recorder = CallRecorder(lambda _space: store)
    failed = events([{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}])

    def check(begun: bytes, outcome: Outcome) -> None:
        call = passed("anthropic", anthropic_body([user("?")]), begun + failed, outcome=outcome)
        recorder.record(call)
        facts = store.calls.get(call.id).facts
        assert (facts.outcome, facts.error) == (outcome, "Overloaded")

    outcomes: tuple[Outcome, ...] = ("ok", "client gone", "broken")
    half = anthropic_answer("Half of it", whole=False)
    assert failing([(begun, outcome) for begun in (b"", half) for outcome in outcomes], check) == {}


def test_an_answer_that_is_cut_off_anywhere_is_a_call_that_is_stored(file_place: Any) -> None:
    store = file_place.open()
    recorder = CallRecorder(lambda _space: store)
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls öäü"}}
    answer = anthropic_answer("Größer als gedacht.", call)

    def check(at: int) -> None:
        cut = passed("anthropic", anthropic_body([user("Hi")]), answer[:at], headers=CLAUDE_CODE, outcome="broken")
        recorded = recorder.record(cut)
        assert recorded is not None
        assert store.calls.get(cut.id).facts.error
        if recorded.call.answer is not None:
            assert store.get(recorded.call.answer).meta.reply["incomplete"] is True

    assert failing(range(0, len(answer) - 200, 37), check) == {}
    assert store.verify().problems == ()


def test_two_recorders_store_two_lanes_at_once(durable_place: Place) -> None:
    """As two servers on one database would; each lane stays whole."""
    problems: list[BaseException] = []

    def talk(session: str) -> None:
        try:
            store = durable_place.open()
            recorder = CallRecorder(lambda _space: store)
            messages: list[dict[str, Any]] = []
            for number in range(8):
                messages.append(user(f"{session} asks {number}"))
                headers = {**CLAUDE_CODE, "x-claude-code-session-id": session}
                answer = anthropic_answer(f"To {session}: {number}")
                recorder.record(passed("anthropic", anthropic_body(messages, nonce=number), answer, headers=headers))
                messages.append(assistant(f"To {session}: {number}"))
        except BaseException as error:
            problems.append(error)

    sessions = ("aaaaaa11", "bbbbbb22")
    threads = [threading.Thread(target=talk, args=(each,)) for each in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    store: Store = durable_place.open()
    assert sorted(store.bookmarks) == [f"claude-code/{each}" for each in sessions]
    assert store.stats().turns == 1 + 2 * 2 * 8
    assert [len(store.calls.list(f"claude-code/{each}")) for each in sessions] == [8, 8]
    assert store.verify().problems == ()
