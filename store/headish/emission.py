"""``emit``: one door to every outside form of a window, transcripts and provider requests alike."""

from __future__ import annotations

from typing import Any

from headish.errors import UnknownFormat
from headish.providers import PROVIDERS, prepare_request
from headish.transcripts.formats import FORMATS, is_format
from headish.transcripts.threads import write_thread
from headish.values.doors import TEXT, an, door
from headish.values.messages import ContextWindow, Kept


@door(window=an(ContextWindow), target=TEXT)
def emit(window: ContextWindow, target: str, **settings: Any) -> str | dict[str, Any]:
    """A window as a transcript (text) or as a provider's request body (plain JSON data).

    The messages are written from the model; ``Store.export`` gives an imported thread back as it was.

    ``settings`` of a transcript: ``drop``, the words for what the format cannot carry and may be given up; ``tools``,
    definitions as MCP lists them, written where the format has a place. Its header says what the window's options do.
    Of a request: ``model``, ``tools``, ``stream``, ``max_tokens``; ``headish.providers.prepare_request`` also gives
    what was repaired or left out.
    Raises: UnknownFormat; Unrepresentable and its kinds; InvalidArgument.
    """
    if target in PROVIDERS:
        return prepare_request(target, window, **settings).body
    if is_format(target):
        thread = [Kept(message, {}) for message in window.messages]
        return write_thread(thread, target, options=window.options, **settings)
    raise UnknownFormat(target, (*FORMATS, *PROVIDERS))
