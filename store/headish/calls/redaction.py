"""Keep keys out of everything that is stored and printed: replace each spelling of a call's keys as its answer arrives.

A server may echo a key anywhere: in an error, a header, the name of a model, an unknown event. So each event is cleaned
before anything reads it, and the journal, the reply, its notes and every error see only the cleaned form. The model's
own words stay unchanged; the reader of the provider's answers knows their places (ADR 0017).
"""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from headish.providers.shared.shapes import TextPlace

HIDDEN = "***"
SHORTEST_SECRET = 8
"""A shorter secret stays in events. It is a placeholder (``none``, ``ollama``) that no server checks, and is likely to
be part of ordinary words."""
_MESSAGE_CHARACTERS = 2000


class Redactor:
    """Removes keys, and characters that would disturb a terminal, from text of others."""

    def __init__(self, secrets: Iterable[str]) -> None:
        unique = {str(secret) for secret in secrets if secret}
        self._spellings = _sorted(spelling for secret in unique for spelling in spellings_of(secret))
        long = [secret for secret in unique if len(secret) >= SHORTEST_SECRET]
        self._in_events = _sorted(spelling for secret in long for spelling in spellings_of(secret))
        # An encoded event escapes a quotation mark or a backslash of a secret.
        self._encoded = [msgspec.json.encode(spelling)[1:-1] for spelling in self._in_events]

    def show(self, text: str, limit: int = _MESSAGE_CHARACTERS) -> str:
        """The text on one line, cut after ``limit`` characters, with ``***`` for each key."""
        text = _replace(text, self._spellings)
        line = " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
        return line if len(line) <= limit else line[: limit - 1] + "…"

    def reason(self, error: Exception) -> str:
        """The text of an error, else the name of its class."""
        return self.show(str(error)) or type(error).__name__

    def clean(self, event: Mapping[str, Any], words: Sequence[TextPlace] = ()) -> Mapping[str, Any]:
        """The event with ``***`` for each key; the same object if it holds none. ``words`` are the places of the
        model's own words.

        Cost: one encoding and one search of it for each spelling, unless the event holds a key.
        """
        if not self._encoded or not self._may_hold_one(event):
            return event
        # The model's words stay unchanged: a replacement would change the stored answer.
        places = [each for each in words if each.event in (None, event.get("type"))]
        cleaned: dict[str, Any] = self._clean(event, (), places)
        return cleaned

    def _may_hold_one(self, event: Mapping[str, Any]) -> bool:
        # A search of the encoded event, because a walk through the values of every event would cost more.
        try:
            encoded = msgspec.json.encode(event)
        except UnicodeEncodeError:  # a lone surrogate
            encoded = json.dumps(event).encode()
        return any(spelling in encoded for spelling in self._encoded)

    def _clean(self, value: Any, path: tuple[str, ...], words: Sequence[TextPlace]) -> Any:
        if isinstance(value, str):
            return _replace(value, self._in_events)
        if isinstance(value, list):
            return [self._clean(each, (*path, "*"), words) for each in value]
        if not isinstance(value, Mapping):
            return value
        spoken = {each.path[-1] for each in words if each.path[:-1] == path and each.holder in (None, _kind(value))}
        return {
            _replace(key, self._in_events): each
            if key in spoken and isinstance(each, str)
            else self._clean(each, (*path, key), words)
            for key, each in value.items()
        }


def _kind(value: Mapping[str, Any]) -> str | None:
    kind = value.get("type")
    return kind if isinstance(kind, str) else None


def _replace(text: str, spellings: Iterable[str]) -> str:
    for spelling in spellings:
        text = text.replace(spelling, HIDDEN)
    return text


def _sorted(spellings: Iterable[str]) -> list[str]:
    """The spellings, the longest first: one may contain another."""
    return sorted(set(spellings), key=len, reverse=True)


def spellings_of(secret: str) -> Iterator[str]:
    """The spellings of a secret: plain, in a URL, and in base64, one for each offset at which it may begin in a group
    of three bytes."""
    quoted = quote(secret, safe="")
    yield from (secret, quoted, quote(quoted, safe=""), quote(secret))
    if len(secret) < SHORTEST_SECRET:
        return
    # Base64 writes three bytes as four characters, so a secret has three spellings, by the offset of its beginning.
    data = secret.encode()
    for before in range(3):
        # Leave out characters of the first and last group of four that also depend on the bytes around the secret.
        start, end = (0, 2, 3)[before], (before + len(data)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(b"\0" * before + data).decode()[start:end]
