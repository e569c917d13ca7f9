"""Answers that nobody would send on purpose: read in steps that grow with their size alone, and nothing told twice."""

from __future__ import annotations

from typing import Any

import pytest

from headish.providers.shared.values import Reply
from headish.providers.stream import Stream
from headish.values.blocks import ToolUse
from support.counting import calls

Event = dict[str, Any]


def read(provider: str, events: list[Event]) -> Reply:
    stream = Stream(provider)
    for event in events:
        stream.feed(event)
    return stream.finish()


def blocks_of(provider: str, events: list[Event]) -> tuple[Any, ...]:
    return read(provider, events).content


def parts(count: int, again: str, phases: tuple[str | None, ...]) -> list[Event]:
    """A message of many parts, which is said again as often, without them."""
    place = {"output_index": 0, "item_id": "m"}
    part = {"type": "output_text", "text": "a"}
    begun = [{"type": "response.content_part.added", **place, "content_index": at, "part": part} for at in range(count)]
    items = [{"type": "message", "id": "m", "phase": phases[at % len(phases)]} for at in range(count)]
    return begun + [{"type": f"response.output_item.{again}", "output_index": 0, "item": item} for item in items]


@pytest.mark.parametrize(
    "phases", [(None,), ("commentary", "final_answer")], ids=["no phase", "another phase each time"]
)
def test_an_item_that_is_said_again_takes_no_step_for_each_of_its_parts(phases: tuple[str | None, ...]) -> None:
    few, many = (calls(lambda n=n: read("openai_responses", parts(n, "done", phases))) for n in (50, 400))
    assert many < 9 * few


def test_every_part_has_the_last_phase_of_its_item_in_the_place_of_the_first() -> None:
    place = {"output_index": 0, "item_id": "m", "content_index": 0}
    cited = {"type": "response.output_text.annotation.added", **place, "annotation": {"url": "u"}}
    [text, *_] = blocks_of("openai_responses", [*parts(2, "done", ("one", "two")), cited])
    assert list(text.opaque["openai_responses"].items()) == [("phase", "two"), ("annotations", [{"url": "u"}])]


def stopped(count: int) -> list[Event]:
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"city": "Lima"}'}
    return [
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        *[{"type": "content_block_stop", "index": 0}] * count,
    ]


def test_the_arguments_of_a_call_that_ends_many_times_are_not_read_each_time() -> None:
    once, often = (calls(lambda n=n: read("anthropic", stopped(n)), "_read_input") for n in (1, 200))
    assert 1 <= once <= often <= once + 1


def test_arguments_that_go_on_behind_their_end_are_read_when_they_end_again() -> None:
    begin, _, stop = stopped(1)
    pieces = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in ('{"city": ', '"Lima"}')
    ]
    [call] = blocks_of("anthropic", [begin, pieces[0], stop, pieces[1], stop])
    assert isinstance(call, ToolUse)
    assert (call.input, call.partial) == ({"city": "Lima"}, False)


def test_what_stands_beside_many_objects_of_one_event_is_kept_once() -> None:
    message = {"content": [{"type": "text", "text": word} for word in ("a", "b", "c")], "mood": "calm"}
    event = {"type": "content-start", "index": 0, "trace": "t", "delta": {"message": message}}
    reply = read("cohere", [event])
    assert [block.text for block in reply.content] == ["a", "b", "c"]
    [kept] = reply.details["unknown_events"]
    assert (kept["trace"], kept["delta"]["message"]["mood"]) == ("t", "calm")


def streamed(count: int, path: str) -> list[Event]:
    """A call whose one text comes in many pieces, which ends as often, after a piece at this path."""
    piece = {"jsonPath": "$.text", "stringValue": "ab", "willContinue": True}
    odd = {"partialArgs": [{"jsonPath": path, "stringValue": "x"}]}
    calls = [{"name": "write", "willContinue": True}, {"partialArgs": [piece] * count, "willContinue": True}]
    parts = [{"functionCall": call} for call in [*calls, *[odd] * count]]
    return [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]


@pytest.mark.parametrize("path", ["$.text", "$.text.of"], ids=["a place that fits", "a place that does not"])
def test_a_call_of_many_pieces_is_put_together_once(path: str) -> None:
    few, many = (calls(lambda n=n: read("gemini", streamed(n, path))) for n in (50, 400))
    assert many < 9 * few
