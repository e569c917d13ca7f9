"""Recordings that a provider has made and keeps: a request names one by its id, until that runs out."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from headish.content.spoken import AUDIO, said_aloud
from headish.values.blocks import ContentBlock, Document
from headish.values.messages import Message

PROVIDER = "openai"


def still_heard(messages: Sequence[Message], now: float) -> tuple[Message, ...]:
    """The messages, without the ids that have run out: of those recordings the words are sent."""
    return tuple(
        replace(message, content=tuple(_without_id(block, now) for block in message.content))
        if any(_has_run_out(block, now) for block in message.content)
        else message
        for message in messages
    )


def _has_run_out(block: ContentBlock, now: float) -> bool:
    said = said_aloud(block, PROVIDER) if type(block) is Document else None
    ends = None if said is None else said.get("expires_at")
    return isinstance(ends, int | float) and ends <= now


def _without_id(block: ContentBlock, now: float) -> ContentBlock:
    if not isinstance(block, Document) or not _has_run_out(block, now):
        return block
    own = {key: value for key, value in block.opaque[PROVIDER][AUDIO].items() if key != "id"}
    return replace(block, opaque={**block.opaque, PROVIDER: {**block.opaque[PROVIDER], AUDIO: own}})
