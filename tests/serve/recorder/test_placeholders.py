"""Gemini CLI signs a call that came without a signature by a placeholder, as long as its loop of calls goes on."""

from __future__ import annotations

from typing import Any

import pytest

from headish import Store
from headish.content.forms.layout import is_same
from support.passed import passed
from support.recorded import GEMINI, gemini_answer, gemini_body, record, recorder_of

TOOLS = [{"functionDeclarations": [{"name": "ls"}]}]
PLACEHOLDER = {"thoughtSignature": "skip_thought_signature_validator"}
ID = "ls_1795880911233_0"
CALL = {"name": "ls", "args": {"path": "."}}


def sent_back(**signature: str) -> list[dict[str, Any]]:
    """The call and its result, as version 0.61 sends them."""
    result = {"functionResponse": {"id": ID, "name": "ls", "response": {"output": "a.txt"}}}
    call = {"role": "model", "parts": [{"text": "Look."}, {"functionCall": {"id": ID, **CALL}, **signature}]}
    return [call, {"role": "user", "parts": [result]}]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_call_is_the_one_that_came_with_and_without_the_placeholder(store: Store, restarts: bool) -> None:
    recorder = recorder_of(store)
    question = {"role": "user", "parts": [{"text": "Hi"}]}
    said = {"role": "model", "parts": [{"text": "One."}]}
    answers = gemini_answer("Look."), gemini_answer("One."), gemini_answer("Bye.")
    answers[0][0]["candidates"][0]["content"]["parts"].append({"functionCall": CALL})
    more = {"role": "user", "parts": [{"text": "and"}]}
    for listed, answer in zip(
        ([question], [question, *sent_back(**PLACEHOLDER)], [question, *sent_back(), said, more]), answers, strict=True
    ):
        recorder = recorder_of(store) if restarts else recorder
        body = gemini_body(listed, "Be brief.", tools=TOOLS)
        recorded = record(recorder, passed("gemini", body, answer, headers=GEMINI))
        assert is_same(store.calls.body(recorded.call.id), body)
    assert len(store.heads()) == 1
    assert store.verify().problems == ()
