"""What the events of Anthropic's answers hold, as far as it is read: all else is kept beside the answer.

Source: the types of the official SDK, anthropic 2.12.0, read on 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.providers.shared.rest import Known, keys
from headish.providers.shared.shapes import record

DETAILS = ("stop_sequence", "stop_details", "container", "context_management", "input_transformations")
BEDROCK_METRICS = "amazon-bedrock-invocationMetrics"
"""What Amazon Bedrock adds to the last event."""
USAGE_DETAILS = ("service_tier", "server_tool_use", "inference_geo", "speed", "cache_creation", "fallback_credit",
                 "iterations")  # fmt: skip
_USAGE = keys(
    "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", *USAGE_DETAILS,
    output_tokens_details=keys("thinking_tokens"),
)  # fmt: skip
_MESSAGE = keys("id", "type", "role", "model", "stop_reason", "diagnostics", *DETAILS, content=keys(), usage=_USAGE)
_BLOCKS: dict[Any, Known] = {
    "text": keys("type", "text", "citations"),
    "thinking": keys("type", "thinking", "signature"),
    "tool_use": keys("type", "id", "name", "input", "caller", "toolset_name"),
}
"""Blocks of other types are kept whole."""
_DELTAS: dict[Any, Known] = {
    "text_delta": keys("type", "text"),
    "thinking_delta": keys("type", "thinking", "estimated_tokens"),
    "input_json_delta": keys("type", "partial_json"),
    "signature_delta": keys("type", "signature"),
    "citations_delta": keys("type", "citation"),
}
"""Deltas of other types are kept whole, or are read whole."""
_EVENTS: dict[Any, Known] = {
    "message_start": keys("type", message=_MESSAGE),
    "content_block_stop": keys("type", "index"),
    "message_delta": keys("type", *DETAILS, delta=keys("stop_reason", *DETAILS), usage=_USAGE),
    "message_stop": keys("type", BEDROCK_METRICS),
    "error": keys("type", "error"),
    "ping": keys("type"),
}


def known_of(event: Mapping[str, Any]) -> Known:
    """The table of an event."""
    kind = event.get("type")
    if kind == "content_block_delta":
        return _DELTA_EVENTS.get(_type(event.get("delta")), _ANY_DELTA)
    if kind == "content_block_start":
        return _START_EVENTS.get(_type(event.get("content_block")), _ANY_START)
    return _EVENTS.get(kind, _ERROR)


def _type(value: object) -> str | None:
    kind = record(value).get("type")
    return kind if isinstance(kind, str) else None


_DELTA_EVENTS = {kind: keys("type", "index", delta=known) for kind, known in _DELTAS.items()}
_START_EVENTS = {kind: keys("type", "index", content_block=known) for kind, known in _BLOCKS.items()}
_ANY_DELTA, _ANY_START = keys("type", "index", "delta"), keys("type", "index", "content_block")
_ERROR = keys("type", "error")
