"""An untrusted place: whoever has all rights on it is noticed, and nothing that no device wrote is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headish.bundles.heads import LAST_GENERATION, read_head, write_head
from headish.errors import NotADevice, RemoteRolledBack
from headish.values.limits import LAST_MILLISECOND
from support.growing import texts
from support.machines import Pair, invite, objects, put_back, state, url_of


class TestAnUntrustedPlace:
    def test_nothing_that_was_said_stands_there(self, machine: Any, tmp_path: Path) -> None:
        desk = machine("desk")
        desk.add(url_of(tmp_path / "box"))
        turn = desk.store.add_turn("a very particular sentence", bookmark="named-so")
        desk.store.conversations.set("named-so", title="titled so")
        desk.sync()
        words = (b"particular", b"named-so", b"titled", turn.id.encode(), b"desk", b"default")
        for path, data in objects(tmp_path / "box").items():
            assert not [word for word in words if word in data or word in path.encode()], path

    def test_a_place_that_goes_back_is_noticed(self, pair: Pair, tmp_path: Path) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        desk.sync()
        old = objects(box)
        desk.store.add_turn("2", continues="main")
        desk.sync()
        laptop.sync()
        put_back(box, old)
        laptop.store.add_turn("mine", bookmark="mine")
        with pytest.raises(RemoteRolledBack, match="the log of desk was at bundle 2 and is at 1"):
            laptop.sync()
        with pytest.raises(RemoteRolledBack, match="this store"):
            desk.sync()
        desk.sync(accept_rollback=True)
        with pytest.raises(RemoteRolledBack):
            laptop.sync()
        laptop.sync(accept_rollback=True)
        desk.sync()
        assert set(state(desk.store)[0]) == set(state(laptop.store)[0])

    def test_a_head_that_lay_there_before_moves_no_name_back(self, pair: Pair, tmp_path: Path) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        first = desk.store.add_turn("1", bookmark="main")
        second = desk.store.add_turn("2", continues="main")
        desk.store.bookmarks.set("other", first.id)
        desk.sync()
        laptop.sync()
        old = objects(box)
        desk.store.bookmarks.set("other", second.id)
        desk.store.conversations.set("main", title="new")
        desk.sync()
        laptop.sync()
        assert laptop.store.bookmarks["other"] == second.id
        put_back(box, old)
        with pytest.raises(RemoteRolledBack, match="the log of desk had said its names 2 times, and has 1 times"):
            laptop.sync()
        assert laptop.store.bookmarks["other"] == second.id
        assert laptop.store.conversations.get("main").record == desk.store.conversations.get("main").record
        desk.store.bookmarks.set("other", first.id)  # its next head is newer than both
        desk.sync()
        laptop.sync()
        assert laptop.store.bookmarks["other"] == first.id
        desk.store.erase("other", reason="r")  # a generation of its own
        desk.sync()
        laptop.sync()
        put_back(box, old)
        with pytest.raises(RemoteRolledBack):
            laptop.sync()

    def test_a_log_that_is_gone_is_noticed(self, pair: Pair, tmp_path: Path) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        desk.sync()
        laptop.sync()
        for path in objects(box):
            if "keys" not in path:
                (box / path).unlink()
        for each in (laptop, desk):
            with pytest.raises(RemoteRolledBack, match=r"gone|no head"):
                each.sync()
        desk.sync(accept_rollback=True)
        laptop.sync(accept_rollback=True)
        assert state(laptop.store) == state(desk.store)

    @pytest.fixture
    def plain(self, machine: Any, tmp_path: Path) -> Pair:
        """The desk, which said something, and the laptop, at a place without encryption."""
        desk, laptop = machine("desk"), machine("laptop")
        for each in (desk, laptop):
            each.add(url_of(tmp_path / "box"), plain=True)
        desk.store.add_turn("1", bookmark="main")
        desk.sync()
        return desk, laptop

    @pytest.mark.parametrize(
        "changes",
        [
            {"serial": LAST_MILLISECOND},
            {"generation": LAST_GENERATION},
            {"generation": LAST_MILLISECOND, "number": LAST_MILLISECOND},
            {"cursor": "none"},
        ],
        ids=["serial", "generation", "bundle", "cursor"],
    )
    def test_a_head_that_none_can_follow_ends_no_log(
        self, plain: Pair, tmp_path: Path, changes: dict[str, Any]
    ) -> None:
        """Whoever can write to a place without encryption gives a log the last number that there is."""
        desk, laptop = plain
        [place] = (tmp_path / "box").rglob("head")
        place.write_bytes(write_head(replace(read_head(place.read_bytes(), "head", None), **changes), None))
        for text in ("2", "3"):
            desk.store.add_turn(text, continues="main")
            desk.sync()
        desk.store.erase("main", reason="r")  # a generation of its own
        desk.sync()
        laptop.sync()
        assert state(laptop.store)[0] == state(desk.store)[0]
        laptop.store.add_turn("4", bookmark="other")
        laptop.sync()
        assert desk.sync().pulled.stored == 1

    def test_devices_that_nobody_has_are_not_kept_as_taken_out(self, plain: Pair, tmp_path: Path) -> None:
        """Whoever can write to a place without encryption lets every head grow until none can be written."""
        _, laptop = plain
        [place] = (tmp_path / "box").rglob("head")
        head = read_head(place.read_bytes(), "head", None)
        made_up = tuple(f"{number:016x}" for number in range(1000))
        place.write_bytes(write_head(replace(head, serial=99, revoked=made_up), None))
        laptop.sync()
        [own] = {*(tmp_path / "box").rglob("head")} - {place}
        assert read_head(own.read_bytes(), "head", None).revoked == ()

    def test_a_name_that_breaks_the_rules_is_not_listed_though_the_pattern_keeps_it_out(
        self, plain: Pair, tmp_path: Path
    ) -> None:
        _, laptop = plain
        [place] = (tmp_path / "box").rglob("head")
        head = read_head(place.read_bytes(), "head", None)
        wrong = replace(head.names[0], name=b"a..b\n@")
        place.write_bytes(write_head(replace(head, serial=99, names=(wrong, *head.names)), None))
        laptop.store.remotes.set("box", names="none")
        laptop.sync()
        assert [each.name for each in laptop.store.remotes.bookmarks()] == ["desk/main"]

    @pytest.mark.parametrize("generation", [LAST_GENERATION, 10**15, 10**40])
    def test_a_bundle_that_none_can_follow_ends_no_log(self, pair: Pair, tmp_path: Path, generation: int) -> None:
        """Whoever can write to a place puts a bundle behind all that a log can have."""
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        desk.sync()
        [bundle] = [path for path in objects(box) if path.endswith(".hb")]
        forged = box / bundle.replace("g0001", f"g{generation}")
        forged.parent.mkdir()
        forged.write_bytes(b"x")
        for text in ("2", "3"):
            desk.store.erase("main", reason="r")  # it is written anew
            desk.store.add_turn(text, continues="main")
            desk.sync()
            laptop.sync()
            assert state(laptop.store)[0] == state(desk.store)[0]

    def test_what_no_device_wrote_is_never_stored(self, machine: Any, tmp_path: Path) -> None:
        """Whoever has all rights on the place, and the recipients' public keys, adds, alters and swaps objects."""
        import pyrage

        desk, laptop, thief = machine("desk"), machine("laptop"), machine("thief")
        box = tmp_path / "box"
        desk.add(url_of(box))
        invite(desk, laptop, url_of(box))
        desk.store.add_turn("1", bookmark="main")
        laptop.store.add_turn("2", bookmark="other")
        desk.sync()
        laptop.sync()
        good = objects(box)
        stolen = {path: data for path, data in good.items() if path.endswith("head")}
        heads = sorted(stolen)
        thief.add(url_of(tmp_path / "theirs"), plain=True)
        thief.store.add_turn("forged", bookmark="main")
        thief.sync()
        forged = {path.rpartition("/")[2]: data for path, data in objects(tmp_path / "theirs").items()}
        with desk as store:
            public = pyrage.x25519.Recipient.from_str(store.remotes.list()[0].recipient or "")
        attacks: dict[str, dict[str, bytes]] = {
            "swapped heads": {heads[0]: stolen[heads[1]], heads[1]: stolen[heads[0]]},
            "a plain head": dict.fromkeys(heads, forged["head"]),
            "encrypted by somebody": {path: pyrage.encrypt(forged["head"], [public]) for path in heads},
            "flipped": {path: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:] for path, data in stolen.items()},
            "cut": {path: data[:-3] for path, data in stolen.items()},
            "empty": dict.fromkeys(heads, b""),
        }
        stood = state(desk.store)
        for name, attack in attacks.items():
            put_back(box, {**good, **attack})
            with pytest.raises(NotADevice):
                desk.sync()
            assert (name, state(desk.store)) == (name, stood)
        device = heads[1].split("/")[2]
        put_back(box, {**good, heads[1].replace(device, "0" * 16): stolen[heads[1]]})
        assert "another log" in desk.sync().pulled.waiting[0]
        assert texts(desk.store, "laptop/other") == ["2"]
        assert "forged" not in {desk.store.text(turn.id) for turn in desk.store.turns()}

    def test_bundles_that_were_altered_or_swapped_wait(self, pair: Pair, tmp_path: Path) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        for index in range(2):
            desk.store.add_turn(f"{index}", continues="main" if index else None, bookmark="main")
            desk.sync()
        good = objects(box)
        first, second = sorted(path for path in good if path.endswith(".hb"))
        for attack in (
            {first: good[second], second: good[first]},
            {first: good[first][:-1]},
            {first: good[second]},
            {second: good[first]},
        ):
            put_back(box, {**good, **attack})
            assert len(laptop.sync().pulled.waiting) == 1
            assert laptop.store.stats().turns in (0, 1)
        put_back(box, good)
        assert laptop.sync().pulled.waiting == ()
        assert (state(laptop.store), laptop.store.verify().problems) == (state(desk.store), ())

    def test_a_stray_name_or_link_in_the_folder_does_not_stop_a_sync(self, pair: Pair, tmp_path: Path) -> None:
        desk, laptop = pair
        for folder in [*(tmp_path / "box" / "v1").iterdir(), *(tmp_path / "box" / "v1").glob("*/*")]:
            (folder / "line\nbreak").write_text("")
            (folder / "loop").symlink_to("..")
        desk.store.add_turn("q", bookmark="main")
        desk.sync()
        laptop.sync()
        assert texts(laptop.store, "main") == ["q"]


