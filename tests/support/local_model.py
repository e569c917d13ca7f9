"""A local model for the pages of the documentation: what a server of Chat Completions answers on each, in order.

A page shows the address that Ollama has; what it shows is run against a server of the test's own, which plays these
answers back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.loopback import Loopback, event_stream

SHOWN = "http://127.0.0.1:11434"
"""The address that the pages show."""
DONE = b"data: [DONE]\n\n"
HEIGHT = "geo___height"
Chunks = list[dict[str, Any]]


@contextmanager
def local_model(page: str) -> Iterator[Loopback]:
    """A server that answers as the page of this name shows; in the end nothing may be left that was not asked for."""
    with Loopback() as server:
        for answer in ANSWERS.get(page, ()):
            cut = answer[-1]["choices"][0]["finish_reason"] is None
            server.answer(chunks=[*event_stream(answer), *([] if cut else [DONE])], cut=cut)
        yield server
        assert len(server.requests) == len(ANSWERS.get(page, ())), "answers that nobody asked for"


def says(*pieces: str, tokens: tuple[int, int]) -> Chunks:
    """An answer of text, and how many tokens were read and written."""
    return [*cut_off(*pieces), _chunk({}, "stop", tokens)]


def cut_off(*pieces: str) -> Chunks:
    """The beginning of an answer whose connection is lost then."""
    return [_chunk({"role": "assistant", "content": ""}), *(_chunk({"content": piece}) for piece in pieces)]


def calls(*called: tuple[str, dict[str, Any]], tokens: tuple[int, int]) -> Chunks:
    """An answer that calls tools, each by its name and arguments."""
    listed = [
        {"index": at, "id": f"call_{at + 1}", "type": "function",
         "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(called)
    ]  # fmt: skip
    return [_chunk({"role": "assistant", "tool_calls": listed}), _chunk({}, "tool_calls", tokens)]


def _chunk(delta: dict[str, Any], stop: str | None = None, tokens: tuple[int, int] | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    said = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "llama3.2",
        "choices": [choice],
    }
    if tokens is None:
        return said
    read, written = tokens
    return {**said, "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}}


ANSWERS: dict[str, list[Chunks]] = {
    "README.md": [says("Lima", ".", tokens=(31, 3))],
    "ask-a-local-model.md": [
        says("Air scatters ", "blue light more than red.", tokens=(19, 9)),
        says("The light has come a long way, ", "and only red is left.", tokens=(42, 13)),
        cut_off("About 150 "),
        says("About 150 million ", "kilometres.", tokens=(70, 7)),
        says("Dust scatters red light there, ", "so the sky is reddish.", tokens=(68, 12)),
        says("Blue: ", "there is less dust in front of it.", tokens=(92, 10)),
    ],
    "tool-loop.md": [
        calls((HEIGHT, {"peak": "K2"}), (HEIGHT, {"peak": "Everest"}), tokens=(85, 34)),
        says("K2 is 8611 m high, ", "Everest 8849 m.", tokens=(140, 15)),
        calls((HEIGHT, {"peak": "Fuji"}), tokens=(170, 17)),
        says("Then I cannot say.", tokens=(201, 6)),
        calls((HEIGHT, {"peak": "Fuji"}), tokens=(230, 17)),
        says("3776 m.", tokens=(260, 5)),
    ],
    "talk-at-a-terminal.md": [
        says("K2", ".", tokens=(40, 2)),
        says("Everest.", tokens=(60, 3)),
        says("Makalu.", tokens=(80, 3)),
        says("Makalu and ", "Cho Oyu.", tokens=(80, 7)),
        says("Rainier.", tokens=(100, 3)),
    ],
    "store-an-answer.md": [
        says("Air scatters ", "blue light more than red.", tokens=(19, 9)),
        says("Only red is left.", tokens=(42, 5)),
    ],
}
