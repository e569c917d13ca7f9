"""Calls as the gateway spools them, of clients that send their whole list again and again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from headish.gateway.spool import (
    CallBegin,
    CallEnd,
    Outcome,
    ResponseHead,
    SpooledCall,
    SpoolFrame,
    SpoolKind,
    end,
    head,
)

_numbers = count(1)
CLAUDE_CODE = {
    "user-agent": "claude-cli/2.1.197 (external, cli)",
    "x-claude-code-session-id": "097ac834-a2b4-4deb-b006-36a0772986b0",
}
PATHS = {
    "anthropic": ("anthropic", "/v1/messages"),
    "chat": ("openai", "/chat/completions"),
    "responses": ("openai", "/responses"),
    "gemini": ("gemini", "/v1beta/models/gemini-2.5-pro:streamGenerateContent"),
    "ollama": ("ollama", "/api/chat"),
}


def passed(
    surface: str,
    body: Mapping[str, Any] | bytes,
    answer: bytes | Iterable[Mapping[str, Any]] = b"",
    *,
    headers: Mapping[str, str] = {},
    status: int | None = 200,
    outcome: Outcome = "ok",
    path: str | None = None,
    space: str | None = None,
    id: str | None = None,
    error: str | None = None,
    method: str = "POST",
) -> SpooledCall:
    """A call that has ended."""
    api, usual = PATHS[surface]
    id = id or f"{next(_numbers):025}"
    now = time.time_ns() // 1_000_000
    begin = CallBegin(at=now, api=api, method=method, path=path or usual, headers=headers, space=space)
    call = SpooledCall(id, begin)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    call.take(SpoolFrame(SpoolKind.REQUEST, id, sent))
    call.take(SpoolFrame(SpoolKind.SENT, id, b""))
    came = answer if isinstance(answer, bytes) else events(answer)
    if status is not None:
        call.take(head(id, ResponseHead(status=status, at=now)))
        call.take(SpoolFrame(SpoolKind.RESPONSE, id, came))
    call.take(
        end(
            id,
            CallEnd(
                outcome=outcome,
                at=now + 5,
                first_byte_at=now + 2,
                error=error,
                request_bytes=len(sent),
                response_bytes=len(came),
            ),
        )
    )
    return call


def events(listed: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(_named(each) + b"data: " + json.dumps(each).encode() + b"\n\n" for each in listed)


def _named(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() if "type" in event else b""


def anthropic_answer(
    *blocks: Mapping[str, Any] | str, id: str = "msg_1", stop: str = "end_turn", whole: bool = True
) -> bytes:
    """A stream of Messages."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1}
    told: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": id, "type": "message", "role": "assistant", "model": "claude-x",
                                              "content": [], "usage": usage}}
    ]  # fmt: skip
    for index, given in enumerate(blocks):
        block = {"type": "text", "text": given} if isinstance(given, str) else dict(given)
        told += _block_events(index, block)
    ending = [
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    return events([*told, *(ending if whole else [])])


def _block_events(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        start, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    elif block["type"] == "thinking":
        start = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": block["thinking"]},
                  {"type": "signature_delta", "signature": block["signature"]}]  # fmt: skip
    else:
        start = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def chat_answer(text: str | None, *, id: str = "chatcmpl-1", **more: Any) -> bytes:
    """A whole answer of Chat Completions."""
    message = {"role": "assistant", "content": text, **more}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in more else "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    return json.dumps(
        {"id": id, "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    ).encode()


def responses_answer(*items: Mapping[str, Any], id: str = "resp_1") -> bytes:
    """A whole answer of Responses."""
    usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
    return json.dumps({"id": id, "object": "response", "status": "completed", "model": "m", "output": list(items),
                       "usage": usage}).encode()  # fmt: skip


def message_item(text: str, id: str = "msg_1") -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content}


def anthropic_body(
    messages: Sequence[Any], *, system: Any = "Be brief.", nonce: int = 0, **more: Any
) -> dict[str, Any]:
    """What Claude Code sends: a volatile block first, a mark on the last message."""
    listed = [json.loads(json.dumps(each)) for each in messages]
    last = listed[-1]
    if isinstance(last["content"], str):
        last["content"] = [{"type": "text", "text": last["content"]}]
    last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    volatile = {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2.1.197; cch={nonce:05x};"}
    prompt = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
    tools = [{"name": "Bash", "description": "Run a command. " * 40, "input_schema": {"type": "object"}}]
    return {"model": "claude-x", "max_tokens": 100, "stream": True, "system": [volatile, prompt], "tools": tools,
            "messages": listed, **more}  # fmt: skip


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant(*blocks: Mapping[str, Any] | str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]}
