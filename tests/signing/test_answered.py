"""Signatures that go to a store that answers, and come from there."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import RemoteRefused, RemoteUnavailable
from headish.rows.signatures import all_signatures
from headish.syncing.live import answering
from support.lines import line_to
from support.machines import machines
from support.signed import GOOD, rows, signed, told
from support.signers import Keys, needs_keygen

pytestmark = needs_keygen


class TestAStoreThatAnswers:
    def test_signatures_of_turns_that_go_go_along(self, keys: Keys, signers: Path, tmp_path: Path) -> None:
        with machines(tmp_path) as machine:
            desk, box = machine("desk"), machine("box").store
            desk.add("cmd:headish serve-stdio")
            signed(desk.store, keys)
            with line_to(box):
                desk.sync()
            assert told(box, signers) == GOOD
            brought = box._read(lambda connection: list(all_signatures(connection, box._number)))
            assert {each.remote for each in brought} == {b"/plain"}
            signed(box, keys)
            with line_to(box):
                desk.sync()
            assert sorted(rows(desk.store)) == sorted(rows(box))

    def test_signatures_that_are_younger_than_their_turns_go_once(
        self, keys: Keys, signers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(answering, "PAGE_TURNS", 2)
        with machines(tmp_path) as machine:
            desk, box = machine("desk"), machine("box").store
            desk.add("cmd:headish serve-stdio")
            turns = [desk.store.add_turn(f"{number}", bookmark=f"b{number}").id for number in range(5)]
            with line_to(box) as line:
                desk.sync()
                for each in turns:
                    desk.store.sign(each, key=keys.folder / "anna")
                desk.sync()
                assert sorted(rows(box)) == sorted(rows(desk.store))
                assert len(rows(box)) == 5
                desk.sync()
                assert line.pipes.round_trips == 1  # what went is not asked for
                keys.make("bert")
                for each in turns:
                    box.sign(each, key=keys.folder / "bert")
                desk.sync()
                assert sorted(rows(box)) == sorted(rows(desk.store))
                assert len(rows(box)) == 10
                desk.sync()
                assert line.pipes.round_trips == 1
                with desk as store:
                    box.sign(turns[0], thread=True, key=keys.folder / "bert")
                    desk.store.sign(turns[1], thread=True, key=keys.folder / "anna")
                    store.remotes.push("box")
                    store.remotes.pull("box")
                assert sorted(rows(box)) == sorted(rows(desk.store))
                assert len(rows(box)) == 12
            assert box.verify().problems == desk.store.verify().problems == ()

    def test_a_signature_goes_behind_its_turn_however_a_sync_breaks_off(
        self, keys: Keys, signers: Path, tmp_path: Path
    ) -> None:
        with machines(tmp_path) as machine:
            desk, box = machine("desk"), machine("box").store
            desk.add("cmd:headish serve-stdio")
            signed(desk.store, keys)
            signed(box, keys)
            for cut in range(0, 12_000, 450):
                for way in ("cut_out", "cut_back"):
                    with suppress(RemoteUnavailable), line_to(box, **{way: cut}):
                        desk.sync()
            with line_to(box):
                desk.sync()
            assert sorted(rows(desk.store)) == sorted(rows(box))
            assert len(rows(box)) == 4

    def test_one_that_somebody_makes_there_meanwhile_is_asked_for(
        self, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with machines(tmp_path) as machine:
            desk, box = machine("desk"), machine("box").store
            desk.add("cmd:headish serve-stdio")
            turn = desk.store.add_turn("x").id
            desk.store.sign(turn, key=keys.folder / "anna")
            store_them = answering.store_arrived_signatures

            def meanwhile(*given: Any) -> int:
                box.sign(turn, key=keys.folder / "anna", thread=True)
                return store_them(*given)

            with line_to(box):
                with monkeypatch.context() as patch:
                    patch.setattr(answering, "store_arrived_signatures", meanwhile)
                    desk.sync()
                desk.sync()
            assert len(rows(box)) == len(rows(desk.store)) == 2

    def test_a_signature_whose_number_was_given_again_goes_too(self, keys: Keys, tmp_path: Path) -> None:
        """An erasure takes the last signature, and the next one gets its number."""
        with machines(tmp_path) as machine:
            desk, box = machine("desk"), machine("box").store
            desk.add("cmd:headish serve-stdio")
            for there in (desk.store, box):
                turns = [there.add_turn(f"{number}").id for number in range(3)]
                for each in turns[:2]:
                    there.sign(each, key=keys.folder / "anna")
                desk.set(erasures="apply")
                with line_to(box, trust=True):
                    desk.sync()
                    there.erase(turns[1], reason="r", meta=True)
                    there.sign(turns[2], key=keys.folder / "anna")
                    desk.sync()
                assert {each[0] for each in rows(box)} >= {turns[0], turns[2]}
                assert sorted(rows(box)) == sorted(rows(desk.store))

    def test_a_store_that_takes_nothing_takes_no_signature(self, keys: Keys, tmp_path: Path) -> None:
        with machines(tmp_path) as machine:
            desk, box = machine("desk"), machine("box").store
            desk.add("cmd:headish serve-stdio")
            desk.store.add_turn("x")
            with line_to(box), desk as store:
                store.remotes.push("box")
            desk.store.sign("@", key=keys.folder / "anna")
            reads = line_to(partial(answer_read_only, tmp_path / "box.db"))
            with reads, desk as store, pytest.raises(RemoteRefused, match="readers alone"):
                store.remotes.push("box")
            assert rows(box) == []


def answer_read_only(path: Path, reads: int, writes: int) -> None:
    with Store.open(path, read_only=True) as store:
        store.remotes.answer(reads, writes)
