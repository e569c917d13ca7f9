"""Cerebras' ``POST /v1/chat/completions``: OpenAI's body with reasoning in it, and OpenAI's answer."""

from __future__ import annotations

from headish.providers.chat.reply import ChatReader
from headish.providers.chat.request import OpenAIShapedWriter
from headish.providers.shared.mapping import Part
from headish.values.blocks import Thinking
from headish.values.messages import Message


class CerebrasWriter(OpenAIShapedWriter):
    """A request of Cerebras' chat completions API."""

    provider = "cerebras"
    # The types say of it: "Currently only for openai models, where they are functionally the same as system".
    roles = {"developer": "system"}
    efforts = ("none", "low", "medium", "high")
    # Some models answer 400 to a tool whose schema has one of these.
    dropped_keywords = frozenset(("$schema", "format", "minimum", "nullable"))

    def thinking_part(self, block: Thinking, message: Message) -> Part | None:
        part = self.own_thinking(block)
        if part is not None:
            return part
        if not block.text.strip():
            return self.left_out("blank reasoning", message)
        return {"type": "reasoning", "text": block.text}

    def write_answer(self, parts: list[Part], message: Message) -> Part:
        reasoning = [part["text"] for part in parts if part["type"] == "reasoning"]
        answer = super().write_answer(parts, message)
        return {**answer, "reasoning": "\n".join(reasoning)} if reasoning else answer


class CerebrasReader(ChatReader):
    """Reads one answer of Cerebras' chat completions API."""

    provider = "cerebras"
