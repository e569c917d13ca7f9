"""Several recorders of one history at once, as two servers of a database have them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from headish import Store
from headish.serve.recorder.recording import CallRecorder
from support.passed import anthropic_answer, anthropic_body, assistant, passed, user
from support.places import Place

ROUNDS = 12


def spoken(session: str) -> list[tuple[list[Any], str]]:
    """The lists that a client of a session sends, and the answers."""
    messages: list[Any] = []
    rounds = []
    for number in range(ROUNDS):
        messages = [*messages, user(f"{session} asks {number}")]
        rounds.append((messages, f"{session} hears {number}"))
        messages = [*messages, assistant(f"{session} hears {number}")]
    return rounds


def record_all(place: Place, session: str, prefix: int) -> None:
    with place.open() as store:
        recorder = CallRecorder(lambda _space: store)
        for number, (messages, answer) in enumerate(spoken(session)):
            headers = {"x-headish-conversation": session}
            body = json.dumps(anthropic_body(messages, nonce=number)).encode()
            id = f"{prefix * 1000 + number:025}"
            recorder.record(passed("anthropic", body, anthropic_answer(answer), headers=headers, id=id))


def check(store: Store, sessions: int, calls: int) -> None:
    assert len(store.calls.list(limit=1000)) == calls
    assert store.verify().problems == ()
    texts = [store.text(turn.id) for turn in store.turns() if turn.meta.role in ("user", "assistant")]
    assert len(set(texts)) == sessions * 2 * ROUNDS
    assert len(texts) == len(set(texts)), "nothing is stored twice"


def test_two_recorders_beside_each_other_store_two_conversations_whole(place: Place) -> None:
    place.open().close()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(record_all, [place] * 2, ["one", "two"], [1, 2]))
    check(place.open(), 2, 2 * ROUNDS)


def test_two_recorders_of_one_spool_store_each_call_once(place: Place) -> None:
    """As while the recorder of a killed server still drains, and the next one begins."""
    place.open().close()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(record_all, [place] * 2, ["one"] * 2, [1, 1]))
    check(place.open(), 1, ROUNDS)
