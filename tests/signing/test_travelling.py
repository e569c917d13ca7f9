"""Signatures travel with their turns: in bundles, through a folder, in backups and copies; they are erased there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headish import Database, Store, restore, rewrite_bundle, verify_bundle
from headish.bundles.heads import read_head, write_head
from headish.bundles.records import BundleHeader, BundleKind, SentSignature, from_page
from headish.bundles.streams import BundleReader, BundleWriter
from headish.errors import (
    InvalidArgument,
    InvalidBundle,
    NotSigned,
    RemoteRefused,
    RemoteRolledBack,
    RemoteUnavailable,
    SigningFailed,
)
from headish.history.signatures import store_signatures
from headish.rows.elsewhere.arrivals import OWN, PLAIN, ArrivalOrigin
from headish.rows.signatures import all_signatures
from headish.store.keeping import bundles as keeping
from headish.syncing import departing, pulling, pushing
from headish.syncing.live import answering
from headish.syncing.logs import Logs, hash_object
from headish.syncing.signers import find_signer
from headish.values.limits import SIGNATURES_LIMIT
from support.command import Command
from support.growing import grow
from support.lines import line_to
from support.machines import CutOff, Machine, bundles, invite, machines, objects, state, url_of
from support.places import Place
from support.signers import Keys, needs_keygen, signature_bytes

pytestmark = needs_keygen
GOOD = [("good", "anna@x"), ("good", "anna@x")]


@pytest.fixture
def signers(keys: Keys) -> Path:
    return keys.signers("anna@x {anna}")


def signed(store: Store, keys: Keys) -> Store:
    """A store with a signed turn, a signed thread and a turn that is not signed."""
    grow(store, "q? <- a <- r? <- b")
    store.bookmarks.set("main", store.get("@").id)
    store.sign("main", thread=True, key=keys.folder / "anna")
    store.sign("main~1", key=keys.folder / "anna")
    return store


def told(store: Store, signers: Path) -> list[tuple[str, str | None]]:
    return [(each.verdict, each.name) for each in store.signatures(signers=signers)]


def rows(store: Store) -> list[tuple[Any, ...]]:
    found = store._read(lambda connection: list(all_signatures(connection, store._number)))
    return [(each.turn, each.kind, each.key, each.data, each.milliseconds) for each in found]


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
                with desk as store:
                    store.remotes.set("box", erasures="apply")
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


class TestABundleThatIsSignedAsAWhole:
    @pytest.fixture
    def bundle(self, keys: Keys, tmp_path: Path) -> Path:
        """A bundle with a name and a title, signed by anna."""
        with Store.open(tmp_path / "here.db") as here:
            here.add_turn("q", bookmark="main")
            here.conversations.set("main", title="a title")
            made = here.bundles.create(tmp_path / "whole", sign=True, key=keys.folder / "anna")
        assert made.size_bytes == (tmp_path / "whole").stat().st_size
        return tmp_path / "whole"

    def test_who_signed_it_is_told(self, place: Place, bundle: Path, signers: Path) -> None:
        assert verify_bundle(bundle, signers=signers).signed == "anna@x"
        assert verify_bundle(bundle).signed.startswith("unknown key SHA256:")
        done = place.open().bundles.apply(bundle, require_signed=True, signers=signers)
        assert (done.stored, done.signed, done.names[0].outcome) == (1, "anna@x", "made")

    def test_what_nobody_signed_who_is_listed_is_refused_where_that_is_required(
        self, place: Place, bundle: Path, keys: Keys, signers: Path, tmp_path: Path
    ) -> None:
        there = place.open()
        there.bundles.create(tmp_path / "empty")
        keys.make("bert")
        refused = [(bundle, None), (tmp_path / "empty", signers), (bundle, keys.signers("bert@x {bert}", name="other"))]
        for path, listed in refused:
            with pytest.raises(NotSigned, match="nobody that the list of signers names"):
                there.bundles.apply(path, require_signed=True, signers=listed)
        assert list(there.turns()) == []
        assert there.bundles.apply(bundle).stored == 1

    def test_it_cannot_be_exchanged_once_it_was_judged(
        self, place: Place, keys: Keys, signers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there, path = place.open(), place.fresh(), tmp_path / "first"
        here.add_turn(os.urandom(200_000).hex())  # more than a file reads ahead
        here.bundles.create(path, sign=True, key=keys.folder / "anna")
        here.add_turn("forged")
        here.bundles.create(tmp_path / "other")
        judged, others = path.read_bytes(), [(tmp_path / "other").read_bytes()]
        with open(path, "rb") as first, open(tmp_path / "other", "rb") as other:
            reader, forged = BundleReader(first, "it"), list(BundleReader(other, "it").parts())
            own = list(reader.parts())
        for parts in (forged, [], [*own, *own]):
            with open(tmp_path / "same header", "w+b") as file:
                writer = BundleWriter(file, reader.header)
                for _, page in parts:
                    writer.page(list(from_page(page, "it")))
                writer.finish(lambda _: reader.signature)
                file.seek(0)
                others.append(file.read())
        for other in others:
            path.write_bytes(judged)

            def judge_then_exchange(*given: Any, other: bytes = other) -> Any:
                found = find_signer(*given)
                path.write_bytes(other)
                return found

            monkeypatch.setattr(keeping, "find_signer", judge_then_exchange)
            with pytest.raises(InvalidBundle, match="it was changed while it was read"):
                there.bundles.apply(path, require_signed=True, signers=signers)
            assert "forged" not in [turn.text for turn in there.turns()]

    def test_nothing_of_it_can_be_altered(self, place: Place, bundle: Path, signers: Path, tmp_path: Path) -> None:
        """Its sums are anybody's to make: the signature says what is in it."""

        def written(change: Callable[[BundleWriter, list[Any], Any], None]) -> Path:
            with open(bundle, "rb") as file, open(tmp_path / "altered", "wb") as out:
                reader = BundleReader(file, "it")
                parts = list(reader.parts())
                change(BundleWriter(out, reader.header), parts, lambda _: reader.signature)
            return tmp_path / "altered"

        def with_lists(names: Callable[[Any], Any], records: Callable[[Any], Any]) -> Any:
            def change(writer: BundleWriter, parts: list[Any], sign: Any) -> None:
                for kind, value in parts:
                    if kind is BundleKind.PAGE:
                        writer.page(list(from_page(value, "it")))
                found = dict(parts)
                writer.end(names(found[BundleKind.NAMES]), records(found[BundleKind.RECORDS]), (), sign)

            return change

        def same(value: Any) -> Any:
            return value

        assert verify_bundle(written(with_lists(same, same)), signers=signers).signed == "anna@x"
        for names, records in (
            (lambda names: [replace(names[0], name=b"other")], same),
            (lambda _: (), same),
            (same, lambda _: ()),
            (same, lambda said: [replace(said[0], data=said[0].data.replace(b"a title", b"another"))]),
        ):
            path, there = written(with_lists(names, records)), place.fresh()
            for work in (partial(verify_bundle, path), partial(there.bundles.apply, path)):
                with pytest.raises(InvalidBundle, match="its signature is bad"):
                    work()
            assert list(there.turns()) == []

    def test_what_is_written_again_is_signed_no_more(self, bundle: Path, signers: Path, tmp_path: Path) -> None:
        (tmp_path / "receipts.jsonl").touch()
        rewrite_bundle(bundle, tmp_path / "again", tmp_path / "receipts.jsonl")
        assert verify_bundle(tmp_path / "again", signers=signers).signed == ""

    def test_a_key_alone_signs_nothing(self, place: Place, keys: Keys, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument, match="sign=True"):
            place.open().bundles.create(tmp_path / "x", key=keys.folder / "anna")
        with pytest.raises(SigningFailed):
            place.open().bundles.create(tmp_path / "x", sign=True, key=tmp_path / "no key")
        assert not (tmp_path / "x").exists()

    def test_at_the_command(self, bundle: Path, signers: Path, keys: Keys, tmp_path: Path) -> None:
        headish = Command(str(tmp_path / "cli.db"))
        done = headish("bundle", "apply", str(bundle), "--require-signed", "--signers", str(signers))
        assert "signed: anna@x" in done.err
        headish("bundle", "create", str(tmp_path / "b"), "--sign", "--key", str(keys.folder / "anna"))
        assert "signed: anna@x" in headish("bundle", "verify", str(tmp_path / "b"), "--signers", str(signers)).err
        headish("bundle", "create", str(tmp_path / "c"))
        words = "bundle", "apply", str(tmp_path / "c"), "--require-signed", "--signers", str(signers)
        assert "signed by nobody" in headish.fails(*words)


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
            "no turn": replace(good, turn="nobody"),
            "of something that is no turn": replace(good, kind="bundle"),
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


