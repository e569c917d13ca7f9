"""The keys of the events of Anthropic's answers that are read; all others are kept beside the answer.

Source: the types of the official SDK, anthropic 2.12.0, read on 2026-11-22.
"""

from __future__ import annotations

from headish.providers.shared.leftovers import KnownKeys, keys

DETAILS = ("stop_sequence", "stop_details", "container", "context_management", "input_transformations")
BEDROCK_METRICS = "amazon-bedrock-invocationMetrics"
"""The key that Amazon Bedrock adds to the last event."""
USAGE_DETAILS = ("service_tier", "server_tool_use", "inference_geo", "speed", "cache_creation", "fallback_credit",
                 "iterations")  # fmt: skip
_USAGE = keys(
    "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", *USAGE_DETAILS,
    output_tokens_details=keys("thinking_tokens"),
)  # fmt: skip
_MESSAGE = keys("id", "type", "role", "model", "stop_reason", "diagnostics", *DETAILS, content=keys(), usage=_USAGE)
BLOCKS = {
    "text": keys("type", "text", "citations"),
    "thinking": keys("type", "thinking", "signature"),
    "tool_use": keys("type", "id", "name", "input", "caller", "toolset_name"),
}
"""Blocks of other types are kept whole."""
DELTAS = {
    "text_delta": keys("type", "text"),
    "thinking_delta": keys("type", "thinking", "estimated_tokens"),
    "input_json_delta": keys("type", "partial_json"),
    "signature_delta": keys("type", "signature"),
    "citations_delta": keys("type", "citation"),
}
"""Deltas of other types are kept whole or read whole."""
EVENTS = {
    "message_start": keys("type", message=_MESSAGE),
    "content_block_stop": keys("type", "index"),
    "message_delta": keys("type", *DETAILS, delta=keys("stop_reason", *DETAILS), usage=_USAGE),
    "message_stop": keys("type", BEDROCK_METRICS),
    "error": keys("type", "error"),
    "ping": keys("type"),
}
"""Events whose keys do not depend on the type of a block or delta in them."""
BLOCK_EVENT, DELTA_EVENT = keys("type", "index", "content_block"), keys("type", "index", "delta")


def within(event: KnownKeys, key: str, inner: KnownKeys | None) -> KnownKeys:
    """The table of an event with a block or delta in it. ``inner`` is the table of that; None if its type is unknown
    and it is kept whole."""
    return event if inner is None else KnownKeys(event.all, {key: inner})
