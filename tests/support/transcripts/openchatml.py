"""A reader of OpenChatML 2.2, written from the specification alone, to hold the writer to it.

It knows what the writer may write: a header, frames between line feeds, escapes and literal blocks (2.2 §3, §6).

Used by tests/emission and tests/imports.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(r"(<*)<\|(start|channel|message|call|constrain|return|end|literal|endliteral)\|>")


class ReadFrame(NamedTuple):
    role: str
    attributes: dict[str, str]
    channel: str | None
    constrain: str | None
    body: str
    stop: str


def read_openchatml(text: str) -> list[ReadFrame]:
    """The frames of a transcript. Raises: ValueError where it is none."""
    header, rest = text.split("\n\n", 1)
    if header != "version: 2.2":
        raise ValueError(f"header {header!r}")
    frames = []
    position = 0
    while position < len(rest):
        frame, position = _read_frame(rest, position)
        frames.append(frame)
        if position < len(rest) and rest[position] != "\n":
            raise ValueError(f"text between frames at {position}")
        position += 1
    return frames


def _read_frame(text: str, position: int) -> tuple[ReadFrame, int]:
    if not text.startswith("<|start|>", position):
        raise ValueError(f"no frame at {position}")
    end = text.index("<|message|>", position)
    sections = re.split(r"<\|(start|channel|constrain)\|>", text[position:end])
    names, values = sections[1::2], sections[2::2]
    if sorted(set(names)) != sorted(names):
        raise ValueError(f"a header section twice: {names}")
    found = dict(zip(names, values, strict=True))
    role, *words = found["start"].split(" ")
    attributes = dict(word.split("=", 1) for word in words)
    body, stop, position = _read_body(text, end + len("<|message|>"))
    return ReadFrame(role, attributes, found.get("channel"), found.get("constrain"), body, stop), position


def _read_body(text: str, position: int) -> tuple[str, str, int]:
    body = ""
    while token := _TOKEN.search(text, position):
        body += text[position : token.start()]
        before, name = token.groups()
        position = token.end()
        if before:
            body += before[1:] + f"<|{name}|>"  # n + 1 signs for n and the token, as text
        elif name == "literal":
            stop = text.index("<|endliteral|>", position)
            body += text[position:stop]
            position = stop + len("<|endliteral|>")
        elif name in ("end", "call", "return"):
            return body, name, position
        else:
            raise ValueError(f"the token {name} stands in a body")
    raise ValueError("a frame has no end")
