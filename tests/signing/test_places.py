"""What was signed for one place is believed at no other one, though whoever can write there copies it whole.

A place is an id that lies in it: it moves with the folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headish.bundles.heads import read_head, write_head
from headish.bundles.pages import read_page
from headish.bundles.records import BundleHeader, BundleKind
from headish.bundles.streams import BundleReader, BundleWriter
from headish.errors import InvalidBundle, RemoteTaken
from headish.syncing.logs import hash_object
from support.growing import texts
from support.machines import Machine, bundles, machines, objects, state, url_of
from support.signers import Keys, needs_keygen

pytestmark = needs_keygen
Make = Callable[..., Machine]


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keys:
    made = Keys(tmp_path / "ssh")
    monkeypatch.setenv("HEADISH_SIGNING_KEY", str(made.make("anna")))
    monkeypatch.setenv("HEADISH_SIGNERS", str(made.signers("anna@x {anna}")))
    return made


@pytest.fixture
def make(tmp_path: Path, keys: Keys) -> Iterator[Make]:
    """What makes a machine with a place that anybody can write to, where it signs and believes what is signed."""
    with machines(tmp_path) as making:

        def make(name: str, place: str, **settings: bool) -> Machine:
            made = making(name)
            made.add(url_of(tmp_path / place), plain=True)
            settings_of(made, **(settings or {"sign": True, "require_signed": True}))
            return made

        yield make


def settings_of(machine: Machine, **settings: Any) -> Any:
    with machine as store:
        return store.remotes.set("box", **settings)


def pull(machine: Machine, name: str = "box") -> Any:
    with machine as store:
        return store.remotes.pull(name)


def log_of(folder: Path) -> Path:
    """The only log at a place."""
    [head] = folder.rglob("head")
    return head.parent


def log_of_device(machine: Machine, folder: Path) -> Path:
    with machine as store:
        [own] = [each for each in store.remotes.devices("box") if each.own]
    return next(folder.glob(f"v1/*/{own.device}"))


def copy_log(source: Path, target: Path) -> Path:
    """Copy the only log of a place to another place."""
    log = log_of(source)
    return Path(shutil.copytree(log, target / log.relative_to(source)))


class TestALogThatIsCopiedToAnotherPlace:
    @pytest.mark.parametrize("required", [True, False])
    def test_is_refused_by_name(self, make: Make, tmp_path: Path, required: bool) -> None:
        home, work = make("home", "private"), make("work", "office")
        reader = make("reader", "office", sign=True, require_signed=required)
        home.store.add_turn("private", bookmark="main")
        work.store.add_turn("official", bookmark="plan")
        home.sync(), work.sync()
        copy_log(tmp_path / "private", tmp_path / "office")
        for each in (reader, work):
            pulled = pull(each)
            assert len(pulled.waiting) == 1, each.name
            assert "home: the head of its log: it was signed for another place" in pulled.waiting[0]
            assert texts(each.store, "plan") == ["official"]
            assert [each.store.text(turn.id) for turn in each.store.turns()] == ["official"]

    def test_is_refused_by_who_comes_later(self, make: Make, tmp_path: Path) -> None:
        home, work = make("home", "private"), make("work", "office")
        home.store.add_turn("private", bookmark="main")
        work.store.add_turn("official", bookmark="plan")
        home.sync(), work.sync()
        copy_log(tmp_path / "private", tmp_path / "office")
        late = make("late", "office", require_signed=True)
        assert "it was signed for another place" in pull(late).waiting[0]
        assert set(late.store.bookmarks) == {"plan"}

    def test_its_bundles_do_not_pass_as_those_of_a_log_there(self, make: Make, tmp_path: Path) -> None:
        """Whoever copies a bundle that was signed gives it the device, the number and the hash of one that is there: it
        is read before the head is met."""
        home, work, reader = make("home", "private"), make("work", "office"), make("reader", "office")
        home.store.add_turn("private", bookmark="main")
        for text in ("1", "2"):
            work.store.add_turn(text)
            work.sync()
        home.sync()
        [signed], [first, _] = bundles(tmp_path / "private"), sorted(bundles(tmp_path / "office"))
        first.write_bytes(_as_another(signed, first))
        pulled = pull(reader)
        assert (pulled.stored, reader.store.stats().turns) == (0, 0)
        assert "its signature is bad" in pulled.waiting[0]

    def test_its_id_does_not_make_another_place_of_it(self, make: Make, tmp_path: Path) -> None:
        """Whoever can write to both places gives one the id of the other: a machine that has both sees it."""
        home = make("home", "private")
        home.store.add_turn("private", bookmark="main")
        home.sync()
        [known] = (tmp_path / "private").rglob("place")
        forged = tmp_path / "office" / known.relative_to(tmp_path / "private")
        forged.parent.mkdir(parents=True)
        shutil.copy(known, forged)
        with home as store:
            store.remotes.add("work", url_of(tmp_path / "office"), plain=True)
            store.remotes.set("work", sign=True)
            with pytest.raises(RemoteTaken, match="the place of remote 'box'"):
                store.remotes.push("work")
        assert not list((tmp_path / "office").rglob("head"))

    def test_another_id_there_moves_nobody_who_has_signed_there(self, make: Make, tmp_path: Path) -> None:
        work, reader = make("work", "office"), make("reader", "office")
        work.store.add_turn("1", bookmark="plan")
        work.sync(), reader.sync()
        [place] = (tmp_path / "office").rglob("place")
        place.write_bytes(b"0" * 32)
        work.store.add_turn("2", continues="plan")
        work.sync()
        assert pull(reader).waiting == ()
        assert texts(reader.store, "plan") == ["1", "2"]
        late = make("late", "office")
        assert "it was signed for another place" in pull(late).waiting[0]
        assert late.store.stats().turns == 0

    @pytest.mark.parametrize("data", [b"", b"x", b"0" * 33, b"\xff" * 32])
    def test_what_is_no_id_is_none(self, make: Make, tmp_path: Path, data: bytes) -> None:
        work = make("work", "office")
        work.store.add_turn("1", bookmark="plan")
        work.sync()
        [place] = (tmp_path / "office").rglob("place")
        place.write_bytes(data)
        work.store.add_turn("2", continues="plan")
        work.sync()
        late = make("late", "office")
        with pytest.raises(InvalidBundle, match="place: it is not the id of a place"):
            late.sync()

    def test_an_id_that_is_gone_makes_no_head_one_of_here(self, make: Make, tmp_path: Path) -> None:
        work = make("work", "office")
        work.store.add_turn("1", bookmark="plan")
        work.sync()
        [place] = (tmp_path / "office").rglob("place")
        place.unlink()
        late = make("late", "office", require_signed=True)
        assert "it was signed for another place" in pull(late).waiting[0]
        work.sync()
        assert not place.exists()

    def test_a_head_without_a_place_is_none_of_here(self, make: Make, tmp_path: Path, keys: Keys) -> None:
        from headish.signing.keygen import sign_message

        work, reader = make("work", "office"), make("reader", "office")
        work.store.add_turn("1", bookmark="plan")
        work.sync()
        place = log_of(tmp_path / "office") / "head"
        head = replace(read_head(place.read_bytes(), "head", None), place=None, signature=None)
        signed = replace(head, signature=sign_message(head.message, key=None))
        place.write_bytes(write_head(signed, None))
        assert "it was signed for another place" in pull(reader).waiting[0]


class TestOnesOwnLog:
    @pytest.mark.parametrize("is_gone", [False, True], ids=["with its head", "without its head"])
    def test_what_is_put_does_not_stand_behind_a_strangers_bundle(
        self, make: Make, tmp_path: Path, is_gone: bool
    ) -> None:
        """Whoever can write to the place reads the cursor of a log there, and puts a bundle where the next one goes."""
        work, reader = make("work", "office"), make("reader", "office")
        work.store.add_turn("1", bookmark="plan")
        work.sync(), reader.sync()
        [first] = bundles(tmp_path / "office")
        head = read_head((log_of_device(work, tmp_path / "office") / "head").read_bytes(), "head", None)
        forged = BytesIO()
        header = BundleHeader(
            made_at=1, device=head.device, generation=1, number=2, before=head.hash, until=head.cursor
        )
        BundleWriter(forged, header).end()
        first.with_name("000002.hb").write_bytes(forged.getvalue())
        if is_gone:
            (first.parent.parent / "head").write_bytes(b"junk")
        work.store.add_turn("2", continues="plan")
        work.sync(accept_rollback=is_gone)
        pulled = pull(reader)
        assert pulled.stored == 1
        assert state(reader.store)[0] == state(work.store)[0]


class TestAPlaceThatMoves:
    def test_goes_on_elsewhere(self, make: Make, tmp_path: Path) -> None:
        """Somebody carries the folder to another disk, and each machine names it anew."""
        work, reader = make("work", "office"), make("reader", "office")
        work.store.add_turn("1", bookmark="plan")
        work.sync(), reader.sync()
        (tmp_path / "office").rename(tmp_path / "moved")
        for each in (work, reader):
            with each as store:
                store.remotes.remove("box")
            each.add(url_of(tmp_path / "moved"), plain=True)
            settings_of(each, sign=True, require_signed=True)
        work.store.add_turn("2", continues="plan")
        work.sync()
        assert pull(reader).waiting == ()
        assert texts(reader.store, "plan") == ["1", "2"]
        late = make("late", "moved")
        assert pull(late).waiting == ()
        assert state(late.store)[0] == state(work.store)[0]

    @pytest.mark.parametrize("required", [True, False])
    def test_two_folders_that_become_one_are_made_one(self, make: Make, tmp_path: Path, required: bool) -> None:
        """Each machine has begun before the syncer carried anything: one id stays, and each takes it at its word."""
        work, reader = make("work", "here"), make("reader", "there", sign=True, require_signed=required)
        work.store.add_turn("1", bookmark="plan")
        work.sync(), reader.sync()
        [mine], [theirs] = (tmp_path / "here").rglob("place"), (tmp_path / "there").rglob("place")
        shutil.copy(mine, theirs)
        log = log_of(tmp_path / "here")
        shutil.copytree(log, tmp_path / "there" / log.relative_to(tmp_path / "here"))
        refused = pull(reader).waiting[0]
        word = "on" if required else "off"
        assert f"'headish remote set box require-signed={word}' takes the id of this one" in refused
        settings_of(reader, require_signed=required)
        assert pull(reader).waiting == ()
        assert texts(reader.store, "plan") == ["1"]
        reader.sync()
        shutil.rmtree(tmp_path / "here")
        shutil.copytree(tmp_path / "there", tmp_path / "here")
        assert pull(work).waiting == (), "its head was written anew for the place that it is"


class TestWhoDoesNotSign:
    def test_leaves_no_id_there(self, make: Make, tmp_path: Path) -> None:
        for name in ("desk", "laptop"):
            each = make(name, "box", sign=False)
            each.store.add_turn(name, bookmark=name)
            each.sync()
        assert not [path for path in objects(tmp_path / "box") if path.endswith("place")]


def _as_another(signed: Path, place: Path) -> bytes:
    """A bundle with the words and the signature of one, and the header of another."""
    with place.open("rb") as file:
        header = BundleReader(file, "a").header
    with signed.open("rb") as file:
        reader = BundleReader(file, "a")
        pages = [read_page(value, "a") for kind, value in reader.parts() if kind is BundleKind.PAGE]
    written = BytesIO()
    writer = BundleWriter(written, header)
    for page in pages:
        writer.page(page)
    writer.end((), (), (), lambda _: reader.signature or b"")
    assert hash_object(written.getvalue()) != hash_object(place.read_bytes())
    return written.getvalue()
