"""What a dialect says, as a value."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

PARTS = "parts"
"""Reasoning that is a part of the content, not a key of the message."""
DETAILS = "reasoning_details"
"""The key of a message under which some servers give all of its reasoning, signed or encrypted."""
STREAM_OPTIONS, STRICT, FORCED, NAMED = "stream_options", "strict", "tool_mode: any", "tool_mode: NAME"
"""What a dialect may refuse beside the common parameters."""


class Fact(Struct, frozen=True):
    """The source of a fact of a row: the page, the day of the page, and the fact."""

    page: str
    date: str
    says: str


class Dialect(Struct, frozen=True, kw_only=True):
    """How one server, or many of one kind, speak Chat Completions.

    ``hosts`` are names as they are, names behind a dot for all below it, or ``loopback:PORT``. ``reasoning`` is the key
    under which reasoning goes back, ``PARTS``, or None where it stays out. With ``fills`` every answer has the key,
    even where nothing was thought. ``tags`` are the names of tags at the beginning of the content that hold reasoning.
    ``details``: where a message has ``reasoning_details``, they go back instead. ``keys`` are the further keys of a
    message and of its calls that go back; None is all of them. ``customs``: whether it has what OpenAI
    alone has, tools that take text and ids of recordings.
    ``lists``: whether texts may be a list of parts. ``ids`` is how many letters and digits the id of a call has.
    ``places`` says where a parameter stands if that is not where OpenAI has it. ``refused`` and ``ignored`` give
    the reason: the first is an error before anything is sent, the second is left out, with a note.
    """

    title: str
    sources: tuple[Fact, ...]
    hosts: tuple[str, ...] = ()
    reasoning: str | None = None
    fills: bool = False
    tags: tuple[str, ...] = ()
    details: bool = False
    keys: tuple[str, ...] | None = None
    customs: bool = False
    lists: bool = True
    ids: int | None = None
    roles: Mapping[str, str] = {}
    places: Mapping[str, str] = {}
    refused: Mapping[str, str] = {}
    ignored: Mapping[str, str] = {}
