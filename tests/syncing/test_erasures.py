"""Erasures at a distance: what is erased on one machine is erased on all, and the receipt says until when it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.database.sqlite import SQLiteBackend
from headish.history.erasing import choosing
from headish.rows.elsewhere.notices import all_notices
from headish.store.keeping.sharing.live import target_of
from headish.syncing import erasures
from support.insides import counted_statements, run_sql
from support.machines import Machine, invite, objects, url_of

SECRET = "a rare ornithological word"


def three(machine: Any, tmp_path: Path) -> tuple[Machine, Machine, Machine]:
    desk, laptop, phone = machine("desk"), machine("laptop"), machine("phone")
    url = url_of(tmp_path / "box")
    desk.add(url)
    for each in (laptop, phone):
        invite(desk, each, url)
    return desk, laptop, phone


def not_reached(each: Machine) -> list[tuple[str, ...]]:
    with each as store:
        return list(store.remotes.not_reached().values())


class TestThreeMachines:
    def test_it_goes_everywhere_and_the_receipt_says_when_it_has(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop, phone = three(machine, tmp_path)
        turn = laptop.store.add_turn(SECRET, bookmark="main")
        laptop.store.add_turn("behind it", continues="main")
        for each in (laptop, desk, phone, desk):
            each.sync()
        before = objects(tmp_path / "box")
        desk.store.erase(turn.id, reason="told in error", by="Ann")
        assert not_reached(desk) == [("3 of 3 devices on box",)]
        desk.sync()
        assert not_reached(desk) == [("2 of 3 devices on box",)]
        assert laptop.sync().pulled.erased == 1
        desk.sync()
        assert not_reached(desk) == [("1 of 3 devices on box",)]
        phone.store.add_turn("meanwhile", bookmark="phone")  # it was away
        assert phone.sync().pulled.erased == 1
        for _ in range(2):
            for each in (desk, laptop, phone):
                each.sync()
        assert [not_reached(each) for each in (desk, laptop, phone)] == [[], [], []]
        for each in (desk, laptop, phone):
            found = each.store.get(turn.id)
            assert found.erased is not None
            [receipt] = [receipt for receipt in each.store.erasures if receipt.scope != "scrub"]
            assert (receipt.reason, receipt.by) == ("told in error", "Ann")
            assert each.store.verify().problems == ()
        assert not set(before) & {path for path in objects(tmp_path / "box") if path.endswith(".hb")} - {
            path for path, data in objects(tmp_path / "box").items() if data == before.get(path)
        }

    def test_nobody_is_told_to_take_off_the_disk_what_never_came(
        self, machine: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        desk, laptop, _ = three(machine, tmp_path)
        turn = desk.store.add_turn(SECRET, bookmark="main")
        desk.store.erase(turn.id, reason="told in error", content=True)
        for each in (desk, laptop):
            each.sync()
        assert laptop.store.stats().turns == 1
        Store.open(tmp_path / "laptop.db").close()
        assert caplog.messages == []

    def test_what_could_not_be_taken_off_the_disk_is_taken_off_by_the_next_sync(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop, _ = three(machine, tmp_path)
        turn = desk.store.add_turn(SECRET, bookmark="main")
        for each in (desk, laptop):
            each.sync()
        desk.store.erase(turn.id, reason="told in error")
        desk.sync()
        with monkeypatch.context() as patch:
            patch.setattr(SQLiteBackend, "scrub", lambda self: "somebody reads")
            laptop.sync()
        assert SECRET.encode() in b"".join(each.read_bytes() for each in tmp_path.glob("laptop.db*"))
        laptop.sync()
        assert SECRET.encode() not in b"".join(each.read_bytes() for each in tmp_path.glob("laptop.db*"))

    def test_what_was_erased_before_it_came_does_not_come_back_in_a_bundle(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop, phone = three(machine, tmp_path)
        turn = phone.store.add_turn(SECRET, bookmark="main")
        phone.store.bundles.create(tmp_path / "bundle")
        phone.sync()
        theirs = [path for path in objects(tmp_path / "box") if "keys" not in path]
        desk.sync()
        desk.store.erase(turn.id, reason="told in error")
        desk.sync()
        for path in theirs:  # so the laptop has the receipt, and not the turn
            (tmp_path / "box" / path).unlink()
        laptop.sync()
        assert laptop.store.stats().turns == 0
        assert laptop.store.bundles.apply(tmp_path / "bundle").stored == 1
        assert laptop.store.get(turn.id).erased is not None
        assert laptop.store.verify().problems == ()

    def test_what_is_erased_before_it_arrives_arrives_as_erased(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop, phone = three(machine, tmp_path)
        plain = phone.store.add_turn(SECRET, bookmark="main", meta={"mine": SECRET}, key="k")
        bare = phone.store.add_turn(SECRET + "!", continues="main", attributes={"speaker": "Ann"})
        phone.sync()
        old = [path for path in objects(tmp_path / "box") if "keys" not in path]
        desk.sync()
        desk.store.erase(plain.id, reason="r", meta=True)
        desk.store.erase(bare.id, reason="r")
        desk.sync()
        for path in old:  # the phone's log comes to the laptop later than the desk's
            (tmp_path / "box" / path).rename(tmp_path / path.replace("/", "_"))
        laptop.sync()
        for path in old:
            (tmp_path / path.replace("/", "_")).rename(tmp_path / "box" / path)
        with laptop as store:
            for seen in store.turns():
                assert (seen.id, seen.erased is not None) == (seen.id, True)
        laptop.sync()
        assert {turn.id for turn in laptop.store.turns()} == {plain.id, bare.id}
        assert all(turn.erased is not None for turn in laptop.store.turns())
        assert SECRET.encode() not in (tmp_path / "laptop.db").read_bytes()
        assert [each.store.verify().problems for each in (desk, laptop, phone)] == [(), (), ()]

    def test_an_erasure_of_meta_reaches_where_the_words_alone_were_erased(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop, phone = three(machine, tmp_path)
        turn = laptop.store.add_turn("words", bookmark="main", meta={"mine": SECRET})
        for each in (laptop, desk, phone):
            each.sync()
        desk.store.erase(turn.id, reason="the words")
        laptop.store.erase(turn.id, reason="all of it", meta=True)
        for _ in range(3):
            for each in (desk, laptop, phone):
                each.sync()
        for each in (desk, laptop, phone):
            found = each.store.get(turn.id)
            assert found.erased is not None
            assert SECRET not in str(found.meta), each
            assert each.store.verify().problems == ()

    def test_barred_words_are_barred_everywhere(self, machine: Any, tmp_path: Path) -> None:
        from headish.errors import BarredContent

        desk, laptop, phone = three(machine, tmp_path)
        turn = desk.store.add_turn(SECRET, bookmark="main")
        phone.store.add_turn(SECRET, bookmark="other")
        desk.store.erase(turn.id, reason="r", content=True)
        for _ in range(3):
            for each in (desk, laptop, phone):
                each.sync()
        for each in (desk, laptop, phone):
            with pytest.raises(BarredContent):
                each.store.add_turn(SECRET)
            assert each.store.get("other").erased is not None
            assert each.store.verify().problems == ()

    @pytest.mark.parametrize("times", [1, 200], ids=["in the row of the turn", "in a row of its own"])
    def test_what_bars_words_erases_the_turns_here_that_say_them(
        self, machine: Any, tmp_path: Path, times: int
    ) -> None:
        desk, laptop, _ = three(machine, tmp_path)
        desk.store.add_turn(SECRET * times, bookmark="main")
        desk.store.erase("main", reason="r", content=True)  # before any other machine knew that turn
        laptop.store.add_turn(SECRET * times, bookmark="other", meta={"mine": "stays"})
        desk.sync()
        synced = laptop.sync()
        assert synced.pulled.erased == 1
        assert laptop.store.verify().problems == ()
        assert laptop.store.get("other").erased is not None
        assert laptop.store.get("other").meta.app == {"mine": "stays"}
        desk.sync()
        assert desk.store.get("other").erased is not None
        assert desk.store.verify().problems == ()

    def test_a_bar_on_what_says_nothing_is_not_taken_over(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An earlier edition barred it; every overlay without words would be refused."""
        desk, laptop, _ = three(machine, tmp_path)
        desk.store.add_turn([], bookmark="main")
        with monkeypatch.context() as patch:
            patch.setattr(choosing, "WORDLESS", frozenset())
            desk.store.erase("main", reason="r", content=True)
        kept = laptop.store.add_turn([], bookmark="other")
        desk.sync()
        laptop.sync()
        assert laptop.store.get("other").erased is None
        laptop.store.hide(kept.id, continues="other")
        assert laptop.store.verify().problems == ()

    def test_a_bar_takes_no_value_from_a_definition_here(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop, _ = three(machine, tmp_path)
        tools = [{"name": SECRET * 200}]
        laptop.store.tools.set("files", tools)
        [(same,)] = run_sql(laptop.store, "SELECT data FROM payload")
        desk.store.erase(desk.store.add_document(same, name="files.json").id, reason="r", content=True)
        desk.sync()
        laptop.sync()
        assert laptop.store.tools["files"] == tools
        assert laptop.store.verify().problems == ()

    def test_nothing_of_a_secret_is_left_in_any_object_or_file(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        url = url_of(tmp_path / "box")
        for each in (desk, laptop):
            each.add(url, plain=True)
            each.set(erasures="apply")
        laptop.store.add_turn(SECRET, bookmark="main", meta={"mine": SECRET}, inherited={"mine": SECRET}, key=SECRET)
        laptop.store.add_document((SECRET + "\n").encode() * 200, name=SECRET, continues="main")
        laptop.store.conversations.set("main", title=SECRET)
        for each in (laptop, desk):
            each.sync()
        assert texts_in(tmp_path / "box") > 0
        desk.store.erase("main", scope="thread", reason="r", meta=True)
        for _ in range(3):
            for each in (desk, laptop):
                each.sync()
        assert texts_in(tmp_path / "box") == 0
        for each in (desk, laptop):
            each.store.close()
            for path in tmp_path.glob(f"{each.name}.db*"):
                assert SECRET.encode() not in path.read_bytes(), path
        with Store.open(tmp_path / "laptop.db") as store:
            store.add_turn(SECRET, bookmark="again")  # said anew, it is readable
            assert store.text("again") == SECRET


class TestWhoMayErase:
    def test_a_plain_place_asks_first(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop = machine("desk"), machine("laptop")
        for each in (desk, laptop):
            each.add(url_of(tmp_path / "box"), plain=True)
        turn = desk.store.add_turn("mine", bookmark="main")
        for each in (desk, laptop):
            each.sync()
        desk.store.erase(turn.id, reason="r")
        desk.sync()
        assert laptop.sync().pulled.erased == 0
        assert laptop.store.text(turn.id) == "mine"
        with laptop as store:
            assert [receipt.reason for receipt in store.remotes.pending_erasures()] == ["r"]
            assert store.remotes.erase_pending() == 1
            assert store.remotes.pending_erasures() == []
        assert laptop.store.get(turn.id).erased is not None
        for each in (laptop, desk):
            each.sync()
        assert (not_reached(desk), laptop.store.verify().problems) == ([], ())

    def test_what_waited_and_is_erased_is_taken_off_the_disk(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop, _ = three(machine, tmp_path)
        laptop.set(erasures="ask")
        turn = desk.store.add_turn(SECRET, bookmark="main")
        for each in (desk, laptop):
            each.sync()
        desk.store.erase(turn.id, reason="told in error")
        for each in (desk, laptop):
            each.sync()
        assert SECRET.encode() in b"".join(each.read_bytes() for each in tmp_path.glob("laptop.db*"))
        with laptop as store:
            assert store.remotes.erase_pending() == 1
        assert SECRET.encode() not in b"".join(each.read_bytes() for each in tmp_path.glob("laptop.db*"))

    def test_who_ignores_keeps_and_is_told_of(self, machine: Any, tmp_path: Path) -> None:
        desk, laptop, phone = three(machine, tmp_path)
        laptop.set(erasures="ignore")
        turn = desk.store.add_turn("mine", bookmark="main")
        for each in (desk, laptop):
            each.sync()
        desk.store.erase(turn.id, reason="r")
        for _ in range(2):
            for each in (desk, laptop, phone):
                each.sync()
        assert laptop.store.text(turn.id) == "mine"
        assert not_reached(desk) == [("1 of 3 devices on box",)]
        assert phone.store.get(turn.id).erased is not None


@pytest.mark.parametrize("policy", ["ask", "ignore"])
def test_many_erasures_that_only_wait_are_counted_once(
    machine: Any, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, laptop = machine("desk"), machine("laptop")
    for number in range(30):
        desk.store.erase(desk.store.add_turn(f"{number}").id, reason="r")
    receipts = [each for each in desk.store.erasures.list() if each.scope != "scrub"]
    asked = list[int]()
    counting = erasures.count_notices
    monkeypatch.setattr(erasures, "count_notices", lambda *given: asked.append(1) or counting(*given))
    with counted_statements() as counted:
        there = erasures.ErasuresThere(target_of(laptop.store), policy)
        there.take([*receipts, *receipts])
    assert len(all_pending(laptop.store, policy)) == 30
    assert len(asked) == 1
    assert counted.count <= 30 + 6, "a row each, and what is asked once"


def all_pending(store: Store, policy: str) -> list[Any]:
    listed = store._read(lambda connection: all_notices(connection, store._number))
    return [each for each in listed if each.state == erasures.STATES[policy]]


def test_erasures_are_chosen_by_looking_at_each_once(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Notice:
        looked = 0

        def __init__(self, number: int) -> None:
            self._id = f"{number}"

        @property
        def id(self) -> str:
            Notice.looked += 1
            return self._id

    pending = [(Notice(number), None) for number in range(50)]
    monkeypatch.setattr(erasures, "pending_notices", lambda *_: pending)
    target = target_of(machine("desk").store)
    assert erasures._chosen(target, [f"{number}" for number in range(50)]) == pending
    assert Notice.looked == 2 * len(pending)


def texts_in(folder: Path) -> int:
    """How many plain objects hold the secret, whatever they are packed in."""
    from io import BytesIO

    from headish.bundles.heads import HEAD
    from headish.bundles.records import BUNDLE
    from headish.content.frames import read_frames

    found = 0
    for path, data in objects(folder).items():
        format = HEAD if path.endswith("head") else BUNDLE
        found += any(SECRET in repr(value) for _, value in read_frames(BytesIO(data), path, format))
    return found
