"""Requests to all providers: prepared, or checked beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from headish.content import strictjson
from headish.content.encoding import read_content
from headish.errors import InvalidArgument
from headish.providers.dialects.choosing import check_dialect
from headish.providers.registry import find_provider
from headish.providers.shared.copies import owned, prove
from headish.providers.shared.request import RequestWriter
from headish.providers.shared.values import Finding, Request, Settings
from headish.values.caches import plausible_cache
from headish.values.checks.doors import TEXT, door
from headish.values.messages import ContextWindow, Message, with_plain_roles

Window = ContextWindow | Mapping[str, Any]
"""A context window, or its JSON as the schema reference has it: ``{messages: [{role, content, cache?}], options}``."""
Tools = Sequence[Mapping[str, Any]] | None


@door(dialect=TEXT)
def prepare_request(
    provider: str, window: Window, *, tools: Tools = None, model: str | None = None, **settings: Any
) -> Request:
    """The request that asks a provider to continue a window. ``settings`` are those of ``values.Settings``.

    Deterministic: the same window gives the same bytes on every machine, and an added message leaves the content blocks
    before it as they were, except for the breaks that docs/reference/emitting.md lists.
    Raises: UnknownFormat; Unsupported if a part can neither be sent nor be left out; InvalidArgument, InvalidContent.
    """
    writer = _writer(provider, window, {"tools": tools, "model": model, **settings})
    request = writer.write()
    if writer.refusals:
        raise writer.refusals[0]
    return replace(request, body=_own(request.body, writer.list_name))


@door(dialect=TEXT, model=TEXT)
def lint(provider: str, window: Window, tools: Tools = None, **settings: Any) -> list[Finding]:
    """List everything that a request would refuse, then all that it would repair or leave out. An empty list means that
    the thread goes out as it is stored.

    Raises: as ``prepare_request``, except Unsupported.
    """
    writer = _writer(provider, window, {"tools": tools, **settings})
    notes = writer.write().notes
    refused = [Finding("refused", error.what, error.turn) for error in writer.refusals]
    return refused + [Finding("note", note.what, note.turn) for note in notes]


def rewritten_names(provider: str, options: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The rewritten names of a thread's tools: the name that goes out to the thread's own name.

    A rewritten name depends on the name alone, so this needs no message. It ignores refusals.
    """
    return dict(_writer(provider, ContextWindow((), dict(options)), {"tools": tools}).write().tool_names)


def _writer(provider: str, window: Window, settings: Mapping[str, Any]) -> RequestWriter:
    found = find_provider(provider)
    # By hand: msgspec would pass over a setting that is misspelled.
    unknown = sorted(settings.keys() - set(Settings.__struct_fields__))
    if unknown:
        names = ", ".join(Settings.__struct_fields__)
        raise InvalidArgument(f"unknown setting {unknown[0]!r}: a request has {names}")
    set_values = {key: value for key, value in settings.items() if value is not None}
    try:
        checked = msgspec.convert(set_values, Settings, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
        raise InvalidArgument(f"a setting of the request cannot be taken: {error}") from None
    if checked.dialect is not None:
        check_dialect(provider, checked.dialect)
    return found.writer(as_window(window), checked)


def as_window(window: Window) -> ContextWindow:
    """A window from its JSON. Raises: InvalidArgument, InvalidContent if it is not a window."""
    if isinstance(window, ContextWindow):
        return with_plain_roles(window)
    messages = window.get("messages") if isinstance(window, Mapping) else None
    options = window.get("options") or {} if isinstance(window, Mapping) else None
    if not isinstance(messages, list | tuple) or not isinstance(options, Mapping):
        raise InvalidArgument("a window is a ContextWindow, or a mapping of messages and options")
    strictjson.check(options, "options")
    return with_plain_roles(ContextWindow(tuple(map(_as_message, messages)), dict(options)))


def _as_message(message: Any) -> Message:
    if isinstance(message, Message):
        return message
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str) or "content" not in message:
        raise InvalidArgument("a message of a window is a mapping of role and content")
    return Message(
        role=message["role"], content=read_content(message["content"]), cache=plausible_cache(message.get("cache"))
    )


def _own(body: dict[str, Any], list_name: str) -> dict[str, Any]:
    """A body that shares nothing with the window and the settings. The values in its messages are copies already."""
    prove(body)  # finds texts with lone surrogates, which no writer looks for
    copied = owned({key: value for key, value in body.items() if key != list_name})
    return {key: value if key == list_name else copied[key] for key, value in body.items()}
