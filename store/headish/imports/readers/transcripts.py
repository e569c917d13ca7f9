"""Read transcripts of any format as drafts, one turn per message, in bounded memory.

A file is read twice: first to check that all of it is a transcript, and for the digests that tell what is already
stored; then for the drafts of what is new. What surrounds the messages is kept with the first and the last turn (rule
R15, importing a transcript), so that an export gives the same bytes back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, BinaryIO

from msgspec import Struct

from headish.content.drafts import Draft, make_message_draft
from headish.content.hashes import digest_turn
from headish.errors import InvalidImport
from headish.imports.readers.api import API_READERS, read_api
from headish.transcripts import Transcript, to_json
from headish.transcripts.formats import open_parser
from headish.transcripts.heads import read_options
from headish.values.messages import Message

CHUNK_BYTES = 64 * 1024
FIRST, LAST = ("header", "header_raw", "bos", "eos"), ("pending", "tail")


class Outline(Struct, frozen=True):
    """The result of the first reading: the digests of all messages, and what each turn keeps beside its message."""

    format: str
    digests: Sequence[bytes]
    around: Transcript

    def system(self, index: int) -> dict[str, Any]:
        """Return headish's own keys of a turn."""
        if self.format in API_READERS:
            return {}
        keys = (*(FIRST if index == 0 else ()), *(LAST if index == len(self.digests) - 1 else ()))
        # Only the first and the last keep parts of the transcript, so all other turns do without ``to_json``.
        around = to_json(self.around) if keys else {}
        return {"format": self.format, **{key: around[key] for key in keys if key in around}}

    def draft(self, index: int, message: Message, limit_bytes: int) -> Draft:
        """Make the draft of the message at an index."""
        inherited = read_options(self.around.header) if index == 0 else None
        return make_message_draft(message, limit_bytes, system=self.system(index), inherited=inherited)


def outline(
    file: BinaryIO, name: str, format: str, limit_bytes: int, after: bytes | None = None, **settings: Any
) -> Outline:
    """Read a file to its end, keeping only a digest of each message.

    ``after`` is the digest of the turn that the first message continues.
    Raises: InvalidTranscript; InvalidImport if it holds no message; TooLarge.
    """
    digests: list[bytes] = [] if after is None else [after]
    reading = read_messages(file, format, name=name, **settings)
    while True:
        try:
            message = next(reading)
        except StopIteration as end:
            actual_format, around = end.value
            break
        # A digest does not cover ``system``, so it is not made here.
        draft = make_message_draft(message, limit_bytes, system={})
        digests.append(digest_turn(draft.said, digests[-1:]))
    digests = digests[0 if after is None else 1 :]
    if not digests:
        raise InvalidImport(name, None, "it is a transcript without messages")
    return Outline(actual_format, digests, around)


def drafts_from(file: BinaryIO, outlined: Outline, first: int, limit_bytes: int, **settings: Any) -> Iterator[Draft]:
    """Yield the drafts from an index on, of a file that was outlined."""
    for index, message in enumerate(read_messages(file, outlined.format, **settings)):
        if index >= first:
            yield outlined.draft(index, message, limit_bytes)


def read_messages(
    file: BinaryIO,
    format: str,
    *,
    name: str = "the input",
    partial: bool = False,
    progress: Callable[[int], None] | None = None,
    **settings: Any,
) -> Generator[Message, None, tuple[str, Transcript]]:
    """Yield the messages of a file one by one; returns the format that it really is, and what surrounds the
    messages."""
    if format in API_READERS:
        transcript, size_bytes = read_api(file, name, format)
        yield from transcript.messages
        if progress:
            progress(size_bytes)
        return format, Transcript()
    parser = open_parser(format, **settings)
    while chunk := file.read(CHUNK_BYTES):
        parser.feed(chunk)
        parser.take_events()
        yield from parser.take_messages()
        if progress:
            progress(len(chunk))
    parser.end_input()
    transcript = parser.finish(partial=partial)
    yield from transcript.messages
    return parser.format, Transcript(
        header=transcript.header, header_raw=transcript.header_raw, bos=transcript.bos, eos=transcript.eos,
        pending=transcript.pending, tail=transcript.tail,
    )  # fmt: skip
