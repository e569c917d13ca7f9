"""``emit``: one door to every outside form of a window, transcripts and provider requests alike."""

from __future__ import annotations

from typing import Any

from headish.errors import UnknownFormat
from headish.model import ContextWindow
from headish.providers import PROVIDERS, prepare_request
from headish.transcripts import CODECS, encode


def emit(window: ContextWindow, target: str, **settings: Any) -> str | dict[str, Any]:
    """A window as a transcript (text) or as a provider's request body (plain JSON data).

    ``settings`` of a transcript: ``drop``, the words for what the format cannot carry and may be given up. Of a
    request: ``model``, ``tools``, ``stream``, ``max_tokens``; ``headish.providers.prepare_request`` also gives what
    was repaired or left out.
    Raises: UnknownFormat; Unrepresentable and its kinds; InvalidArgument.
    """
    if target in PROVIDERS:
        return prepare_request(target, window, **settings).body
    if target in CODECS:
        return encode(window, target, **settings)
    raise UnknownFormat(target, tuple(sorted({*CODECS, *PROVIDERS})))
