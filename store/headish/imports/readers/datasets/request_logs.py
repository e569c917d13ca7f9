"""Read a call of Chat Completions from a log: its request and its answer.

Supported are lines of OpenAI's batches (``{custom_id, body}`` and ``{custom_id, response: {body}}``), and of logs that
keep both (``{request, response}``, or the body of a request with a ``response`` or ``choices`` beside it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headish.imports.readers.shared import make
from headish.values import shapes

LOG = "openai-log"
Row = Mapping[str, Any]


class RowThread(NamedTuple):
    """The messages of a branch, and what a provider said beside the last one; ``time`` is when, as the log has
    it."""

    messages: Sequence[Any]
    reply: Mapping[str, Any] | None = None
    time: object = None


def read_logged(row: Row) -> list[RowThread]:
    """Return what a call asked, with each of its answers in order; nothing for a row that is not a call."""
    asked, response = _asked_of(row), _response_of(row) or {}
    listed = shapes.listed(response.get("choices"))
    choices = [each for each in listed if isinstance(shapes.record(each).get("message"), Mapping)]
    if asked is None and not choices:
        return []
    return [
        RowThread([*(asked or []), each["message"]], _reply(response, each, counts=place == 0), response.get("created"))
        for place, each in enumerate(choices)
    ] or [RowThread(asked or [])]


def _asked_of(row: Row) -> list[Any] | None:
    """Return the messages of a call; None for a row that is not a call."""
    for key in ("body", "request"):
        held = _body_of(row.get(key))
        if held is not None and isinstance(held.get("messages"), list):
            return list(held["messages"])
    if isinstance(row.get("messages"), list) and _response_of(row) is not None:
        return list(row["messages"])
    return None


def _body_of(held: Any) -> Row | None:
    """Return the body of a request or a response, which may be inside it under that name."""
    if not isinstance(held, Mapping):
        return None
    inner = held.get("body")
    return inner if isinstance(inner, Mapping) else held


def _response_of(row: Row) -> Row | None:
    held = _body_of(row.get("response"))
    response = held if held is not None else row
    return response if isinstance(response.get("choices"), list) else None


def _reply(response: Row, choice: Row, *, counts: bool) -> dict[str, Any]:
    """Return what a provider said of a choice. The token counts are those of all choices together, so one has them."""
    model, id, stop = response.get("model"), response.get("id"), choice.get("finish_reason")
    usage = _usage(response.get("usage")) if counts else {}
    return make.reply("openai", usage, model=model, stop_reason=stop, response_id=id)


def _usage(usage: Any) -> dict[str, int]:
    if not isinstance(usage, Mapping):
        return {}
    input_tokens, output_tokens = usage.get("prompt_tokens"), usage.get("completion_tokens")
    cached, thought = _detail(usage, "prompt", "cached_tokens"), _detail(usage, "completion", "reasoning_tokens")
    # OpenAI counts cached tokens as input as well; headish's counts are disjoint.
    counts = {"input_tokens": max(0, input_tokens - (cached or 0))} if type(input_tokens) is int else {}
    counts |= {"output_tokens": output_tokens} if type(output_tokens) is int else {}
    counts |= {"cache_read_input_tokens": cached} if cached else {}
    return counts | ({"reasoning_tokens": thought} if thought else {})


def _detail(usage: Row, side: str, name: str) -> int | None:
    count = shapes.record(usage.get(f"{side}_tokens_details")).get(name)
    return count if type(count) is int else None
