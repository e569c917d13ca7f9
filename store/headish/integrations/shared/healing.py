"""Text that no database takes: halves of characters, which JSON of other programs lets through.

An agent's run does not end because of them: U+FFFD takes their place, and a note in the turn's ``meta`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LONE = re.compile("[\ud800-\udfff]")
NOTE = "lone surrogates were replaced by U+FFFD"


def heal(value: Any) -> tuple[Any, bool]:
    """A value whose texts hold no lone surrogates, and whether any did. What is whole is given back as it is.

    Cost: a look at every text of the value.
    """
    if not _is_broken(value):
        return value, False
    return _mend(value), True


def heal_text(text: str) -> tuple[str, bool]:
    """``heal`` for a text."""
    mended, count = _LONE.subn("\ufffd", text)
    return (mended, True) if count else (text, False)


def _is_broken(value: Any) -> bool:
    if isinstance(value, str):
        return not value.isascii() and _LONE.search(value) is not None
    if isinstance(value, Mapping):
        return any(_is_broken(key) or _is_broken(each) for key, each in value.items())
    return isinstance(value, list | tuple) and any(map(_is_broken, value))


def _mend(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_mend(key): _mend(each) for key, each in value.items()}
    return [_mend(each) for each in value] if isinstance(value, list | tuple) else value
