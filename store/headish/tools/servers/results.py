"""Make a result block from a tool server's answer, and an error result from a failure.

Nothing is dropped. If a result block cannot hold the content, or it is too large to keep, the whole answer becomes an
error result, which a model can read, and never a shorter result.

Source: Model Context Protocol 2025-11-25 and 2026-07-28, "Tool Result"; their content blocks are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from headish.content import strictjson
from headish.content.media import UNKNOWN, NotDecodable, decode_bytes
from headish.errors import InvalidContent, TooLarge
from headish.values.blocks import Base64Source, ContentBlock, Document, Text, ToolResult, ToolUse, to_mapping

RESULT_LIMIT_BYTES = 8 * 1024 * 1024
"""The largest result of a call, as the JSON that would be stored. A larger one becomes an error result."""


def make_result(call: ToolUse, answer: Mapping[str, Any]) -> ToolResult:
    """The result block of a ``tools/call`` answer. Structured content counts only if there is no other.

    Raises: InvalidContent for content that cannot be kept; TooLarge.
    """
    what = f"the result of {call.name}"
    content = tuple(_read_block(block, what) for block in answer["content"])
    structured = answer.get("structuredContent")
    if not content and structured is not None:
        strictjson.check(structured, what)
        content = (Text(strictjson.encode(structured).decode()),)
    result = ToolResult(call.id, call.name, content, True if answer.get("isError") else None)
    size_bytes = len(strictjson.encode(to_mapping(result)))
    if size_bytes > RESULT_LIMIT_BYTES:
        raise TooLarge(what, size_bytes, RESULT_LIMIT_BYTES)
    return result


def make_failure(call: ToolUse, reason: str) -> ToolResult:
    """The error result of a call without an answer."""
    return ToolResult(call.id, call.name, (Text(reason),), True)


def _read_block(block: Mapping[str, Any], what: str) -> ContentBlock:
    content_block = BLOCKS[block["type"]](block)
    if isinstance(content_block, Document):
        try:
            decode_bytes(content_block)
        except NotDecodable as error:
            raise InvalidContent(what, f"it holds {error}") from None
    return content_block


def _text(block: Mapping[str, Any]) -> Text:
    return Text(block["text"])


def _media(block: Mapping[str, Any]) -> Document:
    return Document(Base64Source(block["mimeType"], block["data"]))


def _resource(block: Mapping[str, Any]) -> ContentBlock:
    resource = block["resource"]
    if "text" in resource:
        return Text(resource["text"])
    # A URI without a slash (``urn:…``) has no name in it.
    folder, _, name = resource["uri"].partition("?")[0].rpartition("/")
    source = Base64Source(resource.get("mimeType") or UNKNOWN, resource["blob"])
    return Document(source, unquote(name) if folder and name else None)


def _link(block: Mapping[str, Any]) -> Text:
    return Text(f"{block['name']}: {block['uri']}")


BLOCKS: dict[str, Callable[[Mapping[str, Any]], ContentBlock]] = {
    "text": _text,
    "image": _media,
    "audio": _media,
    "resource": _resource,
    "resource_link": _link,
}
