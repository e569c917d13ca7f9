"""Things that a provider keeps for a while, and a request names by id until they expire: Anthropic's container in
which a thread's code runs, with its files, and the recordings that OpenAI made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from headish.content.recordings import AUDIO, said_aloud
from headish.history.reading.decode import decode_mapping
from headish.rows.threads.walks import Walked
from headish.values.blocks import ContentBlock, Document
from headish.values.messages import Message

RECORDING_PROVIDER = "openai"


def find_container(walked: Sequence[Walked], now: datetime | None = None) -> str | None:
    """The id of the container that the last answer with one names; None where it has run out."""
    for turn in reversed(walked):
        if turn.role == "assistant" and turn.system and b'"container"' in turn.system:
            found = _named(decode_mapping(turn.system, turn.id, "system"))
            if found is not None:
                return _running(found, now or datetime.now(UTC))
    return None


def _named(system: dict[str, Any]) -> dict[str, Any] | None:
    reply = system.get("reply")
    details = reply.get("details") if isinstance(reply, dict) and reply.get("provider") == "anthropic" else None
    container = details.get("container") if isinstance(details, dict) else None
    return container if isinstance(container, dict) and isinstance(container.get("id"), str) else None


def _running(container: dict[str, Any], now: datetime) -> str | None:
    try:
        ends = datetime.fromisoformat(str(container.get("expires_at")))
    except ValueError:
        ends = None
    if ends is None or (ends if ends.tzinfo else ends.replace(tzinfo=UTC)) <= now:
        return None
    return str(container["id"])


def still_heard(messages: Sequence[Message], now: float) -> tuple[Message, ...]:
    """The messages, without the ids that have run out: of those recordings the words are sent."""
    return tuple(
        replace(message, content=tuple(_without_id(block, now) for block in message.content))
        if any(_has_run_out(block, now) for block in message.content)
        else message
        for message in messages
    )


def _has_run_out(block: ContentBlock, now: float) -> bool:
    said = said_aloud(block, RECORDING_PROVIDER) if type(block) is Document else None
    ends = None if said is None else said.get("expires_at")
    return isinstance(ends, int | float) and ends <= now


def _without_id(block: ContentBlock, now: float) -> ContentBlock:
    if not isinstance(block, Document) or not _has_run_out(block, now):
        return block
    own = {key: value for key, value in block.opaque[RECORDING_PROVIDER][AUDIO].items() if key != "id"}
    return replace(block, opaque={**block.opaque, RECORDING_PROVIDER: {**block.opaque[RECORDING_PROVIDER], AUDIO: own}})
