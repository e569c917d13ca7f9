"""Values that say the same are equal, and not unequal."""

from __future__ import annotations

from operator import ne

from headish import Store, transcripts


def test_a_turn_is_what_its_seal_covers() -> None:
    with Store.open(":memory:") as store:
        stored, other = store.add_turn("hello", bookmark="main"), store.add_turn("hello")
        read = store.get("main")
        assert read == stored
        assert not ne(read, stored)
        assert other != stored


def test_a_transcript_is_what_it_says_whatever_its_format() -> None:
    first, second = (transcripts.parse("<|start|>user<|message|>hello<|end|>", name) for name in ("2.2", "harmony"))
    assert first.format != second.format
    assert first == second
    assert not ne(first, second)
    assert first != transcripts.parse("<|start|>user<|message|>bye<|end|>", "harmony")
