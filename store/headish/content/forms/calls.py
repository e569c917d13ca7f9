"""Calls and results as each API writes them: the one place that spells their keys.

A request of a provider, a client's form of messages and the strict interchange of transcripts all write them from here.
They differ in what they refuse, repair or keep beside, not in these keys.
"""

from __future__ import annotations

from typing import Any

from headish.content.forms.customs import OUTPUT

Part = dict[str, Any]


def chat_call(id: str | None, name: str, arguments: str) -> Part:
    """A call of Chat Completions, and of Cohere. One without an id is of the time when a message had one call."""
    named = {} if id is None else {"id": id}
    return {**named, "type": "function", "function": {"name": name, "arguments": arguments}}


def chat_result(id: str | None, content: Any) -> Part:
    """The message of a result of Chat Completions, and of Cohere."""
    return {"role": "tool", "tool_call_id": id, "content": content}


def anthropic_call(id: str | None, name: str, input: Any) -> Part:
    """A call of Anthropic's."""
    named = {} if id is None else {"id": id}
    return {"type": "tool_use", **named, "name": name, "input": input}


def anthropic_result(id: str | None, content: Any, is_error: bool | None = None) -> Part:
    """A result of Anthropic's. ``content`` is None where it says nothing."""
    said = {} if content is None else {"content": content}
    failed = {} if is_error is None else {"is_error": is_error}
    return {"type": "tool_result", "tool_use_id": id, **said, **failed}


def responses_call(id: str | None, name: str, arguments: str) -> Part:
    """The item of a call of Responses."""
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def responses_output(id: str | None, output: Any, *, custom: bool = False) -> Part:
    """The item of a result of Responses; ``custom`` tools have items of their own."""
    return {"type": OUTPUT if custom else "function_call_output", "call_id": id, "output": output}
