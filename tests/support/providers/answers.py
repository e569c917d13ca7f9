"""Answers as Anthropic's Messages API gives them, in a line each: the events of a stream, or the whole message.

Used by tests/answers and tests/cli.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Event
from typing import Any

from support.loopback import event_stream

MODEL = "small-1"
Events = list[dict[str, Any]]


def anthropic_text(*pieces: str, **said: Any) -> Events:
    """An answer of one text block that comes in these pieces."""
    return _answer([_text(0, pieces)], "end_turn", **said)


def anthropic_call(name: str, arguments: dict[str, Any], id: str = "toolu_1", *, text: str = "", **said: Any) -> Events:
    """An answer that calls one tool, its arguments in two pieces; ``text`` stands before it."""
    return anthropic_calls((name, arguments, id), text=text, **said)


def anthropic_calls(*calls: tuple[str, dict[str, Any], str], text: str = "", **said: Any) -> Events:
    """An answer that calls several tools: ``(name, arguments, id)`` each."""
    before = [_text(0, (text,))] if text else []
    blocks = [_call(len(before) + number, *call) for number, call in enumerate(calls)]
    return _answer([*before, *blocks], "tool_use", **said)


def anthropic_message(*content: dict[str, Any], stop_reason: str = "end_turn", **said: Any) -> dict[str, Any]:
    """The same as a whole response; without blocks, its content is a text."""
    usage = {"input_tokens": 7, "cache_read_input_tokens": 2, "output_tokens": 5}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_sequence": None}
    return {**start, "content": list(content), "stop_reason": stop_reason, "usage": usage, **said}


def held_back(events: Events, first: int, seen: Event) -> Iterator[bytes]:
    """The first events as a stream's chunks; the rest once they were seen. Where nobody sees them, the stream ends."""
    chunks = event_stream(events)
    yield from chunks[:first]
    if seen.wait(20):
        yield from chunks[first:]


def _answer(blocks: list[Events], stop_reason: str, **said: Any) -> Events:
    message = anthropic_message(**said)
    counted = message["usage"]
    start = {**message, "content": [], "stop_reason": None, "usage": {**counted, "output_tokens": 1}}
    return [
        {"type": "message_start", "message": start},
        *(event for block in blocks for event in block),
        {"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": None}, "usage": counted},
        {"type": "message_stop"},
    ]


def _text(index: int, pieces: tuple[str, ...]) -> Events:
    return _block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def _call(index: int, name: str, arguments: dict[str, Any], id: str) -> Events:
    written = json.dumps(arguments)
    pieces = (written[: len(written) // 2], written[len(written) // 2 :])
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return _block(index, {"type": "tool_use", "id": id, "name": name, "input": {}}, *deltas)


def _block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> Events:
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]
