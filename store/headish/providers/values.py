"""What a prepared request is, and what may be asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct


class Note(Struct, frozen=True):
    """One thing that was repaired, rewritten or left out; ``turn`` is where, or None for an option."""

    what: str
    turn: str | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """What the caller of a request decides, beside the window.

    ``tools`` are definitions as MCP lists them (``name``, ``description``, ``inputSchema``). ``max_tokens`` and
    ``model`` win over the window's ``params``.
    """

    model: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    stream: bool = True
    max_tokens: int | None = None


class Emission(Struct, frozen=True):
    """A provider's request: its body as plain JSON data, and all that was not sent as it is stored.

    ``tool_names`` maps the names that had to be rewritten back to the thread's own.
    """

    provider: str
    model: str | None
    body: dict[str, Any]
    notes: tuple[Note, ...]
    tool_names: dict[str, str] = {}
