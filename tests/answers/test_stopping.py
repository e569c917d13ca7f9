"""An answer that is ended from another thread is one that broke off: what arrived is stored, and the server is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from headish import Store
from headish.calls import Stop
from headish.errors import CallCancelled
from support.growing import texts
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_text

HELLO = anthropic_text("Hel", "lo.")


def unending(server: Loopback, gone: threading.Event) -> Iterator[bytes]:
    """The beginning of an answer, and then nothing; ``gone`` once the caller is."""
    try:
        yield from event_stream(HELLO[:3])
        while not server.closing.wait(0.01):
            yield b": still there\n\n"
    finally:
        gone.set()


def test_what_arrived_is_stored_as_an_answer_that_broke_off(asking: Store, server: Loopback) -> None:
    gone = threading.Event()
    server.answer(chunks=unending(server, gone))
    asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
    shown: list[str] = []
    with asking.open_answer("main") as answer:
        for delta in answer:
            shown.append(str(delta.content))
            threading.Thread(target=answer.cancel).start()
    assert gone.wait(10), "the server goes on"
    turn = answer.finish()
    assert isinstance(answer.failure, CallCancelled)
    assert shown == ["Hel"]
    assert texts(asking, "main") == ["Hi", "Hel"]
    assert turn.meta.reply["incomplete"]
    assert asking.streams.list() == []


def test_a_question_that_is_stopped_gives_the_turn_that_broke_off(asking: Store, server: Loopback) -> None:
    server.answer(chunks=unending(server, threading.Event()))
    stop = Stop()
    turn = asking.ask("Hi", bookmark="main", ptr="milli", stop=stop, on_delta=lambda _: stop.now())
    assert asking.get("main") == turn
    assert turn.meta.reply["incomplete"]
    assert asking.text("main") == "Hel"


def test_an_answer_that_has_ended_stays_whole(asking: Store, server: Loopback) -> None:
    server.answer(chunks=event_stream(HELLO))
    asking.add_turn("Hi", bookmark="main", provider_ptr="milli")
    with asking.open_answer("main") as answer:
        list(answer)
        answer.cancel()
    assert answer.failure is None
    assert "incomplete" not in answer.finish().meta.reply
