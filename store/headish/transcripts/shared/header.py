"""A message header as every format of OpenChatML's family understands it, however it spells it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from msgspec import Struct

_REFUSED = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})


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


def is_header_value(value: str) -> bool:
    """Whether a value can stand in a header without ending it.

    One or more characters, none of ``< > |``, none that is a control, format, surrogate or separator character. The
    specification's ``1*VCHAR`` would swallow ``<|channel|>`` and forbid ``é`` (2.2 §15).
    """
    if value.isascii():
        return value.isprintable() and not any(character in value for character in " <>|") and bool(value)
    return not any(character in "<>|" or unicodedata.category(character) in _REFUSED for character in value)
