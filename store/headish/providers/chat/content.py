"""The content of a chat message: text, a refusal, or a list of parts.

Parts that nobody here knows are kept in their place, and so is what stands beside the text of one that is known: sent
back, the content is the list that it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headish.content.forms.chat import MESSAGE as MESSAGE
from headish.content.forms.chat import PART
from headish.content.forms.chat import TOOL_CALL as TOOL_CALL
from headish.providers.shared.reply import OpenBlock, ReplyReader
from headish.providers.shared.values import Delta
from headish.values.shapes import listed, record, text


class ContentReader(ReplyReader):
    """Reads the content of one answer's message."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.text_block: OpenBlock | None = None
        """The last text of the answer."""
        self._refusal: OpenBlock | None = None

    def say(self, piece: str) -> list[Delta]:
        if not piece:
            return []
        self.text_block = self.current("text")
        return self.text_block.delta(piece)

    def read_refusal(self, piece: str) -> list[Delta]:
        """A refusal is a text of its own, which no other text goes on."""
        if not piece:
            return []
        self.refused = True
        if self._refusal is None:
            self._refusal = self.open("text", finished=True)
        return self._refusal.delta(piece)

    def read_parts(self, content: Any) -> list[Delta]:
        """Content as a list, as reasoning models of Mistral and some gateways give it.

        A text goes on where the last chunk's ended; behind another text of its own list it is a part by itself.
        """
        shown: list[Delta] = []
        before = None
        for part in listed(content) or [content]:
            kind = "text" if isinstance(part, str) else text(record(part).get("type"))
            read = _PARTS.get(kind, ContentReader._keep_part)
            shown += read(self, {"type": "text", "text": part} if isinstance(part, str) else part, kind == before)
            before = kind
        return shown

    def _read_text_part(self, part: Mapping[str, Any], anew: bool) -> list[Delta]:
        if not isinstance(part.get("text"), str):
            return self._keep_part(part, anew)
        rest = {key: value for key, value in part.items() if key not in ("type", "text")}
        block = self.text_block = self.open("text") if anew else self.current("text")
        if anew or rest:
            block.keep({PART: {"type": "text", **rest}})
        return block.delta(part["text"])

    def _read_thinking_part(self, part: Mapping[str, Any], anew: bool) -> list[Delta]:
        """Reasoning, whose text is a list of chunks with Mistral and plain elsewhere: it goes back as it came."""
        given = part.get("thinking")
        if not isinstance(given, str | list):
            return self._keep_part(part, anew)
        block = self.open("thinking") if anew else self.current("thinking")
        kept = {key: value for key, value in part.items() if key != "thinking"}
        block.keep({PART: kept | ({} if isinstance(given, str) else {"thinking": []})})
        shown: list[Delta] = []
        for chunk in [given] if isinstance(given, str) else given:
            said = chunk if isinstance(chunk, str) else record(chunk).get("text")
            if isinstance(said, str) and record(chunk).keys() <= {"type", "text"}:
                block = block if block is self.blocks[-1] else self.current("thinking")
                block.keep({} if block.beside else {PART: {"type": "thinking", "thinking": []}})
                shown += block.delta(said)
            else:
                self._keep_part({"type": "thinking", "thinking": [chunk]}, False)
        return shown

    def _read_refusal_part(self, part: Mapping[str, Any], anew: bool) -> list[Delta]:
        said = part.get("refusal")
        return self.read_refusal(said) if isinstance(said, str) else self._keep_part(part, anew)

    def _keep_part(self, part: Any, anew: bool) -> list[Delta]:
        """A part that nobody knows, in its place."""
        if isinstance(part, Mapping):
            self.open("provider", data={PART: dict(part)}, finished=True)
        else:
            self.keep_unknown({"content": [part]}, "content that is neither text nor a part")
        return []


_PARTS: dict[str, Callable[[ContentReader, Any, bool], list[Delta]]] = {
    "text": ContentReader._read_text_part,
    "thinking": ContentReader._read_thinking_part,
    "refusal": ContentReader._read_refusal_part,
}
"""How a part of content is read, by its type."""
