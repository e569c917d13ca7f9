"""A stored thread as a transcript: given back as it was imported, or flattened and converted.

A turn that was imported keeps the name of its format, the first and last one what stood around the messages (R15). A
thread of one format alone is that transcript again. Any other is brought into frames of OpenChatML 2.2 first: turns
from frames as they are, turns of another format converted, turns that a provider or a program said flattened (R14).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from headish.errors import InvalidArgument, Unrepresentable
from headish.transcripts.conversion import convert, into_frames
from headish.transcripts.drops import DROPPABLE as GIVEN_UP
from headish.transcripts.drops import give_up
from headish.transcripts.formats import known_format, write
from headish.transcripts.interchange.neutral import from_json
from headish.transcripts.openchatml.flatten import DROPPABLE as LEFT_OUT
from headish.transcripts.openchatml.flatten import flatten
from headish.transcripts.openchatml.forms import FORMS
from headish.transcripts.shared.transcript import UNREAD, Transcript
from headish.transcripts.views import for_completion, visible_text
from headish.values.blocks import Text
from headish.values.messages import ContextWindow, Kept, Message

DROPPABLE = tuple(sorted({*GIVEN_UP, *LEFT_OUT}))


def write_thread(thread: Sequence[Kept], format: str, *, drop: Collection[str] = (), completes: bool = False) -> str:
    """The text of a thread in a format; ``completes`` prepares it for the next sampling.

    Raises: Unrepresentable and its kinds, with the word for ``drop``; UnknownFormat; InvalidArgument.
    """
    target = known_format(format)
    transcript, source = read_thread(thread, drop)
    made, form = source is None, source or "2.2"
    given = give_up(transcript, _of(drop, GIVEN_UP))
    if completes:
        given = for_completion(given)
    converted = given if form == target else convert(given, form, target)
    has_header = target in FORMS and FORMS[target].has_header and "header" not in drop
    if made and has_header and converted.header is None:
        converted = replace(converted, header={"version": target})
    return write(converted, target)


def read_thread(thread: Sequence[Kept], drop: Collection[str] = ()) -> tuple[Transcript, str | None]:
    """A thread as a transcript, and the format that all of it was imported from.

    That is None for a thread that was made here, wholly or in part: its messages are frames of 2.2.
    Raises: Unrepresentable, InvalidArgument.
    """
    unknown = sorted(set(drop) - set(DROPPABLE))
    if unknown:
        raise InvalidArgument(f"nothing named {unknown[0]!r} can be dropped; known are {', '.join(DROPPABLE)}")
    _check_one(thread, drop)
    formats = {kept.system.get("format") for kept in thread}
    if len(formats) == 1 and None not in formats:
        return replace(_around(thread), messages=tuple(kept.message for kept in thread)), str(formats.pop())
    return _mixed(thread, _of(drop, LEFT_OUT)), None


def for_people(thread: Sequence[Kept]) -> list[Message]:
    """What an end user may see of a thread: messages of one text each."""
    seen = [(kept.message, visible_text(kept.message)) for kept in thread]
    return [Message(role=message.role, content=(Text(text),), turn=message.turn) for message, text in seen if text]


def _check_one(thread: Sequence[Kept], drop: Collection[str]) -> None:
    """Refuse what stood around an imported part and has no place in the middle of one transcript."""
    header = thread[0].system.get("header") if thread else None
    for kept in thread[1:]:
        if kept.system.get("header", header) != header and "header" not in drop:
            raise Unrepresentable("one transcript", "a second header", turn=kept.message.turn, drop="header")
    for kept in thread[:-1]:
        if "tail" in kept.system and "tail" not in drop:
            raise Unrepresentable("one transcript", UNREAD, turn=kept.message.turn, drop="tail")


def _around(thread: Sequence[Kept]) -> Transcript:
    """What stood around the messages where a thread was imported, without them."""
    around = {key: value for key, value in thread[0].system.items() if key in ("header", "header_raw", "bos", "eos")}
    around |= {key: value for key, value in thread[-1].system.items() if key in ("pending", "tail")}
    if "eos" in around and thread[-1].message.attributes.stop == "none":
        del around["eos"]
    return from_json({**around, "messages": []})


def _mixed(thread: Sequence[Kept], drop: Collection[str]) -> Transcript:
    """Frames of 2.2 of a thread that was made here or goes on here; the header it began with stays at its head."""
    messages = tuple(_as_frames(thread, drop))
    if not thread:
        return Transcript(messages=messages)
    around = _around(thread)
    header, raw = around.header, around.header_raw
    if header is not None and thread[0].system.get("format") != "2.2":
        header, raw = {**header, "version": "2.2"}, None
    return Transcript(messages=messages, header=header, header_raw=raw, pending=around.pending, tail=around.tail)


def _as_frames(thread: Sequence[Kept], drop: Collection[str]) -> Iterator[Message]:
    for format, run in groupby(thread, lambda kept: kept.system.get("format")):
        messages = [kept.message for kept in run]
        if format is None:
            yield from flatten(ContextWindow(tuple(messages), {}), drop)
        elif format in FORMS:
            yield from messages
        else:
            yield from into_frames(messages, "2.2")


def _of(drop: Collection[str], known: Collection[str]) -> set[str]:
    return set(drop) & set(known)
