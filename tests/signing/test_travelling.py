"""Signatures travel with their turns: in bundles, through a folder, in backups and copies; they are erased there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from headish import Database, Store, restore, rewrite_bundle, verify_bundle
from headish.bundles.records import BundleHeader, SentSignature
from headish.bundles.streams import BundleWriter
from headish.errors import InvalidBundle
from headish.history.signatures import store_signatures
from headish.rows.elsewhere.arrivals import OWN, PLAIN, ArrivalOrigin
from headish.rows.signatures import all_signatures
from headish.syncing import departing, pushing
from headish.syncing.logs import Logs
from headish.values.limits import SIGNATURES_LIMIT
from support.machines import CutOff, Machine, bundles, invite, machines, objects, url_of
from support.places import Place
from support.signed import GOOD, rows, signed, told
from support.signers import Keys, needs_keygen, signature_bytes

pytestmark = needs_keygen


class TestBundles:
    @pytest.mark.parametrize("headish", [None, "main"])
    def test_there_and_back(self, place: Place, keys: Keys, signers: Path, tmp_path: Path, headish: str | None) -> None:
        here, there = signed(place.open(), keys), place.fresh()
        here.bundles.create(tmp_path / "a", headish)
        assert verify_bundle(tmp_path / "a").signatures == 2
        assert there.bundles.apply(tmp_path / "a").signatures == 2
        assert there.bundles.apply(tmp_path / "a").signatures == 0
        assert sorted(rows(there)) == sorted(rows(here))
        assert told(there, signers) == GOOD
        assert there.verify().problems == ()

    def test_forged_ones_keep_no_others_out(self, place: Place, keys: Keys, signers: Path, tmp_path: Path) -> None:
        here, there = place.open(), place.fresh()
        turn = here.add_turn("x", bookmark="main").id
        here.bundles.create(tmp_path / "a")
        here.sign("@", key=keys.folder / "anna")
        there.bundles.apply(tmp_path / "a")
        [row] = here._read(lambda connection: list(all_signatures(connection, here._number)))
        forged = [SentSignature(turn, "turn", row.data[:-1] + bytes([row.data[-1] ^ n]), 1) for n in range(1, 25)]
        assert there.bundles.apply(write(tmp_path / "forged", forged)).signatures == SIGNATURES_LIMIT
        assert there.bundles.apply(write(tmp_path / "more", forged)).signatures == 0
        there.sign("@", key=keys.folder / "anna")
        assert told(there, signers).count(GOOD[0]) == 1
        for bringer in (b"box", b"attic", ArrivalOrigin(OWN).bringer, ArrivalOrigin(PLAIN).bringer):
            sent = SentSignature(turn, "turn", signature_bytes(bringer), 1)
            store = partial(store_signatures, space=there._number, sent=[sent], remote=bringer)
            assert there._write(store) == 1
        third = place.fresh()
        there.copy_to(third, "main")
        keys.make("bert")
        assert third.sign("@", key=keys.folder / "bert").turns == 1
        assert third.verify().problems == there.verify().problems == ()

    def test_a_part_has_those_of_its_turns_alone(self, place: Place, keys: Keys, tmp_path: Path) -> None:
        here = signed(place.open(), keys)
        here.bundles.create(tmp_path / "a", "main~2")
        assert verify_bundle(tmp_path / "a").signatures == 0

    def test_a_signature_made_later_is_in_the_next_one(
        self, place: Place, keys: Keys, signers: Path, tmp_path: Path
    ) -> None:
        here, there = place.open(), place.fresh()
        here.add_turn("x")
        first = here.bundles.create(tmp_path / "a")
        here.sign("@", key=keys.folder / "anna")
        here.bundles.create(tmp_path / "b", since=first.cursor)
        there.bundles.apply(tmp_path / "a")
        assert there.bundles.apply(tmp_path / "b").signatures == 1
        assert told(there, signers) == GOOD[:1]

    def test_hostile_ones_are_refused_or_left_out(self, place: Place, tmp_path: Path) -> None:
        store = place.open()
        turn = store.add_turn("x").id
        good = SentSignature(turn, "turn", signature_bytes(b"k"), 1)
        namespace = good.data.replace(b"\0\0\0\7headish", b"\0\0\0\3git")
        refused = {
            "not a turn": replace(good, turn="nobody"),
            "of something that is not a turn": replace(good, kind="bundle"),
            "made at no time": replace(good, milliseconds=2**62),
            "its namespace is b'git'": replace(good, data=namespace),
            "the limit is 16,384": replace(good, data=signature_bytes(bytes(20_000))),
            "not what ssh-keygen": replace(good, data=b"\x1b[31m"),
        }
        for number, (words, sent) in enumerate(refused.items()):
            path = write(tmp_path / str(number), [good, sent])
            with pytest.raises(InvalidBundle, match=words):
                verify_bundle(path)
            with pytest.raises(InvalidBundle, match=words):
                store.bundles.apply(path)
            assert rows(store) == [], "nothing of the frame is stored"
        stranger = replace(good, turn="03hb0pb2lt8vpitzpj87g6kx4")
        assert store.bundles.apply(write(tmp_path / "stranger", [stranger, good])).signatures == 1
        with pytest.raises(InvalidBundle, match="disagree on whether it is signed"):
            verify_bundle(write(tmp_path / "header", [], signed=True))

    def test_rewritten_without_those_whose_turns_lost_their_meta(
        self, place: Place, keys: Keys, tmp_path: Path
    ) -> None:
        here, there = signed(place.open(), keys), place.fresh()
        here.bundles.create(tmp_path / "a")
        gone = here.get("main").id
        here.erase(gone, reason="r", meta=True)
        receipts = tmp_path / "receipts"
        receipts.write_bytes(b"".join(_receipt_lines(here)))
        rewrite_bundle(tmp_path / "a", tmp_path / "b", receipts)
        assert verify_bundle(tmp_path / "b").signatures == 1
        there.bundles.apply(tmp_path / "b")
        assert [row[0] for row in rows(there)] == [here.get("main~1").id]


def _receipt_lines(store: Store) -> Iterator[bytes]:
    import msgspec

    for each in store.erasures.list():
        yield msgspec.json.encode(each.to_dict()) + b"\n"


def write(path: Path, signatures: list[SentSignature], *, signed: bool = False) -> Path:
    with path.open("wb") as file:
        BundleWriter(file, BundleHeader(signed=signed)).end((), (), signatures)
    return path


class TestBackups:
    def test_there_and_back(self, place: Place, keys: Keys, signers: Path, tmp_path: Path) -> None:
        store = signed(place.open(), keys)
        store.backup(tmp_path / "all.hbackup")
        restore(tmp_path / "all.hbackup", tmp_path / "new.db")
        with Database.open(tmp_path / "new.db") as database:
            there = database.store(store.space)
            assert rows(there) == rows(store)
            assert told(there, signers) == GOOD
            assert there.verify().problems == ()

    def test_copies_take_them_along(self, place: Place, keys: Keys, signers: Path) -> None:
        here, there = signed(place.open(), keys), place.fresh()
        here.copy_to(there, "main")
        assert sorted(rows(there)) == sorted(rows(here))
        assert told(there, signers) == GOOD
        here.sign("main~3", key=keys.folder / "anna")
        here.copy_to(there, "main")
        assert len(rows(there)) == 3


class TestSync:
    @pytest.fixture
    def make(self, tmp_path: Path) -> Iterator[Callable[..., Machine]]:
        with machines(tmp_path) as making:
            yield making

    @pytest.fixture
    def pair(self, place: Place, tmp_path: Path, make: Callable[..., Machine]) -> tuple[Machine, Machine]:
        """The desk on a database of each kind, the laptop on SQLite."""
        url = url_of(tmp_path / "box")
        desk = make("desk", place.open())
        laptop = make("laptop", space=desk.store.space)
        desk.add(url)
        invite(desk, laptop, url)
        return desk, laptop

    def test_both_ways_and_then_nothing_more(
        self, pair: tuple[Machine, Machine], keys: Keys, signers: Path, tmp_path: Path
    ) -> None:
        desk, laptop = pair
        signed(desk.store, keys)
        desk.sync(), laptop.sync()
        assert sorted(rows(laptop.store)) == sorted(rows(desk.store))
        assert len(bundles(tmp_path / "box")) == 1, "what came from there does not go back"
        keys.make("bert")
        laptop.store.sign(desk.store.get("main").id, key=keys.folder / "bert")
        laptop.sync(), desk.sync()
        assert sorted(rows(desk.store)) == sorted(rows(laptop.store))
        assert sorted(told(desk.store, signers)) == [*GOOD, ("unknown", None)]
        desk.sync(), laptop.sync()
        before = objects(tmp_path / "box")
        desk.sync(), laptop.sync()
        assert objects(tmp_path / "box") == before
        assert len(bundles(tmp_path / "box")) == 2
        assert desk.store.verify().problems == laptop.store.verify().problems == ()

    def test_erased_there_too(self, pair: tuple[Machine, Machine], keys: Keys, signers: Path) -> None:
        desk, laptop = pair
        signed(desk.store, keys)
        desk.sync(), laptop.sync()
        gone = desk.store.get("main").id
        desk.store.erase(gone, reason="r", meta=True)
        for each in (desk, laptop, desk, laptop):
            each.sync()
        assert rows(laptop.store) == rows(desk.store)
        assert [row[0] for row in rows(laptop.store)] == [desk.store.get("main~1").id]
        assert laptop.store.verify().problems == ()

    def test_a_log_that_is_written_anew_has_those_of_a_lost_device(
        self, pair: tuple[Machine, Machine], keys: Keys, tmp_path: Path, make: Callable[..., Machine]
    ) -> None:
        desk, laptop = pair
        signed(desk.store, keys)
        desk.sync(), laptop.sync()
        keys.make("bert")
        laptop.store.sign(desk.store.get("main").id, key=keys.folder / "bert")
        laptop.sync(), desk.sync()
        with desk as store:
            store.remotes.revoke("box", "laptop")
        third = make("third", space=desk.store.space)
        invite(desk, third, url_of(tmp_path / "box"))
        third.sync()
        assert sorted(rows(third.store)) == sorted(rows(desk.store))
        assert len(rows(third.store)) == 3

    @pytest.mark.parametrize("other", ["a folder", "a store"])
    def test_what_came_from_a_removed_remote_goes_to_another_one_of_its_name(
        self, pair: tuple[Machine, Machine], keys: Keys, tmp_path: Path, make: Callable[..., Machine], other: str
    ) -> None:
        desk, laptop = pair
        signed(desk.store, keys)
        desk.sync(), laptop.sync()
        with laptop as store:
            store.remotes.remove("box")
        third = make("third", space=laptop.store.space)
        if other == "a folder":
            url = url_of(tmp_path / "other")
            laptop.add(url)
            invite(laptop, third, url)
            laptop.sync(), third.sync()
        else:
            laptop.add(str(tmp_path / "third.db"))
            laptop.sync()
        assert sorted(rows(third.store)) == sorted(rows(desk.store)) != []
        before = objects(tmp_path / "other")
        assert (laptop.sync().pushed.turns, objects(tmp_path / "other")) == (0, before)

    def test_many_pages(
        self, pair: tuple[Machine, Machine], keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A bundle that is closed early has none: what they are of may be in a later one."""
        monkeypatch.setattr(pushing, "BUNDLE_BYTES", 10)
        monkeypatch.setattr(departing, "FRAME_BYTES", 10)
        desk, laptop = pair
        for number in range(3):
            desk.store.add_turn("x" * 3000 + str(number), bookmark=str(number))
            desk.store.sign("@", key=keys.folder / "anna")
        desk.sync(), laptop.sync()
        assert len(bundles(tmp_path / "box")) == 3
        assert sorted(rows(laptop.store)) == sorted(rows(desk.store))

    def test_one_whose_turn_has_not_come_waits(
        self, pair: tuple[Machine, Machine], keys: Keys, tmp_path: Path, make: Callable[..., Machine]
    ) -> None:
        """A syncer carries the log of the laptop, which signed, before that of the desk, which said it."""
        desk, laptop = pair
        turn = desk.store.add_turn("x", bookmark="main").id
        desk.sync(), laptop.sync()
        laptop.store.sign(turn, key=keys.folder / "anna")
        laptop.sync()
        third = make("third", space=desk.store.space)
        invite(desk, third, url_of(tmp_path / "box"))
        log = next(path for path in (tmp_path / "box").glob("v1/*/*/g0001") if path.parent != _log_of(laptop, tmp_path))
        log.parent.rename(tmp_path / "elsewhere")
        assert turn in third.sync().pulled.waiting[0]
        assert rows(third.store) == []
        (tmp_path / "elsewhere").rename(log.parent)
        third.sync()
        assert rows(third.store) == rows(laptop.store)

    def test_a_push_that_was_cut_off_loses_none(
        self, pair: tuple[Machine, Machine], keys: Keys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The bundle lies there without its head, and a signature is made before the next push."""
        desk, laptop = pair
        signed(desk.store, keys)
        desk.sync()
        desk.store.sign("main~2", key=keys.folder / "anna")

        def cut(*_: object) -> None:
            raise CutOff

        with monkeypatch.context() as patched:
            patched.setattr(Logs, "put_head", cut)
            with pytest.raises(CutOff):
                desk.sync()
        desk.store.sign("main~3", key=keys.folder / "anna")
        desk.sync(), laptop.sync()
        assert len(rows(laptop.store)) == 4


def _log_of(machine: Machine, folder: Path) -> Path:
    with machine as store:
        [own] = [each for each in store.remotes.devices("box") if each.own]
    return next(folder.glob(f"box/v1/*/{own.device}"))
