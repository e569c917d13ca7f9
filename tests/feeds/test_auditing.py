"""``store.audit``: who wrote what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from headish import Store
from headish.errors import InvalidArgument
from headish.store.reading.audit import count_by_author
from support.places import Place


@pytest.fixture
def written(durable_place: Place) -> Store:
    """What two people and nobody wrote."""
    ada, eve, store = durable_place.open(author="Ada"), durable_place.open(author="Eve"), durable_place.open()
    ada.add_turn("q", bookmark="main")
    eve.add_turn("a", continues="main", role="developer")
    answer = {"model": "gpt-5", "choices": [{"message": {"role": "assistant", "content": "yes"}}]}
    store.reply("main", "openai", answer)
    ada.bookmarks.set("side", "main~1")
    ada.conversations.set("main", title="T")
    store.pointers.set("small", "openai/gpt-5")
    store.bookmarks.rename("side", "other")
    store.bookmarks.remove("other")
    ada.add_document(b"x", name="x.txt")
    return store


def test_each_change_has_a_line_with_its_author(written: Store) -> None:
    lines = [(each.author, each.kind, each.what, each.said_by) for each in written.audit()]
    ids = [turn.id for turn in written.turns()]
    assert lines == [
        ("Ada", "turn", "user on main", None),
        ("Eve", "turn", "developer on main", None),
        (None, "turn", "assistant on main", "gpt-5"),
        (None, "move", f"set on {ids[1]}", None),
        (None, "record", "revision 1 is said of it now", None),
        (None, "definition", "pointer set, number 1 of its history", None),
        (None, "move", "renamed from side", None),
        (None, "move", f"removed from {ids[1]}", None),
        ("Ada", "turn", "document", None),
    ]
    assert [each.subject for each in written.audit()] == [*ids[:3], "other", "main", "small", "other", "other", ids[3]]


def test_it_is_narrowed_by_author_kind_cursor_and_time(written: Store) -> None:
    assert [each.what for each in written.audit(author="Ada")] == ["user on main", "document"]
    assert {each.kind for each in written.audit(kinds="move")} == {"move"}
    everything = list(written.audit())
    assert list(written.audit(after=everything[3].cursor)) == everything[4:]
    times = [each.time for each in everything]
    assert list(written.audit(since=min(times), until=max(times))) == everything
    assert list(written.audit(since=max(times) + timedelta(seconds=1))) == []
    assert list(written.audit(until=min(times) - timedelta(seconds=1))) == []
    hours = timedelta(hours=14)
    first, last = datetime.min.replace(tzinfo=timezone(hours)), datetime.max.replace(tzinfo=timezone(-hours))
    assert (list(written.audit(since=first, until=last)), list(written.audit(since=last))) == (everything, [])
    with pytest.raises(InvalidArgument, match="since"):
        written.audit(since=datetime.now(UTC), until=datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidArgument, match="a datetime with a zone"):
        written.audit(since=datetime(2020, 1, 1))


def test_counts_are_by_author_and_nobody_comes_last(written: Store) -> None:
    counted = [(each.author, each.counts) for each in count_by_author(written.audit())]
    assert counted == [
        ("Ada", {"turn": 2}),
        ("Eve", {"turn": 1}),
        (None, {"turn": 1, "move": 3, "record": 1, "definition": 1}),
    ]


def test_an_empty_space_was_written_by_nobody(store: Store) -> None:
    assert list(store.audit()) == count_by_author(store.audit()) == []
