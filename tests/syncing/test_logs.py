"""The log of a device: written by one store, gone on with after a cut, and written anew."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import RemoteUnavailable
from support.growing import texts
from support.machines import Machine, Pair, bundles, state, url_of


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
