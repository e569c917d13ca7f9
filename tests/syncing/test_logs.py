"""The log of a device: written by one store, gone on with after a cut, and written anew."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from headish import Database, Store, restore
from headish.bundles.pages import read_page
from headish.bundles.records import BundleKind
from headish.bundles.streams import BundleReader
from headish.errors import RemoteUnavailable
from headish.syncing.logs import folder_of, machine_of
from support.growing import texts
from support.machines import CutOff, Machine, Pair, bundles, objects, state, url_of


def _stop(*_: object) -> None:
    raise CutOff


def payloads_in(path: Path) -> list[bytes | None]:
    with open(path, "rb") as file:
        parts = [*BundleReader(file, "a").parts()]
    return [data for kind, page in parts if kind is BundleKind.PAGE for data in read_page(page, "a").payloads]


def test_paths_at_a_remote_stay_as_they_are(machine: Any, tmp_path: Path) -> None:
    assert (folder_of("main"), machine_of("age1x")) == ("v1/362123056cfe3ce4", "bab7090a30c319b3")
    desk = machine("desk")
    desk.add(url_of(tmp_path / "box"))
    desk.store.add_turn("q", bookmark="main")
    desk.sync()
    folder = folder_of(desk.store.space)
    [device] = [path.split("/")[2] for path in objects(tmp_path / "box") if path.endswith("/head")]
    assert re.fullmatch("[0-9a-f]{16}", device)
    behind = {"keys/first", f"keys/{device}.age", f"{device}/g0001/000001.hb", f"{device}/head"}
    assert set(objects(tmp_path / "box")) == {f"{folder}/{path}" for path in behind}


class TestLogs:
    def test_two_copies_of_one_store_write_two_logs(self, machine: Any, tmp_path: Path) -> None:
        desk = machine("desk")
        url = url_of(tmp_path / "box")
        desk.add(url)
        desk.store.add_turn("q", bookmark="main")
        desk.sync()
        desk.store.backup(tmp_path / "copy.hbackup")
        shutil.copyfile(tmp_path / "desk.db", tmp_path / "clone.db")
        wal = tmp_path / "desk.db-wal"
        if wal.exists():
            shutil.copyfile(wal, tmp_path / "clone.db-wal")
        desk.store.add_turn("of the desk", continues="main")
        desk.sync()
        with Store.open(tmp_path / "clone.db") as store:
            clone = Machine(store, desk.keys, "clone")
            store.add_turn("of the clone", bookmark="clone")
            clone.sync()
            assert desk.sync().pulled.stored == 1
            assert texts(desk.store, "clone") == ["of the clone"]
            clone.sync()
            assert set(state(store)[0]) == set(state(desk.store)[0])
            assert [store.verify().problems, desk.store.verify().problems] == [(), ()]

    @pytest.mark.parametrize("name", ["monday.db", "monday.hbackup"])
    def test_a_restored_store_first_reads_what_it_had_said_since(self, machine: Any, tmp_path: Path, name: str) -> None:
        """It also reads what it had erased since, before it sends that again."""
        desk = machine("desk")
        desk.add(url_of(tmp_path / "box"), plain=True)
        desk.set(erasures="apply")
        erased = desk.store.add_turn("a card number", bookmark="main").id
        Database(desk.store._database).backup(tmp_path / name)
        desk.store.add_turn("said since", continues="main")
        desk.store.erase(erased, reason="r")
        desk.sync()
        desk.store.close()
        (tmp_path / "desk.db").unlink()
        restore(tmp_path / name, tmp_path / "desk.db")
        with Store.open(tmp_path / "desk.db") as store:
            again = Machine(store, desk.keys, "desk")
            synced = again.sync()
            assert (synced.pulled.stored, synced.pulled.erased, synced.pushed.turns) == (1, 1, 1)
            assert texts(store, "main") == ["said since"]
            sent = [data for path in bundles(tmp_path / "box") for data in payloads_in(path) if data is not None]
            assert len(sent) == 1
            assert b"said since" in sent[0]

    @pytest.mark.parametrize("is_cut_off", [False, True])
    def test_two_copies_that_end_with_the_same_turn_write_two_logs(
        self, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_cut_off: bool
    ) -> None:
        """Each says something, and then gets the same turn: only what is before that tells the copies apart."""
        desk, laptop = pair
        desk.store.add_turn("q", bookmark="main")
        desk.sync(), laptop.sync(), desk.sync()
        desk.store.close()
        shutil.copyfile(tmp_path / "desk.db", tmp_path / "clone.db")
        laptop.store.add_turn("of the laptop")
        laptop.sync()
        with Store.open(tmp_path / "desk.db") as store, Store.open(tmp_path / "clone.db") as other:
            copies = Machine(store, desk.keys, "desk"), Machine(other, desk.keys, "clone")
            for each in copies:
                each.store.add_turn(f"of the {each.name}")
                with each:
                    each.store.remotes.pull("box")
            with monkeypatch.context() as patch, suppress(CutOff):
                if is_cut_off:
                    patch.setattr("headish.remotes.objects.ObjectPlace.put", _stop)
                copies[0].sync()
            for each in (*copies, laptop, *copies, laptop):
                each.sync()
            held = [set(state(each.store)[0]) for each in (*copies, laptop)]
            assert [len(each) for each in held] == [4, 4, 4]
            assert held[0] == held[1] == held[2]

    def test_a_long_log_is_written_anew(self, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headish.syncing.pushing.BUNDLES_LIMIT", 3)
        desk, laptop = pair
        for index in range(5):
            desk.store.add_turn(f"{index}", continues="main" if index else None, bookmark="main")
            desk.sync()
            if index % 2:
                laptop.sync()
        laptop.sync()
        assert len(bundles(tmp_path / "box")) == 2
        assert state(laptop.store) == state(desk.store)

    def test_a_large_history_goes_in_several_bundles(self, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headish.syncing.pushing.BUNDLE_BYTES", 10_000)
        monkeypatch.setattr("headish.syncing.departing.PAGE_TURNS", 2)
        desk, laptop = pair
        desk.store.add_turns(
            {"content": os.urandom(2000).hex(), "continues": index - 1 if index else None, "bookmark": "main"}
            for index in range(9)
        )
        assert desk.sync().pushed.objects > 3
        laptop.sync()
        assert (state(laptop.store), laptop.store.verify().problems) == (state(desk.store), ())

    def test_a_push_that_was_cut_off_is_gone_on_with(
        self, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from headish.remotes.objects import ObjectPlace

        desk, laptop = pair
        desk.store.add_turn("a", bookmark="main")
        desk.sync()
        put = ObjectPlace.put
        for cut in ("head", "after"):
            desk.store.add_turn(cut, continues="main")

            def break_off(place: ObjectPlace, path: str, data: bytes, cut: str = cut) -> None:
                if cut == "after":
                    put(place, path, data)
                raise RemoteUnavailable(place.url, "the cable was pulled")

            with monkeypatch.context() as patch:
                patch.setattr(ObjectPlace, "put", break_off)
                with pytest.raises(RemoteUnavailable):
                    desk.sync()
            laptop.sync()
            desk.store.add_turn(f"behind {cut}", continues="main")
            desk.sync()
            laptop.sync()
            assert state(laptop.store) == state(desk.store)
        assert len({path.name for path in bundles(tmp_path / "box")}) == 5
