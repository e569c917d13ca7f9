"""Threads for OpenAI's Responses API, and the requests that they become, each checked."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from headish.errors import Unsupported
from headish.providers import Request, prepare_request
from support.providers.rules_openai_responses import check_openai_responses, refusal_of_the_sdk

PROVIDER = "openai_responses"
USER = {"role": "user", "content": "Hi"}
WEATHER = {"name": "weather", "description": "The weather.", "inputSchema": {"type": "object"}}
DATA = b64encode(b"\x89PNG").decode()
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}],
             "encrypted_content": "gAAAA"}  # fmt: skip
SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}
SHELL = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "k1", "name": "shell", "input": "ls"}
FUNCTION = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"}
SHELL_OUTPUT = {"type": "custom_tool_call_output", "call_id": "k1", "output": "a.txt"}


def own(data: Any) -> dict[str, Any]:
    return {"type": "provider", "provider": PROVIDER, "data": data}


def thought(item: Any = REASONING) -> dict[str, Any]:
    return {"type": "thinking", "text": "Hm.", "provider": PROVIDER, "opaque": {PROVIDER: item}}


def document(media_type: str, data: str = DATA, **more: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}, **more}


def call(id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "weather", "input": {"place": "Oslo"}, **more}


def result(*content: Any, id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": id, "content": list(content), **more}]}


def said(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def request(messages: list[dict[str, Any]], options: Any = None, **settings: Any) -> Request:
    """A request, checked."""
    prepared = prepare_request(PROVIDER, {"messages": messages, "options": options or {}}, **settings)
    check_openai_responses(prepared.body)
    assert refusal_of_the_sdk(prepared.body) is None
    return prepared


def items(*messages: dict[str, Any], **settings: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = request(list(messages), **settings).body["input"]
    return found


def notes(prepared: Request) -> list[str]:
    return [note.what for note in prepared.notes]


def refused(messages: list[dict[str, Any]], options: Any = None, **settings: Any) -> str:
    with pytest.raises(Unsupported) as error:
        prepare_request(PROVIDER, {"messages": messages, "options": options or {}}, **settings)
    return str(error.value)
