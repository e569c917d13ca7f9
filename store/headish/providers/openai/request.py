"""Writes a window as the body of ``POST /v1/chat/completions``: PDF files, and explicit cache breakpoints on request.

Servers that speak like OpenAI's have a dialect. This module asks it, ``spelling`` applies it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from headish.content.forms.chat import MESSAGE, PART, TOOL_CALL
from headish.content.forms.customs import CHAT as CUSTOM
from headish.content.media import PDF
from headish.providers.chat.request import OpenAIShapedWriter
from headish.providers.dialects.choosing import DEFAULT, find_dialect
from headish.providers.dialects.values import FORCED, NAMED, PARTS, STREAM_OPTIONS, THOUGHTS
from headish.providers.openai.spelling import (
    goes_back,
    has_details,
    join_lists,
    join_tagged,
    spell_answer,
    spell_id,
    spell_reasoning,
)
from headish.providers.shared.mapping import Part, Piece
from headish.providers.shared.request import SYSTEM
from headish.providers.shared.tools import Choice, ToolDefinition, fill_schema
from headish.providers.shared.values import Request, Settings
from headish.values.blocks import ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.messages import ContextWindow, Message
from headish.values.shapes import record

MARKABLE = ("user", *SYSTEM)
"""Roles whose parts take a breakpoint. The types allow one on every text, but the API is said to refuse it on texts of
the model and of tools."""
_CALL_KEYS = ("id", "type", "function", CUSTOM, "name", "arguments", "input", TOOL_CALL)


class OpenAIWriter(OpenAIShapedWriter):
    """A request of OpenAI's Chat Completions API."""

    provider = "openai"
    takes_breakpoints = True
    efforts = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

    def __init__(self, window: ContextWindow, settings: Settings) -> None:
        super().__init__(window, settings)
        self.dialect = find_dialect(settings.dialect)
        self._is_known = settings.dialect is not None
        """Whether it is known what the server gives and takes back. An unknown server gets all that was said."""
        self.roles, self.takes_custom = self.dialect.roles, self.dialect.customs
        # With ``fills``, even an answer that is one text needs the key for reasoning, so it takes the long way.
        self.plain_roles = ("user",) if self.dialect.fills else ("user", "assistant")
        self.mend = None if self.dialect.lists else join_lists

    def keeps_name(self, media_type: str) -> bool:
        return media_type in (PDF, "")  # a file that the provider keeps has no media type, and may have a name

    def write_schema(self, called: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        return fill_schema(self, called, schema)

    def flag(self, entries: list[Part]) -> None:
        """Remember the last part of a flagged message."""
        # A text becomes a part even if its mark is left out later, so that only marks change between requests.
        super().flag(entries)
        if not self.settings.cache_breakpoints or not entries or entries[-1]["role"] not in MARKABLE:
            return
        content = entries[-1]["content"]
        if isinstance(content, str):
            content = entries[-1]["content"] = [{"type": "text", "text": content}]
        self.marked.append(content[-1])

    # Rules of the dialect.

    def text_part(self, text: str, block: Text | None, message: Message) -> Part | None:
        if block is None or not block.opaque:
            return {"type": "text", "text": text}
        part = super().text_part(text, block, message)
        if part is None or part["type"] != PART or self.dialect.keys is None:
            return part
        self.foreign[self.provider] += len(record(part[PART])) > len(("type", "text"))
        return {"type": "text", "text": text}

    def thinking_part(self, block: Thinking, message: Message) -> Part | None:
        dialect_name = self.settings.dialect
        if dialect_name is None or self.dialect.reasoning == PARTS:
            part = self.own_thinking(block)
            if part is not None:
                return part
        if self.dialect.details and self.asked_once(message, self._has_details):
            return None  # the details hold the same reasoning
        part = spell_reasoning(self.dialect, block, record(block.opaque.get(self.provider)))
        if part is None and dialect_name is None:
            return super().thinking_part(block, message)
        return part or self.left_out(f"reasoning, which goes to no server of the dialect {dialect_name},", message)

    def own_part(self, block: ProviderBlock, data: Mapping[str, Any], message: Message) -> Part | None:
        if not self._is_known:
            return super().own_part(block, data, message)
        if isinstance(data.get(MESSAGE), Mapping):
            data = {MESSAGE: self._kept(data[MESSAGE], "what the message says as", message)}
            return super().own_part(block, data, message) if data[MESSAGE] else None
        kind = record(data.get(PART)).get("type")
        if PART in data and (self.dialect.keys is not None or kind in THOUGHTS):
            return self.left_out(f"a part of type {str(kind)[:80]!r}", message)
        return super().own_part(block, data, message)

    def call_part(self, block: ToolUse, message: Message) -> Part:
        part = super().call_part(block, message)
        called = part.get(TOOL_CALL, part)
        called["id"] = spell_id(self.dialect, called["id"])
        if self._is_known and block.opaque:
            for holder in (called, called.get("function", {}), called.get(CUSTOM, {})):
                further = {key: value for key, value in holder.items() if key not in _CALL_KEYS}
                kept = self._kept(further, f"what the call of {block.name} says as", message)
                for key in further.keys() - kept.keys():
                    del holder[key]
        return part

    def result_part(self, block: ToolResult, pieces: Sequence[Piece], message: Message) -> Part:
        part = super().result_part(block, pieces, message)
        part["tool_call_id"] = spell_id(self.dialect, part["tool_call_id"])
        return part

    def write_answer(self, parts: list[Part], message: Message) -> Part:
        if self.settings.dialect is None:
            return super().write_answer(parts, message)
        thought = [part["text"] for part in parts if part["type"] == "reasoning"]
        answer = super().write_answer(join_tagged(parts), message)
        return spell_answer(self.dialect, answer, thought)

    def check_parameters(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The parameters that the server takes. The others are refused or noted with the dialect's reason."""
        set_params = {name: value for name, value in params.items() if value is not None}
        for name in set_params.keys() & self.dialect.refused.keys():
            self.refuse(f"params.{name}, for {self.dialect.title}: {self.dialect.refused[name]}")
        for name in sorted(set_params.keys() & self.dialect.ignored.keys()):
            self.note(f"the option params.{name} is not sent to {self.dialect.title}: {self.dialect.ignored[name]}")
        left_out = self.dialect.refused.keys() | self.dialect.ignored.keys()
        return {name: value for name, value in params.items() if name not in left_out}

    def write(self) -> Request:
        request = super().write()
        return replace(request, dialect=None) if request.dialect == DEFAULT else request

    def parameter_places(self) -> Mapping[str, str]:
        return self.dialect.places

    def write_choice(self, choice: Choice) -> Any:
        kind = {"any": FORCED, "tool": NAMED}.get(choice.mode)
        if kind in self.dialect.refused:
            self.refuse(f"the option tool_mode, for {self.dialect.title}: {self.dialect.refused[str(kind)]}")
        if kind in self.dialect.ignored:
            self.note(f"the option tool_mode is not sent to {self.dialect.title}: {self.dialect.ignored[str(kind)]}")
            return None
        return super().write_choice(choice)

    def body(self, model: str | None, tools: list[ToolDefinition], placed: Part) -> Part:
        body = super().body(model, tools, placed)
        own_params = record(record(self.options.get("params")).get(self.provider))
        # Set to false by hand, or refused by the server and not set by hand: the person may know better.
        if own_params.get(STREAM_OPTIONS, STREAM_OPTIONS not in self.dialect.refused) is False:
            body.pop(STREAM_OPTIONS, None)
        return body

    def _has_details(self, message: Message) -> bool:
        return has_details(self.dialect, message, self.provider)

    def _kept(self, said: Mapping[str, Any], what: str, message: Message) -> dict[str, Any]:
        """The keys that go back to a known server, with a note on those that do not."""
        kept = {key: value for key, value in said.items() if goes_back(self.dialect, key, value)}
        lost = [str(key) for key in said if key not in kept]
        if lost:
            self.left_out(f"{what} {', '.join(lost)[:200]}", message)
        return kept
