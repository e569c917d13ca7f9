"""The gateway's own answers, in the shape of the errors of the API that the client called.

So the client's SDK understands the status and shows the sentence. Sources: Anthropic's and OpenAI's error pages,
Google's ``google.rpc.Status``, ollama 0.6.3 ``_types.ResponseError``; read on 2026-11-25.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from headish.gateway.passing.upstreams import Shape

Cause = Literal[
    "unreachable", "unrecordable", "token", "key", "site", "host", "tries", "unknown", "socket", "expectation"
]


def write_refusal(cause: Cause, shape: Shape, message: str) -> tuple[int, bytes]:
    """Return the status and the JSON body of a refusal."""
    status, anthropic, code, google = _WORDS[cause]
    bodies: dict[Shape, Any] = {
        "anthropic": {"type": "error", "error": {"type": anthropic, "message": message}},
        "openai": {"error": {"message": message, "type": anthropic, "param": None, "code": code}},
        "gemini": {"error": {"code": status, "message": message, "status": google}},
        "ollama": {"error": message},
    }
    return status, msgspec.json.encode(bodies[shape])


_WORDS: dict[Cause, tuple[int, str, str, str]] = {
    "unreachable": (502, "api_error", "upstream_unreachable", "UNAVAILABLE"),
    "unrecordable": (503, "api_error", "not_recorded", "UNAVAILABLE"),
    "token": (401, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"),
    "key": (401, "authentication_error", "missing_api_key", "UNAUTHENTICATED"),
    "site": (403, "permission_error", "cross_site", "PERMISSION_DENIED"),
    "host": (421, "invalid_request_error", "unknown_host", "INVALID_ARGUMENT"),
    "tries": (429, "rate_limit_error", "too_many_tries", "RESOURCE_EXHAUSTED"),
    "unknown": (404, "not_found_error", "not_found", "NOT_FOUND"),
    "socket": (400, "invalid_request_error", "bad_websocket_request", "INVALID_ARGUMENT"),
    "expectation": (417, "invalid_request_error", "unknown_expectation", "INVALID_ARGUMENT"),
}
"""For each cause: the status, Anthropic's ``type`` (also OpenAI's ``type``), OpenAI's ``code``, Google's ``status``."""