class TestHealing:
    """``--accept-rollback`` puts back what the place lost: whoever has it sends it anew."""

    def test_what_a_log_lost_reaches_newcomers(self, machine: Any, pair: Pair, tmp_path: Path) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="main")
        desk.sync()
        old = objects(box)
        desk.store.add_turn("2", continues="main")
        desk.sync()
        laptop.store.add_turn("mine", bookmark="mine")
        laptop.sync()
        put_back(box, old)
        laptop.sync(accept_rollback=True)
        late = machine("late")
        invite(laptop, late, url_of(box))
        late.sync()
        assert texts(late.store, "mine") == ["mine"]
        assert set(state(late.store)[0]) == set(state(laptop.store)[0])
        laptop.sync()
        assert laptop.sync().pushed.objects == 0  # once

    def test_what_a_log_that_came_back_older_had_stays_in_that_of_whoever_has_read_it(
        self, machine: Any, pair: Pair, tmp_path: Path
    ) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        desk.store.add_turn("1", bookmark="1")
        desk.sync()
        old = objects(box)
        desk.store.add_turn("2", bookmark="2")
        desk.sync()
        laptop.sync()
        for path in objects(box):
            if "/keys/" not in path:
                (box / path).unlink()
        laptop.sync(accept_rollback=True)
        put_back(box, {**objects(box), **old})
        laptop.sync()
        laptop.store.erase(laptop.store.add_turn("slip").id, reason="r")  # its log is written anew
        laptop.sync()
        late = machine("late")
        invite(laptop, late, url_of(box))
        late.sync()
        assert {"1", "2"} <= {late.store.text(turn.id) for turn in late.store.turns() if turn.erased is None}

    def test_a_log_that_is_gone_is_in_that_of_whoever_has_read_it(
        self, machine: Any, pair: Pair, tmp_path: Path
    ) -> None:
        (desk, laptop), box = pair, tmp_path / "box"
        for text in ("1", "2"):
            desk.store.add_turn(text, bookmark=text)
        desk.sync()
        laptop.sync()
        for path in objects(box):
            if "/keys/" not in path:
                (box / path).unlink()
        laptop.sync(accept_rollback=True)
        late = machine("late")
        invite(laptop, late, url_of(box))
        late.sync()
        assert set(state(late.store)[0]) == set(state(desk.store)[0])
        desk.sync(accept_rollback=True)
        desk.store.add_turn("3", bookmark="3")
        desk.sync()
        laptop.sync()
        assert texts(laptop.store, "3") == ["3"]
        assert laptop.sync().pushed.turns == 0  # what came behind it is in the desk's own log
