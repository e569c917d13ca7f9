"""A person's request is one call: the space goes, its line stays with its receipts."""

from __future__ import annotations

import pytest

from headish import Database, Store
from headish.errors import InvalidArgument, RemovedSpace, SpaceNotEmpty, UnknownSpace, UnknownStream, UnknownTurn
from support.growing import grow
from support.insides import dump, unchanged


@pytest.fixture
def person(store: Store) -> Store:
    """A space with branches, names that moved, and an erasure of its own."""
    grown = grow(store, "q? <- a <- r?, q? <- b")
    store.bookmarks.set("main", grown["r?"].id)
    store.bookmarks.set("main", grown["b"].id)
    store.erase(grown["a"].id, content=True, reason="first")
    return store


class TestErasing:
    def test_the_line_stays_with_its_receipts_and_can_be_read(self, person: Store) -> None:
        spaces = Database(person._database).spaces
        count, epoch = len(spaces), _epoch(person)
        done = spaces.erase(person.space, reason="asked for", by="ana")
        assert done.became == f"erased-{person._number}"
        assert (person.space in spaces, len(spaces)) == (False, count)
        left = Database(person._database).store(done.became, create=False)
        assert [each.scope for each in left.erasures if each.covers is None] == ["turn", "space"]
        assert left._number == person._number
        assert _epoch(person) != epoch
        assert done.receipt is not None
        assert done.receipt.counts == {"turns": 4, "bookmarks": 1}
        assert done.receipt.turns == ()
        assert person.verify().problems == ()
        assert Database(person._database).verify()[done.became].problems == ()  # others' spaces may be damaged

    def test_the_name_is_free_and_its_number_is_not(self, person: Store) -> None:
        database = Database(person._database)
        name = person.space
        database.spaces.erase(name, reason="r")
        anew = database.store(name)
        assert anew._number != person._number
        anew.add_turn("hello")
        assert anew.verify().problems == ()

    def test_an_open_store_finds_nothing_and_stores_nothing(self, person: Store) -> None:
        person.add_turn("more", continues="main")
        capture = person.capture("main", "anthropic")
        Database(person._database).spaces.erase(person.space, reason="r")
        with unchanged(person):
            with pytest.raises(UnknownTurn):
                person.get("main")
            for write in (
                lambda: person.add_turn("x"),
                lambda: person.add_turn("x", continues="main"),
                lambda: person.objects.put("kind", "k", b"x"),
                lambda: person.erase("@", reason="r"),
                lambda: Database(person._database).spaces.erase(f"erased-{person._number}", reason="r"),
                lambda: Database(person._database).spaces.remove(f"erased-{person._number}"),
                lambda: capture.feed({"type": "ping"}) or capture.finish(),
            ):
                with pytest.raises((RemovedSpace, UnknownTurn, SpaceNotEmpty, UnknownStream)):
                    write()

    def test_nothing_begins_in_it_although_its_request_was_made_before(self, person: Store) -> None:
        request = person.request("main", to="openai", model="m")
        Database(person._database).spaces.erase(person.space, reason="r")
        with unchanged(person), pytest.raises(RemovedSpace):
            person.capture(request, "openai")

    def test_a_dry_run_counts_and_changes_nothing(self, person: Store) -> None:
        with unchanged(person):
            found = Database(person._database).spaces.erase(person.space, reason="r", dry_run=True).found
        assert (found.counts["turns"], found.bytes) == (4, person.stats().payload_bytes)

    def test_a_name_that_somebody_took_before_is_left_alone(self, person: Store) -> None:
        database = Database(person._database)
        database.spaces.add(f"erased-{person._number}")
        assert database.spaces.erase(person.space, reason="r").became == f"erased-{person._number}-"
        assert person.verify().problems == ()

    def test_other_spaces_keep_what_is_equal(self, person: Store) -> None:
        other = Database(person._database).store(f"{person.space}-other")
        grow(other, "q? <- a")
        other.add_turn("z" * 5000)
        person.add_turn("z" * 5000)
        before = dump(other)
        Database(person._database).spaces.erase(person.space, reason="r")
        assert dump(other) == before

    def test_what_cannot_be_is_refused(self, person: Store) -> None:
        with pytest.raises(UnknownSpace):
            Database(person._database).spaces.erase("nobody", reason="r")
        with unchanged(person), pytest.raises(InvalidArgument):
            Database(person._database).spaces.erase(person.space, reason="")


def _epoch(store: Store) -> bytes:
    [row] = dump(store)["counter"]
    return bytes(row[4])
