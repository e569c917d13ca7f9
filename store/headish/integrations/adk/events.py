"""Events of ADK as turns, and back: one turn for each event.

The content of an event becomes the turn's blocks, by the form ``gemini``. ``meta.app["adk"]`` has the rest of the event
(its id, author, actions, usage …). An event that would not come back equal is kept whole, as one block of the provider
``adk``.
"""

# The framework is installed in an environment of its own, which the type checker does not see.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from google.adk.events.event import Event
from msgspec.structs import replace
from pydantic_core import to_jsonable_python

from headish.adapters.healing import NOTE, heal
from headish.adapters.messages import (
    Draft,
    ProviderBlock,
    TranscriptMessage,
    check_json,
    decode_json,
    encode_json,
    is_sayable,
    make_draft,
    make_read_draft,
    message_of_draft,
    read_form,
    with_app,
    with_reply,
    write_form,
)
from headish.errors import HeadishError

OWN = "adk"
"""The provider of a block with a whole event, and the adapter's key in ``meta.app``."""
LARGEST_BESIDE = 256 * 1024
"""The largest rest of an event in ``meta.app``, as JSON. A larger event is kept whole in the payload."""
_DAY_SECONDS = 86_400


def make_event_draft(event: Event, limit_bytes: int) -> Draft:
    """Make the draft of an event. Lone surrogates in it are replaced, and a note says so. Raises: TooLarge."""
    plain, is_healed = dump_event(event, exclude_none=True)
    note = {"note": NOTE} if is_healed else {}
    options = _said_at(event.timestamp)
    try:
        draft = _draft_of_form(plain, note, options, limit_bytes)
        if draft is not None and read_event(message_of_draft(draft), draft.app) == plain:
            return _with_reply(draft, plain)
    except (HeadishError, TypeError, ValueError, KeyError, RecursionError):
        pass  # it is kept whole
    return _with_reply(_draft_of_whole(plain, note, options, limit_bytes), plain)


def _with_reply(draft: Draft, given: Mapping[str, Any]) -> Draft:
    """Return the draft with the facts of a model's answer: the model, its stop reason, and the usage."""
    facts = {"model": given.get("model_version"), "stop": given.get("finish_reason")}
    replied: dict[str, Any] = {key: value for key, value in facts.items() if isinstance(value, str)}
    counts = given.get("usage_metadata")
    usage = _usage_of(counts) if isinstance(counts, Mapping) else {}
    replied |= {"usage": usage} if usage else {}
    return with_reply(draft, {"provider": OWN, **replied}) if replied else draft


def _usage_of(counts: Mapping[str, Any]) -> dict[str, int]:
    """Gemini's counts as headish's. Gemini counts cached input in the prompt, and leaves thoughts out of candidates."""
    numbers = {key: value for key, value in counts.items() if type(value) is int and value >= 0}
    cached, thoughts = numbers.get("cached_content_token_count", 0), numbers.get("thoughts_token_count", 0)
    usage: dict[str, int] = {}
    if "prompt_token_count" in numbers:
        input_tokens = numbers["prompt_token_count"] + numbers.get("tool_use_prompt_token_count", 0)
        usage |= {"input_tokens": max(0, input_tokens - cached), "cache_read_input_tokens": cached}
    if "candidates_token_count" in numbers or thoughts:
        usage |= {"output_tokens": numbers.get("candidates_token_count", 0) + thoughts, "reasoning_tokens": thoughts}
    return usage


def dump_event(event: Event, *, exclude_none: bool = False) -> tuple[dict[str, Any], bool]:
    """Return an event as plain data without lone surrogates, and whether it had any."""
    try:
        return heal(event.model_dump(mode="json", exclude_none=exclude_none))
    except ValueError:  # a lone surrogate in a key, which Pydantic's JSON mode refuses
        mended, _ = heal(event.model_dump(exclude_none=exclude_none))
        return to_jsonable_python(mended, serialize_unknown=True), True


def events_of(kept: TranscriptMessage, app: bytes | None) -> list[Event]:
    """The event of a turn, or for a turn of another origin an event that says the same. Empty if ADK has no words for
    it."""
    plain = read_event(kept, app)
    return [] if plain is None else [Event.model_validate(plain)]


def read_event(kept: TranscriptMessage, app: bytes | None) -> dict[str, Any] | None:
    """The event of a turn as plain data; None if ADK has no words for it."""
    blocks = kept.message.content
    if len(blocks) == 1 and isinstance(blocks[0], ProviderBlock) and blocks[0].provider == OWN:
        data = blocks[0].data
        return dict(data["event"]) if "event" in data else json.loads(data["json"])
    beside = decode_json(app).get(OWN, {}).get("event")
    sayable = tuple(filter(is_sayable, blocks))
    if not sayable:
        return dict(beside) if beside is not None and not blocks else None
    message = replace(kept.message, content=sayable)
    contents = write_form("gemini", TranscriptMessage(message, kept.system))
    if not contents:
        return None
    author = "user" if message.role == "user" else str(message.role)
    return {"content": contents[0], **(beside if beside is not None else {"author": author})}


def _draft_of_form(
    given: Mapping[str, Any], note: Mapping[str, Any], options: Mapping[str, Any], limit_bytes: int
) -> Draft | None:
    rest = {key: value for key, value in given.items() if key != "content"}
    app = {OWN: {"event": rest, **note}}
    if len(encode_json(app)) > LARGEST_BESIDE:
        return None
    if "content" not in given:
        role = "user" if given.get("author") == "user" else "assistant"
        return with_app(make_draft([], {"role": role, **options}, limit_bytes), app)
    form_read = read_form("gemini", given["content"])
    return None if form_read is None else with_app(make_read_draft(form_read, options, limit_bytes), app)


def _draft_of_whole(
    given: Mapping[str, Any], note: Mapping[str, Any], options: Mapping[str, Any], limit_bytes: int
) -> Draft:
    try:
        check_json(given, "an event")
        data: Any = {"event": given}
        if decode_json(encode_json(data))["event"] != given:
            data = {"json": json.dumps(given)}
    except (HeadishError, ValueError):
        data = {"json": json.dumps(given)}
    role = "user" if given.get("author") == "user" else "assistant"
    draft = make_draft([ProviderBlock(OWN, data)], {"role": role, **options}, limit_bytes)
    return with_app(draft, {OWN: note}) if note else draft


def _said_at(timestamp: float) -> dict[str, Any]:
    """The option ``said_at`` for an event's time, if a turn can have it."""
    # headish refuses a time before 1970, or more than a day ahead: half a day leaves room for other clocks.
    return {"said_at": int(timestamp * 1000)} if 0 < timestamp < time.time() + _DAY_SECONDS / 2 else {}
