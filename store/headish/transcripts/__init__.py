"""Transcripts: threads as text in outside formats. ``encode`` writes one; each format is a codec in ``CODECS``."""

from __future__ import annotations

from collections.abc import Callable, Collection

from headish.errors import UnknownFormat
from headish.model import ContextWindow
from headish.transcripts.openchatml import encode_openchatml


def encode(window: ContextWindow, format: str = "2.2", *, drop: Collection[str] = ()) -> str:
    """A context window as a transcript. ``openchatml`` is OpenChatML 2.2.

    Deterministic: the same thread gives the same bytes on every machine, and appending to it leaves the frames before
    as they were.
    Raises: UnknownFormat; Unrepresentable and HeaderValue for what the format cannot carry.
    """
    codec = CODECS.get(format)
    if codec is None:
        raise UnknownFormat(format, tuple(sorted(CODECS)))
    return codec(window, drop=drop)


CODECS: dict[str, Callable[..., str]] = {"2.2": encode_openchatml, "openchatml": encode_openchatml}
