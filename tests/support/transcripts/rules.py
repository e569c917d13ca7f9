"""Reading a short text of a format: what its messages say, or the code it is refused with.

Used by the tests of rules (tests/transcripts).
"""

from __future__ import annotations

from typing import Any

import pytest

from headish.errors import InvalidTranscript
from headish.transcripts import parse, to_json

USER = "<|start|>user<|message|>"


def messages(text: str, format: str = "2.2", **settings: Any) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = to_json(parse(text, format, **settings))["messages"]
    return read


def body(text: str, format: str = "2.2") -> str:
    return "".join(block["text"] for block in messages(text, format)[0]["content"])


def refusal(text: str, format: str | None = "2.2", **settings: Any) -> str | None:
    with pytest.raises(InvalidTranscript) as error:
        parse(text, format, **settings)
    return error.value.code
