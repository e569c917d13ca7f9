"""A provider's answer as the draft of a turn: read whole, event by event, or from what its journal kept.

The turn also keeps as much of the provider's own report as fits, and whether the answer follows the schema that was
asked for. The answer itself is kept in any case.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from typing import Any

import msgspec
from msgspec.structs import replace

from headish.content import strictjson
from headish.content.drafts import Draft, make_message_draft
from headish.content.encoding import encode_payload
from headish.errors import (
    CorruptRecord,
    InvalidArgument,
    InvalidCall,
    InvalidContent,
    InvalidReply,
    TooLarge,
    shown,
)
from headish.providers.shared.values import Reply
from headish.providers.stream import Stream
from headish.rows.streams import StoredStream
from headish.store.answers.journal import About
from headish.values.blocks import join_texts
from headish.values.limits import MAPPING_LIMIT_BYTES
from headish.values.messages import Message, Note

_NOTE_BYTES = 300
"""The most bytes that the note about what was dropped can take."""
PROBLEM_LIMIT = 500
"""The most characters that are kept of a problem with a schema."""


def open_stream(about: About) -> Stream:
    """Make the reader of an answer."""
    seed = about.turns[0]
    return Stream(about.provider, model=about.model, tool_names=about.tool_names, seed=seed, dialect=about.dialect)


def read_response(about: About, response: bytes | str | Mapping[str, Any] | Iterable[Any]) -> Reply:
    """Read a reply from a whole response, from its text, or from the events of its stream. Raises: InvalidReply."""
    from headish.providers.events import read_events

    if isinstance(response, bytes | str):
        return _read_text(about, read_events(response))
    whole = isinstance(response, Mapping) or hasattr(response, "model_dump")
    if not whole and not isinstance(response, Iterable):
        raise InvalidArgument(f"an answer is a response, its text or its events, not {shown(response)}")
    stream = open_stream(about)
    reply = stream.read([response] if whole else response)
    if stream.is_empty:
        raise no_answer(about)
    return reply


def decode_stream(found: StoredStream, chunks: Iterable[bytes]) -> tuple[About, list[Any]]:
    """Decode a journal: what the answer belongs to, and its events up to the first damaged one.

    Raises: CorruptRecord if it is unknown what the answer belongs to.
    """
    try:
        about = msgspec.json.decode(found.about, type=About)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptRecord(f"the stream {found.id}", f"its journal does not decode ({error})") from None
    events: list[Any] = []
    # Events after a damaged one are dropped: nobody knows what is missing between them and those before.
    with suppress(ValueError):
        for line in (line for chunk in chunks for line in chunk.splitlines()):
            events.append(_decode_event(line))  # noqa: PERF401 - what came before the damage stays
    return about, events


def _decode_event(line: bytes) -> Any:
    """An event of a journal. Raises: ValueError if it is damaged."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        return json.loads(line)  # takes half of a surrogate pair, which msgspec refuses


def reply_draft(about: About, reply: Reply, limit_bytes: int) -> Draft:
    """Make the turn of a reply, with its meta. If the provider's details are too large, those that fit are kept, with a
    note.

    Raises: TooLarge for the content.
    """
    message = Message(role="assistant", content=reply.content)
    checked = {} if about.schema is None else _check_reply(about, reply)
    meta = reply.to_meta() | about.asked | checked
    try:
        return make_message_draft(message, limit_bytes, system={"reply": meta})
    except TooLarge as error:
        # Only the meta, which is limited under this name, can be trimmed without losing words of the answer.
        if error.what != "transcript":
            raise
        return make_message_draft(message, limit_bytes, system={"reply": _trim_reply(meta)})


def fitting_draft(about: About, reply: Reply, limit_bytes: int) -> Draft:
    """``reply_draft`` for an answer that exists nowhere else: if it is too large, keep the first blocks that a turn can
    hold."""
    try:
        return reply_draft(about, reply, limit_bytes)
    except TooLarge:
        sizes = list(accumulate(len(encode_payload((block,))) for block in reply.content))
        count = bisect_right(sizes, limit_bytes)
        note = Note(f"of the answer's {len(reply.content)} blocks the first {count} are kept: it is too large")
        notes = (*reply.notes, note)
        return reply_draft(
            about, replace(reply, content=reply.content[:count], incomplete=True, notes=notes), limit_bytes
        )


