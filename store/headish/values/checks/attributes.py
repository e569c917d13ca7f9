"""Check the attributes of a message, so that every format can write them later."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from headish.values.messages import VIEWERS

CHANNELS = ("analysis", "commentary", "final")
"""The channels. Who sees a message depends on its channel, so no other one is taken."""
STOPS = ("end", "call", "return", "none")
_WORDS = ("speaker", "recipient", "call_id", "intent", "content_type", "constrain")
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})


def is_header_value(value: str) -> bool:
    """Whether a value can be part of a header without ending it.

    One or more characters, none of ``< > |``, none that is a control, format, surrogate or separator character. The
    specification's ``1*VCHAR`` would swallow ``<|channel|>`` and forbid ``é`` (OpenChatML 2.2 §15).
    """
    if value.isascii():
        return value.isprintable() and not any(character in value for character in " <>|") and bool(value)
    return not any(character in "<>|" or unicodedata.category(character) in _REFUSED for character in value)


def refused_attribute(attributes: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first attribute that no transcript can carry, and why; None if all are fine."""
    if attributes.get("overlay") is not None:
        return "overlay", "an overlay is made by summarize, hide, replace, keep, unhide or original"
    for name, allowed in (("channel", CHANNELS), ("stop", STOPS), ("hidden", VIEWERS)):
        value = attributes.get(name)
        if value is not None and value not in allowed:
            return name, f"it is one of {', '.join(allowed)}, not {value[:80]!r}"
    for name in _WORDS:
        value = attributes.get(name)
        if value is not None and not is_header_value(value):
            return name, f"{value[:80]!r} is not a single word without < > |"
    return None
