"""How fast requests are written and answers are read, each dimension beside its limit, measured in the same run.

The limit is ``json``: of writing, ``json.dumps`` of the same body; of reading, ``json.loads`` of the same events.
Rounds of headish and of the limit alternate; a line gives the medians. One line a dimension,
``name=… provider=… key=value …``; ``ratio`` is headish by its limit.

    request        a window of 1,000 messages with texts, calls and results, to the body; the limit writes its JSON
    stream         an answer of 5,000 events to a reply, each parsed by json.loads; the limit parses them alone
    stream_text    the same from the bytes of server-sent events, in chunks of 1 KB, by headish's own reader
    thread         a thread of 1,000 turns from the store to a request, beside its resolve

Run: ``make bench``, or ``python tests/benchmarks/providers.py [--quick] [--cpu]``. ``--cpu`` takes the processor's time
instead of the clock on the wall, for a machine that others use, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as pytest does

from benchmarks.clock import Clock, use_cpu
from headish import ContextWindow, Message, Store
from headish.providers import PROVIDERS, Stream, prepare_request
from headish.providers.events.decoder import EventReader
from headish.values.blocks import ContentBlock, Text, ToolResult, ToolUse

SENTENCE = "Lima is the capital of Peru; it lies on the coast, between the Rímac and the sea. "
CHUNK = 1024
Work = Callable[[], object]


def window(count: int) -> ContextWindow:
    """A conversation in which every fourth message is a call, and the next one its result."""
    return ContextWindow(tuple(message(index) for index in range(count)), {})


def message(index: int) -> Message:
    content: ContentBlock = Text(SENTENCE * (1 + index % 4))
    role = "assistant" if index % 2 else "user"
    if index % 8 == 5:
        content = ToolUse("weather", f"call_{index}", {"city": "Lima", "days": index})
    if index % 8 == 6:
        role, content = "tool", ToolResult(f"call_{index - 1}", "weather", (Text(SENTENCE),))
    return Message(role=role, content=(content,))


def pieces(count: int) -> list[str]:
    return [SENTENCE[: 5 + index % 20] for index in range(count)]


def anthropic_events(count: int) -> list[dict[str, Any]]:
    delta = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
             for text in pieces(count)]  # fmt: skip
    start = [{"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 1}}},
             {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]  # fmt: skip
    end = [{"type": "content_block_stop", "index": 0},
           {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
           {"type": "message_stop"}]  # fmt: skip
    return [*start, *delta, *end]


def chat_events(count: int) -> list[dict[str, Any]]:
    about = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x"}
    delta = [{**about, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
             for text in pieces(count)]  # fmt: skip
    return [*delta, {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


def responses_events(count: int) -> list[dict[str, Any]]:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    whole = {**item, "status": "completed",
             "content": [{"type": "output_text", "text": "".join(pieces(count)), "annotations": []}]}  # fmt: skip
    delta = [{"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0,
              "delta": text} for text in pieces(count)]  # fmt: skip
    response = {"id": "r", "object": "response", "model": "x", "status": "completed", "output": [whole]}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *delta,
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": response},
    ]


def gemini_events(count: int) -> list[dict[str, Any]]:
    chunks = [{"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}],
               "modelVersion": "x", "responseId": "r"} for text in pieces(count)]  # fmt: skip
    return [*chunks, {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}], "responseId": "r"}]


def cohere_events(count: int) -> list[dict[str, Any]]:
    delta = [{"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}}
             for text in pieces(count)]  # fmt: skip
    start = {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}}
    end = [{"type": "content-end", "index": 0}, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}]
    return [{"type": "message-start", "id": "c"}, start, *delta, *end]


EVENTS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "anthropic": anthropic_events,
    "openai": chat_events,
    "openai_responses": responses_events,
    "gemini": gemini_events,
    "cohere": cohere_events,
    "cerebras": chat_events,
}


def read_events(provider: str, lines: list[bytes]) -> None:
    stream = Stream(provider)
    for line in lines:
        stream.feed(json.loads(line))
    assert not stream.finish().incomplete


def read_stream(provider: str, data: bytes) -> None:
    reader, stream = EventReader(), Stream(provider)
    for at in range(0, len(data), CHUNK):
        for event in reader.feed(data[at : at + CHUNK]):
            stream.feed(event)
    assert not stream.finish().incomplete


def parse_all(lines: list[bytes]) -> None:
    for line in lines:
        json.loads(line)


def measure(name: str, provider: str, ours: Work, limit: Work, rounds: int, **facts: float) -> None:
    """Alternate, take medians, print one line."""
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for kept, work in zip(times, (ours, limit), strict=True):
            begun = Clock.now()
            work()
            kept.append(Clock.now() - begun)
    mine, least = (statistics.median(each) for each in times)
    per = " ".join(
        f"{key}={mine * 1e6 / value:.2f}" if key.startswith("us") else f"{key}={value / mine / 1e6:.1f}"
        for key, value in facts.items()
    )
    print(f"name={name} provider={provider} {per} ratio={mine / least:.2f}", flush=True)


def measure_provider(provider: str, quick: bool) -> None:
    rounds, count = (3, 200) if quick else (9, 1000)
    given = window(count)
    body = prepare_request(provider, given).body
    size = len(json.dumps(body))
    facts = {"us_per_message": count, "mb_per_s": size}
    write = partial(prepare_request, provider, given)
    measure("request", provider, write, partial(json.dumps, body), rounds, **facts)
    events = EVENTS[provider](500 if quick else 5000)
    lines = [json.dumps(event).encode() for event in events]
    facts = {"us_per_event": len(lines), "mb_per_s": sum(map(len, lines))}
    measure("stream", provider, partial(read_events, provider, lines), partial(parse_all, lines), rounds, **facts)
    data = b"".join(b"data: %b\n\n" % line for line in lines)
    measure("stream_text", provider, partial(read_stream, provider, data), partial(parse_all, lines), rounds, **facts)


def measure_thread(quick: bool) -> None:
    count = 200 if quick else 1000
    with Store.open(":memory:") as store:
        store.record(window(count).messages, bookmark="main")
        for provider in PROVIDERS:
            ours, limit = partial(store.request, "main", provider), partial(store.resolve, "main")
            measure("thread", provider, ours, limit, 3 if quick else 15, us_per_turn=count)


def main() -> None:
    arguments = argparse.ArgumentParser(description="Benchmarks of requests and answers, each beside its limit.")
    arguments.add_argument("--quick", action="store_true", help="small sizes, for a look")
    arguments.add_argument(
        "--cpu", action="store_true", help="the processor's time: for a machine that others use, too"
    )
    given = arguments.parse_known_args()[0]
    quick = given.quick
    if given.cpu:
        use_cpu()
    for provider in PROVIDERS:
        measure_provider(provider, quick)
    measure_thread(quick)


if __name__ == "__main__":
    main()
