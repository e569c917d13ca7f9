"""Writes a window as the body of ``POST /v1/chat/completions``: PDF files, and explicit cache breakpoints if asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.content.media import PDF
from headish.providers.chat.request import OpenAIShapedWriter
from headish.providers.shared.ledger import Settled
from headish.providers.shared.mapping import Part
from headish.providers.shared.request import SYSTEM
from headish.providers.shared.schemas import fill_arrays, join_top
from headish.providers.shared.values import Settings
from headish.values.messages import ContextWindow

AT_TOP = ("enum", "not")
"""Keywords that the API refuses at the top of a function's schema, beside those that can be joined."""
MARKABLE = ("user", *SYSTEM)
"""Roles whose parts take a breakpoint. The types allow it for every text, but the API is said to refuse the model's own
texts and the tools'."""


class OpenAIWriter(OpenAIShapedWriter):
    """A request of OpenAI's Chat Completions API."""

    provider = "openai"
    efforts = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

    def __init__(self, window: ContextWindow, settings: Settings) -> None:
        super().__init__(window, settings)
        self.marked: list[Part] = []
        """The last part of each message that is to be cached."""

    def keeps_name(self, media_type: str) -> bool:
        return media_type in (PDF, "")  # a file of the provider's may have a name too

    def write_schema(self, called: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """At its top the API wants an object and its properties, nothing else to choose from, and items in arrays."""
        parameters = fill_arrays({key: value for key, value in join_top(schema).items() if key not in AT_TOP})
        lost = [key for key in schema if key not in parameters]
        if lost:
            self.note(f"the top of the schema of {called} is made one object, without {', '.join(lost)}")
        return {**parameters, "properties": parameters.get("properties", {})}

    def place(self, settled: Settled, parts: list[Part]) -> None:
        start = len(self.messages)
        super().place(settled, parts)
        if settled.message.cache and self.settings.cache_breakpoints:
            self._mark(self.messages[start:])

    def _mark(self, entries: list[Part]) -> None:
        """Remember the last part of a flagged message. It stays a part where its mark moves on: only marks move."""
        if not entries or entries[-1]["role"] not in MARKABLE:
            return
        content = entries[-1]["content"]
        if isinstance(content, str):
            content = entries[-1]["content"] = [{"type": "text", "text": content}]
        self.marked.append(content[-1])

    def write_marks(self) -> None:
        if self.settings.cache_breakpoints:
            self.mark_cached(self.marked, self.flags, {"prompt_cache_breakpoint": {"mode": "explicit"}})
        else:
            super().write_marks()
