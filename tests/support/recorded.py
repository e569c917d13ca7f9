"""Calls that are recorded: a recorder of one store, and a client that sends its list with each request. Used by
tests/serve/recorder."""

from __future__ import annotations

from typing import Any

from headish import Store
from headish.content.forms.layout import is_same
from headish.gateway.spool import SpooledCall
from headish.history.writing.calls import RecordedCall
from headish.serve.recorder.recording import CallRecorder
from support.passed import (
    CLAUDE_CODE,
    anthropic_answer,
    anthropic_body,
    assistant,
    passed,
    user,
)

KEY = "sk-ant-api03-abcdefghijklmnop0123456789"
LANE = "claude-code/097ac8"


def recorder_of(store: Store) -> CallRecorder:
    return CallRecorder(lambda _space: store)


def record(recorder: CallRecorder, call: SpooledCall) -> RecordedCall:
    recorded = recorder.record(call)
    assert recorded is not None
    return recorded


GEMINI = {"user-agent": "GeminiCLI/0.61.0/gemini-3.8-flash (linux; x64; terminal)"}


def gemini_body(messages: list[dict[str, Any]], system: str, **body: Any) -> dict[str, Any]:
    return {"systemInstruction": {"parts": [{"text": system}]}, "contents": [*messages], **body}


def gemini_answer(text: str) -> list[dict[str, Any]]:
    content = {"role": "model", "parts": [{"text": text}]}
    return [{"candidates": [{"content": content, "index": 0, "finishReason": "STOP"}], "responseId": "r1"}]


def texts(store: Store, name: str) -> list[str]:
    return [store.text(turn.id) for turn in reversed(list(store.log(name)))]


class Talk:
    """A client of Messages that sends all of its list each time."""

    def __init__(self, store: Store, recorder: CallRecorder | None = None) -> None:
        self.store, self.recorder = store, recorder or recorder_of(store)
        self.messages: list[dict[str, Any]] = []
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def say(self, text: str, answer: str | None = None, **body: Any) -> RecordedCall:
        self.messages.append(user(text))
        return self.send(answer or f"On {text}", **body)

    def send(self, *answer: Any, **body: Any) -> RecordedCall:
        number = len(self.sent)
        sent = anthropic_body(self.messages, nonce=number, **body)
        call = passed("anthropic", sent, anthropic_answer(*answer, id=f"msg_{number}"), headers=CLAUDE_CODE)
        self.sent.append((call.id, sent))
        recorded = record(self.recorder, call)
        self.messages.append(assistant(*answer))
        return recorded

    def check_bodies(self) -> None:
        for id, sent in self.sent:
            assert is_same(self.store.calls.body(id), sent), id
