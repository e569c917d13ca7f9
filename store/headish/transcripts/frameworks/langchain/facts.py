"""Facts about a LangChain message: its kind, its author, and what the provider reported beside an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from headish.transcripts.frameworks.langchain.own import PROVIDER
from headish.values import shapes
from headish.values.checks.attributes import is_header_value

Fields = Mapping[str, Any]
ROLES = {
    "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "system": "system",
    "developer": "developer", "tool": "tool", "function": "tool",
}  # fmt: skip
OPENAI_ROLE = "__openai_role__"
"""The key of ``additional_kwargs`` in which OpenAI's client keeps the role of a system message."""


def kind_of_message(name: str, fields: Fields) -> str | None:
    """The kind of a message by its ``type``, else by the name of its class; None if it is not a message."""
    kind = fields.get("type")
    kind = kind if isinstance(kind, str) and kind else name.removesuffix("Chunk").removesuffix("Message").lower()
    kind = kind if kind in ROLES else plain_kind(kind)
    if kind == "chat":
        kind = str(fields.get("role"))
        return kind if kind in ROLES else "user"
    return kind if kind in ROLES and "content" in fields else None


def is_kind(kind: object) -> TypeGuard[str]:
    """Whether it is the type of a message that says something, or of a chunk of one. A removal says nothing."""
    return isinstance(kind, str) and plain_kind(kind) in _KINDS


_KINDS = ("human", "ai", "system", "tool", "function", "chat")


def plain_kind(kind: str) -> str:
    """The kind of a message, without the suffix of a chunk."""
    return kind.removesuffix("MessageChunk").lower()


def role_of(kind: str, fields: Fields) -> str:
    """The role of a message."""
    kind = plain_kind(kind)
    if kind == "chat":
        kind = str(fields.get("role"))
    role = ROLES.get(kind, "user")
    openai_role = shapes.record(fields.get("additional_kwargs")).get(OPENAI_ROLE)
    return "developer" if role == "system" and openai_role == "developer" else role


def speaker_of(role: str, fields: Fields) -> str | None:
    """The speaker's name; None if there is none, or if no transcript could hold it."""
    name = fields.get("name")
    # The name of a tool's message is its tool's, which the result block has.
    is_name = isinstance(name, str) and name and is_header_value(name)
    return str(name) if is_name and role in ("user", "assistant") else None


def reply_of(fields: Fields) -> dict[str, Any]:
    """What the provider reported beside an answer: its name, the model, why it stopped, and the usage."""
    metadata = shapes.record(fields.get("response_metadata"))
    facts = {
        "provider": metadata.get("model_provider") or PROVIDER,
        "model": metadata.get("model_name") or metadata.get("model"),
        "stop": metadata.get("finish_reason") or metadata.get("stop_reason"),
    }
    reply: dict[str, Any] = {key: value for key, value in facts.items() if isinstance(value, str)}
    usage = _usage(shapes.record(fields.get("usage_metadata")))
    return reply | ({"usage": usage} if usage else {})


def _usage(counts: Fields) -> dict[str, int]:
    """The counts of tokens. LangChain's input includes what came from a cache, which ``token_counts`` takes away."""
    inside = shapes.record(counts.get("input_token_details"))
    outside = shapes.record(counts.get("output_token_details"))
    usage = {
        "input_tokens": counts.get("input_tokens"), "output_tokens": counts.get("output_tokens"),
        "cache_creation_input_tokens": inside.get("cache_creation"),
        "cache_read_input_tokens": inside.get("cache_read"), "reasoning_tokens": outside.get("reasoning"),
    }  # fmt: skip
    return shapes.token_counts(usage)
