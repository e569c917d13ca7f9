"""Writes a window as the body of ``POST /v1/messages``: messages of one role joined, the system's lifted out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headish.blocks import Document, ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.media import PDF, media_type_of
from headish.model import ContextWindow, Message
from headish.providers.ledger import Settled
from headish.providers.mapping import Part
from headish.providers.request import SYSTEM, RequestWriter, counted
from headish.providers.tools import Choice, Tool
from headish.providers.values import Origin, Settings

MAX_TOKENS = 8192
"""Sent where nothing says how many: the API wants a number."""
CACHE_MARKS = 4
"""The API refuses a request with more."""
SEARCH_TOOL = {"type": "web_search_20250305", "name": "web_search"}
UNCACHEABLE = ("thinking", "redacted_thinking")
"""Blocks that take no ``cache_control``."""


class AnthropicWriter(RequestWriter):
    """A request of Anthropic's Messages API."""

    provider = "anthropic"
    tool_name_limit = 128
    takes_pdf = True

    def __init__(self, window: ContextWindow, settings: Settings) -> None:
        super().__init__(window, settings)
        self.system: list[Part] = []
        self.flagged: tuple[list[list[Part]], list[list[Part]]] = ([], [])
        """The parts of each message that is to be cached: of the system's, of the others."""

    def text_part(self, text: str, block: Text | None, message: Message) -> Part | None:
        part = {"type": "text", "text": text}
        own = {} if block is None else block.opaque.get(self.provider, {})
        return part | ({"citations": own["citations"]} if message.role == "assistant" and "citations" in own else {})

    def media_part(self, media_type: str, block: Document) -> Part:
        source = {"type": "base64", "media_type": media_type, "data": block.source.data}
        if media_type == PDF:
            return {"type": "document", "source": source} | ({"title": block.name} if block.name else {})
        return {"type": "image", "source": source}

    def call_part(self, block: ToolUse, message: Message) -> Part:
        name, arguments = self.names.send(block.name), self.arguments(block, message)
        return {"type": "tool_use", "id": block.id, "name": name, "input": arguments}

    def result_part(self, block: ToolResult, pieces: Sequence[str | Document], message: Message) -> Part:
        content = [self._result_piece(piece) for piece in pieces]
        result = {"type": "tool_result", "tool_use_id": block.tool_use_id} | ({"content": content} if content else {})
        return {**result, "is_error": True} if block.is_error else result

    def _result_piece(self, piece: str | Document) -> Part:
        if isinstance(piece, str):
            return {"type": "text", "text": piece}
        return self.media_part(media_type_of(piece), piece)

    def thinking_part(self, block: Thinking, message: Message) -> Part | None:
        if block.signature is None:
            self.left_out("reasoning without a signature", message)
            return None
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}

    def own_part(self, block: ProviderBlock, data: Mapping[str, Any], message: Message) -> Part | None:
        if data.get("type") == "server_tool_use" and self._is_unanswered(data, message):
            self.left_out("a search that was cut off", message)
            return None
        return dict(data)

    def _is_unanswered(self, data: Mapping[str, Any], message: Message) -> bool:
        """Only the last message may wait for the server's own tool: the API takes it up there (``pause_turn``)."""
        answered = {
            block.data.get("tool_use_id")
            for block in message.content
            if isinstance(block, ProviderBlock) and isinstance(block.data, Mapping)
        }
        return data.get("id") not in answered and message.turn != self.window.messages[-1].turn

    def place(self, settled: Settled, parts: list[Part]) -> None:
        """Messages of one role in a row become one: the API would join them, and reads results only at the head."""
        message = settled.message
        hoisted = message.role in SYSTEM and not self._may_stay()
        if message.cache:
            self.flagged[0 if hoisted else 1].append(parts)
        if hoisted:
            self._hoist(settled, parts)
        elif parts:
            self._say({"tool": "user", "developer": "system"}.get(str(message.role), str(message.role)), settled, parts)

    def _may_stay(self) -> bool:
        """Models that take a system message inside want it behind the user's, and at the end or before their own."""
        inside = self.settings.system_in_place and bool(self.messages) and self.messages[-1]["role"] != "assistant"
        return inside and self.follower in (None, "assistant", *SYSTEM)

    def _hoist(self, settled: Settled, parts: list[Part]) -> None:
        if self.messages and parts:
            self.note(f"a {settled.message.role} message inside the conversation is moved to its head", settled.message)
        start = len(self.system)
        self.system += parts
        self.hoisted += [Origin(f"system[{start + index}]", settled.turns) for index in range(len(parts))]

    def _say(self, role: str, settled: Settled, parts: list[Part]) -> None:
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += parts
            self.extend_last(settled.turns)
        else:
            self.add({"role": role, "content": list(parts)}, settled.turns)

    def body(self, model: str | None, tools: list[Tool], placed: Part) -> Part:
        self._mark_cached()
        body: Part = {"model": model} if model else {}
        body |= {"max_tokens": placed.pop("max_tokens", MAX_TOKENS), "stream": self.settings.stream}
        body |= {"system": self.system} if self.system else {}
        choice = placed.pop("tool_choice", {})
        body |= {"messages": self.messages, **self._write_tools(tools, choice)}
        return {**body, **placed}

    def _mark_cached(self) -> None:
        """``cache_control`` on the last block of each flagged message that takes one; the last four flags win."""
        flagged = [*self.flagged[0], *self.flagged[1]]
        targets = [
            next((part for part in reversed(parts) if part["type"] not in UNCACHEABLE), None) for parts in flagged
        ]
        marked = [part for part in targets if part is not None]
        for part in marked[-CACHE_MARKS:]:
            part["cache_control"] = {"type": "ephemeral"}
        if len(marked) < len(targets):
            idle = counted(len(targets) - len(marked), "cache flag")
            self.note(f"{idle} left out: nothing of the message can be marked")
        if len(marked) > CACHE_MARKS:
            dropped = len(marked) - CACHE_MARKS
            self.note(f"the first {dropped} of {len(marked)} cache flags are left out: {CACHE_MARKS} fit")

    def _write_tools(self, tools: Sequence[Tool], placed: Part) -> Part:
        """``tools`` and ``tool_choice``, where there are any."""
        defined = [self._define(*tool) for tool in tools] + ([dict(SEARCH_TOOL)] if self.wants_search() else [])
        choice = self.choose_tool([tool["name"] for tool in defined])
        if defined:
            chosen = placed | ({} if choice is None else self._choice(choice))
            if chosen.get("type") == "none":  # which has no other key
                chosen = {"type": "none"}
            return {"tools": defined} | ({"tool_choice": chosen} if chosen else {})
        stubs = self._stub_tools()
        return {"tools": stubs, "tool_choice": {"type": "none"}} if stubs else {}

    def _define(self, name: str, description: str | None, schema: Mapping[str, Any]) -> Part:
        described: Part = {"name": self.names.send(name)} | ({"description": description} if description else {})
        return {**described, "input_schema": schema}

    def _choice(self, choice: Choice) -> Part:
        return {"type": choice.mode} | ({"name": choice.name} if choice.name else {})

    def _stub_tools(self) -> list[Part]:
        """The API wants the tools defined that a conversation has called; that nobody can call them now is said."""
        called = dict.fromkeys(
            block.name
            for message in self.window.messages
            if message.role == "assistant"
            for block in message.content
            if isinstance(block, ToolUse)
        )
        if called:
            self.note(f"no tools are given: {', '.join(called)} is defined as a stub that cannot be called")
        return [{"name": self.names.send(name), "input_schema": {"type": "object"}} for name in called]
