"""What a model said aloud: the recording is a document, and its transcript a text before it.

So people read and search the words, and every other provider gets them. In ``opaque``, the recording keeps its maker's
name for it (``audio``: the id and when it expires), and the text that it is a transcript. The API that made the
recording gets the id alone until it expires.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from headish.values.blocks import Base64Source, ContentBlock, Document, Text

AUDIO, TRANSCRIPT = "audio", "transcript"
_BEGINNINGS = {b"RIFF": "audio/wav", b"ID3": "audio/mpeg", b"fLaC": "audio/flac", b"OggS": "audio/ogg"}
_FRAME = (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")
"""How a frame of MP3 begins. A file without an ID3 tag begins with one."""
RAW = ("audio/l16", "audio/pcm")
"""Samples without a header: pieces of them in a row are one recording."""


def read_spoken(audio: Any, provider: str) -> list[ContentBlock]:
    """The transcript and the recording in a message's ``audio``; empty if it has no recording."""
    if not isinstance(audio, Mapping) or not isinstance(audio.get("data"), str):
        return []
    recording = recording_of([audio["data"]], audio, provider)
    words = audio.get(TRANSCRIPT)
    transcript = transcript_of(words, provider) if isinstance(words, str) and words else None
    return [] if recording is None else [each for each in (transcript, recording) if each is not None]


def transcript_of(words: str, provider: str) -> Text:
    """The words of a recording as a text block."""
    return Text(words, opaque={provider: {TRANSCRIPT: True}})


def recording_of(pieces: Sequence[str], said: Mapping[str, Any], provider: str) -> Document | None:
    """A recording from its data, in pieces; ``said`` is what its maker says of it. None if there is no data."""
    data = join_data(pieces)
    if not data:
        return None
    beside = {key: value for key, value in said.items() if key not in ("data", TRANSCRIPT)}
    # A transcript that is not text cannot become a text block: it stays with the recording.
    beside |= {} if isinstance(said.get(TRANSCRIPT), str | None) else {TRANSCRIPT: said[TRANSCRIPT]}
    return Document(Base64Source(_type_of(data), data), opaque={provider: {AUDIO: beside}})


def write_spoken(recording: Document, words: str | None, beside: Mapping[str, Any]) -> dict[str, Any]:
    """Write a message's ``audio`` as it was read."""
    data = recording.source.data if isinstance(recording.source, Base64Source) else ""
    return {**beside, "data": data, **({} if words is None else {TRANSCRIPT: words})}


def said_aloud(block: ContentBlock, provider: str) -> Mapping[str, Any] | None:
    """The keys that a provider keeps beside a recording of its own; None if the block is not one."""
    own = block.opaque.get(provider) if isinstance(block, Document) else None
    audio = own.get(AUDIO) if isinstance(own, Mapping) else None
    return audio if isinstance(audio, Mapping) else None


def is_transcript(block: ContentBlock, provider: str) -> bool:
    """Whether a text is the transcript of a recording."""
    own = block.opaque.get(provider) if isinstance(block, Text) else None
    return isinstance(own, Mapping) and own.get(TRANSCRIPT) is True


def join_data(pieces: Sequence[str]) -> str:
    """Join pieces of base64, whether each is padded by itself or one text was cut. Empty if they are not base64."""
    try:
        return (
            pieces[0] if len(pieces) == 1 and _bytes(pieces[0]) else b64encode(b"".join(map(_bytes, pieces))).decode()
        )
    except ValueError:
        pass  # a piece ends inside a group of four letters: only all of them together decode
    whole = "".join(pieces)
    try:
        return whole if _bytes(whole) else ""
    except ValueError:
        return ""


def _bytes(piece: str) -> bytes:
    return b64decode(piece, validate=True)


def _type_of(data: str) -> str:
    head = b64decode(data[:16])
    media_type = next((kind for beginning, kind in _BEGINNINGS.items() if head.startswith(beginning)), None)
    return media_type or ("audio/mpeg" if head.startswith(_FRAME) else "audio/pcm")
