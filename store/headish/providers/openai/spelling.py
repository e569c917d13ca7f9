"""The effect of a dialect on the messages of a request: the place of reasoning, the keys that go back, the ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.content.forms.chat import MESSAGE, PART
from headish.content.hashes import hash_payload
from headish.providers.dialects.values import DETAILS, PARTS, REASONING, SEALED, Dialect
from headish.providers.openai.reply import CLOSED, OPENED
from headish.providers.shared.mapping import Part
from headish.values.blocks import ProviderBlock, Thinking
from headish.values.messages import Message
from headish.values.shapes import listed, name, record, text

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def spell_reasoning(dialect: Dialect, block: Thinking, own: Mapping[str, Any]) -> Part | None:
    """The part for a reasoning; None if the dialect has no place for it. ``own`` is the opaque data beside it.

    Reasoning that came in the content goes back into it to the letter, if the dialect has its tags.
    """
    opened = name(own.get(OPENED))
    if opened is not None and opened.strip().strip("<>") in dialect.tags:
        return {"type": "text", "text": f"{opened}{block.text}{text(own.get(CLOSED))}", "tagged": True}
    if dialect.reasoning == PARTS and block.text:
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": block.text}]}
        return {"type": PART, PART: thinking}
    if dialect.reasoning in (None, PARTS) or not (block.text.strip() or dialect.fills):
        return None
    return {"type": "reasoning", "text": block.text}


def spell_answer(dialect: Dialect, answer: Part, thought: list[str]) -> Part:
    """A message of the assistant with its reasoning under the dialect's key."""
    key = dialect.reasoning
    if key in (None, PARTS) or not (thought or dialect.fills):
        return answer
    return {**answer, str(key): "".join(thought)}


def join_tagged(parts: list[Part]) -> list[Part]:
    """The parts of an answer, with reasoning between tags and the text after it joined to the one text that they
    were."""
    joined: list[Part] = []
    for part in parts:
        if joined and joined[-1].get("tagged") and part["type"] == "text":
            joined[-1] = {**joined[-1], "text": joined[-1]["text"] + part["text"], "tagged": False}
        else:
            joined.append(part)
    return [{key: value for key, value in part.items() if key != "tagged"} for part in joined]


def goes_back(dialect: Dialect, key: str, value: Any) -> bool:
    """Whether a further key of a message or of its calls goes back.

    Reasoning goes to a server that takes it, and what is signed or encrypted to one that gives such: nobody else can
    read it, and most answer 400.
    """
    if key == DETAILS and dialect.format:
        formats = [text(record(each).get("format")) for each in listed(value)]
        return all(each.startswith(dialect.format) for each in formats)
    if dialect.keys is not None:
        return key in dialect.keys
    if key in REASONING:
        return dialect.reasoning is not None
    return key not in SEALED or key in dialect.sealed


def has_details(dialect: Dialect, message: Message, provider: str) -> bool:
    """Whether a message has all of its reasoning under ``reasoning_details`` that go back."""
    blocks = (block for block in message.content if isinstance(block, ProviderBlock) and block.provider == provider)
    found = (record(record(block.data).get(MESSAGE)).get(DETAILS) for block in blocks)
    return any(details and goes_back(dialect, DETAILS, details) for details in found)


def spell_id(dialect: Dialect, id: str | None) -> str | None:
    """The id of a call with as many letters and digits as the dialect wants; the same id always gives the same."""
    size = dialect.ids
    if id is None or size is None or (len(id) == size and id.isascii() and id.isalnum()):
        return id
    digest = hash_payload(id.encode())
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:size])


def join_lists(entry: Part) -> Part:
    """A message with one text in place of a list of nothing but texts; any other message unchanged."""
    content = entry.get("content")
    if isinstance(content, list) and all(set(part) == {"type", "text"} for part in content):
        return {**entry, "content": "\n".join(part["text"] for part in content)}
    return entry
