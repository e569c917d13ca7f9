"""Bytes at a store's own place that are no head or no bundle: the store knows what it has put there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headish import Store
from headish.errors import InvalidBundle, NotADevice
from support.command import Command
from support.growing import texts
from support.machines import CutOff, Machine, Pair, bundles, cut_off, objects, put_back, state, url_of

JUNK = [b"", b"x", b"headish-head-1\n", b"\0" * 5000]


def own_log(machine: Machine, box: Path) -> Path:
    with machine as store:
        [own] = [each for each in store.remotes.devices("box") if each.own]
    return next(box.glob(f"v1/*/{own.device}"))


class TestAHeadThatCannotBeRead:
    @pytest.mark.parametrize("junk", JUNK)
    def test_is_written_anew(self, pair: Pair, tmp_path: Path, junk: bytes) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        desk.sync(), laptop.sync()
        head = own_log(desk, box) / "head"
        head.write_bytes(junk)
        with pytest.raises(NotADevice, match="'headish push box --accept-rollback' writes it anew"):
            desk.sync()
        assert desk.sync(accept_rollback=True).pushed.objects == 1
        assert own_log(desk, box) == head.parent, "the device stays who it was"
        desk.store.add_turn("2", continues="main")
        desk.sync()
        assert laptop.sync().pulled.waiting == ()
        assert state(laptop.store) == state(desk.store)
        assert desk.sync().pushed.objects == 0
        assert len(bundles(head.parent)) == 2

    def test_leaves_what_another_copy_of_the_store_has_put(self, pair: Pair, tmp_path: Path) -> None:
        """A cloned disk has pushed more: that may be all that is left of it."""
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        desk.sync()
        desk.store.close()
        shutil.copy(tmp_path / "desk.db", tmp_path / "twin.db")
        with Store.open(tmp_path / "twin.db") as store:
            store.add_turn("of the twin", bookmark="twin")
            Machine(store, desk.keys, "desk").sync()
        with Store.open(tmp_path / "desk.db") as store:
            desk = Machine(store, desk.keys, "desk")
            log = own_log(desk, box)
            lying = bundles(log)
            (log / "head").write_bytes(b"junk")
            store.add_turn("2", continues="main")
            desk.sync(accept_rollback=True)
            assert own_log(desk, box) != log
        assert len(lying) == 2
        assert all(each.exists() for each in lying)
        laptop.sync()
        assert texts(laptop.store, "desk/main") == ["1", "2"]

    @pytest.mark.parametrize("after", range(24))
    def test_however_the_push_that_mends_it_is_cut_off(self, pair: Pair, tmp_path: Path, after: int) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        desk.sync()
        (own_log(desk, box) / "head").write_bytes(b"junk")
        desk.store.add_turn("2", continues="main")
        with cut_off(after) as moments:
            try:
                desk.sync(accept_rollback=True)
            except CutOff:
                assert len(moments) == after + 1
        desk.sync(accept_rollback=True)
        assert laptop.sync().pulled.waiting == ()
        assert state(laptop.store) == state(desk.store)

    def test_at_a_place_without_encryption(self, machine: Callable[..., Machine], tmp_path: Path) -> None:
        desk = machine("desk")
        desk.add(url_of(tmp_path / "box"), plain=True)
        desk.store.add_turn("1", bookmark="main")
        desk.sync()
        (own_log(desk, tmp_path / "box") / "head").write_bytes(b"junk")
        with pytest.raises(InvalidBundle, match="--accept-rollback"):
            desk.sync()
        with desk:
            headish = Command(str(tmp_path / "desk.db"))
            assert "--accept-rollback" in headish.fails("push")
            headish("push", "box", "--accept-rollback")
        assert desk.sync().pushed.objects == 0


class TestABundleThatCannotBeRead:
    @pytest.mark.parametrize("junk", JUNK)
    def test_where_the_next_one_goes_stops_no_push(self, pair: Pair, tmp_path: Path, junk: bytes) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        desk.sync(), laptop.sync()
        log = own_log(desk, box)
        (log / "g0001" / "000002.hb").write_bytes(junk)
        desk.store.add_turn("2", continues="main")
        desk.sync()
        assert laptop.sync().pulled.waiting == ()
        assert own_log(desk, box) == log
        assert state(laptop.store) == state(desk.store)
        assert desk.sync().pushed.objects == 0

    def test_of_another_log_stops_no_push(self, pair: Pair, tmp_path: Path) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        laptop.store.add_turn("mine", bookmark="mine")
        desk.sync(), laptop.sync()
        [other] = bundles(own_log(laptop, box))
        (own_log(desk, box) / "g0001" / "000002.hb").write_bytes(other.read_bytes())
        desk.store.add_turn("2", continues="main")
        desk.sync(), laptop.sync()
        assert state(laptop.store)[0] == state(desk.store)[0]

    def test_where_the_log_begins_stops_no_push(self, pair: Pair, tmp_path: Path) -> None:
        """The first push was cut off while the object was written, by a disk that was full, say."""
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        before = objects(box)
        desk.sync()
        for path in objects(box).keys() - before.keys():
            if path.endswith("head"):
                (box / path).unlink()
            else:
                (box / path).write_bytes(b"torn")
        with desk as store:
            store.remotes.push("box", accept_rollback=True)
        laptop.sync()
        assert state(laptop.store) == state(desk.store)
        put_back(box, objects(box))
        assert desk.sync().pushed.objects == 0
