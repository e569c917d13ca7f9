"""Calls as Gemini takes them: names that begin with a letter or an underscore, and thought signatures.

A model expects its signature on the calls that it made. A signature goes back on the very part on which it came. Calls
of other providers have none, and from Gemini 3 on the API refuses a turn whose first call is unsigned. Earlier models
ignore signatures.

Source: https://ai.google.dev/gemini-api/docs/thought-signatures, read on 2026-11-21.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headish.providers.shared.mapping import Part
from headish.providers.shared.request import counted
from headish.providers.shared.tools import Reporter, ToolNames

SKIP = "skip_thought_signature_validator"
"""The documented placeholder for the signature of calls that no Gemini made.

It is documented only for Gemini 3, so only models with such a name get it: what an older model, or one under another
name, does with it is not documented.
"""
FIRST_STRICT = 3
"""The first generation of models that refuses a call without a signature."""


def is_signature(value: object) -> bool:
    """Whether a value is base64, in either alphabet; the API refuses a request with any other signature."""
    return isinstance(value, str) and _BASE64.fullmatch(value) is not None


def sign_calls(report: Reporter, contents: Sequence[Part], model: str | None) -> None:
    """Put the placeholder on each content's first call, if it is unsigned and the model wants it."""
    # On earlier turns too, which the API does not check: a call would else lose it when the user speaks again, and the
    # changed prefix would miss the prompt cache.
    generation = None if model is None else _GENERATION.search(model)
    if generation is not None and int(generation[1]) < FIRST_STRICT:
        return
    first = [next((part for part in content["parts"] if "functionCall" in part), None) for content in contents]
    unsigned = [part for part in first if part is not None and "thoughtSignature" not in part]
    if not unsigned:
        return
    what = f"{counted(len(unsigned), 'turn')} with calls that no Gemini signed"
    if generation is None:
        report.note(f"{what}: from Gemini 3 on, models refuse the request")
        return
    for part in unsigned:
        part["thoughtSignature"] = SKIP
    report.note(f"{what}: sent with the signature that skips the check")


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_GENERATION = re.compile(r"gemini-(\d{1,3})")


class GeminiNames(ToolNames):
    """Rewrites, one for one, the names that Gemini refuses; the digest at the end keeps them apart."""

    def send(self, name: str) -> str:
        sent = super().send(name)
        if sent not in self.rewritten or not sent.startswith(_NEVER_FIRST):
            return sent
        del self.rewritten[sent]
        # In place of the first character, not before it: a longer name might exceed the limit.
        begun = "_" + sent[1:]
        self.rewritten[begun] = name
        return begun


_NEVER_FIRST = ("-", *"0123456789")
