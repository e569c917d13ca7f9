"""The keys of the events and items of OpenAI's Responses that are read; all others are kept beside the answer.

Source: the types of the official SDK, openai 3.54.0, read on 2026-11-22.
"""

from __future__ import annotations

from typing import Any

from headish.providers.shared.leftovers import KnownKeys, keys

DETAILS = ("service_tier", "input_transformations", "moderation", "prompt_cache_diagnostics", "tool_usage",
           "access_programs")  # fmt: skip
"""Keys of a response that are kept as details, under their names."""
_ECHOED = (
    "background", "conversation", "image", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
    "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options",
    "prompt_cache_retention", "reasoning", "safety_identifier", "store", "temperature", "text", "tool_choice", "tools",
    "top_logprobs", "top_p", "truncation", "user",
)  # fmt: skip
"""Keys of a response that repeat the request."""
_USAGE = keys(
    "input_tokens", "output_tokens", "total_tokens",
    input_tokens_details=keys("cached_tokens", "cache_write_tokens", "cache_write_tokens_details"),
    output_tokens_details=keys("reasoning_tokens"),
)  # fmt: skip
_RESPONSE = keys(
    "completed_at", "created_at", "error", "id", "model", "object", "output", "status", *DETAILS, *_ECHOED,
    incomplete_details=keys("reason"), usage=_USAGE,
)  # fmt: skip
EVENT = keys(
    "annotation", "annotation_index", "arguments", "background", "code", "command", "command_index", "content_index",
    "delta", "error", "input", "item", "item_id", "logprobs", "message", "obfuscation", "output", "output_format",
    "output_index", "param", "part", "partial_image_b64", "partial_image_index", "quality", "refusal",
    "sequence_number", "size", "status", "summary_index", "text", "type",
    response=_RESPONSE,
)  # fmt: skip
"""The keys of all events. Items and parts have tables of their own, by type."""
THOUGHT = keys(*EVENT.all, **EVENT.inner, part=keys("type", "text"))
"""The keys of an event with a part of a reasoning, which no reader of parts checks."""
PARTS: dict[Any, KnownKeys] = {
    "output_text": keys("type", "text", "annotations", "logprobs"),
    "refusal": keys("type", "refusal"),
}
ITEMS: dict[str, KnownKeys] = {
    "message": keys("type", "id", "role", "status", "phase", "content"),
    "function_call": keys("type", "id", "status", "call_id", "name", "arguments", "namespace", "caller"),
    "custom_tool_call": keys("type", "id", "status", "call_id", "name", "input", "namespace", "caller"),
    "reasoning": keys(
        "type", "id", "status", "encrypted_content", summary=keys("type", "text"), content=keys("type", "text")
    ),
}
"""Items of other types are kept whole."""
