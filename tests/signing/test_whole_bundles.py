"""A bundle that is signed as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headish import Store, rewrite_bundle, verify_bundle
from headish.bundles.pages import read_page
from headish.bundles.records import BundleKind
from headish.bundles.streams import BundleReader, BundleWriter
from headish.errors import InvalidArgument, InvalidBundle, NotSigned, SigningFailed
from headish.store.keeping import bundles as keeping
from headish.syncing.signers import find_signer
from support.command import Command
from support.places import Place
from support.signers import Keys, needs_keygen

pytestmark = needs_keygen


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
                    writer.page(read_page(page, "it"))
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
                        writer.page(read_page(value, "it"))
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
