"""Whatever a provider begins to say tomorrow is kept: a key, a part or an event that nobody knows is in the reply.

The streams are our own cases, and what was recorded of the providers where it lies beside the checkout.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.providers import PROVIDERS
from support.providers.replies import CASES, read, read_lines, record
from support.shared import SHARED, needs_shared

RECORDED = SHARED / "fixtures" / "providers" / "response-stream"
NEW = "x-new"
SAID_AGAIN: dict[str, tuple[str, ...]] = {
    # What a response repeats of the request, and what a later event says again and decides.
    "openai_responses": ("tools", "tool_choice", "text", "reasoning", "metadata", "truncation", "logprobs",
                         "annotation", "annotations", "incomplete_details", "input", "summary", "caller"),
    # Raw tokens of the text beside it.
    "openai": ("tokens",),
    "cerebras": ("tokens",),
}  # fmt: skip
"""Keys below which nothing new is looked for, and why."""


def streams(provider: str) -> list[Path]:
    found = sorted((CASES / provider).glob("*/events.jsonl")) + sorted((RECORDED / provider).glob("*/events.jsonl"))
    return [path for path in found if path.parent.name not in ("unknown", "error-alone")]


def holders(value: Any, skipped: tuple[str, ...]) -> Iterator[Any]:
    """Every object inside, and every list of objects."""
    if isinstance(value, dict):
        yield value
        for key, each in value.items():
            if key not in skipped:
                yield from holders(each, skipped)
    elif isinstance(value, list) and all(isinstance(each, dict) for each in value):
        yield value
        for each in value:
            yield from holders(each, skipped)


def add(data: st.DataObject, events: list[Any], skipped: tuple[str, ...], marker: str) -> None:
    """Something new somewhere in a stream, before its end."""
    at = data.draw(st.integers(0, len(events) - 1), "event")
    if data.draw(st.booleans(), "as an event"):
        events.insert(at, {"type": f"{NEW}.event", "object": NEW, "said": [marker]})
        return
    holder = data.draw(st.sampled_from(list(holders(events[at], skipped))), "place")
    value = data.draw(st.sampled_from([marker, [marker], {"said": {"deep": marker}}]), "value")
    if isinstance(holder, dict):
        holder[NEW] = value
    else:
        holder.append({"type": NEW, NEW: value})


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_something_new_at_any_level_is_in_the_reply(provider: str, data: st.DataObject) -> None:
    events = read_lines(data.draw(st.sampled_from(streams(provider)), "stream"))
    add(data, events, SAID_AGAIN.get(provider, ()), "the-marker-of-the-test")
    assert "the-marker-of-the-test" in json.dumps(record(read(provider, events)))


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_all_that_is_new_is_in_the_reply_in_its_order(provider: str, data: st.DataObject) -> None:
    """Not the first of its kind alone: each event of one unknown type is kept."""
    events = read_lines(data.draw(st.sampled_from(streams(provider))))
    places = sorted(data.draw(st.lists(st.integers(0, len(events) - 1), min_size=3, max_size=6)))
    for count, at in enumerate(places):
        events.insert(at + count, {"type": NEW, "object": NEW, "said": count})
    kept = [event.get("said") for event in read(provider, events).details["unknown_events"] if event.get("type") == NEW]
    assert kept == list(range(len(places)))


@needs_shared
@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "cohere", "cerebras"])
def test_of_what_was_recorded_everything_is_known(provider: str) -> None:
    for path in sorted((RECORDED / provider).glob("*/events.jsonl")):
        reply = read(provider, read_lines(path))
        assert [str(note) for note in reply.notes] == []
        assert "unknown_events" not in reply.details