class TestSignedBundles:
    @pytest.fixture
    def pair(self, tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Machine, Machine]]:
        """Two machines at a plain place, where anybody can write; the desk signs."""
        monkeypatch.setenv("HEADISH_SIGNING_KEY", str(keys.folder / "anna"))
        with machines(tmp_path) as make:
            desk, laptop = make("desk"), make("laptop")
            for each in (desk, laptop):
                each.add(url_of(tmp_path / "box"), plain=True)
            with desk as store:
                assert store.remotes.set("box", sign=True).sign
            yield desk, laptop

    def test_who_pulls_hears_by_whom(
        self, pair: tuple[Machine, Machine], signers: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = pair
        desk.store.add_turn("x", bookmark="main")
        desk.sync()
        monkeypatch.setenv("HEADISH_SIGNERS", str(signers))
        assert laptop.sync().pulled.signed == ("desk: anna@x",)
        monkeypatch.delenv("HEADISH_SIGNERS")
        desk.store.add_turn("y", continues="main"), desk.sync()
        [words] = laptop.sync().pulled.signed
        assert words.startswith("desk: unknown key SHA256:")
        assert laptop.sync().pulled.signed == (), "nothing came"

    def test_what_is_not_signed_so_is_not_stored(
        self, pair: tuple[Machine, Machine], tmp_path: Path, keys: Keys
    ) -> None:
        """Whoever can write to the place alters a bundle, and the sums and the head with it."""
        desk, laptop = pair
        desk.store.add_turn("x", bookmark="main")
        desk.sync()
        [bundle] = (tmp_path / "box").rglob("*.hb")
        with bundle.open("rb") as file:
            reader = BundleReader(file, "a")
            assert reader.header.signed
            assert [kind.name for kind, _ in reader.parts()] == ["PAGE"]
            signature = reader.signature
        assert signature is not None
        [place] = (tmp_path / "box").rglob("head")
        _forge(bundle, place, signature)
        pulled = laptop.sync().pulled
        assert (pulled.stored, pulled.signed) == (0, ())
        assert "its signature is bad: it is not a signature of this" in pulled.waiting[0]
        assert "the head of its log" in pulled.waiting[0]
        _alter(place, signature=None)
        pulled = laptop.sync().pulled
        assert (pulled.stored, pulled.signed) == (0, ())
        assert "its signature is bad: it is not a signature of this" in pulled.waiting[0]
        assert "000001.hb" in pulled.waiting[0]
        assert laptop.store.erasures.list() == []

    def test_a_bundle_that_no_listed_signer_signed_waits_where_that_is_required(
        self, pair: tuple[Machine, Machine], signers: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = pair
        monkeypatch.setenv("HEADISH_SIGNERS", str(signers))
        desk.store.add_turn("signed", bookmark="main")
        desk.sync()
        with laptop as store:
            assert store.remotes.set("box", require_signed=True).require_signed
        assert laptop.sync().pulled.stored == 1
        with desk as store:
            store.remotes.set("box", sign=False)
        desk.store.add_turn("not signed", continues="main")
        desk.sync()
        pulled = laptop.sync().pulled
        assert pulled.stored == 0
        assert "signed by nobody that the list of signers names (not signed)" in pulled.waiting[0]
        monkeypatch.setenv("PATH", "")
        assert laptop.sync().pulled.stored == 0
        with laptop as store:
            store.remotes.set("box", require_signed=False)
        assert laptop.sync().pulled.stored == 1

    def test_a_pull_reads_the_lists_of_signers_once(
        self, pair: tuple[Machine, Machine], signers: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = pair
        monkeypatch.setenv("HEADISH_SIGNERS", str(signers))
        for text in ("one", "two", "three"):
            desk.store.add_turn(text)
            desk.sync()
        read, reading = pulling.read_trust, list[int]()
        monkeypatch.setattr(pulling, "read_trust", lambda *given: reading.append(1) or read(*given))
        assert _pull(laptop).signed == ("desk: anna@x",)
        assert len(reading) == 1
        assert _pull(laptop).stored == 0
        assert len(reading) == 2, "the next pull reads them again: who is trusted may have changed"

    def test_who_signs_from_now_on_signs_what_was_there_too(
        self, pair: tuple[Machine, Machine], signers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = pair
        monkeypatch.setenv("HEADISH_SIGNERS", str(signers))
        with desk as store:
            store.remotes.set("box", sign=False)
        desk.store.add_turn("not signed", bookmark="main")
        desk.sync()
        with laptop as store:
            store.remotes.set("box", require_signed=True)
        assert laptop.sync().pulled.stored == 0
        with desk as store:
            store.remotes.set("box", sign=True)
        desk.sync()
        pulled = laptop.sync().pulled
        assert (pulled.stored, pulled.waiting, pulled.signed) == (1, (), ("desk: anna@x",))
        before = bundles(tmp_path)
        with desk as store:
            store.remotes.set("box", sign=True)
        desk.sync()
        assert bundles(tmp_path) == before, "nothing is written again"

    def test_a_head_that_no_listed_signer_signed_says_nothing_where_that_is_required(
        self, pair: tuple[Machine, Machine], signers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever can write to the place moves a name to another turn that was signed, takes a device out, sets the log
        back, and puts an older head there."""
        desk, laptop = pair
        monkeypatch.setenv("HEADISH_SIGNERS", str(signers))
        first = desk.store.add_turn("first", bookmark="main")
        desk.sync()
        with laptop as store:
            store.remotes.set("box", require_signed=True)
        assert _pull(laptop).signed == ("desk: anna@x",)
        [place] = (tmp_path / "box").rglob("head")
        old = place.read_bytes()
        later = desk.store.add_turn("later", continues="main")
        desk.store.conversations.set("main", title="hers")
        desk.sync()
        good = place.read_bytes()
        assert _pull(laptop).stored == 1
        stood = state(laptop.store), laptop.store.conversations.get("main").record
        names = replace(read_head(good, "head", None).names[0], turn=first.id)
        forgeries: dict[str, dict[str, Any]] = {
            "names": {"names": (names,), "serial": 99},
            "titles": {"records": (), "serial": 99},
            "revoked": {"revoked": ("0" * 16,), "serial": 99},
            "shorter": {"number": 1, "serial": 99},
            "erased": {"erased": (later.id,), "serial": 99},
        }
        for name, forged in forgeries.items():
            for signature in ({}, {"signature": None}):
                place.write_bytes(good)
                _alter(place, **forged, **signature)
                pulled = _pull(laptop)
                why = "signed by nobody that the list of signers names" if signature else "signature is bad"
                assert why in pulled.waiting[0], name
                assert "desk: the head of its log: it" in pulled.waiting[0], name
                assert (state(laptop.store), laptop.store.conversations.get("main").record) == stood, name
        place.write_bytes(old)
        with pytest.raises(RemoteRolledBack, match="the log of desk was at bundle 2 and is at 1"):
            _pull(laptop)
        place.write_bytes(good)
        assert _pull(laptop).waiting == ()

    def test_what_is_put_does_not_stand_behind_a_strangers_bundle(
        self, pair: tuple[Machine, Machine], signers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = pair
        monkeypatch.setenv("HEADISH_SIGNERS", str(signers))
        for each in pair:
            with each as store:
                store.remotes.set("box", require_signed=True)
        desk.store.add_turn("mine", bookmark="main")
        desk.sync()
        forged = set[Path]()
        for signature in ({}, {"signature": None}):
            [place] = set((tmp_path / "box").rglob("head")) - forged
            _alter(place, number=2, hash=b"x" * 32, serial=99, **signature)
            forged.add(place)
            desk.store.add_turn("more", continues="main")
            desk.sync()  # in another log, which the laptop reads
            assert _pull(laptop).stored >= 1
            assert state(laptop.store) == state(desk.store)

    def test_a_head_is_signed_once_it_is_to_be(
        self, pair: tuple[Machine, Machine], signers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = pair
        monkeypatch.setenv("HEADISH_SIGNERS", str(signers))
        desk.sync()  # there is nothing but its head
        [place] = (tmp_path / "box").rglob("head")
        assert read_head(place.read_bytes(), "head", None).signature is not None
        _alter(place, signature=None)
        desk.sync()
        signed = place.read_bytes()
        assert read_head(signed, "head", None).signature is not None
        desk.sync()
        assert place.read_bytes() == signed, "nothing is new"
        desk.store.add_turn("x", bookmark="main")
        desk.sync()
        assert laptop.sync().pulled.signed == ("desk: anna@x",)

    def test_a_live_remote_keeps_no_bundles_to_sign(self, tmp_path: Path) -> None:
        with machines(tmp_path) as make:
            desk = make("desk")
            desk.add("cmd:headish serve-stdio")
            with pytest.raises(InvalidArgument, match="is live and keeps no bundles to sign"):
                desk.store.remotes.set("box", sign=True)
            assert not desk.store.remotes.set("box", sign=False).sign

    def test_a_key_that_is_missing_puts_nothing(
        self, pair: tuple[Machine, Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, _ = pair
        desk.store.add_turn("x", bookmark="main")
        monkeypatch.delenv("HEADISH_SIGNING_KEY")
        before = objects(tmp_path / "box")
        with pytest.raises(SigningFailed, match="no key is named"):
            desk.sync()
        assert objects(tmp_path / "box") == before


def _forge(bundle: Path, place: Path, signature: bytes) -> None:
    """Put a receipt into a bundle that somebody signed, and have the head name it."""
    with bundle.open("rb") as file:
        reader = BundleReader(file, "a")
        pages = [from_page(page, "a") for _, page in reader.parts()]
    with bundle.open("wb") as file:
        writer = BundleWriter(file, reader.header)
        writer.receipt(b"{}")
        for page in pages:
            writer.page(page)
        writer.end((), (), (), lambda _: signature)
    _alter(place, hash=hash_object(bundle.read_bytes()))


def _pull(machine: Machine) -> Any:
    with machine as store:
        return store.remotes.pull("box")


def _alter(place: Path, **changes: Any) -> None:
    """Make a head say something else."""
    head = read_head(place.read_bytes(), "head", None)
    place.write_bytes(write_head(replace(head, **changes), None))
