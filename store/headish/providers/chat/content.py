"""The content of a chat message: text, a refusal, or a list of parts.

Unknown parts are kept in their place, and so are unknown keys beside the text of a known part. Sent back, the content
is the same list again.
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
        """Read a piece of a refusal, which is a text of its own that no other text continues."""
        if not piece:
            return []
        self.refused = True
        if self._refusal is None:
            self._refusal = self.open("text", finished=True)
        return self._refusal.delta(piece)

    def read_parts(self, content: Any) -> list[Delta]:
        """Read content that is a list, as reasoning models of Mistral and some gateways send it.

        A text continues that of the last chunk, unless it follows another text of the same list: then it is a part of
        its own.
        """
        shown: list[Delta] = []
        before = None
        for part in listed(content) or [content]:
            kind = "text" if isinstance(part, str) else text(record(part).get("type"))
            reader = _PARTS.get(kind, ContentReader._keep_part)
            shown += reader(self, {"type": "text", "text": part} if isinstance(part, str) else part, kind == before)
            before = kind
        return shown

    def _read_text_part(self, part: Mapping[str, Any], anew: bool) -> list[Delta]:
        """Read a text; ``anew`` if it begins a part of its own."""
        if not isinstance(part.get("text"), str):
            return self._keep_part(part, anew)
        rest = {key: value for key, value in part.items() if key not in ("type", "text")}
        block = self.text_block = self.open("text") if anew else self.current("text")
        if anew or rest:
            block.keep({PART: {"type": "text", **rest}})
        return block.delta(part["text"])

    def _read_thinking_part(self, part: Mapping[str, Any], anew: bool) -> list[Delta]:
        """Read reasoning. Its text is a list of chunks with Mistral and plain elsewhere; it goes back in the same
        form."""
        thinking = part.get("thinking")
        if not isinstance(thinking, str | list):
            return self._keep_part(part, anew)
        block = self.open("thinking") if anew else self.current("thinking")
        other_keys = {key: value for key, value in part.items() if key != "thinking"}
        block.keep({PART: other_keys | ({} if isinstance(thinking, str) else {"thinking": []})})
        shown: list[Delta] = []
        for chunk in [thinking] if isinstance(thinking, str) else thinking:
            piece = chunk if isinstance(chunk, str) else record(chunk).get("text")
            if isinstance(piece, str) and record(chunk).keys() <= {"type", "text"}:
                block = block if block is self.blocks[-1] else self.current("thinking")
                block.keep({} if block.beside else {PART: {"type": "thinking", "thinking": []}})
                shown += block.delta(piece)
            else:
                self._keep_part({"type": "thinking", "thinking": [chunk]}, False)
        return shown

    def _read_refusal_part(self, part: Mapping[str, Any], anew: bool) -> list[Delta]:
        refusal = part.get("refusal")
        return self.read_refusal(refusal) if isinstance(refusal, str) else self._keep_part(part, anew)

    def _keep_part(self, part: Any, anew: bool) -> list[Delta]:
        """Keep an unknown part in its place."""
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
"""The readers of parts, by type."""
