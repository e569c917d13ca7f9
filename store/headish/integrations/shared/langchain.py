"""What both adapters of LangChain's messages do with a message that was split (``content.forms.langchain``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.content.drafts import Draft, make_draft, with_reply
from headish.content.forms.langchain.messages import APP, Split
from headish.integrations.shared.healing import heal_text
from headish.values.blocks import ContentBlock, Text


def make_split_draft(made: Split, limit_bytes: int, *, moves: bool, note: Mapping[str, Any] | None = None) -> Draft:
    """The draft of a message. ``note`` stands beside it, too. Raises: InvalidContent, TooLarge."""
    options = {
        "role": made.role, "cache": made.cache, "meta": {APP: {**made.beside, **(note or {})}}, "moves": moves,
        "attributes": None if made.speaker is None else {"speaker": made.speaker},
    }  # fmt: skip
    draft = make_draft(made.blocks, options, limit_bytes)
    return with_reply(draft, made.reply) if made.reply else draft


def words_of(message: Any) -> list[ContentBlock]:
    """The text of a message that is kept whole, for people to read."""
    said, _ = heal_text(str(message.text)) if isinstance(message.content, str | list) else ("", False)
    return [Text(said)] if said else []
