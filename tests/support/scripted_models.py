"""Models that follow a script in three APIs: asked to list, they call a shell; told the result, they answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from support.passed import anthropic_answer, events, message_item
from support.upstream import LAST, Asked, Step, chunked, head

COMMAND = "echo hello"
_numbers = count()


def answer_tools(asked: Asked) -> Iterator[Step]:
    """The answer to a request of Messages, Responses or Gemini; nothing for other paths."""
    path = asked.target.partition("?")[0]
    told = json.loads(asked.body) if asked.body[:1] == b"{" else {}
    for ending, answer in _ANSWERS.items():
        if asked.method == "POST" and path.endswith(ending):
            body, kind = answer(told)
            yield head(200, kind)
            yield from chunked([body])
            yield LAST
            return
    yield head(200 if asked.method == "HEAD" else 404)
    yield from chunked([b"{}"])
    yield LAST


def _calls_a_tool(told: Any, result: str) -> bool:
    """Whether somebody asks for a list and no tool has answered."""
    said = json.dumps(told)
    return "listing please" in said and result not in said


def _messages(told: dict[str, Any]) -> tuple[bytes, str]:
    names = [tool.get("name") for tool in told.get("tools", [])]
    count = len(told["messages"])
    thinking = {"type": "thinking", "thinking": "I ponder.", "signature": "c2lnbmF0dXJl"}
    blocks: list[Any] = [thinking] if told.get("thinking") else []
    blocks.append(f"Answer to {count}.")
    shell = next((each for each in names if each in ("Bash", "bash")), None)
    calls = shell is not None and _calls_a_tool(told["messages"], '"tool_result"')
    if calls:
        used = {"command": COMMAND, "description": "Say hello"}
        blocks.append({"type": "tool_use", "id": f"toolu_{count}", "name": shell, "input": used})
    return anthropic_answer(*blocks, id=f"msg_{count}", stop="tool_use" if calls else "end_turn"), "text/event-stream"


def answer_in_socket(told: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of Responses to a request in a WebSocket; to one that warms up, no more than that it is done."""
    streamed = _response_events(told, f"resp_{next(_numbers)}")
    return [streamed[0], _done(streamed[0]["response"], [])] if told.get("generate") is False else streamed


def _responses(told: dict[str, Any]) -> tuple[bytes, str]:
    return events(_response_events(told, f"resp_{len(told['input'])}")), "text/event-stream"


def _response_events(told: dict[str, Any], id: str) -> list[dict[str, Any]]:
    count = len(told["input"])
    summary = [{"type": "summary_text", "text": "I ponder."}]
    reasoning = {"type": "reasoning", "id": f"rs_{count}", "summary": summary, "encrypted_content": "gAAA"}
    items: list[dict[str, Any]] = [reasoning, message_item(f"Answer to {count}.", f"msg_{count}")]
    if _calls_a_tool(told["input"], '"function_call_output"'):
        items.append({"type": "function_call", "id": f"fc_{count}", "call_id": f"call_{count}", "name": "exec_command",
                      "arguments": json.dumps({"cmd": COMMAND}), "status": "completed"})  # fmt: skip
    response: dict[str, Any] = {"id": id, "object": "response", "model": told["model"],
                                "status": "in_progress", "output": []}  # fmt: skip
    streamed: list[dict[str, Any]] = [{"type": "response.created", "response": response}]
    for at, item in enumerate(items):
        streamed.append({"type": "response.output_item.added", "output_index": at, "item": item})
        streamed.append({"type": "response.output_item.done", "output_index": at, "item": item})
    return [*streamed, _done(response, items)]


def _done(response: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15}  # fmt: skip
    done = {**response, "status": "completed", "output": items, "usage": usage}
    return {"type": "response.completed", "response": done}


def _gemini(told: dict[str, Any]) -> list[dict[str, Any]]:
    count = len(told["contents"])
    if "complexity_score" in json.dumps(told.get("generationConfig", {})):
        return [_candidate({"text": '{"complexity_reasoning": "easy", "complexity_score": 10}'}, count, is_last=True)]
    parts: list[dict[str, Any]] = [{"text": "I ponder.", "thought": True}, {"text": f"Answer to {count}."}]
    if "run_shell_command" in json.dumps(told.get("tools", [])) and _calls_a_tool(
        told["contents"], '"functionResponse"'
    ):
        used = {"name": "run_shell_command", "args": {"command": COMMAND}}
        parts.append({"functionCall": used, "thoughtSignature": "c2ln"})
    return [_candidate(part, count, is_last=part is parts[-1]) for part in parts]


def _candidate(part: dict[str, Any], count: int, *, is_last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    ending = {"finishReason": "STOP"} if is_last else {}
    return {
        "candidates": [{**candidate, **ending}],
        "modelVersion": "g",
        "responseId": f"r{count}",
        "usageMetadata": usage,
    }


_ANSWERS: dict[str, Any] = {
    "/messages": _messages,
    "/responses": _responses,
    ":streamGenerateContent": lambda told: (events(_gemini(told)), "text/event-stream"),
    ":generateContent": lambda told: (json.dumps(_gemini(told)[-1]).encode(), "application/json"),
    ":countTokens": lambda _: (b'{"totalTokens": 5}', "application/json"),
}
"""The end of a path, and what answers it: body and content type."""
