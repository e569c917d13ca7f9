"""Anthropic's Messages API: the request body of a window.

``settle`` (ledger.py) puts results behind their calls; the blocks are mapped by anthropic_blocks.py; this module
gathers messages of one role, lifts the system's out, and places cache marks, tools and options.

Source: the types of the official SDK, anthropic 2.11.0, read on 2026-11-20 (API version 2026-10-21).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headish.blocks import ToolUse
from headish.errors import Unsupported
from headish.model import ContextWindow, Message
from headish.providers.anthropic_blocks import PROVIDER, UNCACHEABLE, BlockWriter
from headish.providers.ledger import settle
from headish.providers.tools import read_tools
from headish.providers.values import Emission, Note, Settings

MAX_TOKENS = 8192
CACHE_MARKS = 4
"""The API refuses a request with more."""
SEARCH_TOOL = {"type": "web_search_20250305", "name": "web_search"}
PARAMS = ("metadata", "output_config", "service_tier", "stop_sequences", "thinking")
"""Keys of the option ``params`` that are sent as they are. ``model`` and ``max_tokens`` are read as well."""
ATTRIBUTES = ("speaker", "channel", "recipient", "call_id", "intent", "content_type", "constrain", "extra")
_SYSTEM = ("system", "developer")
_MODES = {"auto": "auto", "any": "any", "required": "any", "none": "none"}
Blocks = list[dict[str, Any]]


def prepare_anthropic(window: ContextWindow, settings: Settings) -> Emission:
    """The body of ``POST /v1/messages``, and what is not sent as it is stored.

    Raises: Unsupported for a block, a ``tool_mode`` or a parameter that the API has no place for.
    """
    writer = BlockWriter()
    messages, repaired = settle(window.messages)
    writer.notes += repaired
    _note_attributes(writer, window.messages)
    system, turns, flagged = _write_messages(writer, messages)
    if not turns:
        raise Unsupported(PROVIDER, "a request without a message of the user or the assistant")
    if turns[-1]["role"] == "assistant":
        writer.notes.append(Note("the last message is the assistant's: models without prefill refuse the request"))
    _mark_cached(writer, flagged)
    params = _read_params(window.options)
    model = settings.model or params.get("model")
    body: dict[str, Any] = {"model": model} if model else {}
    body |= {"max_tokens": _max_tokens(settings, params), "stream": settings.stream}
    body |= {"system": system} if system else {}
    body |= {"messages": turns, **_write_tools(writer, window, settings)}
    body |= {key: params[key] for key in PARAMS if params.get(key) is not None}
    _note_options(writer, window.options, params, settings)
    return Emission(PROVIDER, model, body, tuple(writer.notes), writer.names.rewritten)


def _write_messages(writer: BlockWriter, messages: Sequence[Message]) -> tuple[Blocks, Blocks, list[Blocks]]:
    """``(system, messages, blocks of each message that is to be cached)``, the system's first, as the API reads them.

    Messages of one role in a row become one: the API would join them, and reads results only at the head of a turn.
    """
    system: Blocks = []
    turns: Blocks = []
    flagged: tuple[list[Blocks], list[Blocks]] = ([], [])
    for message in messages:
        blocks = writer.write(message)
        hoisted = message.role in _SYSTEM
        if message.cache:
            flagged[0 if hoisted else 1].append(blocks)
        role = "user" if message.role == "tool" else message.role
        if hoisted:
            if turns and blocks:
                writer.note(f"a {message.role} message inside the conversation is moved to its head", message)
            system += blocks
        elif blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": list(blocks)})
    return system, turns, [*flagged[0], *flagged[1]]


def _mark_cached(writer: BlockWriter, flagged: Sequence[Blocks]) -> None:
    """``cache_control`` on the last block of each flagged message that takes one; the last four flags win."""
    targets = [
        next((block for block in reversed(blocks) if block["type"] not in UNCACHEABLE), None) for blocks in flagged
    ]
    marked = [block for block in targets if block is not None]
    for block in marked[-CACHE_MARKS:]:
        block["cache_control"] = {"type": "ephemeral"}
    if len(marked) < len(targets):
        idle = _counted(len(targets) - len(marked), "cache flag")
        writer.notes.append(Note(f"{idle} left out: nothing of the message can be marked"))
    if len(marked) > CACHE_MARKS:
        dropped = len(marked) - CACHE_MARKS
        writer.notes.append(Note(f"the first {dropped} of {len(marked)} cache flags are left out: {CACHE_MARKS} fit"))


def _write_tools(writer: BlockWriter, window: ContextWindow, settings: Settings) -> dict[str, Any]:
    """``tools`` and ``tool_choice``, where there are any."""
    own = read_tools(settings.tools)
    tools: Blocks = [_write_tool(writer, *tool) for tool in own]
    search = window.options.get("search")
    if search is True:
        tools.append(dict(SEARCH_TOOL))
    elif search not in (None, False):
        raise Unsupported(PROVIDER, f"the option search={search!r}: it is true or false")
    choice = _choose_tool(writer, window.options.get("tool_mode"), tools)
    if tools or not (stubs := _stub_tools(writer, window.messages)):
        return {"tools": tools, **choice} if tools else {}
    return {"tools": stubs, "tool_choice": {"type": "none"}}


def _write_tool(writer: BlockWriter, name: str, description: str | None, schema: dict[str, Any]) -> dict[str, Any]:
    described = {"name": writer.names.send(name)} | ({"description": description} if description else {})
    return {**described, "input_schema": {"type": "object", **schema}}


def _choose_tool(writer: BlockWriter, mode: Any, tools: Blocks) -> dict[str, Any]:
    if mode is None:
        return {}
    sent = writer.names.send(mode) if isinstance(mode, str) and mode else ""
    choice: dict[str, Any] | None = {"type": _MODES[sent]} if sent in _MODES else None
    if any(tool["name"] == sent for tool in tools):
        choice = {"type": "tool", "name": sent}
    if choice is None and (tools or not sent):
        raise Unsupported(PROVIDER, f"the option tool_mode={mode!r}: it is auto, any, none or the name of a tool")
    if not tools:
        writer.notes.append(Note(f"the option tool_mode={mode!r} is not sent: there are no tools"))
        return {}
    return {"tool_choice": choice}


def _stub_tools(writer: BlockWriter, messages: Sequence[Message]) -> Blocks:
    """The API wants the tools defined that a conversation has called; that nobody can call them now is said."""
    called = dict.fromkeys(
        block.name
        for message in messages
        if message.role == "assistant"
        for block in message.content
        if isinstance(block, ToolUse)
    )
    if called:
        writer.notes.append(Note(f"no tools are given: {', '.join(called)} is defined as a stub that cannot be called"))
    return [{"name": writer.names.send(name), "input_schema": {"type": "object"}} for name in called]


def _read_params(options: Mapping[str, Any]) -> Mapping[str, Any]:
    params = options.get("params") or {}
    if not isinstance(params, Mapping):
        raise Unsupported(PROVIDER, f"the option params={params!r}: it is an object")
    if params.get("model") is not None and not isinstance(params["model"], str):
        raise Unsupported(PROVIDER, f"params.model={params['model']!r}: it is the name of a model")
    return params


def _max_tokens(settings: Settings, params: Mapping[str, Any]) -> int:
    given = params.get("max_tokens") if settings.max_tokens is None else settings.max_tokens
    if given is None:
        return MAX_TOKENS
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise Unsupported(PROVIDER, f"max_tokens={given!r}: it is a number of tokens")
    return given


def _note_options(
    writer: BlockWriter, options: Mapping[str, Any], params: Mapping[str, Any], settings: Settings
) -> None:
    """Options that have no place in the body are kept in the thread, not sent, and noted."""
    used = {"search", "tool_mode", "params", "provider_ptr"} | ({"servers"} if settings.tools else set())
    unsent = [key for key in options if key not in used]
    unsent += [f"params.{key}" for key in params if key not in (*PARAMS, "model", "max_tokens")]
    writer.notes += [Note(f"the option {key} is not sent") for key in unsent]


def _note_attributes(writer: BlockWriter, messages: Sequence[Message]) -> None:
    """A transcript's attributes have no place in the body either."""
    for name in ATTRIBUTES:
        count = sum(bool(getattr(message.attributes, name)) for message in messages)
        if count:
            writer.notes.append(Note(f"the {name} of {_counted(count, 'message')} is not sent"))


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
