"""``store.at_least``: reads that wait until the database is as far as a cursor; and what a replica says."""

from __future__ import annotations

from threading import Timer

import pytest

from headish import Store
from headish.errors import Closed, CursorLost, InvalidArgument, NotReplicated, UnknownBookmark, UnknownTurn
from headish.history.feeds import waiting
from headish.history.feeds.cursors import parse_cursor
from support.places import Place, in_memory_too


def ahead(store: Store, turns: int = 1) -> str:
    """A cursor of the store that is further than it."""
    cursor = parse_cursor(store.position())
    return str(cursor._replace(seq=cursor.seq + turns))


def test_what_is_there_is_read_at_once(store: Store) -> None:
    turn = store.add_turn("a", bookmark="main")
    reader = store.at_least(store.position(), timeout=1e-9)
    assert reader.get("main") == turn
    assert reader.bookmarks["main"] == turn.id
    assert [each.id for each in reader.log("main")] == [turn.id]
    assert len(reader.messages("main")) == len(reader.thread("main")) == len(reader.tree("main")) == 1
    assert reader.resolve("main") == store.resolve("main")


@pytest.mark.parametrize("read", ["get", "log", "messages", "resolve", "thread", "tree", "options", "text"])
def test_a_read_of_what_is_not_there_yet_says_how_far_the_database_is(store: Store, read: str) -> None:
    store.add_turn("a", bookmark="main")
    cursor = ahead(store)
    with pytest.raises(NotReplicated, match=r"after 0\.01 s it is at 1/0") as late:
        getattr(store.at_least(cursor, timeout=0.01), read)("main")
    assert (late.value.cursor, late.value.now) == (cursor, (1, 0))
    assert store.get("main")


def test_a_read_waits_for_what_another_store_writes(durable_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer's position is known before its turn is: what a replica would get late is stored late."""
    store, writer = durable_place.open(), durable_place.open()
    writer.add_turn("a", bookmark="main")
    before = parse_cursor(store.position())
    monkeypatch.setattr(waiting, "resume", lambda *_: None)  # nobody knows the witness of a turn that is not there
    reader = store.at_least(str(before._replace(seq=2)), timeout=60)
    timer = Timer(0.1, lambda: writer.add_turn("b", continues="main"))
    timer.start()
    assert reader.text("main") == "b"
    timer.join()


def test_a_database_that_was_put_back_is_not_waited_for(store: Store) -> None:
    store.add_turn("a")
    cursor = parse_cursor(store.position())
    for lost in (cursor._replace(epoch=bytes(16)), cursor._replace(witness="00000000")):
        with pytest.raises(CursorLost):
            store.at_least(str(lost), timeout=60).get("@")


@in_memory_too
def test_a_view_reads_and_writes_and_leaves_its_store_alone(store: Store) -> None:
    store.add_turn("a", bookmark="main")
    view = store.at_least(store.position())
    added = view.add_turn("b", continues="main")
    assert store.get("main") == added
    view.close()
    assert store.get("main") == added
    with pytest.raises(Closed):
        view.get("main")
    with pytest.raises(InvalidArgument, match="a cursor is what"):
        store.at_least("main")


def test_a_follower_of_a_view_waits_too(store: Store) -> None:
    store.add_turn("a")
    with pytest.raises(NotReplicated):
        next(store.at_least(ahead(store), timeout=0.01).follow())


class TestReplicas:
    @pytest.mark.postgresql
    def test_what_is_unknown_on_a_server_that_was_opened_read_only_may_come_yet(self, new_place: object) -> None:
        place: Place = new_place("postgresql")  # type: ignore[operator]
        with place.open() as writer, place.open(read_only=True) as reader:
            writer.add_turn("a", bookmark="main")
            with pytest.raises(UnknownBookmark, match="may not have been replicated yet"):
                reader.bookmarks["side"]
            with pytest.raises(UnknownTurn, match="may not have been replicated yet"):
                reader.get("0" * 25)
            with pytest.raises(UnknownTurn) as unknown:
                reader.at_least(writer.position()).get("0" * 25)
            assert "replicated" not in str(unknown.value)
            with pytest.raises(UnknownTurn) as unknown:
                writer.get("0" * 25)
            assert "replicated" not in str(unknown.value)
            place.close()

    def test_a_file_is_no_replica(self, store: Store) -> None:
        with pytest.raises(UnknownTurn) as unknown:
            store.get("0" * 25)
        assert "replicated" not in str(unknown.value)


class Enough(Exception):
    pass


def test_waiting_sleeps_longer_and_longer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 10:
            raise Enough

    monkeypatch.setattr(waiting.time, "sleep", sleep)
    with pytest.raises(Enough):
        store.at_least(ahead(store), timeout=1e6).get("@")
    assert slept[:3] == [waiting.SHORTEST_PAUSE * times for times in (1, 2, 4)]
    assert slept[-1] == waiting.LONGEST_PAUSE
