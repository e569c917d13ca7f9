"""Lists and searches show when something was said, and not when it was imported."""

from __future__ import annotations

from typing import Any

from headish import Store
from imports.test_rows import lines


def rows(number: int) -> list[Any]:
    """Calls of a log: conversations without a name, said one a day in 2023."""
    return [
        {
            "body": {"messages": [{"role": "user", "content": f"Tides {each}?"}]},
            "response": {
                "created": 1_680_000_000 + each * 86_400,
                "choices": [{"message": {"role": "assistant", "content": f"Gravity, tides {each}."}}],
            },
        }
        for each in range(number)
    ]


def test_a_conversation_without_a_name_is_dated_by_its_last_turn(store: Store) -> None:
    store.import_file(lines(*rows(3)), "openai-log")
    times = [entry.time.date().isoformat() for entry in store.conversations.list().entries]
    assert times == ["2023-03-30", "2023-03-29", "2023-03-28"]
    [entry] = store.conversations.list(since="2023-03-29", until="2023-03-29").entries
    assert entry.last == "Gravity, tides 1."
    assert store.conversations.list(since="2024-01-01").entries == ()


def test_a_search_by_time_is_by_when_it_was_said_and_its_limit_keeps_the_newest(store: Store) -> None:
    """The import comes last, and in it what was said last comes first."""
    store.add_turn("The tides of today", role="assistant")
    store.import_file(lines(*reversed(rows(30))), "openai-log")
    for query in ("tides", ""):
        hits = store.search(query, order="time", limit=3, role="assistant")
        told = [store.text(hit.turn.id) for hit in hits]
        assert told == ["The tides of today", "Gravity, tides 29.", "Gravity, tides 28."]
    times = [hit.turn.said_at for hit in store.search("tides", order="time", limit=1000, role="assistant")]
    assert times == sorted(times, reverse=True)
    assert len(times) == 31
