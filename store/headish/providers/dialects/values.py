"""A dialect as a value."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

PARTS = "parts"
"""The value of ``reasoning`` if it goes back as a part of the content, not as a key of the message."""
DETAILS = "reasoning_details"
"""The key of a message under which some servers give all of its reasoning, signed or encrypted."""
REASONING = ("reasoning", "reasoning_content")
"""Keys of a message whose text is reasoning."""
SEALED = (DETAILS, "thinking_blocks", "provider_specific_fields", "extra_content")
"""Keys of a message or a call under which servers give signed or encrypted reasoning, which is for them alone."""
THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
"""Types of parts of the content that are reasoning."""
STREAM_OPTIONS, STRICT, FORCED, NAMED = "stream_options", "strict", "tool_mode: any", "tool_mode: NAME"
"""Features that a dialect may refuse or ignore, beside the common parameters."""


class Fact(Struct, frozen=True):
    """The source of a fact of a row: the page, the date of the page, and the fact."""

    page: str
    date: str
    says: str


class Dialect(Struct, frozen=True, kw_only=True):
    """The way in which one server, or all servers of one kind, speak Chat Completions.

    ``hosts`` are whole names, names with a leading dot for all hosts below them, or ``loopback:PORT``. ``reasoning`` is
    the key under which reasoning goes back, ``PARTS``, or None to leave it out. With ``fills`` every answer has that
    key, even without any reasoning. ``tags`` name tags that hold reasoning at the beginning of the content. With
    ``details``, the ``reasoning_details`` of a message go back instead, if it has any; ``format`` is how the ``format``
    of each begins if the server refuses those of others. ``keys`` are the further keys of a message and of its calls
    that go back; None means all except those of ``SEALED`` that are not in ``sealed``. ``customs`` is set if the
    server has what OpenAI alone has: tools that take text, and ids of recordings. ``lists`` is set if texts may be a
    list of parts. ``ids`` is the number of letters and digits in the id of a call. ``places`` has the places of
    parameters that differ from OpenAI's.
    ``refused`` and ``ignored`` give a reason for each feature. A refused one is an error before anything is sent; an
    ignored one is left out, with a note.
    """

    title: str
    sources: tuple[Fact, ...]
    hosts: tuple[str, ...] = ()
    reasoning: str | None = None
    fills: bool = False
    tags: tuple[str, ...] = ()
    details: bool = False
    format: str = ""
    keys: tuple[str, ...] | None = None
    sealed: tuple[str, ...] = ()
    customs: bool = False
    lists: bool = True
    ids: int | None = None
    roles: Mapping[str, str] = {}
    places: Mapping[str, str] = {}
    refused: Mapping[str, str] = {}
    ignored: Mapping[str, str] = {}
