"""State that a provider keeps and a request names by id: Anthropic's container in which its code runs, OpenAI's
recordings, and the last answer that OpenAI stores. The first two expire.

With a stored answer the server goes on from what it has seen, and a request sends only the messages after it. So the
answer is named only if the server saw exactly the thread up to it: nothing is erased, no overlay shows it differently,
and no other branch is merged in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.content.recordings import AUDIO, said_aloud
from headish.database.query import Connection
from headish.history.reading.decode import decode_mapping, read_mapping
from headish.history.reading.order import arrange, places_of
from headish.history.reading.walk import walk
from headish.rows.threads.walks import Walked, read_links_of
from headish.rows.turns import turn_by_id
from headish.values.blocks import ContentBlock, Document, Erased
from headish.values.ids import TurnId
from headish.values.messages import Message
from headish.values.turns import OVERLAY, reply_of

RESPONSES = "openai_responses"
RECORDING_PROVIDER = "openai"


def find_container(walked: Sequence[Walked]) -> str | None:
    """The id of the container in the last answer that names one; None if there is none or it has expired."""
    for turn in reversed(walked):
        if turn.role == "assistant" and turn.system and b'"container"' in turn.system:
            container = _named(decode_mapping(turn.system, turn.id, "system"))
            if container is not None:
                return _running(container, datetime.now(UTC))
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
    # Without a readable end the container counts as gone: the provider refuses a request that names an expired one.
    if ends is None or (ends if ends.tzinfo else ends.replace(tzinfo=UTC)) <= now:
        return None
    return str(container["id"])


def still_heard(messages: Sequence[Message], now: float) -> tuple[Message, ...]:
    """Remove the ids of expired recordings from the messages: their transcripts are sent instead."""
    return tuple(
        replace(message, content=tuple(_without_id(block, now) for block in message.content))
        if any(_has_run_out(block, now) for block in message.content)
        else message
        for message in messages
    )


def _has_run_out(block: ContentBlock, now: float) -> bool:
    recording = said_aloud(block, RECORDING_PROVIDER) if type(block) is Document else None
    ends = None if recording is None else recording.get("expires_at")
    return isinstance(ends, int | float) and ends <= now


def _without_id(block: ContentBlock, now: float) -> ContentBlock:
    if not isinstance(block, Document) or not _has_run_out(block, now):
        return block
    own = {key: value for key, value in block.opaque[RECORDING_PROVIDER][AUDIO].items() if key != "id"}
    return replace(block, opaque={**block.opaque, RECORDING_PROVIDER: {**block.opaque[RECORDING_PROVIDER], AUDIO: own}})


class StoredResponse(NamedTuple):
    """An answer that the server keeps: its turn, the server's id of it, all turns that the server had seen by then, and
    the stored facts of the reply."""

    turn: TurnId
    response_id: str
    seen: frozenset[TurnId]
    reply: Mapping[str, Any]


def find_stored(connection: Connection, space: int, turns: Sequence[TurnId]) -> StoredResponse | str:
    """The last answer on the way to ``turns`` that the server stores; or text with the reason why none can be named.

    Cost: two walks, to the turns and to the answer, and a statement for each of ``turns``.
    """
    rows = [turn_by_id(connection, space, each) for each in turns]
    ends = [each.place for each in rows if each is not None]
    links = read_links_of(connection, space, ends)
    walked = walk(connection, space, ends, links)
    at = next((at for at in reversed(range(len(walked))) if _is_kept(walked[at])), None)
    if at is None:
        return "no answer of the thread is one that the server stores"
    answer, reply = walked[at], _reply(walked[at])
    if any(turn.type == OVERLAY for turn in walked[at:]):
        return "an overlay behind the stored answer shows the thread otherwise"
    if any(isinstance(turn.payload, Erased) for turn in walked[: at + 1]):
        return "something that the stored answer has seen is erased"
    # After a merge, turns of another branch come before the answer in this walk, but not in the walk to the answer.
    seen = [turn.id for turn in walked[: at + 1]]
    if seen != [turn.id for turn in walk(connection, space, [places_of(arrange(ends, links))[at]])]:
        return "the thread joins what the stored answer has not seen"
    return StoredResponse(answer.id, str(reply["response_id"]), frozenset(seen), reply)


def _is_kept(turn: Walked) -> bool:
    if turn.role != "assistant" or not turn.system or b'"response_id"' not in turn.system:
        return False
    reply, details = _reply(turn), _reply(turn).get("details")
    is_whole = not (reply.get("incomplete") or reply.get("error") or reply.get("edited"))
    return (
        reply.get("provider") == RESPONSES
        and is_whole
        # A copy follows other turns than those that the server saw before the original.
        and "copy_of" not in read_mapping(turn, "system")
        and isinstance(details, Mapping)
        and details.get("store") is True
    )


def _reply(turn: Walked) -> Mapping[str, Any]:
    return reply_of(read_mapping(turn, "system"))
