"""Replace what looks like a key, in a value or in what people say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headish.content.secrecy.judging import LOGIN, SHAPES, encoded_keys, has_shape, is_named_like_one

_PRIVATE = r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
HIDDEN = "<hidden: it looked like a key>"
"""The replacement for a key. ``_NO_KEY`` takes nothing in angle brackets for a key, so it is never hidden again."""


def hide_secrets(value: Any, name: str = "") -> Any:
    """Replace what looks like a key in a JSON value. Returns the same object if nothing does.

    A text under the name of a key is replaced whole; of any other, only the part that looks like a key.
    """
    return _hide(value, name)


def hide_shapes(value: Any) -> Any:
    """As ``hide_secrets``, but ignores names: for what people and models say, where ``password`` may be a word."""
    return _hide(value, None)


def _hide(value: Any, name: str | None) -> Any:
    """As ``hide_secrets``; with None for its name, as ``hide_shapes``."""
    if isinstance(value, str):
        return HIDDEN if name is not None and is_named_like_one(name, value) else _hide_shapes(value)
    if isinstance(value, Mapping):
        hidden = {_hide_shapes(key): _hide(item, None if name is None else key) for key, item in value.items()}
        return value if all(hidden.get(key) is item for key, item in value.items()) else hidden
    if isinstance(value, list | tuple):
        listed = [_hide(item, name) for item in value]
        return value if all(new is old for new, old in zip(listed, value, strict=True)) else listed
    return value


def _hide_shapes(text: str) -> str:
    """Replace what looks like a key in a text. A private key is replaced from its first line to its last."""
    if not has_shape(text):
        return text
    # Logins and shapes in one pass: hiding one first could remove what the other is recognised by.
    hidden = re.sub(f"{LOGIN}|{SHAPES}", HIDDEN, re.sub(_PRIVATE, HIDDEN, text))
    pieces, at = [], 0
    for start, end in encoded_keys(hidden):
        pieces += [hidden[at:start], HIDDEN]
        at = end
    return "".join([*pieces, hidden[at:]])
