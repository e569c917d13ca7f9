"""Conversations for the page to show: a tree with forks and a merge, calls, reasoning, a picture, overlays, an erasure.

Used by tests/serve/pages and by docs/page_pictures.py.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any, NamedTuple

from headish import Store
from headish.serve.recorder.recording import CallRecorder
from headish.values.ids import TurnId
from support.hostile import PNG, documents, texts
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, assistant, passed, user

OVERLOADED = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
QUESTION = "I have a plot of 3 by 4 metres that gets sun from nine to two. A **greenhouse**, or not?"


class Talk(NamedTuple):
    """The turns that tests name."""

    question: TurnId
    first: TurnId
    second: TurnId
    call: TurnId
    picture: TurnId
    erased: TurnId


def fill(store: Store) -> Talk:
    """Two conversations: ``garden`` with branches, ``trip`` with calls and an overlay."""
    question = store.add_turn(QUESTION, bookmark="garden").id
    first = store.add_turn("Yes, but a small one: a lean-to against the wall.", role="assistant", continues="garden").id
    second = store.add_turn(
        "No. Five hours of sun are too few.", role="assistant", continues=question, bookmark="no"
    ).id
    store.add_turn("And the wind?", continues="garden")
    store.add_turn("Set four ground screws of `60 cm`.", role="assistant", continues="garden")
    store.add_turn("Make one plan of both.", continues=["garden", "no"], bookmark="plan")
    store.conversations.set("garden", title="A greenhouse for tomatoes?", tags=["garden", "budget"], pinned=True)
    store.add_turn("Answer in one sentence.", role="system", bookmark="trip", inherited={"params": {"max_tokens": 300}})
    store.add_turn("Which train goes from Lisbon to Porto before nine?", continues="trip")
    call: list[dict[str, Any]] = [
        {"type": "thinking", "text": "Trains before nine: look them up."},
        {"type": "tool_use", "id": "call_1", "name": "search_trains", "input": {"from": "Lisbon", "to": "Porto"}},
    ]
    called = store.add_turn(call, role="assistant", continues="trip").id
    result = [{"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "AP 121 06:09"}]}]
    store.add_turn(result, role="tool", continues="trip")
    store.add_turn(
        "One:\n\n| Train | Leaves |\n|---|---|\n| AP 121 | 06:09 |\n\n```python\nprint('boa viagem')\n```",
        role="assistant", continues="trip",
    )  # fmt: skip
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(PNG).decode()}
    ticket = [{"type": "text", "text": "My ticket."}, {"type": "document", "name": "ticket.png", "source": source}]
    picture = store.add_turn(ticket, continues="trip").id
    store.hide(called, continues="trip", viewer="model")
    erased = store.add_turn("My number is 555-0100.", bookmark="number").id
    store.add_turn("Forget it.", continues="number")
    store.erase(erased, reason="asked to")
    return Talk(question, first, second, called, picture, erased)


def fill_hostile(store: Store, canary: str) -> TurnId:
    """A thread named ``hostile`` of all that attacks: texts, documents, and what is no text: the names of
    tools, the model of an answer, the client of a call, a title, tags. Gives its last turn."""
    said = texts(canary)
    tip = ""
    for number, text in enumerate(said):
        more: dict[str, Any] = {"continues": tip} if tip else {}
        tip = store.add_turn(text, role="assistant" if number % 2 else "user", **more).id
    call = {"type": "tool_use", "id": said[0], "name": said[1], "input": {said[0]: said[-1]}}
    tip = store.add_turn([call], role="assistant", continues=tip).id
    result = {"type": "tool_result", "tool_use_id": said[0], "content": [{"type": "text", "text": said[3]}]}
    tip = store.add_turn([result], role="tool", continues=tip).id
    store.replace(tip, said[1], continues=tip)
    tip = store.add_turn(documents(), continues=tip, bookmark="hostile").id
    store.conversations.set("hostile", title=said[0], tags=[said[1].replace(" ", "")])
    body = {**anthropic_body([user(said[0])]), "model": said[0]}
    answer = anthropic_answer(said[1]).replace(b"claude-x", json.dumps(said[1]).encode()[1:-1])
    CallRecorder(lambda _space: store).record(passed("anthropic", body, answer, headers={"user-agent": said[0]}))
    return tip


def record_calls(store: Store) -> None:
    """Three requests of one session, the last of which rewrites a message; one that failed, one that is half there."""
    recorder = CallRecorder(lambda _space: store)
    messages = [user("Which train goes to Sintra?")]
    for answer, question in (("The one at 09:11.", "And back?"), ("Every half hour until 23:59.", "On Sundays, too?")):
        body = anthropic_body(messages)
        recorder.record(passed("anthropic", body, anthropic_answer(answer), headers=CLAUDE_CODE))
        messages = [*messages, assistant(answer), user(question)]
    messages[2] = user("And back? (shortened)")
    body = anthropic_body(messages)
    recorder.record(passed("anthropic", body, anthropic_answer("Once an hour."), headers=CLAUDE_CODE))
    recorder.record(passed("anthropic", anthropic_body([user("Hello")]), OVERLOADED, status=529))
    recorder.record(passed("chat", b"{not JSON", outcome="unrecorded", status=None))
