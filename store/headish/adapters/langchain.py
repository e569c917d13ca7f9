"""Convert LangChain's messages to blocks, with the fields that fit no block beside them, and back.

``split`` takes the type and the fields of a message; ``join`` returns the fields. Nothing here imports LangChain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.adapters.healing import heal_text
from headish.adapters.messages import ContentBlock, Draft, Text, make_draft, with_reply
from headish.transcripts.frameworks.langchain.facts import is_kind, role_of
from headish.transcripts.frameworks.langchain.messages import APP, Split, join, split
from headish.transcripts.frameworks.langchain.own import PROVIDER

__all__ = ["APP", "PROVIDER", "Split", "is_kind", "join", "make_split_draft", "role_of", "split", "words_of"]


def make_split_draft(made: Split, limit_bytes: int, *, moves: bool, note: Mapping[str, Any] | None = None) -> Draft:
    """Make the draft of a message that was split. ``note`` is kept beside its other fields. Raises: InvalidContent,
    TooLarge."""
    options = {
        "role": made.role, "cache": made.cache, "meta": {APP: {**made.beside, **(note or {})}}, "moves": moves,
        "attributes": None if made.speaker is None else {"speaker": made.speaker},
    }  # fmt: skip
    draft = make_draft(made.blocks, options, limit_bytes)
    return with_reply(draft, made.reply) if made.reply else draft


def words_of(message: Any) -> list[ContentBlock]:
    """The text block of a message that is kept whole, so that people can read it and find it."""
    text, _ = heal_text(str(message.text)) if isinstance(message.content, str | list) else ("", False)
    return [Text(text)] if text else []
