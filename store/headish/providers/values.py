"""What a prepared request is."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Note(Struct, frozen=True):
    """One thing that was repaired, rewritten or left out; ``turn`` is where, or None for an option."""

    what: str
    turn: str | None = None


class Emission(Struct, frozen=True):
    """A provider's request: its body as plain JSON data, and all that was not sent as it is stored."""

    provider: str
    model: str | None
    body: dict[str, Any]
    notes: tuple[Note, ...]
