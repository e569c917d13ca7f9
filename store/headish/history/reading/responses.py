"""The last answer of a thread that OpenAI still stores: a request may name it, and send only the messages after it.

The server goes on from what it has seen. So the answer is named only where that is what the thread says up to it:
nothing erased, nothing seen otherwise from here on, nothing merged in from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headish.database.query import Connection
from headish.history.reading.decode import read_mapping
from headish.history.reading.walk import walk
from headish.rows.threads.walks import Walked
from headish.rows.turns import turn_by_id
from headish.values.blocks import Erased
from headish.values.ids import TurnId
from headish.values.turns import OVERLAY, reply_of

PROVIDER = "openai_responses"


class StoredResponse(NamedTuple):
    """An answer that the server keeps: its turn, the id that the server has for it, all turns that the server has seen
    by then, and what is kept of the reply."""

    turn: TurnId
    response_id: str
    seen: frozenset[TurnId]
    reply: Mapping[str, Any]


def find_stored(connection: Connection, space: int, turns: Sequence[TurnId]) -> StoredResponse | str:
    """The last such answer on the way to the turns; else the reason why none is named.

    Cost: a walk, one more to the answer, and a statement for each of ``turns``.
    """
    found = [turn_by_id(connection, space, each) for each in turns]
    walked = walk(connection, space, [each.place for each in found if each is not None])
    at = next((at for at in reversed(range(len(walked))) if _is_kept(walked[at])), None)
    if at is None:
        return "no answer of the thread is one that the server stores"
    answer, reply = walked[at], _reply(walked[at])
    if any(turn.type == OVERLAY for turn in walked[at:]):
        return "an overlay behind the stored answer shows the thread otherwise"
    if any(isinstance(turn.payload, Erased) for turn in walked[: at + 1]):
        return "something that the stored answer has seen is erased"
    seen = [turn.id for turn in walked[: at + 1]]
    if seen != [turn.id for turn in walk(connection, space, [answer.place])]:
        return "the thread joins what the stored answer has not seen"
    return StoredResponse(answer.id, str(reply["response_id"]), frozenset(seen), reply)


def _is_kept(turn: Walked) -> bool:
    if turn.role != "assistant" or not turn.system or b'"response_id"' not in turn.system:
        return False
    reply, details = _reply(turn), _reply(turn).get("details")
    is_whole = not (reply.get("incomplete") or reply.get("error") or reply.get("edited"))
    return (
        reply.get("provider") == PROVIDER
        and is_whole
        and "copy_of" not in read_mapping(turn, "system")
        and isinstance(details, Mapping)
        and details.get("store") is True
    )


def _reply(turn: Walked) -> Mapping[str, Any]:
    return reply_of(read_mapping(turn, "system"))
