"""Erasures at a live remote: they go first, and wait there for somebody, but where they are trusted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headish.database.sqlite import SQLiteBackend
from headish.errors import RemoteRefused, UnknownErasure
from headish.rows.elsewhere.notices import all_notices
from headish.syncing import erasures
from support.ends import Ends, pull, sync
from support.machines import Machine


class TestErasures:
    def test_erasures_go_first_and_wait_to_be_confirmed(self, ends: Ends) -> None:
        desk, box = ends
        turn = desk.store.add_turn("to be forgotten", bookmark="main")
        sync(ends)
        desk.store.erase(turn.id, reason="asked to")
        assert desk.store.remotes.not_reached() == {desk.store.erasures.list()[0].id: ("1 of 1 devices on box",)}
        sync(ends)
        assert box.get(turn.id).erased is None
        assert len(box.remotes.pending_erasures()) == 1
        box.remotes.erase_pending()
        sync(ends)
        assert box.get(turn.id).erased is not None
        assert desk.store.remotes.not_reached() == {}

    def test_what_somebody_dismisses_stays_and_asks_no_more(self, ends: Ends) -> None:
        desk, box = ends
        turns = [desk.store.add_turn(f"{number}").id for number in range(4)]
        sync(ends)
        for each in turns:
            desk.store.erase(each, reason="asked to")
        sync(ends)
        waiting = {each.turns[0].id: each.id for each in box.remotes.pending_erasures()}
        for verb in (box.remotes.dismiss_pending, box.remotes.erase_pending):
            with pytest.raises(UnknownErasure):
                verb([waiting[turns[0]], "03hapqwkbfc5blg7smu5a74ph"])
        assert len(box.remotes.pending_erasures()) == 4
        assert box.remotes.dismiss_pending([waiting[turns[0]]]) == 1
        assert box.remotes.erase_pending([waiting[turns[1]]]) == 1
        assert box.remotes.dismiss_pending() == 2
        assert box.remotes.erase_pending() == 0
        with desk as store:  # both are compared anew
            store.remotes.remove("box")
        desk.add("cmd:headish serve-stdio")
        sync(ends)
        assert box.remotes.pending_erasures() == []
        assert [box.get(each).erased is None for each in turns] == [True, False, True, True]
        assert len(desk.store.remotes.not_reached()) == 3
        assert box.verify().problems == ()

    @pytest.mark.parametrize("first", ["erase_pending", "dismiss_pending"])
    def test_what_somebody_else_has_decided_meanwhile_stays_so(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch, first: str
    ) -> None:
        desk, box = ends
        turn = desk.store.add_turn("gone").id
        sync(ends)
        desk.store.erase(turn, reason="asked to")
        sync(ends)
        write_locked = erasures.write_locked

        def late(*given: Any) -> Any:
            monkeypatch.setattr(erasures, "write_locked", write_locked)
            assert getattr(box.remotes, first)() == 1
            return write_locked(*given)

        monkeypatch.setattr(erasures, "write_locked", late)
        [second] = {"erase_pending", "dismiss_pending"} - {first}
        assert getattr(box.remotes, second)() == 0
        [notice] = box._read(lambda connection: all_notices(connection, box._number))
        is_erased = first == "erase_pending"
        assert (notice.state, box.get(turn).erased is not None) == ("applied" if is_erased else "ignored", is_erased)

    def test_so_many_erasures_of_who_is_ignored_are_kept_and_no_more(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, box = ends
        monkeypatch.setattr(erasures, "PENDING_LIMIT", 2)
        turns = [box.add_turn(f"{number}").id for number in range(5)]
        desk.set(erasures="ignore")
        sync(ends)
        for each in turns:
            box.erase(each, reason="r")
        later = box.add_turn("never seen here while it said something").id
        box.erase(later, reason="r")
        for _ in range(2):
            sync(ends)
        kept = desk.store._read(lambda connection: all_notices(connection, desk.store._number))
        assert [each.state for each in kept] == ["ignored"] * 2
        assert [desk.store.get(each).erased is None for each in turns] == [True] * 5
        assert desk.store.get(later).erased is not None
        assert desk.store.verify().problems == ()

    def test_so_many_erasures_wait_and_no_more(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those that list nothing there have half of the room, and what they list arrives as erased all the same."""
        desk, box = ends
        monkeypatch.setattr(erasures, "PENDING_LIMIT", 4)
        known = [desk.store.add_turn(f"known {number}").id for number in range(5)]
        sync(ends)
        unknown = [desk.store.add_turn(f"unknown {number}").id for number in range(3)]
        for each in (*unknown, *known):
            desk.store.erase(each, reason="r")
        refused = "erasures wait here to be confirmed, and no more are taken"
        for waiting in (2, 4):
            with pytest.raises(RemoteRefused, match=f"{waiting} {refused}"):
                sync(ends)
            assert len(box.remotes.pending_erasures()) == waiting
            box.remotes.erase_pending()
        sync(ends)
        assert len(box.remotes.pending_erasures()) == 2
        box.remotes.erase_pending()
        assert all(box.get(each).erased is not None for each in (*known, *unknown))
        assert box.verify().problems == ()

    def test_receipts_that_wait_have_so_many_bytes_and_no_more(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, box = ends
        monkeypatch.setattr(erasures, "PENDING_LIMIT_BYTES", 1000)
        turn = desk.store.add_turn("known").id
        sync(ends)
        desk.store.erase(turn, reason="r" * 1000)
        with pytest.raises(RemoteRefused, match="0 erasures wait"):
            sync(ends)
        sync(ends, trust=True)
        assert box.get(turn).erased is not None

    def test_erasures_there_come_here(self, ends: Ends) -> None:
        desk, box = ends
        turn = desk.store.add_turn("to be forgotten", bookmark="main")
        sync(ends)
        desk.set(erasures="apply")
        box.erase(turn.id, reason="asked to")
        assert sync(ends).pulled.erased == 1
        assert desk.store.get(turn.id).erased is not None

    def test_a_caller_who_is_trusted_erases(self, ends: Ends) -> None:
        desk, box = ends
        turn = desk.store.add_turn("to be forgotten", bookmark="main")
        sync(ends, trust=True)
        desk.store.erase(turn.id, reason="asked to")
        sync(ends, trust=True)
        assert box.get(turn.id).erased is not None
        assert desk.store.remotes.not_reached() == {}

    def test_what_a_trusted_caller_erases_is_taken_off_the_disk(self, ends: Ends, tmp_path: Path) -> None:
        desk, _ = ends
        turn = desk.store.add_turn("a rare ornithological word", bookmark="main")
        sync(ends, trust=True)
        assert b"ornithological" in b"".join(each.read_bytes() for each in tmp_path.glob("box.db*"))
        desk.store.erase(turn.id, reason="asked to")
        sync(ends, trust=True)
        assert b"ornithological" not in b"".join(each.read_bytes() for each in tmp_path.glob("box.db*"))

    def test_a_caller_that_only_asks_makes_nobody_rewrite_the_file(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        box, rewritten = ends[1], list[str]()
        box.add_turn("to be forgotten", bookmark="main")
        box.erase("main", reason="asked to", scrub=False)
        scrub = SQLiteBackend.scrub
        monkeypatch.setattr(SQLiteBackend, "scrub", lambda self: rewritten.append(self.target) or scrub(self))
        pull(ends)
        assert box._backend.target not in rewritten


@pytest.mark.parametrize("first", ["desk", "laptop"])
@pytest.mark.parametrize("erases", [("box",), ("desk", "box"), ("box", "laptop"), ("desk", "laptop", "box")])
def test_twins_with_one_key_are_erased_with_their_meta_and_come(
    erases: tuple[str, ...], first: str, machine: Callable[..., Machine], tmp_path: Path
) -> None:
    """Three stores have imported the same message. Each has its key, or the hash that an erasure leaves of it."""
    desk, laptop, box = (machine(name) for name in ("desk", "laptop", "box"))
    turns = {each.name: each.store.add_turn("imported", key="s:1") for each in (desk, laptop, box)}
    for each in (desk, laptop, box):
        if each.name in erases:
            each.store.erase(turns[each.name].id, reason="r", meta=True)
    for each in (desk, laptop):
        each.add(str(tmp_path / "box.db"))
        each.set(erasures="apply", trust=True)
    both = (desk, laptop) if first == "desk" else (laptop, desk)
    for each in (*both, desk):
        each.sync()
    box.store.erase(turns["laptop"].id, reason="r", meta=True)
    for each in (*both, *both):
        each.sync()
    for each in (desk, laptop, box):
        assert {turn.id for turn in each.store.turns()} == {turn.id for turn in turns.values()}
        assert each.store.verify().problems == ()
        assert each.store.get(turns["laptop"].id).erased is not None
