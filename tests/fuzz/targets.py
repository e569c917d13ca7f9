"""What a fuzzer feeds: one function per parser, which takes any bytes.

A target ends in silence, or raises something else than a ``HeadishError``: a crash. Several hold a rule as well:
pieces are read as the whole is, and what was read comes back after it was written.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from fuzz.framed import FRAMED
from headish import Store
from headish.content import strictjson
from headish.content.forms.reading import read_list
from headish.content.frames import read_frames
from headish.content.searching.questions import as_match, parse_question
from headish.errors import HeadishError, InvalidReply, Unrepresentable
from headish.imports.registry import list_formats
from headish.providers.events.decoder import EventReader, read_events
from headish.providers.registry import PROVIDERS
from headish.providers.stream import Stream
from headish.store.backups.frames import BACKUP
from headish.transcripts import emit, parse
from headish.transcripts.formats import FORMATS
from headish.values.grammar import parse_headish
from headish.values.names import check_name
from headish.values.times import read_moment

Target = Callable[[bytes], None]


def read_transcript(format: str, data: bytes) -> None:
    """A transcript that was read is written, and read again as the same."""
    read = parse(data, format)
    with suppress(Unrepresentable):
        written = emit(read, format)
        assert emit(parse(written, format), format) == written


def read_event_stream(data: bytes) -> None:
    """Cut anywhere, the same events come before the same error."""
    middle = len(data) // 2
    assert _events_of([data]) == _events_of([data[:middle], data[middle:]])


def _events_of(pieces: list[bytes]) -> tuple[list[dict[str, Any]], str | None]:
    reader, found = EventReader("a reply"), []
    try:
        for piece in pieces:
            found += reader.feed(piece)
        found += reader.finish()
    except InvalidReply as error:
        return found, str(error)
    return found, str(reader.failure) if reader.failure else None


def read_reply(provider: str, data: bytes) -> None:
    """Whatever a provider sends, its events become a reply; only what is no stream of events at all is refused."""
    stream = Stream(provider)
    with suppress(InvalidReply):
        for event in read_events(data):
            stream.feed(event)
    strictjson.encode(strictjson.plain(stream.finish().content))


def read_json(data: bytes) -> None:
    """JSON that was taken comes back the same."""
    value = strictjson.decode(data, "the input")
    assert strictjson.decode(strictjson.encode(value), "the input") == value


def read_messages(data: bytes) -> None:
    """A list of messages in any client's form."""
    value = strictjson.decode(data, "the input")
    read_list(value if isinstance(value, list) else [value])


def read_words(data: bytes) -> None:
    """What people type: a headish, a name, a time, a question."""
    text = data.decode(errors="surrogateescape")
    for read in (parse_headish, check_name, lambda given: read_moment(given, "since")):
        with suppress(HeadishError):
            read(text)
    as_match(parse_question(text), ["c"])


def read_backup(data: bytes) -> None:
    """The frames of a backup, each checked before it is unpacked."""
    for _ in read_frames(io.BytesIO(data), "the input", BACKUP):
        pass


def import_format(format: str, data: bytes) -> None:
    """A file of another program: nothing of it is stored, all of it is read and mapped."""
    _store().import_file(io.BytesIO(data), format, dry_run=True)


@cache
def _store() -> Store:
    return Store.open(":memory:")


def _alone(function: Callable[..., None], *first: str) -> Target:
    def target(data: bytes) -> None:
        with suppress(HeadishError):
            function(*first, data)

    return target


TARGETS: dict[str, Target] = {
    "events": _alone(read_event_stream),
    "json": _alone(read_json),
    "messages": _alone(read_messages),
    "words": _alone(read_words),
    "backup": _alone(read_backup),
    **{name: _alone(target) for name, target in FRAMED.items()},
    **{f"transcript-{format}": _alone(read_transcript, format) for format in FORMATS},
    **{f"reply-{provider}": _alone(read_reply, provider) for provider in PROVIDERS},
    **{f"import-{format}": _alone(import_format, format) for format in list_formats()},
}
"""By name; ``make fuzz`` runs each."""
