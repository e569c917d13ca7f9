"""A machine that is lost or that nobody trusts is taken out: it gets no new key, and its turns stay."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from headish.errors import (
    InvalidArgument,
    NoRemoteKey,
    SecretsFound,
)
from headish.remotes.keys import RemoteKey, new_secret
from headish.remotes.objects import ObjectPlace
from headish.syncing import membership
from support.growing import texts
from support.insides import run_sql
from support.machines import CutOff, Pair, cut_off, invite, machines, objects, url_of


def test_a_lost_machine_is_taken_out(machine: Any, tmp_path: Path) -> None:
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
    laptop.set(key=fingerprint)
    laptop.sync()
    assert desk.sync().pulled.stored == 1
    assert texts(laptop.store, "road") == ["said on the road"]
    assert texts(desk.store, "lap") == ["on the laptop", "kept back"]
    with pytest.raises(NoRemoteKey):
        lost.sync()


def test_a_device_is_taken_out_after_a_try_that_was_cut_off_behind_the_new_key(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, laptop, lost = machine("desk"), machine("laptop"), machine("lost")
    url = url_of(tmp_path / "box")
    desk.add(url)
    for each in (laptop, lost):
        invite(desk, each, url)
        each.store.add_turn(each.name, bookmark=each.name)
        each.sync()

    def stop(*_: Any) -> None:
        raise CutOff

    with desk as store:
        with monkeypatch.context() as patch:
            patch.setattr(membership, "write_locked", stop)
            with pytest.raises(CutOff):
                store.remotes.revoke("box", "lost")
        fingerprint = store.remotes.revoke("box", "lost")
    laptop.set(key=fingerprint)
    laptop.sync()
    desk.sync()
    assert texts(laptop.store, "lost") == ["lost"]
    with pytest.raises(NoRemoteKey):
        lost.sync()


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True])
def test_a_device_is_taken_out_after_a_try_that_was_cut_off_anywhere(tmp_path: Path, plain: bool) -> None:
    moments = next(after for after in count() if not _revoke_cut_off(tmp_path / str(after), after, plain=plain))
    assert moments > 20


@pytest.mark.parametrize("broken", ["bytes", "another key", "another log", "gone", "anew", "rolled back", "conflict"])
def test_a_machine_whose_log_is_broken_is_taken_out_and_what_can_be_read_of_it_stays(
    machine: Any, tmp_path: Path, broken: str
) -> None:
    desk, laptop, lost = machine("desk"), machine("laptop"), machine("lost")
    url = url_of(tmp_path / "box")
    desk.add(url)
    invite(desk, laptop, url)
    invite(desk, lost, url)
    said = lost.store.add_turn("said on the road", bookmark="road")
    lost.sync(), desk.sync()
    with lost as store:
        device = next(each.device for each in store.remotes.devices("box") if each.own)
    [head] = (tmp_path / "box").glob(f"v1/*/{device}/head")
    old = head.read_bytes()
    if broken == "anew":
        lost.store.erase(lost.store.add_turn("a secret").id, reason="r")
    lost.store.add_turn("said later", continues="road")
    lost.sync()
    if broken == "rolled back":
        desk.sync()
    laptop.store.add_turn("on the laptop", bookmark="lap")
    laptop.sync()
    key = RemoteKey(new_secret())
    other = next(each for each in (tmp_path / "box").rglob("head") if each != head)
    heads = {
        "bytes": b"garbage",
        "anew": b"garbage",
        "another key": key.seal(b"x"),
        "another log": other.read_bytes(),
        "rolled back": old,
        "conflict": head.read_bytes(),
    }
    head.unlink() if broken == "gone" else head.write_bytes(heads[broken])
    if broken == "conflict":
        with desk as store:
            forged = store.add_turn("forged").id
            later = next(each.id for each in lost.store.turns() if each.text == "said later")
            run_sql(store, f"UPDATE turn SET id = '{later}' WHERE id = '{forged}'")
    told: list[str] = []
    with desk as store:
        fingerprint = store.remotes.revoke("box", "lost", tell=told.append)
        assert [each.label for each in store.remotes.devices("box")] == ["desk", "laptop"]
        assert store.get("lap").text == "on the laptop"
        if broken != "conflict":
            assert [each.text for each in store.turns() if each.meta.continues == (said.id,)] == ["said later"]
    assert [each.split(":")[0] for each in told] == ["lost"]
    laptop.set(key=fingerprint)
    if broken != "conflict":  # what was forged at the desk is in conflict at the laptop, too
        laptop.sync()
    assert texts(laptop.store, "road") == ["said on the road", "said later"]


def test_taking_a_machine_out_sends_no_key(machine: Any, tmp_path: Path) -> None:
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


def test_a_machine_that_was_invited_by_nobody_gets_no_new_key(pair: Pair, tmp_path: Path) -> None:
    """The lost machine has the key, and writes a log of a device of its own making, with a recipient of its own."""
    from msgspec.structs import replace

    from headish.remotes.keys import new_secret, recipient_of
    from headish.syncing.logs import Logs
    from headish.syncing.remotes import key_of, read_remote

    desk, laptop = pair
    laptop.store.add_turn("1", bookmark="main")
    laptop.sync()
    with laptop as store:
        remote = store._read(lambda connection: read_remote(connection, store._number, "box"))
        logs = Logs(ObjectPlace(remote.url), store.space, key_of(remote))
    head = logs.head(remote.settings.device)
    assert head is not None
    recipient = recipient_of(new_secret())
    logs.put_head(replace(head, device="0" * 16, label="tablet", recipient=recipient, number=0, hash=b"", names=()))
    with desk as store:
        store.remotes.revoke("box", "laptop")
        own, tablet = store.remotes.devices("box")
    assert (tablet.label, tablet.invited) == ("tablet", False)
    keys = [path for path in objects(tmp_path / "box") if "/keys/" in path and path.endswith(".age")]
    assert keys == [f"{logs.folder}/keys/{own.device}.age"]


def test_a_machine_that_hides_its_id_and_recipient_gets_no_new_key(pair: Pair, tmp_path: Path) -> None:
    from msgspec.structs import replace

    from headish.syncing.logs import Logs
    from headish.syncing.remotes import key_of, read_remote

    desk, laptop = pair
    laptop.store.add_turn("1", bookmark="main")
    with laptop as store:
        store.remotes.push("box")
        remote = store._read(lambda connection: read_remote(connection, store._number, "box"))
        logs = Logs(ObjectPlace(remote.url), store.space, key_of(remote))
    head = logs.head(remote.settings.device)
    assert head is not None
    for path in logs.place.list(f"{logs.folder}/{remote.settings.device}"):
        logs.place.delete(path)
    logs.put_head(replace(head, device="0" * 16, recipient=None, number=0, hash=b"", names=()))
    with desk as store:
        store.remotes.revoke("box", "laptop")
        [own] = store.remotes.devices("box")
    keys = [path for path in objects(tmp_path / "box") if "/keys/" in path and path.endswith(".age")]
    assert keys == [f"{logs.folder}/keys/{own.device}.age"]


def test_what_a_device_called_what_goes_with_it_everywhere(machine: Any, pair: Pair, tmp_path: Path) -> None:
    (desk, laptop), lost = pair, machine("lost")
    invite(desk, lost, url_of(tmp_path / "box"))
    lost.store.add_turn("said on the road", bookmark="road")
    for each in (lost, laptop, desk, laptop):
        each.sync()
    assert "lost/road" in {each.name for each in laptop.store.remotes.bookmarks()}
    with desk as store:
        fingerprint = store.remotes.revoke("box", "lost")
    laptop.set(key=fingerprint)
    laptop.sync()
    assert "lost/road" not in {each.name for each in laptop.store.remotes.bookmarks()}
    assert texts(laptop.store, "road") == ["said on the road"]


def _revoke_cut_off(folder: Path, after: int, *, plain: bool) -> bool:
    """Take a device out by a try that is cut off, and another one. Returns whether the first was cut off."""
    folder.mkdir()
    url, is_cut = url_of(folder / "box"), False
    with machines(folder) as make:
        desk, laptop, lost, late = (make(name) for name in ("desk", "laptop", "lost", "late"))
        desk.add(url, plain=plain)
        for each in (laptop, lost):
            each.add(url, plain=True) if plain else invite(desk, each, url)
            each.store.add_turn(each.name, bookmark=each.name)
            each.sync()
        desk.sync()
        with lost as store:
            [own] = [each.device for each in store.remotes.devices("box") if each.own]
        fingerprint = ""
        with desk as store:
            try:
                with cut_off(after):
                    store.remotes.revoke("box", "lost")
            except CutOff:
                is_cut = True
                with suppress(InvalidArgument):  # all was done but the answer
                    fingerprint = store.remotes.revoke("box", "lost")
            [left] = [each for each in store.remotes.list() if each.name == "box"]
            assert [each.label for each in store.remotes.devices("box")] == ["desk", "laptop"]
        assert list((folder / "box").glob(f"v1/*/{own}/**/*.hb")) == []
        assert fingerprint in ("", left.fingerprint or "")
        if not plain:
            laptop.set(key=left.fingerprint)
            with pytest.raises(NoRemoteKey):
                lost.sync()
        late.add(url, plain=True) if plain else invite(desk, late, url)
        for each in (laptop, desk, late):
            each.sync()
        assert [texts(each.store, "lost") for each in (desk, laptop, late)] == [["lost"]] * 3
    return is_cut
