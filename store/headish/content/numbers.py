"""Numbers of JSON text that are kept digit by digit (rule I9, kept as given).

Python reads ``-0``, ``1.10`` and ``1E5`` as numbers that it would write otherwise, rounds what a float cannot hold, and
has no number at all for ``1e400``. In content that comes as JSON text, a mark takes the place of each such number while
the content is checked, and the number's own text is put back into the stored bytes. Arguments of a call that hold one
are kept as ``raw``, their exact text, like those that a provider sends (rule R8, block kinds).
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any
from uuid import uuid4

from headish.content import strictjson
from headish.errors import InvalidContent

_SHOWN = 40


class NumberTexts:
    """The numbers of one JSON text that Python would write otherwise."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        # Random, so that no text of the content is taken for a mark.
        self._mark = f"number {uuid4().hex} "
        self._marked = re.compile(f'"{self._mark}([0-9]+)"'.encode())

    def read(self, text: str) -> int | float | str:
        """The number of a text, or the mark that takes its place."""
        value = _value_of(text)
        # Without an exponent Python and the encoder spell a number alike, and nearly every one ends here.
        if value is not None and "e" not in text and repr(value) == text:
            return value
        if value is not None and strictjson.encode(value) == text.encode():
            return value
        self.texts.append(text)
        return f"{self._mark}{len(self.texts) - 1}"

    def put_back(self, encoded: bytes) -> bytes:
        """JSON text with every mark replaced by its number."""
        return self._marked.sub(lambda mark: self.texts[int(mark[1])].encode(), encoded)

    def readable(self, encoded: bytes, what: str) -> bytes:
        """As ``put_back``, for numbers that must be readable. Raises: InvalidContent for one that nothing holds."""
        for mark in self._marked.finditer(encoded):
            text = self.texts[int(mark[1])]
            if _value_of(text) is None:
                shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
                raise InvalidContent(what, f"no number that can be read holds {shown}")
        return self.put_back(encoded)

    def spell_arguments(self, content: Any) -> Any:
        """Content in which arguments of calls that hold a marked number are kept as their exact text."""
        if isinstance(content, list):
            return [self.spell_arguments(each) for each in content]
        if not isinstance(content, dict):
            return content
        if content.get("type") == "tool_result" and isinstance(content.get("content"), list):
            return {**content, "content": self.spell_arguments(content["content"])}
        if content.get("type") != "tool_use" or "input" not in content or isinstance(content.get("raw"), str):
            return content
        encoded = strictjson.encode(content["input"])
        raw = self.put_back(encoded)
        return content if raw == encoded else {**content, "raw": raw.decode()}


def _value_of(text: str) -> int | float | None:
    """The number that Python has for a text; None if it has none."""
    if text.removeprefix("-").isdigit():
        try:
            return int(text)
        except ValueError:  # more digits than Python converts (``sys.set_int_max_str_digits``)
            return None
    value = float(text)
    return value if isfinite(value) else None
