"""A message header as every format of OpenChatML's family understands it, however it spells it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from headish.values.checks.attributes import is_header_value as is_header_value


class Header(Struct, frozen=True, kw_only=True):
    """What a message header says."""

    role: str
    name: str | None = None
    to: str | None = None
    call_id: str | None = None
    intent: str | None = None
    content_type: str | None = None
    channel: str | None = None
    constrain: str | None = None
    extra: Mapping[str, str] = {}
