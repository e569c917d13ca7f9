"""A value of another type than its format has costs words only if the import says so, or keeps the value."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest

from headish import Store
from imports.test_hostile import FILES, as_array
from imports.test_services import FIRST, SECOND, SUMS, request
from imports.test_services import TIDES as LIBRECHAT

SERVICES = {"librechat": (LIBRECHAT, as_array), "open-webui": ([SUMS], as_array),
            "otel": (request(FIRST, SECOND), as_array)}  # fmt: skip
MARK = "987654"
PLACES: dict[str, list[tuple[Any, ...]]] = {
    "chatgpt": [(0, "mapping", "q", "message")],
    "claude": [(0, "chat_messages", 0, "attachments"), (0, "chat_messages", 0, "attachments", 0)],
    "claude-code": [(1, "message", "content")],
    "gemini-cli": [(3, "toolCalls"), (3, "toolCalls", 0), (3, "toolCalls", 0, "name"), (3, "thoughts", 0)],
    "openai-log": [
        (0, "body", "messages"), (0, "response", "body", "choices"), (0, "response", "body", "choices", 0),
        (0, "choices"),
    ],
    "librechat": [
        ("messages", 0, "children"), ("messages", 1, "text"), ("messages", 0, "children", 0, "content", 1, "text"),
        ("messages", 0, "children", 0, "content", 2, "tool_call", "output"),
    ],
    "open-webui": [(0, "chat", "history", "messages", "a", "content")],
    "otel": [("resourceSpans", 0), ("resourceSpans", 0, "scopeSpans"), ("resourceSpans", 0, "scopeSpans", 0),
             ("resourceSpans", 0, "scopeSpans", 0, "spans")],
}  # fmt: skip
"""Where words stand, or what holds them."""


def imported(record: Any, format: str) -> tuple[list[str], str]:
    """What an import reports as not read, and everything that it stores."""
    told: list[str] = []
    with Store.open(":memory:") as store:
        file = io.BytesIO({**FILES, **SERVICES}[format][1](record))
        store.import_file(file, format, told=lambda note: told.append(note.kind))
        stored = "".join(store.payload(turn.id).decode() + str(turn.meta.app) for turn in store.turns())
    return [kind for kind in told if kind in ("broken", "left out")], stored


@pytest.mark.parametrize("format", PLACES)
@pytest.mark.parametrize("odd", [int(MARK), [MARK]], ids=["number", "list"])
def test_an_odd_value_is_kept_or_reported(format: str, odd: Any) -> None:
    value = {**FILES, **SERVICES}[format][0]
    before, _ = imported(value, format)
    silent = []
    for place in PLACES[format]:
        record = copy.deepcopy(value)
        held = record
        for key in place[:-1]:
            held = held[key]
        held[place[-1]] = odd
        told, stored = imported(record, format)
        silent += [] if len(told) > len(before) or MARK in stored else [place]
    assert silent == []
