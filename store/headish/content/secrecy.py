"""Finds what looks like a key. Keys belong in the environment or a keyring, not in a database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_NAME = re.compile(r"(?i)(api[-_]?key|authori[sz]ation|secret|password|bearer|access[-_]?token)")
_VALUE = re.compile(r"\b(sk-[A-Za-z0-9_-]{16,}|AIza[0-9A-Za-z_-]{30,}|csk-[a-z0-9]{20,})")
"""What keys of OpenAI and Anthropic, Google and Cerebras begin with."""


def find_secret(value: Any, path: str) -> str | None:
    """The path of the first text that is named like a key, or looks like one; None if there is none."""
    for where, name, text in _texts(value, path, ""):
        if text and (_NAME.search(name) or _VALUE.search(text)):
            return where
    return None


def _texts(value: Any, path: str, name: str) -> Iterator[tuple[str, str, str]]:
    """``(path, its key, text)`` of every text."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, f"{path}.{key}", str(key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{index}]", "")
    elif isinstance(value, str):
        yield path, name, value
