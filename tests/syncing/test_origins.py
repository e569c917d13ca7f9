"""From where turns came: whose they are travels with them, and a device is its id, not what it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import InvalidArgument
from headish.store.asking.origins import is_strangers
from support.machines import Machine, Pair, invite, objects, state, url_of


def strangers(store: Store) -> set[str]:
    """What strangers said, of all that is here."""
    return {store.text(turn.id) for turn in store.turns() if is_strangers(store, turn.id)}


def joined(machine: Any, host: Machine, folder: Path, name: str = "newcomer") -> Machine:
    """A machine that comes later, with all that is there."""
    late: Machine = machine(name)
    invite(host, late, url_of(folder))
    late.sync()
    return late


class TestADeviceIsItsId:
    def test_a_label_that_is_used_again_hides_no_turn_from_newcomers(
        self, machine: Any, pair: Pair, tmp_path: Path
    ) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        laptop.store.add_turn("before it was reinstalled", bookmark="old")
        for each in (laptop, desk):
            each.sync()
        with desk as store:
            fingerprint = store.remotes.revoke("box", "laptop")
        again = machine("again")
        again.name = "laptop"
        invite(desk, again, url_of(box))
        again.set(key=fingerprint)
        again.store.add_turn("after it", bookmark="new")
        again.sync()
        desk.sync()
        desk.store.erase(desk.store.add_turn("a slip").id, reason="r")  # its log is written anew
        desk.sync()
        late = joined(machine, desk, box)
        assert set(state(late.store)[0]) == set(state(desk.store)[0])
        assert {"before it was reinstalled", "after it"} <= {late.store.text(each) for each in ("old", "new")}

    def test_two_devices_of_one_label_are_two(self, machine: Any, tmp_path: Path) -> None:
        box = tmp_path / "box"
        desk, one, two = machine("desk"), machine("one"), machine("two")
        one.name = two.name = "laptop"
        desk.add(url_of(box))
        for each in (one, two):
            invite(desk, each, url_of(box))
            each.store.add_turn(f"of {each.keys.name}", bookmark=each.keys.name)
            each.sync()
        desk.sync()
        with desk as store:
            assert [each.label for each in store.remotes.devices("box")] == ["desk", "laptop", "laptop-2"]
        late = joined(machine, desk, box)
        assert set(state(late.store)[0]) == set(state(desk.store)[0])

    def test_what_another_of_its_label_called_so_is_nothing_that_it_has_said(
        self, machine: Any, pair: Pair, tmp_path: Path
    ) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        laptop.store.add_turn("1", bookmark="main")
        laptop.sync()
        desk.sync()
        for path in objects(box):
            if "/keys/" not in path and laptop_device(laptop) in path:
                (box / path).unlink()
        desk.sync(accept_rollback=True)
        again = machine("again")
        again.name = "laptop"
        invite(desk, again, url_of(box))
        again.sync()
        again.store.bookmarks.remove("main")
        again.sync()
        assert desk.sync().pulled.names == ()  # it never said so, and so has not removed it
        assert "main" in desk.store.bookmarks

    def test_and_its_remote(self, machine: Any, tmp_path: Path) -> None:
        """Whoever can write to another place names a folder there like a device of a trusted one."""
        from msgspec.structs import replace

        from headish.syncing.remotes import read_remote, store_remote

        desk, other, thief, late = (machine(name) for name in ("desk", "other", "thief", "late"))
        box, open_box = url_of(tmp_path / "box"), url_of(tmp_path / "open")
        for each, url in ((desk, box), (other, box), (late, box), (thief, open_box)):
            each.add(url, plain=True)
        other.store.add_turn("of the other", bookmark="other")
        other.sync()
        thief.store.add_turn("of the thief", bookmark="theirs")
        [theirs, others] = (
            each.store._read(lambda connection, each=each: read_remote(connection, each.store._number, "box"))
            for each in (thief, other)
        )
        named = theirs._replace(settings=replace(theirs.settings, device=others.settings.device))
        thief.store._write(lambda connection: store_remote(connection, thief.store._number, named))
        thief.sync()
        with desk as store:
            store.remotes.set("box", trust=True)
            store.remotes.pull("box")
            store.remotes.add("open", open_box, device="desk", plain=True)
            store.remotes.pull("open")
            assert strangers(store) == {"of the thief"}
            assert [store.remotes.status(name).unsent for name in ("box", "open")] == [1, 1]
            store.remotes.push("box")
        late.sync()
        assert {late.store.text(turn.id) for turn in late.store.turns()} == {"of the other", "of the thief"}


class TestAStrangerStaysOne:
    def test_on_every_machine_that_it_reaches(self, machine: Any, pair: Pair, tmp_path: Path) -> None:
        desk, laptop = pair
        stranger = machine("stranger")
        stranger.store.add_turn("theirs", bookmark="theirs", inherited={"provider_ptr": "evil"})
        stranger.store.bundles.create(tmp_path / "bundle")
        desk.store.add_turn("before", bookmark="mine")
        desk.store.bundles.apply(tmp_path / "bundle")
        desk.store.add_turn("mine", continues="theirs")
        assert strangers(desk.store) == {"theirs"}
        for each in (desk, laptop):
            each.sync()
        assert strangers(laptop.store) == {"theirs"}
        with laptop as store:
            store.remotes.remove("box")
        assert strangers(laptop.store) == {"theirs"}
        assert laptop.store.verify().problems == ()

    def test_whatever_its_remote_is_called_later(self, machine: Any, tmp_path: Path) -> None:
        desk, other = machine("desk"), machine("other")
        for each in (desk, other):
            each.add(url_of(tmp_path / "open"), plain=True)
        other.store.add_turn("over an open folder", bookmark="theirs")
        for each in (other, desk):
            each.sync()
        assert strangers(desk.store) == {"over an open folder"}
        with desk as store:
            store.remotes.remove("box")
        desk.add(url_of(tmp_path / "sealed"))
        assert strangers(desk.store) == {"over an open folder"}

    def test_unless_the_user_trusts_a_place_that_anybody_can_write_to(self, machine: Any, tmp_path: Path) -> None:
        desk, other, third = machine("desk"), machine("other"), machine("third")
        for each in (desk, other):
            each.add(url_of(tmp_path / "open"), plain=True)
        third.store.add_turn("of a bundle", bookmark="third", inherited={"provider_ptr": "evil"})
        third.store.bundles.create(tmp_path / "bundle")
        other.store.bundles.apply(tmp_path / "bundle")
        other.store.add_turn("of the other", bookmark="other", inherited={"provider_ptr": "mine"})
        for each in (other, desk):
            each.sync()
        assert strangers(desk.store) == {"of a bundle", "of the other"}
        assert desk.set(trust=True).trust
        assert strangers(desk.store) == {"of a bundle"}  # which the other has from a stranger
        with desk as store:
            store.remotes.set("box", names="*")
            assert store.remotes.list()[0].trust
            store.remotes.set("box", trust=False)
        assert strangers(desk.store) == {"of a bundle", "of the other"}
        third.add(url_of(tmp_path / "sealed"))
        with third as store, pytest.raises(InvalidArgument, match="is encrypted"):
            store.remotes.set("box", trust=True)

    def test_in_another_space_into_which_it_is_copied(self, store: Store, machine: Any, tmp_path: Path) -> None:
        stranger = machine("stranger")
        stranger.store.add_turn("theirs", bookmark="theirs", inherited={"provider_ptr": "evil"})
        stranger.store.bundles.create(tmp_path / "bundle")
        store.add_turn("before", bookmark="mine")
        store.bundles.apply(tmp_path / "bundle")
        store.add_turn("mine", continues="theirs")
        store.add_turn("more", continues="mine")
        with Store.open(tmp_path / "copy.db") as copy:
            copy.add_turn("own", bookmark="own")
            store.copy_to(copy, ["theirs", "mine"])
            assert strangers(copy) == {"theirs"}
            assert (copy.get("@").id, copy.verify().problems) == (store.get("mine").id, ())


def laptop_device(laptop: Machine) -> str:
    with laptop as store:
        return str(store.remotes.devices("box")[0].device)
