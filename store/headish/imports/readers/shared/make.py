"""Make blocks from what other programs wrote, replies from what a provider said beside an answer, and titles.

Names, ids and arguments are whatever the file holds: an id or a name that is not text is left out.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from headish.content.forms.calls import said_arguments
from headish.values import shapes

Block = dict[str, Any]
TITLE_CHARACTERS = 200
_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def text(text: str) -> Block:
    """A text block."""
    return {"type": "text", "text": text}


def texts(value: object) -> list[Block]:
    """A text as a list of one block; nothing for an empty text, and for any other value."""
    return [text(value)] if isinstance(value, str) and value else []


def thinking(said: str, provider: str, opaque: Mapping[str, Any] = {}) -> Block:
    """Reasoning of a provider, with what it keeps beside the words."""
    kept = {"opaque": {provider: opaque}} if opaque else {}
    return {"type": "thinking", "text": said, "provider": provider, **kept}


def own(provider: str, data: Any) -> Block:
    """A provider's own block, for what no other block can say, kept whole; a value that is not an object goes under
    ``value``."""
    held = dict(data) if isinstance(data, Mapping) else {"type": "unknown", "value": data}
    return {"type": "provider", "provider": provider, "data": held}


def document(source: Block, name: object = None) -> Block:
    """A document block; an empty name is left out."""
    named = shapes.name(name)
    return {"type": "document", "source": source, **({} if named is None else {"name": named})}


def base64(media_type: str, data: str | bytes) -> Block:
    """The source of a document whose bytes are in the file; text is base64 already."""
    encoded = data if isinstance(data, str) else b64encode(data).decode()
    return {"type": "base64", "media_type": media_type, "data": encoded}


def url(url: str, media_type: str | None = None) -> Block:
    """The source of a document at a URL."""
    return {"type": "url", "url": url, **({"media_type": media_type} if media_type else {})}


def call(name: object, id: object, given: Any, opaque: Mapping[str, Any] = {}) -> Block:
    """A call. Arguments that are text stay text; missing ones are an empty object. ``opaque`` is kept beside it."""
    kept = {"opaque": opaque} if opaque else {}
    return {"type": "tool_use", "name": shapes.text(name), **_texts(id=id), **said_arguments(given), **kept}


def result(id: object, name: object, content: list[Block], *, failed: bool = False) -> Block:
    """The result of a call."""
    error = {"is_error": True} if failed else {}
    return {"type": "tool_result", **_texts(tool_use_id=id, name=name), "content": content, **error}


def reply(provider: str, usage: Mapping[str, int] | None = None, **said: object) -> Block:
    """Make the record of a provider's reply: token counts, and ``model``, ``stop`` and the like if they are text."""
    return {"provider": provider, **_texts(**said), **({"usage": usage} if usage else {})}


def counts(usage: object) -> dict[str, int]:
    """The token counts of a usage under Anthropic's names, which are headish's."""
    said = shapes.record(usage)
    return {name: said[name] for name in _COUNTS if type(said.get(name)) is int}


def _texts(**values: object) -> dict[str, str]:
    return {key: value for key, value in values.items() if isinstance(value, str)}


def title(text: str) -> str:
    """Return the title of a conversation that has none: the first line of its first words."""
    return text.strip().split("\n", 1)[0][:TITLE_CHARACTERS]
