"""Several at once: two erasers, an eraser beside writers of the same words, and verify beside both."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Thread
from typing import Any

import pytest

from headish import Database, Store
from headish.content.encoding import encode_payload
from headish.content.hashes import hash_payload
from headish.errors import BarredContent, TurnErased
from headish.history.erasing import collect
from headish.rows.payloads import add_payloads
from headish.rows.upkeep.erasures import drop_payloads
from headish.values.blocks import Text
from headish.values.limits import INLINE_BYTES
from support.places import Place

WORDS = "the same words " + "z" * INLINE_BYTES
ROUNDS = 12


def together(*works: Callable[[], object]) -> list[object]:
    with ThreadPoolExecutor(len(works)) as threads:
        return [each.result() for each in [threads.submit(work) for work in works]]


def test_of_two_erasers_one_finds_nothing_left(durable_place: Place) -> None:
    one, other = durable_place.open(), durable_place.open()
    for _ in range(ROUNDS // 2):
        turn = one.add_turn(WORDS)
        done = together(*(partial(store.erase, turn.id, reason="r", scrub=False) for store in (one, other)))
        assert sorted(each.receipt is not None for each in done) == [False, True]
    assert len(one.erasures) == ROUNDS // 2
    assert one.verify().problems == ()


def test_whoever_says_the_words_meanwhile_keeps_them(durable_place: Place) -> None:
    writer, eraser, reader = (durable_place.open() for _ in range(3))
    said = [writer.add_turn(WORDS).id]

    def write() -> None:
        said.extend(writer.add_turn(WORDS, bookmark="main", force=True).id for _ in range(ROUNDS))

    def erase() -> list[str]:
        erased = []
        for index in range(ROUNDS):
            erased.append(said[min(index, len(said) - 1)])
            eraser.erase(erased[-1], reason="r", scrub=index % 4 == 0)
        return erased

    def verify() -> list[object]:
        return [problem for _ in range(4) for problem in reader.verify().problems]

    _, erased, problems = together(write, erase, verify)
    assert problems == []
    for turn_id in said:
        assert _is_readable(writer, turn_id) == (turn_id not in erased)  # type: ignore[operator]
    assert writer.verify().problems == ()


def test_barred_words_are_refused_from_the_commit_on(durable_place: Place) -> None:
    writer, eraser = durable_place.open(), durable_place.open()
    first = writer.add_turn("words", bookmark="main")

    def write() -> int:
        for index in range(4 * ROUNDS):
            try:
                writer.add_turn("words", continues="main")
            except BarredContent:
                return index
        return -1

    together(write, lambda: eraser.erase(first.id, content=True, reason="r", scrub=False))
    assert not any(_is_readable(writer, turn.id) for turn in writer.turns())
    assert writer.verify().problems == ()


def _is_readable(store: Store, turn_id: str) -> bool:
    try:
        return bool(store.text(turn_id))
    except TurnErased:
        return False


def test_whoever_says_what_is_collected_at_that_moment_keeps_it(
    durable_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Payloads have no age: what a writer is about to need is kept by the lock of its space."""
    one, other = durable_place.open(), durable_place.open()
    words = encode_payload((Text(WORDS),))
    left = {hash_payload(words): words}
    one._write(lambda connection: add_payloads(connection, one._number, left))
    writer = Thread(target=partial(other.add_turn, WORDS, bookmark="main"))

    def drop_beside_a_writer(*arguments: Any) -> None:
        if arguments[1] == one._number:
            writer.start()
            writer.join(0.3)  # it would be done by then, if nothing held it
        drop_payloads(*arguments)

    monkeypatch.setattr(collect, "drop_payloads", drop_beside_a_writer)
    assert Database(one._database).gc().payloads >= 1
    writer.join()
    assert one.text("main") == WORDS
    assert one.verify().problems == ()
