"""A provider's answer as the draft of a turn: read whole, event by event, or from what its journal kept."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from typing import Any

import msgspec
from msgspec.structs import replace

from headish.content.drafts import Draft, make_message_draft
from headish.content.encoding import encode_payload
from headish.errors import CorruptRecord, InvalidArgument, InvalidReply, TooLarge, shown
from headish.providers.shared.values import Reply
from headish.providers.stream import Stream
from headish.rows.streams import StoredStream
from headish.store.answers.details import check_reply, trim_reply
from headish.store.answers.journal import About
from headish.values.messages import Message, Note


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
    checked = {} if about.schema is None else check_reply(about, reply)
    meta = reply.to_meta() | about.asked | checked
    try:
        return make_message_draft(message, limit_bytes, system={"reply": meta})
    except TooLarge as error:
        # Only the meta, which is limited under this name, can be trimmed without losing words of the answer.
        if error.what != "transcript":
            raise
        return make_message_draft(message, limit_bytes, system={"reply": trim_reply(meta)})


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
