"""Providers: a context window as the request body that a provider accepts.

``prepare_request`` writes one; each provider is a function in ``PROVIDERS``. A request repairs what a provider would
refuse and notes each repair; the store keeps what was said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from headish.errors import InvalidArgument, InvalidContent, UnknownFormat
from headish.model import ContextWindow
from headish.providers.anthropic import prepare_anthropic
from headish.providers.values import Emission as Emission
from headish.providers.values import Note as Note
from headish.providers.values import Settings


def prepare_request(provider: str, window: ContextWindow, **settings: Any) -> Emission:
    """The request that asks a provider to continue a window. ``settings`` are those of ``values.Settings``.

    Deterministic: the same window gives the same bytes on every machine, and a message that is added leaves the content
    blocks before it as they were. Four things break that on purpose: the place of a cache mark, an interrupted call
    whose result came after all, a system message inside the conversation, and the tools.
    Raises: UnknownFormat; Unsupported for what can neither be sent nor be left out; InvalidArgument.
    """
    prepare = PROVIDERS.get(provider)
    if prepare is None:
        raise UnknownFormat(provider, tuple(sorted(PROVIDERS)))
    unknown = sorted(settings.keys() - set(Settings.__struct_fields__))
    if unknown:
        known = ", ".join(Settings.__struct_fields__)
        raise InvalidArgument(f"unknown setting {unknown[0]!r}: a request has {known}")
    emission = prepare(window, Settings(**{key: value for key, value in settings.items() if value is not None}))
    return replace(emission, body=_own(emission.body))


def _own(body: dict[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing with the window, and proof that the body is JSON."""
    try:
        copied: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(body))
    except UnicodeEncodeError:
        raise InvalidContent("a request", "a lone surrogate has no UTF-8") from None
    except (TypeError, RecursionError) as error:
        raise InvalidContent("a request", str(error)) from None
    return copied


PROVIDERS: dict[str, Callable[[ContextWindow, Settings], Emission]] = {"anthropic": prepare_anthropic}
