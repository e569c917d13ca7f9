"""A machine that comes later reads logs that were written anew, whose bundles continue each other's turns."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from headish import Database
from headish.bundles import records
from headish.errors import QuotaExceeded
from headish.syncing import departing, pulling, pushing
from support.growing import texts
from support.machines import CutOff, Machine, cut_off, invite, machines, state, url_of


def alternating(machine: Callable[[str], Machine], folder: Path, rounds: int = 6) -> tuple[Machine, Machine]:
    """Two machines that continued one conversation in turns, each after a sync."""
    desk, laptop = machine("desk"), machine("laptop")
    desk.add(url_of(folder / "box"))
    invite(desk, laptop, url_of(folder / "box"))
    desk.store.add_turn("q", bookmark="main")
    desk.sync()
    for number in range(rounds):
        for each in (laptop, desk):
            each.sync()
            each.store.add_turn(f"{each.name} {number}", continues="main")
            each.sync()
    laptop.sync()
    return desk, laptop


def erase_on_both(desk: Machine, laptop: Machine) -> None:
    """Each writes its log anew, without what it erased."""
    for each in (desk, laptop):
        mistake = each.store.add_turn(f"a mistake of the {each.name}", bookmark=f"{each.name}s")
        each.sync()
        each.store.erase(mistake.id, reason="told in error")
        each.sync()
    desk.sync()


def invited(machine: Callable[[str], Machine], desk: Machine, folder: Path) -> Machine:
    phone = machine("phone")
    invite(desk, phone, url_of(folder / "box"))
    return phone


def same(*each: Machine) -> bool:
    assert all(one.store.verify().problems == () for one in each)
    return all(state(one.store)[0] == state(each[0].store)[0] for one in each)


def test_after_an_erasure_on_each_machine(machine: Any, tmp_path: Path) -> None:
    desk, laptop = alternating(machine, tmp_path)
    erase_on_both(desk, laptop)
    phone = invited(machine, desk, tmp_path)
    pulled = phone.sync().pulled
    assert (pulled.waiting, pulled.stored) == ((), 15)
    assert texts(phone.store, "main") == texts(desk.store, "main")
    assert same(phone, desk, laptop)


def test_after_so_many_bundles_that_fewer_are_written(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "BUNDLES_LIMIT", 5)
    desk, laptop = alternating(machine, tmp_path)
    phone = invited(machine, desk, tmp_path)
    assert phone.sync().pulled.waiting == ()
    assert same(phone, desk, laptop)


def test_after_a_machine_was_taken_out(machine: Any, tmp_path: Path) -> None:
    desk, laptop = alternating(machine, tmp_path)
    lost = machine("lost")
    invite(desk, lost, url_of(tmp_path / "box"))
    lost.sync()
    with desk as store:
        fingerprint = store.remotes.revoke("box", "lost")
    laptop.set(key=fingerprint)
    laptop.sync()
    phone = invited(machine, desk, tmp_path)
    assert phone.sync().pulled.waiting == ()
    assert same(phone, desk, laptop)


def test_where_a_log_has_several_bundles_and_a_bundle_several_pages(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last turns of one bundle wait for a later bundle of the other log, which waits for its first ones."""
    for module in (records, departing):
        monkeypatch.setattr(module, "PAGE_TURNS", 2)
    desk, laptop = alternating(machine, tmp_path)
    for each, limit in ((desk, 10_000), (laptop, 20)):
        monkeypatch.setattr(pushing, "BUNDLE_BYTES", limit)
        with each as store:
            store.remotes.push("box")
    erase_on_both(desk, laptop)
    phone = invited(machine, desk, tmp_path)
    assert phone.sync().pulled.waiting == ()
    assert same(phone, desk, laptop)


def test_more_than_memory_shall_hold_waits(machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, laptop = alternating(machine, tmp_path)
    erase_on_both(desk, laptop)
    phone = invited(machine, desk, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(pulling, "UNTIED_BYTES", 100)
        assert len(phone.sync().pulled.waiting) == 2
    assert phone.store.stats().turns == 0
    assert phone.sync().pulled.waiting == ()


def test_what_has_no_room_says_so_and_waits(machine: Any, tmp_path: Path) -> None:
    desk, laptop = alternating(machine, tmp_path)
    erase_on_both(desk, laptop)
    phone = invited(machine, desk, tmp_path)
    database = Database(phone.store._database)
    database.spaces.limit("default", turns=4)
    with pytest.raises(QuotaExceeded):
        phone.sync()
    assert phone.store.get("@").id in {turn.id for turn in phone.store.turns()}  # as far as there was room
    database.spaces.limit("default", turns="none")
    assert phone.sync().pulled.waiting == ()
    assert same(phone, desk, laptop)


@pytest.mark.slow
def test_a_pull_that_stops_anywhere_is_gone_on_with(tmp_path: Path) -> None:
    with machines(tmp_path) as machine:
        desk, laptop = alternating(machine, tmp_path, 2)
        erase_on_both(desk, laptop)
        for after in count():
            phone = machine(f"phone-{after}")
            invite(desk, phone, url_of(tmp_path / "box"))
            with phone as store:
                try:
                    with cut_off(after) as moments:
                        store.remotes.pull("box")
                except CutOff:
                    pass
                store.remotes.pull("box")
            assert same(phone, desk, laptop), after
            if len(moments) <= after:
                break
        assert after > 10
