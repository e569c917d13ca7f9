"""An answer that a program of one's own receives, read from the stream of an SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headish import Store
from support.providers.answers import anthropic_text

HELLO = anthropic_text("Hel", "lo.")


def test_reading_a_stream_shows_the_pieces_and_stores_the_turn(store: Store) -> None:
    store.add_turn("Hi", bookmark="main")
    with store.capture("main", "anthropic") as capture:
        assert [delta.content for delta in capture.read(HELLO)] == ["Hel", "lo."]
    assert capture.ended
    assert store.log("main")[0] == capture.finish()
    assert store.text("main") == "Hello."


def test_what_a_broken_stream_brought_is_stored(store: Store) -> None:
    def broken() -> Iterator[Any]:
        yield from HELLO[:3]
        raise ConnectionResetError

    store.add_turn("Hi", bookmark="main")
    with pytest.raises(ConnectionResetError), store.capture("main", "anthropic") as capture:
        for _ in capture.read(broken()):
            pass
    assert store.text("main") == "Hel"
    assert capture.finish().meta.reply["incomplete"]
