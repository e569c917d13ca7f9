"""The lane of a request: the key and the names under which what a client says in one conversation is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.content.excerpts import one_line
from headish.history.writing.lanes.naming import LaneName
from headish.serve.recorder.clients import Session, as_word, bounded
from headish.serve.recorder.requests import SentRequest, beginning_of

TITLE_CHARACTERS = 80


def kept_conversation(request: SentRequest) -> str | None:
    """The conversation that the provider keeps, if the request names one (Responses)."""
    conversation = request.rest.get("conversation")
    conversation_id = conversation.get("id") if isinstance(conversation, Mapping) else conversation
    return conversation_id if isinstance(conversation_id, str) and conversation_id else None


def lane_of(session: Session, request: SentRequest) -> tuple[LaneName | None, str]:
    """The lane of a request, and its key in memory. The lane is None without a session, unless the client is known."""
    known, conversation = session.known, kept_conversation(request)
    digest, words, shorter = beginning_of(request.entries[request.lead :], known.preambles if known else ())
    # Codex opens a WebSocket with such a request: it has no words by which a lane could be known.
    says_nothing = request.rest.get("generate") is False and len(request.entries) == request.lead
    if says_nothing or (session.id is None and known is None and conversation is None):
        return None, digest
    begins, shorts = session.id or digest, session.shorts or (digest[:6], digest)
    if conversation is not None:
        begins, shorts, digest, shorter = bounded(conversation), (as_word(conversation),), "kept", ()
    is_beside = known is not None and known.is_agent and not request.has_tools
    session_key = f"lane:{session.client}:{begins}"
    # Sub-agents of one session may begin with the same words.
    of_agent = "" if session.agent is None else f"{session.agent}:"
    main = f"{session_key}:{of_agent}{digest}"
    app: dict[str, Any] = {"client": session.client} | ({} if session.id is None else {"session": session.id})
    lane = LaneName(
        key=f"{main}:beside" if is_beside else main,
        session_key=session_key,
        names=tuple(f"{session.client}/{each}" for each in shorts),
        beside=main if is_beside else None,
        folds=is_beside and len(request.entries) - request.lead <= 2,
        follows=known is not None and words.startswith(known.compactions or ("\0",)),
        title="" if known is None else one_line(words)[:TITLE_CHARACTERS],
        app=app,
        shorter=tuple(f"lane:{session.client}:{session.id or each}:{of_agent}{each}" for each in shorter),
    )
    return lane, lane.key
