"""Sync through a folder: whatever the order, nothing is overwritten, and everybody has everything in the end."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Store
from headish.errors import (
    InvalidArgument,
    NoRemoteKey,
    NotADevice,
    RemoteRolledBack,
    RemoteTaken,
    RemoteUnavailable,
    SecretsFound,
    UnknownRemote,
)
from support.growing import texts
from support.machines import Machine, invite, machines, objects, url_of
from support.places import Place


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    with machines(tmp_path) as make:
        yield make


def state(store: Store) -> tuple[Any, ...]:
    return {turn.id: turn.seal for turn in store.turns()}, dict(store.bookmarks)


class TestTwoMachines:
    def test_what_was_said_on_one_is_read_on_the_other(self, place: Place, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk", place.open()), machine("laptop", place.fresh())
        url = url_of(tmp_path / "box")
        # The folder of a space is named after it, so both are in a space of one name on machines of their own.
        laptop.store.space = desk.store.space
        desk.add(url)
        invite(desk, laptop, url)
        desk.store.add_turn("hello", bookmark="main")
        desk.store.conversations.set("main", title="Hi", tags=["a"])
        assert desk.sync().pushed.turns == 1
        assert laptop.sync().pulled.stored == 1
        assert texts(laptop.store, "main") == ["hello"]
        laptop.store.add_turn("and hello", role="assistant", continues="main")
        assert laptop.sync().pushed.turns == 1
        assert [each.outcome for each in desk.sync().pulled.names] == ["moved"]
        assert state(desk.store) == state(laptop.store)
        assert desk.store.conversations.get("main").record == laptop.store.conversations.get("main").record
        assert [each.store.verify().problems for each in (desk, laptop)] == [(), ()]
        again = laptop.sync()
        assert (again.pushed.objects, again.pulled.stored, again.pulled.names) == (0, 0, ())
        assert laptop.store.get("desk/main").id == desk.store.get("main").id

    def test_what_both_said_stays_and_is_told(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, laptop, url)
        desk.store.add_turn("q", bookmark="main")
        desk.sync()
        laptop.sync()
        mine = desk.store.add_turn("of the desk", continues="main")
        theirs = laptop.store.add_turn("of the laptop", continues="main")
        desk.sync()
        [name] = laptop.sync().pulled.names
        assert (name.name, name.outcome, name.here, name.there) == ("desk/main", "diverged", 1, 1)
        desk.sync()
        assert desk.store.get("main").id == mine.id
        assert desk.store.get("laptop/main").id == theirs.id
        with desk as store:
            assert store.remotes.status("box").diverged == ("laptop/main",)
        merged = desk.store.add_turn("both", continues=["main", "laptop/main"])
        desk.sync()
        assert [each.outcome for each in laptop.sync().pulled.names] == ["moved"]
        assert laptop.store.get("main").id == merged.id
        with laptop as store:
            assert store.remotes.status("box").diverged == ()

    def test_a_move_back_and_sideways_goes_along_where_only_one_moved(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, laptop, url)
        first = desk.store.add_turn("q", bookmark="main")
        desk.store.add_turn("a", continues="main")
        for each in (desk, laptop, desk):
            each.sync()
        desk.store.bookmarks.undo("main")
        desk.sync()
        assert [each.outcome for each in laptop.sync().pulled.names] == ["moved"]
        assert laptop.store.get("main").id == first.id
        edited = desk.store.edit("main", "other").turn
        desk.sync()
        laptop.sync()
        assert laptop.store.get("main").id == edited.id
        desk.store.bookmarks.remove("main")
        desk.sync()
        assert [(each.name, each.outcome) for each in laptop.sync().pulled.names] == [("desk/main", "removed")]
        assert laptop.store.get("main").id == edited.id
        assert desk.sync().pulled.names == ()
        assert "main" not in desk.store.bookmarks

    def test_a_removed_name_goes_where_it_is_asked(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, laptop, url)
        for name in ("one", "two"):
            desk.store.add_turn(name, bookmark=name)
        for each in (desk, laptop, desk):
            each.sync()
        laptop.store.add_turn("mine", continues="two")
        for name in ("one", "two"):
            desk.store.bookmarks.remove(name)
        desk.sync()
        laptop.sync(prune=True)
        assert list(laptop.store.bookmarks) == ["two"]

    def test_titles_and_tags_are_met_field_by_field(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, laptop, url)
        desk.store.add_turn("q", bookmark="main")
        desk.store.conversations.set("main", title="one", tags=["a", "b"])
        for each in (desk, laptop, desk):
            each.sync()
        desk.store.conversations.set("main", title="two", tags=["b", "c"])
        laptop.store.conversations.set("main", pinned=True, tags=["a", "b", "d"])
        for each in (desk, laptop, desk):
            each.sync()
        for each in (desk, laptop):
            record = each.store.conversations.get("main").record
            assert (record.title, record.pinned, set(record.tags)) == ("two", True, {"b", "c", "d"})
        desk.store.conversations.set("main", title="of the desk")
        time.sleep(0.002)  # which of the two is later is told in milliseconds
        laptop.store.conversations.set("main", title="of the laptop")
        desk.sync()
        assert laptop.sync().pulled.kept == ("main",)
        desk.sync()
        assert {each.store.conversations.get("main").record.title for each in (desk, laptop)} == {"of the laptop"}

    def test_a_passphrase_opens_the_place_on_another_machine(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop, other = machine("desk"), machine("laptop"), machine("other")
        url = url_of(tmp_path / "box")
        with pytest.raises(InvalidArgument, match="HEADISH_PASSPHRASE"):
            desk.add(url, passphrase=True)
        monkeypatch.setenv("HEADISH_PASSPHRASE", "correct horse")
        desk.add(url, passphrase=True)
        desk.store.add_turn("q", bookmark="main")
        desk.sync()
        laptop.add(url, passphrase=True)
        assert laptop.sync().pulled.stored == 1
        monkeypatch.delenv("HEADISH_PASSPHRASE")
        (tmp_path / "file").write_text("wrong horse\n")
        monkeypatch.setenv("HEADISH_PASSPHRASE_FILE", str(tmp_path / "file"))
        with pytest.raises(NotADevice, match="passphrase is another one"):
            other.add(url, passphrase=True)

    def test_a_lost_machine_is_taken_out(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop, lost = machine("desk"), machine("laptop"), machine("lost")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, laptop, url)
        invite(desk, lost, url)
        lost.store.add_turn("said on the road", bookmark="road")
        lost.sync()
        laptop.store.add_turn("on the laptop", bookmark="lap")
        laptop.sync()
        with desk as store:
            with pytest.raises(InvalidArgument, match="no device 'nobody'"):
                store.remotes.revoke("box", "nobody")
            fingerprint = store.remotes.revoke("box", "lost")
            assert [each.label for each in store.remotes.devices("box")] == ["desk", "laptop"]
        laptop.store.add_turn("kept back", continues="lap")
        before = objects(tmp_path / "box")
        with pytest.raises(NoRemoteKey, match="key="):
            laptop.sync()
        with laptop as store, pytest.raises(NoRemoteKey):
            store.remotes.push("box")
        assert objects(tmp_path / "box") == before
        with laptop as store:
            store.remotes.set("box", key=fingerprint)
        laptop.sync()
        assert desk.sync().pulled.stored == 1
        assert texts(laptop.store, "road") == ["said on the road"]
        assert texts(desk.store, "lap") == ["on the laptop", "kept back"]
        with pytest.raises(NoRemoteKey):
            lost.sync()

    def test_taking_a_machine_out_sends_no_key(self, machine: Any, tmp_path: Path) -> None:
        desk, lost = machine("desk"), machine("lost")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, lost, url)
        lost.store.add_turn("said on the road", bookmark="road")
        lost.sync()
        desk.store.add_turn("it is sk-" + "a1B2c3D4e5F6g7H8", bookmark="main")
        before = objects(tmp_path / "box")
        with desk as store:
            with pytest.raises(SecretsFound):
                store.remotes.revoke("box", "lost")
            assert objects(tmp_path / "box") == before
            assert [each.label for each in store.remotes.devices("box")] == ["desk", "lost"]
            store.remotes.revoke("box", "lost", allow_secrets=True)
            assert [each.label for each in store.remotes.devices("box")] == ["desk"]

    def test_keys_stay_unless_it_is_said(self, machine: Any, tmp_path: Path) -> None:
        desk = machine("desk")
        desk.add(url_of(tmp_path / "box"))
        desk.store.add_turn("it is sk-" + "a1B2c3D4e5F6g7H8", bookmark="main")
        with pytest.raises(SecretsFound):
            desk.sync()
        assert not any("head" in each for each in objects(tmp_path / "box"))
        assert desk.sync(allow_secrets=True).pushed.turns == 1

    def test_a_plain_place_must_be_said(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        url = url_of(tmp_path / "box")
        desk.add(url, plain=True)
        desk.store.add_turn("hello", bookmark="main")
        desk.sync()
        with pytest.raises(RemoteTaken, match="--plain"):
            laptop.add(url)
        laptop.add(url, plain=True)
        assert laptop.sync().pulled.stored == 1
        with pytest.raises(RemoteTaken, match="is one of this name"):
            laptop.add(url, plain=True)
        other = machine("other")
        sealed = url_of(tmp_path / "sealed")
        other.add(sealed)
        with other as store:
            store.remotes.remove("box")
        with pytest.raises(RemoteTaken, match="without --plain"):
            other.add(sealed, plain=True)
        with other as store, pytest.raises(UnknownRemote):
            store.remotes.exchange("box")

    def test_urls_that_are_none(self, machine: Any, tmp_path: Path) -> None:
        desk = machine("desk")
        for url in ("ftp://x/y", "s3://key:secret@bucket/x", "s3://bucket/x?token=1", "file:relative", "/tmp/x"):
            with pytest.raises(InvalidArgument):
                desk.add(url)
        (tmp_path / "file").write_text("")
        with pytest.raises(RemoteUnavailable):
            desk.add(url_of(tmp_path / "file" / "below"))
        assert desk.store.remotes.list() == []


class TestCopies:
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

    def test_a_long_log_is_written_anew(self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headish.syncing.pushing.BUNDLES_LIMIT", 3)
        desk, laptop = machine("desk"), machine("laptop")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, laptop, url)
        for index in range(5):
            desk.store.add_turn(f"{index}", continues="main" if index else None, bookmark="main")
            desk.sync()
            if index % 2:
                laptop.sync()
        laptop.sync()
        assert len(bundles(tmp_path / "box")) == 2
        assert state(laptop.store) == state(desk.store)

    def test_a_large_history_goes_in_several_bundles(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headish.syncing.pushing.BUNDLE_BYTES", 10_000)
        monkeypatch.setattr("headish.syncing.departing.PAGE_TURNS", 2)
        desk, laptop = machine("desk"), machine("laptop")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, laptop, url)
        desk.store.add_turns(
            {"content": os.urandom(2000).hex(), "continues": index - 1 if index else None, "bookmark": "main"}
            for index in range(9)
        )
        assert desk.sync().pushed.objects > 3
        laptop.sync()
        assert (state(laptop.store), laptop.store.verify().problems) == (state(desk.store), ())

    def test_a_push_that_was_cut_off_is_gone_on_with(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from headish.remotes.objects import ObjectPlace

        desk, laptop = machine("desk"), machine("laptop")
        url = url_of(tmp_path / "box")
        desk.add(url)
        invite(desk, laptop, url)
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

    def test_a_place_that_goes_back_is_noticed(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        box = tmp_path / "box"
        desk.add(url_of(box))
        invite(desk, laptop, url_of(box))
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

    def test_a_head_that_lay_there_before_moves_no_name_back(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        box = tmp_path / "box"
        desk.add(url_of(box))
        invite(desk, laptop, url_of(box))
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

    def test_a_log_that_is_gone_is_noticed(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        box = tmp_path / "box"
        desk.add(url_of(box))
        invite(desk, laptop, url_of(box))
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

    def test_bundles_that_were_altered_or_swapped_wait(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        box = tmp_path / "box"
        desk.add(url_of(box))
        invite(desk, laptop, url_of(box))
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

    def test_another_key_that_lies_there_is_not_taken(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop, thief = machine("desk"), machine("laptop"), machine("thief")
        box = tmp_path / "box"
        desk.add(url_of(box))
        with laptop as store:
            added = store.remotes.add("box", url_of(box), device="laptop")
        thief.add(url_of(tmp_path / "theirs"))
        with thief as store:
            store.remotes.invite("box", added.recipient or "")
        [path] = [each for each in objects(tmp_path / "theirs") if each.endswith(".age") and "keys" in each][:1]
        with desk as store:
            fingerprint = store.remotes.invite("box", added.recipient or "")
        with laptop as store:
            store.remotes.set("box", key=fingerprint)
        good = objects(box)
        theirs = {
            each: data for each, data in objects(tmp_path / "theirs").items() if each in good and each.endswith(".age")
        }
        assert len(theirs) == 1
        put_back(box, {**good, **theirs})
        with pytest.raises(NoRemoteKey, match="not one that was confirmed"):
            laptop.sync()
        put_back(box, good)
        laptop.sync()
        assert path


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


def bundles(folder: Path) -> list[Path]:
    return list(folder.rglob("*.hb"))


def put_back(folder: Path, wanted: dict[str, bytes]) -> None:
    for path in objects(folder):
        (folder / path).unlink()
    for path, data in wanted.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
