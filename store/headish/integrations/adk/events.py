"""Events of ADK as turns, and back: one turn for each event.

What is said is the turn's blocks, by way of the form ``gemini``. What else an event holds (its id, author, actions,
usage …) stands in ``meta.app["adk"]``. An event that does not come back so is one block of the provider ``adk``, whole.
"""

# The framework lies in an environment of its own.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from google.adk.events.event import Event
from msgspec.structs import replace

from headish.content import strictjson
from headish.content.drafts import Draft, make_draft, make_read_draft
from headish.content.encoding import decode_payload
from headish.content.forms.gemini import GEMINI
from headish.content.forms.parts import Losses
from headish.content.forms.reading import read_turn
from headish.content.forms.writing import write_turn
from headish.errors import HeadishError
from headish.integrations.shared.healing import NOTE, heal
from headish.values.blocks import Erased, Mark, Other, ProviderBlock, Tools
from headish.values.messages import Kept, Message

OWN = "adk"
"""The provider of a block that holds a whole event, and the key of ``meta.app`` under which the rest stands."""
LARGEST_BESIDE = 256 * 1024
_ROLES = {"model": "assistant", "user": "user"}
_DAY_SECONDS = 86_400
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def make_event_draft(event: Event, limit_bytes: int) -> Draft:
    """The draft of an event. Lone surrogates in it are replaced, and a note says so. Raises: TooLarge."""
    given, is_healed = heal(event.model_dump(mode="json", exclude_none=True))
    note = {"note": NOTE} if is_healed else {}
    options = _said_at(event.timestamp)
    try:
        draft = _draft_of_form(given, note, options, limit_bytes)
        if draft is not None and read_event(_kept(draft), draft.app) == given:
            return draft
    except (HeadishError, TypeError, ValueError, KeyError, RecursionError):
        pass  # it is kept whole
    return _draft_of_whole(given, note, options, limit_bytes)


def events_of(kept: Kept, app: bytes | None) -> list[Event]:
    """The event of a turn; of a turn of another origin one that says the same. None where it says nothing to ADK."""
    given = read_event(kept, app)
    return [] if given is None else [Event.model_validate(given)]


def read_event(kept: Kept, app: bytes | None) -> dict[str, Any] | None:
    """An event as plain data."""
    blocks = kept.message.content
    if len(blocks) == 1 and isinstance(blocks[0], ProviderBlock) and blocks[0].provider == OWN:
        data = blocks[0].data
        return dict(data["event"]) if "event" in data else json.loads(data["json"])
    beside = None if app is None else _decode(app).get(OWN, {}).get("event")
    sayable = tuple(block for block in blocks if not isinstance(block, Erased | Mark | Tools | Other))
    if not sayable:
        return dict(beside) if beside is not None and not blocks else None
    message = replace(kept.message, content=sayable)
    written, _ = write_turn(GEMINI, Kept(message, kept.system), Losses("gemini", GEMINI.provider))
    if not written:
        return None
    author = "user" if message.role == "user" else str(message.role)
    return {"content": written[0], **(beside if beside is not None else {"author": author})}


def _draft_of_form(
    given: Mapping[str, Any], note: Mapping[str, Any], options: Mapping[str, Any], limit_bytes: int
) -> Draft | None:
    rest = {key: value for key, value in given.items() if key != "content"}
    app = strictjson.encode({OWN: {"event": rest, **note}})
    if len(app) > LARGEST_BESIDE:
        return None
    if "content" not in given:
        role = "user" if given.get("author") == "user" else "assistant"
        return replace(make_draft([], {"role": role, **options}, limit_bytes), app=app)
    read = read_turn(given["content"], {"form": GEMINI.name})
    return None if read is None else replace(make_read_draft(read, options, limit_bytes), app=app)


def _draft_of_whole(
    given: Mapping[str, Any], note: Mapping[str, Any], options: Mapping[str, Any], limit_bytes: int
) -> Draft:
    try:
        strictjson.check(given, "an event")
        data: Any = {"event": given}
        if _decode(strictjson.encode(data))["event"] != given:
            data = {"json": json.dumps(given)}
    except (HeadishError, ValueError):
        data = {"json": json.dumps(given)}
    role = "user" if given.get("author") == "user" else "assistant"
    draft = make_draft([ProviderBlock(OWN, data)], {"role": role, **options}, limit_bytes)
    return replace(draft, app=strictjson.encode({OWN: note})) if note else draft


def _said_at(timestamp: float) -> dict[str, Any]:
    """When an event was said, where a turn can say so."""
    return {"said_at": int(timestamp * 1000)} if 0 < timestamp < time.time() + _DAY_SECONDS / 2 else {}


def _kept(draft: Draft) -> Kept:
    message = Message(role=draft.said.role, content=decode_payload(draft.payload))
    return Kept(message, {} if draft.system is None else _decode(draft.system))
