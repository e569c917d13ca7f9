"""``emit`` writes a window in any outside form: as a transcript, or as the request of a provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headish.errors import UnknownFormat
from headish.providers import PROVIDERS, prepare_request
from headish.transcripts import threads
from headish.values.checks.doors import TEXT, an, door
from headish.values.messages import ContextWindow, with_plain_roles
from headish.values.results.threads import TranscriptMessage

Written = str | dict[str, Any]


@door(window=an(ContextWindow), target=TEXT, model=TEXT)
def emit(window: ContextWindow, target: str, **settings: Any) -> Written:
    """A window as a transcript (text), as the messages of an API (JSON text), or as a provider's request body (data).

    ``TARGETS`` holds every name. ``chat`` and ``responses`` are the messages alone; ``anthropic`` is the provider's
    request. Only ``Store.export`` gives an imported thread back as it was.

    ``settings`` of a transcript: ``drop``, the words for what the format cannot carry and may be given up; ``tools``,
    definitions as MCP lists them, written where the format has a place. Its header says what the window's options do.
    Of a request: ``model``, ``tools``, ``stream``, ``max_tokens``; ``headish.providers.prepare_request`` also gives
    what was repaired or left out.
    Raises: UnknownFormat; Unrepresentable and its kinds; InvalidArgument.
    """
    write = TARGETS.get(target)
    if write is None:
        raise UnknownFormat(target, tuple(TARGETS))
    return write(window, target, **settings)


def _write_thread(window: ContextWindow, target: str, **settings: Any) -> str:
    # Without keys of an import beside it, each message is written from the model.
    thread = [TranscriptMessage(message, {}) for message in with_plain_roles(window).messages]
    return threads.write_thread(thread, target, options=window.options, **settings)


def _write_request(window: ContextWindow, target: str, **settings: Any) -> dict[str, Any]:
    return prepare_request(target, window, **settings).body


TARGETS: dict[str, Callable[..., Written]] = {
    **dict.fromkeys(threads.TARGETS, _write_thread),
    **dict.fromkeys(PROVIDERS, _write_request),
}
"""Everything that a window can be written as. A name of both an API and a provider means the provider's request."""
