"""Tell whether a stored turn is the same message, as an earlier edition of its reader mapped it.

Readers of API messages once mapped blocks by themselves. Those turns say the same in slightly different blocks, and a
second import must not store them again. So headish compares what people and models read, and ignores what a provider
keeps beside a block: a source that changes only that has not changed the message.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.content.encoding import decode_payload
from headish.content.forms.parts import is_of_form
from headish.database.query import Connection
from headish.history.reading.decode import read_payload
from headish.history.writing.keys import said_by
from headish.rows.turns import StoredTurn
from headish.transcripts.frameworks.langchain.older import read_anew
from headish.values.blocks import ContentBlock, Document, Other, ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.turns import OVERLAY

FORMS: dict[str, Callable[[Iterable[ContentBlock]], Iterable[ContentBlock]]] = {
    "claude-code": tuple, "codex": tuple, "claude": tuple, "langgraph": read_anew,
}  # fmt: skip
"""The formats whose readers once had blocks of their own, each with the function that makes these comparable."""


def says_it_as_before(connection: Connection, space: int, stored: StoredTurn, draft: Draft) -> bool:
    """Whether the stored turn under a draft's key is the same message, mapped by an earlier edition.

    True for an erased turn that matches otherwise: a new mapping must not bring back what was erased.
    Cost: one statement for its payload. Raises: CorruptTurn.
    """
    key = draft.facts.key or b""
    today = FORMS.get(key.partition(b":")[0].decode())
    if today is None or stored.type is not None:
        return False
    if draft.said.type == OVERLAY:  # earlier editions stored summaries as plain turns
        return stored.hash == draft.said.hash
    if replace(said_by(stored), hash=draft.said.hash) != draft.said:
        return False
    if stored.erased is not None:
        return True
    payload = read_payload(connection, space, stored)
    return words_of(today(decode_payload(payload))) == words_of(decode_payload(draft.payload))


def only_grew(connection: Connection, space: int, stored: StoredTurn, draft: Draft) -> bool:
    """Whether a draft says all that a stored turn says, in order, and perhaps more; the last text may have become
    longer.

    Cost: one statement for its payload. Raises: CorruptTurn.
    """
    if stored.erased is not None or stored.type is not None or stored.role != draft.said.role:
        return False
    before, rest = decode_payload(read_payload(connection, space, stored)), iter(decode_payload(draft.payload))
    # ``rest`` is one iterator: each block is looked for only after the one that was found before it.
    return all(any(_goes_on(each, new) for new in rest) for each in before)


def _goes_on(block: ContentBlock, longer: ContentBlock) -> bool:
    if isinstance(block, Text) and isinstance(longer, Text):
        return longer.text.startswith(block.text)
    return block == longer


def words_of(blocks: Iterable[ContentBlock]) -> list[Any]:
    """Return what blocks say to people and models, in a form that can be compared."""
    return [_words_of(block) for block in blocks if not is_of_form(block)]


def _words_of(block: ContentBlock) -> Any:
    if isinstance(block, Text):
        return ("text", block.text)
    if isinstance(block, Thinking):
        whole = block.opaque.get("openai_responses")
        return ("thinking", _bare(whole)) if whole else ("thinking", block.text, block.signature)
    if isinstance(block, ToolUse):
        return ("call", block.id, block.name, msgspec.to_builtins(block).get("input"), block.raw)
    if isinstance(block, ToolResult):
        return ("result", block.tool_use_id, words_of(block.content), block.is_error)
    if isinstance(block, Document):
        return ("document", _source_of(msgspec.to_builtins(block.source)))
    if isinstance(block, Other) and block.type == "document" and isinstance(block.data.get("source"), Mapping):
        return ("document", _source_of(block.data["source"]))
    return _bare(block.data if isinstance(block, Other | ProviderBlock) else msgspec.to_builtins(block))


def _source_of(source: Mapping[str, Any]) -> Any:
    """Make sources comparable: text becomes its bytes, and the type of a source with a URL or file id is ignored."""
    if source.get("type") == "text" and isinstance(source.get("data"), str):
        return ("base64", b64encode(source["data"].encode()).decode())
    return next((source[key] for key in ("url", "file_id") if key in source), (source.get("type"), source.get("data")))


def _bare(value: Any) -> Any:
    """Drop nulls and cache markers from a value, at every depth."""
    if isinstance(value, Mapping):
        return {key: _bare(item) for key, item in value.items() if key != "cache_control" and item is not None}
    return [_bare(item) for item in value] if isinstance(value, list) else value
