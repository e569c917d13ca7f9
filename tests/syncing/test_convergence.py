"""A folder that delivers late: three stores have everything in the end, whatever the order."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Store
from support.machines import Machine, state, url_of


class TestAFolderThatDeliversLate:
    @settings(max_examples=8)
    @given(data=st.data())
    def test_all_have_everything_in_the_end(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Three stores, each with a folder of its own between which objects are carried late and in any order."""
        root = tmp_path_factory.mktemp("late")
        names = ("a", "b", "c")
        machines = {
            name: Machine(Store.open(root / f"{name}.db", durability="normal"), root / f"keys-{name}", name)
            for name in names
        }
        try:
            for name, each in machines.items():
                each.add(url_of(root / f"box-{name}"), plain=True)
                each.store.add_turn("imported", bookmark="s", key="s:1")
            for _ in range(data.draw(st.integers(4, 14))):
                each = machines[data.draw(st.sampled_from(names))]
                step = data.draw(st.sampled_from(["say", "fork", "name", "sync", "carry", "title"]))
                _do(data, root, names, each, step)
            for _ in range(3):
                for each in machines.values():
                    each.sync()
                _carry(root, names, lambda _: True)
            stores = [each.store for each in machines.values()]
            sealed = [state(store)[0] for store in stores]
            assert sealed[0] == sealed[1] == sealed[2]
            assert [store.verify().problems for store in stores] == [(), (), ()]
            last = [each.sync() for each in machines.values()]
            assert [(each.pulled.stored, each.pushed.turns, each.pulled.waiting) for each in last] == [(0, 0, ())] * 3
        finally:
            for each in machines.values():
                each.store.close()


def _do(data: st.DataObject, root: Path, names: tuple[str, ...], each: Machine, step: str) -> None:
    store = each.store
    turns = [turn.id for turn in store.turns()]
    if step == "say":
        store.add_turn(data.draw(st.sampled_from(["x", "y" * 3000])), continues=data.draw(st.sampled_from(turns)))
    elif step == "fork":
        store.add_turn(
            "both", continues=data.draw(st.lists(st.sampled_from(turns), min_size=1, max_size=3, unique=True))
        )
    elif step == "name":
        store.bookmarks.set(data.draw(st.sampled_from(["s", "t"])), data.draw(st.sampled_from(turns)))
    elif step == "title":
        store.conversations.set("s", title=data.draw(st.sampled_from(["one", "two"])))
    elif step == "sync":
        each.sync()
    else:
        _carry(root, names, lambda _: data.draw(st.booleans()))


def _carry(root: Path, names: tuple[str, ...], takes: Callable[[Path], bool]) -> None:
    """Carry objects from folder to folder, as a file syncer does: what a device wrote goes to the others."""
    for source in names:
        for path in sorted((root / f"box-{source}").rglob("*")):
            if path.is_file() and takes(path):
                for target in names:
                    there = root / f"box-{target}" / path.relative_to(root / f"box-{source}")
                    if target != source and (not there.exists() or there.stat().st_mtime_ns < path.stat().st_mtime_ns):
                        there.parent.mkdir(parents=True, exist_ok=True)
                        shutil.copy2(path, there)
