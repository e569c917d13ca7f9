"""What one device says cannot be stored here: the others arrive all the same, and the pull says what was left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headish import Database, Store
from headish.errors import ForeignConflict, QuotaExceeded, TooLarge
from support.command import Command
from support.growing import texts
from support.insides import run_sql
from support.machines import Machine, invite, url_of

Three = tuple[Machine, Machine, Machine]


@pytest.fixture
def three(machine: Callable[..., Machine], tmp_path: Path) -> Three:
    """Two machines that say something, whichever log is read first, and one that reads both."""
    url, first, second, reader = url_of(tmp_path / "box"), machine("first"), machine("second"), machine("reader")
    first.add(url)
    for each in (second, reader):
        invite(first, each, url)
    first.sync(), second.sync(), reader.sync()
    return first, second, reader


def limit(store: Store, **limits: int | str) -> None:
    with Database.open(store._database.target) as database:
        database.spaces.limit(store.space, **limits)


def in_order(three: Three) -> tuple[Machine, Machine]:
    """The two that say something, in the order in which their logs are read."""
    first, second, _ = three

    def device(each: Machine) -> str:
        with each as store:
            return next(found.device for found in store.remotes.devices("box") if found.own)

    early, late = sorted((first, second), key=device)
    return early, late


def say(store: Store, count: int, bookmark: str) -> None:
    for number in range(count):
        store.add_turn(f"{bookmark} {number}", continues=bookmark if number else None, bookmark=bookmark)


class TestWhatDoesNotFit:
    def test_the_others_arrive_with_their_names(self, three: Three) -> None:
        (early, late), reader = in_order(three), three[2]
        say(early.store, 5, "long")
        say(late.store, 2, "short")
        early.sync(), late.sync()
        limit(reader.store, turns=4)
        for _ in range(2):
            with pytest.raises(QuotaExceeded, match=f"what {early.name} sent does not fit: .* limited to 4 turns"):
                reader.sync()
            assert (reader.store.stats().turns, set(reader.store.bookmarks)) == (2, {"short"})
        limit(reader.store, turns="none")
        assert reader.sync().pulled.stored == 5
        assert set(reader.store.bookmarks) == {"short", "long"}
        assert reader.store.verify().problems == ()

    def test_what_fits_of_a_log_stays_and_the_rest_comes_once_there_is_room(self, three: Three) -> None:
        """A log of three bundles, of which the second does not fit: the third is smaller, and waits behind it."""
        (early, late), reader = in_order(three), three[2]
        say(late.store, 1, "short")
        late.sync()
        for number, count in enumerate((1, 4, 1)):
            say(early.store, count, f"n{number}")
            early.sync()
        limit(reader.store, turns=3)
        with pytest.raises(QuotaExceeded):
            reader.sync()
        assert reader.store.stats().turns == 2
        assert set(reader.store.bookmarks) == {"short"}, "names move once all turns of their device are here"
        limit(reader.store, turns=7)
        assert reader.sync().pulled.stored == 5
        assert set(reader.store.bookmarks) == {"n0", "n1", "n2", "short"}

    def test_what_was_said_here_still_goes_there(self, three: Three) -> None:
        (early, late), reader = in_order(three), three[2]
        say(early.store, 5, "long")
        early.sync()
        say(reader.store, 1, "mine")
        limit(reader.store, turns=2)
        with pytest.raises(QuotaExceeded):
            reader.sync()
        assert late.sync().pulled.stored == 6

    def test_an_erasure_of_another_device_is_carried_out_to_its_end(self, three: Three, tmp_path: Path) -> None:
        """What it erased is in no page of the file, though the pull says that something was left."""
        (early, late), reader = in_order(three), three[2]
        slip = late.store.add_turn("a slip of the tongue", bookmark="slip")
        late.sync(), reader.sync()
        late.store.erase(slip.id, reason="r")
        say(early.store, 5, "long")
        early.sync(), late.sync()
        limit(reader.store, turns=3)
        with pytest.raises(QuotaExceeded):
            reader.sync()
        assert reader.store.get(slip.id).erased is not None
        assert b"slip of the tongue" not in (tmp_path / "reader.db").read_bytes()

    def test_the_command_exits_1_and_names_the_device(self, three: Three, tmp_path: Path) -> None:
        (early, late), reader = in_order(three), three[2]
        say(early.store, 5, "long")
        say(late.store, 2, "short")
        early.sync(), late.sync()
        limit(reader.store, turns=4)
        with reader:
            headish = Command(str(tmp_path / "reader.db"))
            assert f"what {early.name} sent does not fit" in headish.fails("pull")
            assert "does not fit" in headish.fails("sync")
        assert set(reader.store.bookmarks) == {"short"}


class TestWhatThisStoreDoesNotTake:
    def test_another_turn_under_a_known_id_keeps_no_other_device_out(self, three: Three, tmp_path: Path) -> None:
        (early, late), reader = in_order(three), three[2]
        turn = early.store.add_turn("said", bookmark="main")
        early.store.bundles.create(tmp_path / "file")
        reader.store.bundles.apply(tmp_path / "file")
        run_sql(reader.store, f"UPDATE turn SET seal = x'00' WHERE id = '{turn.id}'")
        say(late.store, 2, "short")
        early.sync(), late.sync()
        with pytest.raises(ForeignConflict, match=turn.id), reader as store:
            store.remotes.pull("box")
        assert len(texts(reader.store, "short")) == 2

    def test_another_turn_under_a_known_id_keeps_nothing_from_going_there(
        self, three: Three, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two sound turns have one id: neither was altered here, and each device still says what is new."""
        (early, late), reader = in_order(three), three[2]
        turn = early.store.add_turn("said", bookmark="main")
        with monkeypatch.context() as patch:
            patch.setattr(reader.store._database, "mint", lambda: turn.id)
            reader.store.add_turn("something else", bookmark="other")
        reader.sync(), late.sync()
        with pytest.raises(ForeignConflict, match=turn.id):
            early.sync()
        say(reader.store, 1, "mine")
        with pytest.raises(ForeignConflict, match=turn.id):
            reader.sync()
        with pytest.raises(ForeignConflict, match=turn.id):
            late.sync()
        assert set(late.store.bookmarks) == {"other", "mine"}
        assert early.store.text("main") == "said"
        assert all(each.store.verify().problems == () for each in three)

    def test_a_payload_that_is_too_large_keeps_no_other_device_out(self, three: Three, tmp_path: Path) -> None:
        (early, late), reader = in_order(three), three[2]
        early.store.add_turn("x" * 2000, bookmark="main")
        say(late.store, 2, "short")
        early.sync(), late.sync()
        reader.store.close()
        with Store.open(tmp_path / "reader.db", payload_limit_bytes=1000) as store:
            own = Machine(store, reader.keys, "reader")
            with pytest.raises(TooLarge), own:
                store.remotes.pull("box")
            assert len(texts(store, "short")) == 2
            say(store, 1, "mine")
            with pytest.raises(TooLarge):
                own.sync()
        assert late.sync().pulled.stored == 1, "what was said here goes there all the same"
