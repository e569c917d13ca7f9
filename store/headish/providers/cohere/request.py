"""Writes a window as the body of Cohere's ``POST /v2/chat``: reasoning as parts, and plans beside calls.

The API takes no text beside calls: "text content is not allowed when tool_calls are provided. If you wish to pass a
tool plan, either pass thinking content (with thinking enabled) or use 'tool_plan'". So text beside a call goes out as a
plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headish.providers.chat.request import ChatWriter
from headish.providers.shared.mapping import Part
from headish.providers.shared.tools import Choice, ToolDefinition
from headish.values.blocks import ProviderBlock, Text, Thinking
from headish.values.messages import Message
from headish.values.shapes import listed, record

ALONE = ("response_format", "safety_mode")
"""Parameters that the API does not take together with tools or documents."""


class CohereWriter(ChatWriter):
    """A request of Cohere's chat API."""

    provider = "cohere"
    has_strict_tools = False
    roles = {"developer": "system"}  # the API has no role ``developer``
    order = {"thinking": 0, "tool_plan": 0, "text": 0, "function": 1}
    stop_place = "stop_sequences"
    stop_limit = 5

    def text_part(self, text: str, block: Text | None, message: Message) -> Part | None:
        part: Part = {"type": "text", "text": text}
        return part if block is None or message.role != "assistant" else part | _citations(block, self.provider)

    def thinking_part(self, block: Thinking, message: Message) -> Part | None:
        if not block.text.strip():
            return self.left_out("blank reasoning", message)
        if record(block.opaque.get(self.provider)).get("tool_plan") is True:
            return {"type": "tool_plan", "text": block.text, **_citations(block, self.provider)}
        return {"type": "thinking", "thinking": block.text, **_citations(block, self.provider)}

    def own_part(self, block: ProviderBlock, data: Mapping[str, Any], message: Message) -> Part | None:
        return self.left_out("a block of cohere, whose requests have no place for it,", message)

    def write_answer(self, parts: list[Part], message: Message) -> Part:
        calls = [part for part in parts if part["type"] == "function"]
        rest = [part for part in parts if part["type"] != "function"]
        return self._call(calls, rest, message) if calls else self._say(rest, message)

    def _say(self, parts: list[Part], message: Message) -> Part:
        """An answer without calls. Each of its citations has the index of the part of the content that it is about."""
        content = [part for part in parts if part["type"] != "tool_plan"]
        if len(content) < len(parts):
            self.left_out("a plan without its call", message)
        citations = [
            {**citation, "content_index": index}
            for index, part in enumerate(content)
            for citation in part.pop("citations", ())
        ]
        alone = content[0]["text"] if len(content) == 1 else content
        return {"role": "assistant", "content": alone} | ({"citations": citations} if citations else {})

    def _call(self, calls: list[Part], parts: list[Part], message: Message) -> Part:
        """Calls, and the text beside them: as the plan or, if there is any reasoning, as reasoning, because the API
        does not take both."""
        self.foreign.update(self.provider for part in parts if "citations" in part)
        reasoned = any(part["type"] == "thinking" for part in parts)
        if any(part["type"] == "text" for part in parts):
            self.note(f"text beside a call is sent as {'reasoning' if reasoned else 'the plan of it'}", message)
        texts = [part["thinking"] if part["type"] == "thinking" else part["text"] for part in parts]
        answer: Part = {"role": "assistant", "tool_calls": calls}
        if reasoned:
            return {**answer, "content": [{"type": "thinking", "thinking": each} for each in texts]}
        return {**answer, "tool_plan": "\n".join(texts)} if texts else answer

    def write_choice(self, choice: Choice) -> Any:
        if choice.mode == "tool":
            tool_mode = self.options.get("tool_mode")
            self.refuse(f"the option tool_mode={tool_mode!r}: it can name no tool, only say auto, any or none")
        return {"any": "REQUIRED", "none": "NONE"}.get(choice.mode)

    def check(self, placed: Part, tools: Sequence[ToolDefinition]) -> None:
        super().check(placed, tools)
        others = [
            word
            for word, value in (("tools", tools or placed.get("tools")), ("documents", placed.get("documents")))
            if value
        ]
        for key in ALONE:
            if key in placed and others:
                self.refuse(f"{key} together with {others[0]}")
        if "strict_tools" in placed and not (tools or placed.get("tools")):
            del placed["strict_tools"]
            self.note("the option params.strict_tools is not sent: there are no tools")


def _citations(block: Text | Thinking, provider: str) -> Part:
    """The citations that Cohere made for a block, to be sent back with it."""
    own = listed(record(block.opaque.get(provider)).get("citations"))
    citations = [each for each in own if isinstance(each, Mapping)]
    return {"citations": citations} if citations else {}
