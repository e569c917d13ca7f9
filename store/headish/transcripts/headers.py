"""Message headers: which values may stand in one, and in which order they are written.

Source: OpenChatML 2.2 §6, §11 and §15. Its ``1*VCHAR`` would swallow ``<|channel|>`` and forbid ``é``, so the rule is
ours: one or more characters, none of ``< > |``, none that is a control, format, surrogate or separator character.
What does not fit is refused, never escaped: no reader would undo it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from headish.errors import HeaderValue, Unrepresentable

CHANNELS = ("analysis", "commentary", "final")
KNOWN = ("to", "call_id", "name", "intent", "content_type")
TOOL_ORDER = ("name", "call_id", "to", "intent", "content_type")
"""Both worked examples of the specification round-trip so: calls are written to-first, replies name-first."""
_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_REFUSED = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"}


def is_header_value(value: str) -> bool:
    """Whether a value can stand in a header without ending it."""
    return bool(value) and not any(
        character in "<>|" or unicodedata.category(character) in _REFUSED for character in value
    )


def write_attributes(role: str, given: Mapping[str, str | None], extra: Mapping[str, str], turn: str | None) -> str:
    """The attributes of a header in canonical order, each behind a blank.

    Raises: HeaderValue where a name or value would break the header.
    """
    order = TOOL_ORDER if role == "tool" else KNOWN
    known = [(key, value) for key in order if (value := given.get(key)) is not None]
    for key in extra:
        if _ATTRIBUTE.fullmatch(key) is None or key in KNOWN:
            raise HeaderValue("OpenChatML 2.2", f"an attribute named {key!r}", turn=turn)
    return "".join(f" {key}={check_value(key, value, turn)}" for key, value in [*known, *extra.items()])


def check_value(key: str, value: str, turn: str | None) -> str:
    """The value itself. Raises: HeaderValue."""
    if not is_header_value(value):
        raise HeaderValue("OpenChatML 2.2", f"{key}={value[:80]!r} in a message header", turn=turn)
    return value


def check_channel(channel: str | None, turn: str | None) -> str | None:
    """One of the three channels, or None. It decides who sees the text, so another one is refused."""
    if channel is not None and channel not in CHANNELS:
        raise Unrepresentable("OpenChatML 2.2", f"the channel {channel!r}", turn=turn)
    return channel
