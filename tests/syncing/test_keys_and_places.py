"""Who may read a place: keys, passphrases, devices that are taken out, and what must be said."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pyrage
import pytest

from headish import Store
from headish.errors import (
    InvalidArgument,
    NoRemoteKey,
    NotADevice,
    RemoteTaken,
    RemoteUnavailable,
    SecretsFound,
    UnknownRemote,
)
from headish.remotes.keys import RemoteKey, new_secret, unwrap_by_passphrase, wrap_by_passphrase
from headish.remotes.objects import ObjectPlace
from headish.store.keeping.sharing import places
from headish.syncing import joining, membership
from support.age_files import LOG_WORK, encrypt_with_little_work
from support.growing import texts
from support.machines import CutOff, Pair, cut_off, invite, objects, put_back, url_of


class TestKeysAndPlaces:
    @pytest.mark.slow  # a passphrase takes seconds of work, so that nobody tries many
    def test_a_passphrase_is_tried_slowly(self) -> None:
        key = RemoteKey(new_secret())
        wrapped = wrap_by_passphrase(key, "correct horse")
        [work] = re.findall(rb"\n-> scrypt \S+ ([0-9]+)\n", wrapped)
        assert int(work) > LOG_WORK, "the rest depends on how fast the machine is just now"
        assert unwrap_by_passphrase(wrapped, "correct horse", "x") == key

    @pytest.mark.parametrize("part", ["wrap", "wrap_by_passphrase", "save_keys", "store_remote"])
    def test_an_addition_that_was_interrupted_leaves_the_place_as_new(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
    ) -> None:
        monkeypatch.setattr(pyrage.passphrase, "encrypt", encrypt_with_little_work)
        monkeypatch.setenv("HEADISH_PASSPHRASE", "correct horse")
        desk, box = machine("desk"), tmp_path / "box"
        there: list[dict[str, bytes]] = []

        def interrupt(*given: object) -> None:
            there.append(objects(box))
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr({"save_keys": membership, "store_remote": places}.get(part, joining), part, interrupt)
            with pytest.raises(KeyboardInterrupt):
                desk.add(url_of(box), passphrase=True)
        assert objects(box) == {}
        assert not any(there) or "wrap" not in part, "a process that is killed at work has begun nothing"
        assert not desk.keys.exists() or not [*desk.keys.iterdir()]
        desk.add(url_of(box), passphrase=True)
        desk.store.add_turn("q", bookmark="main")
        desk.sync()
        laptop = machine("laptop")
        laptop.add(url_of(box), passphrase=True)
        laptop.sync()
        assert texts(laptop.store, "main") == ["q"]

    @pytest.mark.parametrize("passphrase", [False, True], ids=["", "passphrase"])
    def test_an_addition_that_was_killed_is_finished_by_the_next(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passphrase: bool
    ) -> None:
        monkeypatch.setattr(pyrage.passphrase, "encrypt", encrypt_with_little_work)
        monkeypatch.setenv("HEADISH_PASSPHRASE", "correct horse")
        begun = 0
        for after in count():
            desk, laptop, box = machine(f"desk-{after}"), machine(f"laptop-{after}"), tmp_path / f"box-{after}"
            try:
                with cut_off(after):
                    desk.add(url_of(box), passphrase=passphrase)
                break
            except CutOff:
                begun += any(path.endswith("/first") for path in objects(box))
                desk.add(url_of(box), passphrase=passphrase)
            if passphrase:
                laptop.add(url_of(box), passphrase=True)
            else:
                invite(desk, laptop, url_of(box))
            desk.store.add_turn("q", bookmark="main")
            desk.sync()
            laptop.sync()
            assert texts(laptop.store, "main") == ["q"]
            assert [path.suffix for path in desk.keys.iterdir()] == [".json"], "what was begun is gone"
        assert begun == (5 if passphrase else 3)

    def test_two_additions_at_once_leave_the_key_of_one_that_was_killed(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Both find the place empty, as far as they are let; either is killed once it has put something there."""
        monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
        url, both = url_of(tmp_path / "box"), Barrier(2, timeout=0.5)
        stores = [machine(name).store for name in ("work", "home", "next")]
        list_place = ObjectPlace.list

        def wait_for_other(place: ObjectPlace, prefix: str) -> list[str]:
            with suppress(BrokenBarrierError):
                both.wait()
            return list_place(place, prefix)

        def stop(*_: object) -> None:
            raise CutOff

        def add(store: Store) -> None:
            with suppress(CutOff):
                store.remotes.add("box", url)

        with monkeypatch.context() as patched, ThreadPoolExecutor(2) as pool:
            patched.setattr(ObjectPlace, "list", wait_for_other)
            for name in ("put", "delete"):
                patched.setattr(ObjectPlace, name, stop)
            list(pool.map(add, stores[:2]))
        assert stores[2].remotes.add("box", url).waits == ""
        assert [path.suffix for path in (tmp_path / "keys").iterdir() if path.suffix != ".json"] == []

    def test_a_damaged_key_that_was_begun_is_named(self, machine: Any, tmp_path: Path) -> None:
        desk, box = machine("desk"), tmp_path / "box"
        for after in count():
            with suppress(CutOff), cut_off(after):
                desk.add(url_of(box))
            if objects(box):
                break
        [begun] = desk.keys.iterdir()
        secret = begun.read_bytes()
        for damaged in (secret[:-1], b"\xff", b'{"own":"x"}'):
            begun.write_bytes(damaged)
            with pytest.raises(InvalidArgument, match=f"{begun.name} is damaged"):
                desk.add(url_of(box))
        begun.write_bytes(secret)
        desk.add(url_of(box))
        desk.sync()

    def test_a_passphrase_opens_the_place_on_another_machine(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # The same files, and read as ever: the test above makes one with all its work.
        monkeypatch.setattr(pyrage.passphrase, "encrypt", encrypt_with_little_work)
        desk, laptop, other = machine("desk"), machine("laptop"), machine("other")
        box = tmp_path / "box"
        with pytest.raises(InvalidArgument, match="HEADISH_PASSPHRASE"):
            desk.add(url_of(box), passphrase=True)
        monkeypatch.setenv("HEADISH_PASSPHRASE", "correct horse")
        desk.add(url_of(box), passphrase=True)
        desk.store.add_turn("q", bookmark="main")
        desk.sync()
        # Whoever knew the passphrase once can put another key there.
        good, bad = objects(box), RemoteKey(new_secret())
        wrapped, first = (next(path for path in good if path.endswith(end)) for end in ("passphrase.age", "first"))
        theirs = {wrapped: wrap_by_passphrase(bad, "correct horse")}
        for attack in (theirs, {**theirs, first: bad.fingerprint.encode()}):
            put_back(box, {**good, **attack})
            with pytest.raises(NotADevice, match="not that of its logs"):
                laptop.add(url_of(box), passphrase=True)
        put_back(box, good)
        fingerprint = good[first].decode()
        with pytest.raises(NotADevice, match=f"is {fingerprint}, and not the one"):
            laptop.add(url_of(box), passphrase=True, key="0" * 32)
        with pytest.raises(InvalidArgument, match="32 hex digits"):
            laptop.add(url_of(box), key="x")
        laptop.add(url_of(box), passphrase=True, key=fingerprint)
        assert laptop.sync().pulled.stored == 1
        monkeypatch.delenv("HEADISH_PASSPHRASE")
        (tmp_path / "file").write_text("wrong horse\n")
        monkeypatch.setenv("HEADISH_PASSPHRASE_FILE", str(tmp_path / "file"))
        with pytest.raises(NotADevice, match="passphrase is another one"):
            other.add(url_of(box), passphrase=True)

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

    def test_a_plain_place_has_no_key(self, machine: Any, tmp_path: Path) -> None:
        desk, url = machine("desk"), url_of(tmp_path / "box")
        for given in ({"key": "0" * 32}, {"passphrase": True}):
            with pytest.raises(InvalidArgument, match="a plain remote has no key"):
                desk.add(url, plain=True, **given)
        assert (desk.store.remotes.list(), (tmp_path / "box").exists()) == ([], False)
        desk.add(url, plain=True)
        with pytest.raises(InvalidArgument, match="not encrypted and has no key"):
            desk.store.remotes.set("box", key="0" * 32)

    def test_a_folder_that_is_not_mounted_has_lost_nothing(self, machine: Any, tmp_path: Path) -> None:
        desk, box = machine("desk"), tmp_path / "box"
        desk.add(url_of(box))
        desk.store.add_turn("hello", bookmark="main")
        desk.sync()
        before = objects(box)
        box.rename(tmp_path / "away")
        with desk as store:
            for work in (store.remotes.exchange, store.remotes.pull, store.remotes.push):
                with pytest.raises(RemoteUnavailable, match="the folder is missing"):
                    work("box")
        with pytest.raises(RemoteUnavailable, match="no history of the space"):
            machine("laptop").store.remotes.clone("box", url_of(box))
        assert not box.exists()
        (tmp_path / "away").rename(box)
        desk.sync()
        assert objects(box) == before

    @pytest.mark.parametrize("error", [RemoteUnavailable("box", "it is gone"), KeyboardInterrupt()])
    def test_a_clone_that_brought_nothing_can_be_made_again(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
    ) -> None:
        desk, laptop, url = machine("desk").store, machine("laptop").store, url_of(tmp_path / "box")
        desk.remotes.add("box", url, plain=True)
        for text in ("1", "2"):
            desk.add_turn(text, bookmark=text)
            desk.remotes.push("box")

        def break_off() -> None:
            raise error

        for end, stays, told in (
            ("head", [], "nothing came, and the database is empty: clone into it again"),
            ("000002.hb", ["box"], "what came stays: 'headish sync box' goes on"),  # behind the first bundle
        ):
            with monkeypatch.context() as patch:
                _at_each(patch, end, break_off)
                with pytest.raises(type(error)) as broken:
                    laptop.remotes.clone("box", url, plain=True)
            assert broken.value.__notes__[-1] == told
            assert [each.name for each in laptop.remotes.list()] == stays
        assert laptop.remotes.pull("box").stored == 1

    def test_urls_that_are_none(self, machine: Any, tmp_path: Path) -> None:
        desk = machine("desk")
        for url in ("ftp://x/y", "s3://key:secret@bucket/x", "s3://bucket/x?token=1", "file:relative", str(tmp_path)):
            with pytest.raises(InvalidArgument):
                desk.add(url)
        (tmp_path / "file").write_text("")
        with pytest.raises(RemoteUnavailable):
            desk.add(url_of(tmp_path / "file" / "below"))
        assert desk.store.remotes.list() == []

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
        laptop.set(key=fingerprint)
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

    def test_what_is_set_while_a_sync_goes_on_stays(
        self, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = pair
        desk.store.add_turn("1", bookmark="main")
        desk.sync()
        laptop.store.add_turn("2", bookmark="other")
        with Store.open(tmp_path / "laptop.db") as beside:
            with monkeypatch.context() as patch:
                _at_each(patch, "head", lambda: beside.remotes.set("box", erasures="ask"))
                laptop.sync()
            with laptop as store:
                assert [each.erasures for each in store.remotes.list()] == ["ask"]
                assert [each.label for each in store.remotes.devices("box")] == ["laptop", "desk"]
            desk.store.add_turn("more", continues="main")
            desk.sync()
            laptop.store.add_turn("mine", bookmark="mine")
            waiting = [lambda: beside.remotes.pull("box")]
            with monkeypatch.context() as patch, laptop as store:
                _at_each(patch, "head", lambda: waiting and waiting.pop()())
                store.remotes.push("box")
                assert [each.bundles for each in store.remotes.devices("box")] == [2, 2]  # what was read stays read
            desk.store.add_turn("3", continues="main")
            desk.sync()
            _at_each(monkeypatch, ".hb", lambda: beside.remotes.remove("box"))
            with pytest.raises(UnknownRemote):
                laptop.sync()
            assert laptop.store.remotes.list() == []

    def test_the_slower_of_two_pulls_takes_nothing_back(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = machine("desk").store, machine("laptop").store
        for name, each in (("desk", desk), ("laptop", laptop)):
            each.remotes.add("box", url_of(tmp_path / "box"), device=name, plain=True)

        def say(text: str) -> None:
            turn = desk.add_turn(text, continues="main" if "main" in desk.bookmarks else None, bookmark="main")
            desk.bookmarks.set("other", turn.id)
            desk.remotes.push("box")

        say("1")
        laptop.remotes.pull("box")
        say("2")
        with Store.open(tmp_path / "laptop.db") as beside:

            def go_ahead() -> None:
                say("3")
                desk.bookmarks.set("other", "main~2")
                desk.remotes.push("box")
                beside.remotes.pull("box")

            _behind(monkeypatch, "000002.hb", go_ahead)
            assert laptop.remotes.pull("box").waiting == ()
        assert [each.bundles for each in laptop.remotes.devices("box")] == [0, 3]
        assert dict(laptop.bookmarks) == dict(desk.bookmarks)
        laptop.remotes.pull("box")
        assert dict(laptop.bookmarks) == dict(desk.bookmarks)

    def test_a_device_that_is_taken_out_while_it_is_read_is_left_there(
        self, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, laptop = machine("desk").store, machine("laptop").store
        for name, each in (("desk", desk), ("laptop", laptop)):
            each.remotes.add("box", url_of(tmp_path / "box"), device=name, plain=True)
        for text in ("1", "2", "3"):
            laptop.add_turn(text, bookmark=text)
            laptop.remotes.push("box")
        with Store.open(tmp_path / "desk.db") as beside:
            _behind(monkeypatch, "000002.hb", lambda: beside.remotes.revoke("box", "laptop"))
            assert desk.remotes.pull("box").waiting == ()
        assert [each.label for each in desk.remotes.devices("box")] == ["desk"]
        assert (desk.stats().turns, desk.remotes.bookmarks()) == (3, [])

    def test_a_title_or_a_name_that_looks_like_a_key_stays(self, machine: Any, tmp_path: Path) -> None:
        desk, secret = machine("desk"), "sk-" + "a1B2c3D4e5F6g7H8"
        desk.add(url_of(tmp_path / "box"))
        desk.store.add_turn("hello", bookmark="main")
        desk.store.conversations.set("main", title=f"of {secret}")
        before = objects(tmp_path / "box")
        for refused in (desk.sync, lambda: desk.store.bundles.create(tmp_path / "bundle")):
            with pytest.raises(SecretsFound, match="what is said of main") as found:
                refused()
            assert (found.value.conversations, secret in str(found.value)) == (("main",), False)
        assert objects(tmp_path / "box") == before
        desk.store.conversations.set("main", title="fine")
        desk.sync()
        before = objects(tmp_path / "box")
        desk.store.bookmarks.set(secret, "main")  # nothing but a name is new
        with pytest.raises(SecretsFound, match="hidden") as found:
            desk.sync()
        assert (objects(tmp_path / "box"), secret in str(found.value)) == (before, False)
        assert desk.sync(allow_secrets=True).pushed.objects == 1


def _at_each(patch: pytest.MonkeyPatch, end: str, work: Callable[[], object]) -> None:
    """Have something done whenever an object is read whose path ends so."""
    got = ObjectPlace.get

    def get(place: ObjectPlace, path: str) -> bytes | None:
        if path.endswith(end):
            work()
        return got(place, path)

    patch.setattr(ObjectPlace, "get", get)


def _behind(patch: pytest.MonkeyPatch, end: str, work: Callable[[], object]) -> None:
    """Have something done once, when an object was read whose path ends so."""
    got, waiting = ObjectPlace.get, [work]

    def get(place: ObjectPlace, path: str) -> bytes | None:
        data = got(place, path)
        if path.endswith(end) and waiting:
            waiting.pop()()
        return data

    patch.setattr(ObjectPlace, "get", get)
