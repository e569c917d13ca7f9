"""Find the API of a call by its method and path. A call that is not in the table passes, and is counted."""

from __future__ import annotations

import re
from typing import NamedTuple

from headish.content.forms.parts import Form
from headish.content.forms.table import FORMS


class Surface(NamedTuple):
    """An API for conversations: the form of its messages, and the provider whose answers it gives."""

    name: str
    form: Form
    provider: str


_PATHS: tuple[tuple[re.Pattern[str], Surface], ...] = (
    (re.compile(r"/messages\Z"), Surface("anthropic", FORMS["anthropic"], "anthropic")),
    (re.compile(r"/chat/completions\Z"), Surface("chat", FORMS["chat"], "openai")),
    (re.compile(r"/responses\Z"), Surface("responses", FORMS["responses"], "openai_responses")),
    (re.compile(r":(?:stream)?[gG]enerateContent\Z"), Surface("gemini", FORMS["gemini"], "gemini")),
    (re.compile(r"/api/chat\Z"), Surface("ollama", FORMS["chat"], "openai")),
)
_MODEL = re.compile(r"/models/([^/:]+):")


def find_surface(method: str, path: str) -> Surface | None:
    """The API of a call; None if the call holds no conversation."""
    if method != "POST":
        return None
    return next((surface for pattern, surface in _PATHS if pattern.search(path)), None)


def model_of(path: str) -> str | None:
    """The model that a path names; None if it names none."""
    found = _MODEL.search(path)
    return None if found is None else found[1]