def _read_text(about: About, events: Iterator[Any]) -> Reply:
    """Read a reply from a text. A text that breaks off inside an event is kept up to there.

    Raises: InvalidReply if nothing in it is an answer of the provider.
    """
    stream, count = open_stream(about), 0
    try:
        for event in events:
            stream.feed(event)
            count += 1
    except InvalidReply as error:
        if not count:
            raise
        stream.fail(str(error))
    reply = stream.finish()
    # Nothing but events of unknown kinds: JSON of something else, not an answer of this provider.
    if not count or (reply.details.keys() == {"unknown_events"} and not (reply.content or reply.id or reply.error)):
        raise no_answer(about)
    return reply


def no_answer(about: About) -> InvalidReply:
    """The error for a response without any part of an answer."""
    return InvalidReply("a reply", f"nothing of it is an answer of {about.provider}", 1)


def _trim_reply(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The meta of a reply with as many of its details as fit, in order, and a note of how much was dropped.

    A list keeps its first items, an object the keys that fit; a text is kept whole or not at all. Without details the
    meta always fits: everything else in it is short.
    """
    whole = kept.get("details", {})
    brief = {key: value for key, value in kept.items() if key != "details"}
    details = _fit(whole, MAPPING_LIMIT_BYTES - _size({"reply": brief}) - _NOTE_BYTES)
    size = _size(whole)
    note = f"{size - _size(details):,} of the {size:,} bytes that the provider said beside the answer are not kept"
    notes = [*kept.get("notes", ()), f"{note}: a turn holds no more"]
    return brief | ({"details": details} if details else {}) | {"notes": notes}


def _fit(value: Mapping[str, Any], limit_bytes: int) -> dict[str, Any]:
    fitting: dict[str, Any] = {}
    room = limit_bytes - len("{}")
    for key, each in value.items():
        key_size = _size(key) + len(":,")
        part = each if key_size + _size(each) <= room else _part(each, room - key_size)
        if part is not None:
            fitting[key] = part
            room -= key_size + _size(part)
    return fitting


def _part(value: Any, limit_bytes: int) -> Any:
    """As much of a value as fits; None if nothing does."""
    if isinstance(value, Mapping):
        return _fit(value, limit_bytes) or None
    if not isinstance(value, list):
        return None
    items: list[Any] = []
    room = limit_bytes - len("[]")
    for item in value:
        room -= _size(item) + len(",")
        if room < 0:
            break
        items.append(item)
    return items or None


def _size(value: Any) -> int:
    return len(strictjson.encode(value))


def _check_reply(about: About, reply: Reply) -> dict[str, Any]:
    """Check an answer against its schema, and return what its turn keeps: nothing if it follows the schema,
    ``{schema_error}`` if it does not, ``{schema_unchecked}`` with the reason if it cannot be checked.

    An answer that calls a tool, was cut off or refused is not checked.
    """
    if about.schema is None or reply.incomplete or reply.stop_reason not in ("end_turn", "stop_sequence"):
        return {}
    try:
        problem = _find_problem(about.schema, join_texts(reply.content))
    except InvalidArgument as error:  # the validator is not installed, or this is not a schema
        return {"schema_unchecked": str(error)[:PROBLEM_LIMIT]}
    except RecursionError:
        return {"schema_unchecked": "the answer nests too deep for its schema"}
    return {} if problem is None else {"schema_error": problem[:PROBLEM_LIMIT]}


def _find_problem(schema: dict[str, Any], text: str) -> str | None:
    """Why a text does not follow a schema, in one sentence; None if it does. References of the schema are not fetched.

    Raises: InvalidArgument if it is not a schema, or without the extra ``tools``; RecursionError.
    """
    from headish.tools.schemas import check_arguments, check_schema  # late: they bring the validator

    try:
        value = strictjson.decode(text, "the answer")
    except InvalidContent as error:
        return f"it is not JSON: {error.reason}"
    check_schema(schema)
    try:
        check_arguments("the answer", value, schema)
    except InvalidCall as error:
        return error.reason
    return None
