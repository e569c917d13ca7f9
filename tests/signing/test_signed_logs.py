"""Logs at a remote whose bundles and heads are signed: who reads them hears by whom, and may insist on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headish.bundles.heads import read_head, write_head
from headish.bundles.pages import read_page
from headish.bundles.streams import BundleReader, BundleWriter
from headish.errors import InvalidArgument, RemoteRolledBack, SigningFailed
from headish.syncing import heads
from headish.syncing.logs import hash_object
from support.machines import Machine, bundles, machines, objects, state, url_of
from support.signers import Keys, needs_keygen

pytestmark = needs_keygen


class TestSignedBundles:
    @pytest.fixture
    def pair(self, tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Machine, Machine]]:
        """Two machines at a plain place, where anybody can write; the desk signs."""
        monkeypatch.setenv("HEADISH_SIGNING_KEY", str(keys.folder / "anna"))
        with machines(tmp_path) as make:
            desk, laptop = make("desk"), make("laptop")
            for each in (desk, laptop):
                each.add(url_of(tmp_path / "box"), plain=True)
            assert desk.set(sign=True).sign
            yield desk, laptop

    @pytest.fixture
    def listed(self, signers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever pulls knows the list of signers."""
        monkeypatch.setenv("HEADISH_SIGNERS", str(signers))

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

    @pytest.mark.usefixtures("listed")
    def test_a_bundle_that_no_listed_signer_signed_waits_where_that_is_required(
        self, pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = pair
        desk.store.add_turn("signed", bookmark="main")
        desk.sync()
        assert laptop.set(require_signed=True).require_signed
        assert laptop.sync().pulled.stored == 1
        desk.set(sign=False)
        desk.store.add_turn("not signed", continues="main")
        desk.sync()
        pulled = laptop.sync().pulled
        assert pulled.stored == 0
        assert "signed by nobody that the list of signers names (not signed)" in pulled.waiting[0]
        monkeypatch.setenv("PATH", "")
        assert laptop.sync().pulled.stored == 0
        laptop.set(require_signed=False)
        assert laptop.sync().pulled.stored == 1

    @pytest.mark.usefixtures("listed")
    def test_a_pull_reads_the_lists_of_signers_once(
        self, pair: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = pair
        for text in ("one", "two", "three"):
            desk.store.add_turn(text)
            desk.sync()
        read, reading = heads.read_trust, list[int]()
        monkeypatch.setattr(heads, "read_trust", lambda *given: reading.append(1) or read(*given))
        assert _pull(laptop).signed == ("desk: anna@x",)
        assert len(reading) == 1
        assert _pull(laptop).stored == 0
        assert len(reading) == 2, "the next pull reads them again: who is trusted may have changed"

    @pytest.mark.usefixtures("listed")
    def test_who_signs_from_now_on_signs_what_was_there_too(
        self, pair: tuple[Machine, Machine], tmp_path: Path
    ) -> None:
        desk, laptop = pair
        desk.set(sign=False)
        desk.store.add_turn("not signed", bookmark="main")
        desk.sync()
        laptop.set(require_signed=True)
        assert laptop.sync().pulled.stored == 0
        desk.set(sign=True)
        desk.sync()
        pulled = laptop.sync().pulled
        assert (pulled.stored, pulled.waiting, pulled.signed) == (1, (), ("desk: anna@x",))
        before = bundles(tmp_path)
        desk.set(sign=True)
        desk.sync()
        assert bundles(tmp_path) == before, "nothing is written again"

    @pytest.mark.usefixtures("listed")
    def test_a_head_that_no_listed_signer_signed_says_nothing_where_that_is_required(
        self, pair: tuple[Machine, Machine], tmp_path: Path
    ) -> None:
        """Whoever can write to the place moves a name to another turn that was signed, takes a device out, sets the log
        back, and puts an older head there."""
        desk, laptop = pair
        first = desk.store.add_turn("first", bookmark="main")
        desk.sync()
        laptop.set(require_signed=True)
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

    @pytest.mark.usefixtures("listed")
    def test_what_is_put_does_not_stand_behind_a_strangers_bundle(
        self, pair: tuple[Machine, Machine], tmp_path: Path
    ) -> None:
        desk, laptop = pair
        for each in pair:
            each.set(require_signed=True)
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

    @pytest.mark.usefixtures("listed")
    def test_a_head_is_signed_once_it_is_to_be(self, pair: tuple[Machine, Machine], tmp_path: Path) -> None:
        desk, laptop = pair
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
        pages = [read_page(page, "a") for _, page in reader.parts()]
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
