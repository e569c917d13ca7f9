"""Read the answer of a call: its draft, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from headish.content import strictjson
from headish.content.drafts import Draft, with_key
from headish.content.encoding import encode_payload, read_content
from headish.content.secrecy.hiding import hide_secrets, hide_shapes
from headish.errors import HeadishError, InvalidReply
from headish.gateway.spool import SpooledCall
from headish.history.writing.lanes.lane import ANSWER_KEY
from headish.providers.shared.values import Reply
from headish.serve.recorder.surfaces import Surface
from headish.store.answers.journal import About
from headish.store.answers.reading import fitting_draft, read_response
from headish.values.ids import TurnId

ERROR_CHARACTERS = 500
_CHUNK = {"object": "chat.completion.chunk"}


class ReadAnswer(NamedTuple):
    """The draft of an answer and the reply that was read for it; ``error`` says in a sentence what went wrong."""

    draft: Draft | None
    reply: Reply | None
    error: str | None


def read_answer(
    surface: Surface, call: SpooledCall, model: str | None, limit_bytes: int, said_at: int | None
) -> ReadAnswer:
    """Read the answer of a call. An answer that broke off is marked incomplete, with the reason."""
    broken = None if call.end is not None and call.end.outcome == "ok" else _why(call)
    status = None if call.head is None else call.head.status
    if status is None or not 200 <= status < 300:
        return ReadAnswer(None, None, broken or _error_of(call.response))
    about = About(surface.provider, (TurnId(call.id),), model=model)
    try:
        reply = read_response(about, _chat_events(call.response) if surface.name == "ollama" else call.response)
        reply = _without_keys(reply)
    except (HeadishError, msgspec.MsgspecError) as error:
        return ReadAnswer(None, None, broken or _short(str(error)))
    except RecursionError:
        return ReadAnswer(None, None, broken or "the answer is nested too deep to be read")
    # The provider's own reason says more than that the connection ended.
    if broken is not None and reply.incomplete and reply.error is None:
        reply = replace(reply, error={"message": broken})
    problem = _message_of(reply.error)
    if not reply.content:
        return ReadAnswer(None, reply, problem or broken)
    draft = fitting_draft(about, reply, limit_bytes)
    draft = replace(draft, facts=replace(draft.facts, said_at=said_at))
    return ReadAnswer(with_key(draft, ANSWER_KEY + call.id.encode()), reply, problem)


def _why(call: SpooledCall) -> str:
    if call.end is None:
        return "the gateway was stopped before the answer was whole"
    return _short(call.end.error or f"it ended early: {call.end.outcome}")


def _short(text: str) -> str:
    hidden: str = hide_shapes(text)
    return hidden[:ERROR_CHARACTERS]


def _message_of(error: Mapping[str, Any] | None) -> str | None:
    message = None if error is None else error.get("message")
    return _short(message) if isinstance(message, str) else None


def _error_of(body: bytes) -> str | None:
    """The reason that an API gives for its refusal; None if it gives none."""
    try:
        return _told_error(msgspec.json.decode(body))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _short(body[: 4 * ERROR_CHARACTERS].decode(errors="replace")) or None


def _told_error(said: Any) -> str:
    said = said[0] if isinstance(said, list) and said else said
    error = said.get("error", said) if isinstance(said, Mapping) else said
    message = error.get("message") if isinstance(error, Mapping) else error
    return _short(message if isinstance(message, str) else msgspec.json.encode(hide_secrets(error)).decode())


def _without_keys(reply: Reply) -> Reply:
    """The reply without what looks like a key."""
    payload = strictjson.decode(encode_payload(reply.content), "an answer")
    hidden = hide_shapes(payload)
    content = reply.content if hidden is payload else read_content(hidden)
    return replace(reply, content=content, details=hide_secrets(reply.details), error=hide_secrets(reply.error))


def _chat_events(body: bytes) -> Iterator[dict[str, Any]]:
    """Convert Ollama's own events to chunks of Chat. Source: ollama docs/api.md, read on 2026-11-25."""
    count = 0
    for line in body.splitlines():
        if not line.strip():
            continue
        try:
            event = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if count:
                return  # the line was cut off: the events before it are the answer so far
            raise InvalidReply("a reply", "it is not an answer of Ollama", 1) from None
        count += 1
        yield read_chat_event(event)


def read_chat_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an event of Ollama's to a chunk of Chat."""
    if "error" in event:
        return {"error": {"message": str(event["error"])}}
    raw_message = event.get("message")
    message = raw_message if isinstance(raw_message, Mapping) else {}
    delta: dict[str, Any] = {"role": "assistant", "content": message.get("content") or None}
    if message.get("thinking"):
        delta["reasoning_content"] = message["thinking"]
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        delta["tool_calls"] = [_chat_call(at, call) for at, call in enumerate(calls) if isinstance(call, Mapping)]
    reason = (event.get("done_reason") or "stop") if event.get("done") else None
    reason = "tool_calls" if reason == "stop" and calls else reason  # Ollama has no reason of its own for calls
    chunk = {**_CHUNK, "model": event.get("model"), "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    counts = {"prompt_tokens": event.get("prompt_eval_count"), "completion_tokens": event.get("eval_count")}
    return {**chunk, "usage": counts} if event.get("done") and None not in counts.values() else chunk


def _chat_call(at: int, call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    index = function.get("index", at)
    arguments = function.get("arguments", {})
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return {"index": index, "id": call.get("id"), "type": "function",
            "function": {"name": function.get("name"), "arguments": text}}  # fmt: skip
