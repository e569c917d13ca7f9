"""Reads the answers of OpenAI's ``POST /v1/chat/completions``: a completion, or the chunks of its stream.

In a dialect with tags, reasoning between tags at the beginning of the content is read as reasoning, and the tags are
kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headish.providers.chat.reply import ChatReader
from headish.providers.dialects.choosing import find_dialect
from headish.providers.dialects.tags import TaggedPiece, TagSplitter
from headish.providers.shared.reply import OpenBlock
from headish.providers.shared.values import Delta, Reply

OPENED, CLOSED = "opened", "closed"
"""Keys beside reasoning that came in the content: the tag that began it, and the tag that ended it."""


class OpenAIReader(ChatReader):
    """Reads one answer of OpenAI's Chat Completions API."""

    provider = "openai"

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        tags = find_dialect(self._dialect).tags
        self._splitter = TagSplitter(tags) if tags else None
        self._tagged: OpenBlock | None = None
        """The reasoning that is being read from the content."""

    def say(self, piece: str) -> list[Delta]:
        return super().say(piece) if self._splitter is None else self._take(self._splitter.feed(piece))

    def open_call(self, called: object, id: object) -> tuple[OpenBlock, list[Delta]]:
        shown = self._flush()  # held text came before the call, and has to stay before it
        block, deltas = super().open_call(called, id)
        return block, shown + deltas

    def finish(self) -> Reply:
        self._flush()
        return super().finish()

    def _read_choice(self, choice: Mapping[str, Any]) -> list[Delta]:
        shown = super()._read_choice(choice)
        # At once, not in ``finish``, which shows nothing.
        return shown + self._flush() if self.done else shown

    def _flush(self) -> list[Delta]:
        return [] if self._splitter is None else self._take(self._splitter.flush())

    def _take(self, pieces: Iterable[TaggedPiece]) -> list[Delta]:
        shown: list[Delta] = []
        for piece in pieces:
            if not piece.is_thought:
                shown += super().say(piece.text)
                continue
            if self._tagged is None:
                self._tagged = self.open("thinking", opaque={OPENED: piece.opened})
            shown += self._tagged.delta(piece.text)
            if piece.closed is not None:
                self._tagged.opaque[CLOSED], self._tagged.finished = piece.closed, True
        return shown
