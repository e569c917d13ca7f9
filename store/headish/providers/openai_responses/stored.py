"""A request that goes on from an answer which the server stores: what the server has seen is not sent again."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec.structs import replace

from headish.providers.shared.values import Request, Sources
from headish.values.ids import TurnId
from headish.values.messages import Note

OPTION = "continue_stored"
"""The parameter that asks for it; it is headish's own, and never sent."""
PREVIOUS = "previous_response_id"


def continue_stored(request: Request, response_id: str, answer: TurnId, seen: Collection[TurnId]) -> Request:
    """The request with the items alone that the server has not seen. ``whole`` keeps the body as it was.

    What settles a call of the answer that nobody answered is new as well. Where nothing is new, nothing changes.
    """
    items: list[Any] = request.body["input"]
    new = [
        (item, turns)
        for item, turns in zip(items, request.sources.turns, strict=True)
        if not turns or not set(turns) <= set(seen) or ("output" in item and answer in turns and "id" not in item)
    ]
    if not new or len(new) == len(items):
        return request
    sources = Sources(request.sources.list_name, request.sources.hoisted, tuple(turns for _, turns in new))
    body = {**request.body, PREVIOUS: response_id, "input": [item for item, _ in new]}
    return replace(request, body=body, whole=request.body, sources=sources, notes=(*request.notes, told(answer)))


def told(answer: TurnId) -> Note:
    """What is to be told of it."""
    return Note("what was said up to a stored answer is not sent: the server keeps it", answer)


def is_unknown(status: int, message: str) -> bool:
    """Whether a server refuses a request because it does not know the answer that is named."""
    return status in (400, 404) and "previous" in message.lower() and "response" in message.lower()
