"""Convert LangChain's messages to blocks and back; fields that fit no block are kept beside the blocks.

``split`` takes the type and the fields of a message, and ``join`` returns the fields. Nothing here imports LangChain.
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
    """Make the draft of a message that was split. ``note`` is added to its own keys in ``meta``.

    Raises: InvalidContent, TooLarge.
    """
    options = {
        "role": made.role, "cache": made.cache, "meta": {APP: {**made.beside, **(note or {})}}, "moves": moves,
        "attributes": None if made.speaker is None else {"speaker": made.speaker},
    }  # fmt: skip
    draft = make_draft(made.blocks, options, limit_bytes)
    return with_reply(draft, made.reply) if made.reply else draft


def words_of(message: Any) -> list[ContentBlock]:
    """The text of a message that is kept whole, as blocks for people to read; empty without text."""
    said, _ = heal_text(str(message.text)) if isinstance(message.content, str | list) else ("", False)
    return [Text(said)] if said else []
