"""Lone surrogates in JSON: each is U+FFFD, halves side by side stay one character, and other text costs no search."""

from __future__ import annotations

import json

import pytest

from headish.values.shapes import heal_json
from support.counting import calls


@pytest.mark.parametrize(
    ("text", "healed"),
    [(rb"\ud83d", "\ufffd"), (rb"\uD83D", "\ufffd"), (rb"\uDE00\ud83d", "\ufffd\ufffd"), (rb"\uD83D\uDe00", "😀"),
     (rb"\ud83d\ude00\ude00", "😀\ufffd"), (rb"\\ud83d", r"\ud83d"), (rb"\\\ud83d", "\\\ufffd"), (rb"\u00e4", "ä"),
     ("😀".encode(), "😀")],
)  # fmt: skip
def test_each_lone_surrogate_is_replaced(text: bytes, healed: str) -> None:
    found, is_healed = heal_json(b'["' + text + b'"]')
    assert (json.loads(found), is_healed) == ([healed], "\ufffd" in healed)


def test_a_text_without_such_escapes_is_not_searched() -> None:
    """A client sends its whole thread with each request."""
    body = json.dumps([{"role": "user", "content": "Ich höre \u2028 nichts: \\undo"}]).encode()
    assert rb"\u00f6" in body
    assert calls(lambda: heal_json(body), "sub") == 0
    assert calls(lambda: heal_json(body + rb"\ud83d"), "sub") == 1
