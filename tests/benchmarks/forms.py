"""A turn in each peer's own form, and back. What a peer cannot hold in its form is put where it keeps other data."""

from __future__ import annotations

from typing import Any

from benchmarks.canonical import Said

ROLES = {"user": "human", "assistant": "ai", "tool": "tool"}
"""LangChain's types of messages."""


def item(said: Said) -> dict[str, Any]:
    """An item of the Agents SDK, which keeps any mapping."""
    return {"role": said.role, "content": said.content}


def langgraph_config() -> dict[str, Any]:
    return {"configurable": {"thread_id": "main", "checkpoint_ns": ""}}


def langchain_message(said: Said) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    [block] = said.content
    if said.role == "tool":
        return ToolMessage(block["content"], tool_call_id=block["tool_use_id"])
    if block["type"] == "tool_use":
        return AIMessage("", tool_calls=[{"name": block["name"], "args": block["input"], "id": block["id"]}])
    return (AIMessage if said.role == "assistant" else HumanMessage)(block["text"])


def of_langchain(message: Any) -> tuple[str | None, Any]:
    role = next(role for role, kind in ROLES.items() if kind == message.type)
    if role == "tool":
        return role, [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}]
    for call in getattr(message, "tool_calls", ()):
        return role, [{"type": "tool_use", "name": call["name"], "id": call["id"], "input": call["args"]}]
    return role, [{"type": "text", "text": message.content}]


def llm_message(said: Said) -> Any:
    from llm.parts import Message, TextPart, ToolCallPart, ToolResultPart

    [block] = said.content
    part: Any
    if block["type"] == "tool_use":
        part = ToolCallPart(name=block["name"], arguments=block["input"], tool_call_id=block["id"])
    elif block["type"] == "tool_result":
        part = ToolResultPart(output=block["content"][0]["text"], tool_call_id=block["tool_use_id"])
    else:
        part = TextPart(text=block["text"])
    return Message(role=said.role, parts=[part])


def of_llm(message: Any) -> tuple[str | None, Any]:
    [part] = message.parts
    kind = type(part).__name__
    if kind == "ToolCallPart":
        block = {"type": "tool_use", "name": part.name, "id": part.tool_call_id, "input": part.arguments}
    elif kind == "ToolResultPart":
        content = [{"type": "text", "text": part.output}]
        block = {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": content}
    else:
        block = {"type": "text", "text": part.text}
    return message.role, [block]


def adk_event(said: Said) -> Any:
    from google.adk.events import Event
    from google.genai import types

    [block] = said.content
    if block["type"] == "tool_use":
        call = types.FunctionCall(id=block["id"], name=block["name"], args=block["input"])
        part = types.Part(function_call=call)
    elif block["type"] == "tool_result":
        response = {"content": block["content"]}
        part = types.Part(
            function_response=types.FunctionResponse(id=block["tool_use_id"], name="search", response=response)
        )
    else:
        part = types.Part(text=block["text"])
    role = "model" if said.role == "assistant" else "user"
    return Event(author=said.role, invocation_id="i", content=types.Content(role=role, parts=[part]))


def of_adk(event: Any) -> tuple[str | None, Any]:
    [part] = event.content.parts
    if part.function_call is not None:
        call = part.function_call
        block = {"type": "tool_use", "name": call.name, "id": call.id, "input": call.args}
    elif part.function_response is not None:
        response = part.function_response
        block = {"type": "tool_result", "tool_use_id": response.id, "content": response.response["content"]}
    else:
        block = {"type": "text", "text": part.text}
    return event.author, [block]
