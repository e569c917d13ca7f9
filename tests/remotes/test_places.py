"""A place for objects, in a folder and in a bucket, and the keys that close what lies there."""

from __future__ import annotations

import os
import select
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headish.errors import InvalidArgument, NotADevice, RemoteUnavailable
from headish.remotes.keys import (
    KeyPair,
    RemoteKey,
    allow_command,
    forget_keys,
    is_allowed,
    key_env_of,
    load_keys,
    new_secret,
    read_passphrase,
    recipient_of,
    save_keys,
    unwrap,
    wrap,
)
from headish.remotes.kinds import check_url
from headish.remotes.objects import ObjectPlace
from support.buckets import started_bucket


def test_the_id_of_a_remote_names_no_file_of_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    (tmp_path / "keys").mkdir()
    for end in ("command", "json"):
        (tmp_path / f"theirs.{end}").write_text("cmd:evil")
    for strange in ("../theirs", str(tmp_path / "theirs"), "", ".", "a/b", "a\n", "A", "0" * 17, "a\0"):
        for work in (
            lambda given: is_allowed(given, "cmd:evil"),
            lambda given: allow_command(given, "cmd:evil"),
            load_keys,
            lambda given: save_keys(given, KeyPair("own")),
            forget_keys,
        ):
            with pytest.raises(InvalidArgument, match="the id of a remote"):
                work(strange)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["keys", "theirs.command", "theirs.json"]
    assert list((tmp_path / "keys").iterdir()) == []


def check_place(place: ObjectPlace) -> None:
    """What the logs of devices need of a place."""
    assert (place.list("v1"), place.get("v1/a/head")) == ([], None)
    assert place.put_new("v1/a/1.hb", b"one")
    assert not place.put_new("v1/a/1.hb", b"two")
    place.put("v1/a/head", b"x" * 100_000)
    place.put("v1/a/head", b"new")
    assert (place.get("v1/a/1.hb"), place.get("v1/a/head")) == (b"one", b"new")
    assert place.list("v1") == ["v1/a/1.hb", "v1/a/head"]
    place.delete("v1/a/1.hb")
    place.delete("v1/a/1.hb")
    assert place.list("v1") == ["v1/a/head"]


def test_a_folder_holds_objects(tmp_path: Path) -> None:
    check_place(ObjectPlace((tmp_path / "a folder #1").as_uri(), create=True))
    check_place(ObjectPlace((tmp_path / "another").as_uri().replace("file", "FILE"), create=True))
    (tmp_path / "file").write_text("")
    for create in (True, False):
        with pytest.raises(RemoteUnavailable):
            ObjectPlace((tmp_path / "file" / "x").as_uri(), create=create)
    with pytest.raises(RemoteUnavailable, match="the folder is missing"):
        ObjectPlace((tmp_path / "away").as_uri())
    with pytest.raises(InvalidArgument, match="written %23"):
        ObjectPlace(f"{tmp_path.as_uri()}/a#1", create=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a folder #1", "another", "file"]


def test_an_object_is_read_up_to_the_largest_that_is_allowed(tmp_path: Path) -> None:
    place = ObjectPlace(tmp_path.as_uri())
    for name, size in (("large", 3 * 2**20), ("larger", 512 * 2**20 + 1)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    assert place.get("large") == bytes(3 * 2**20)
    with pytest.raises(RemoteUnavailable, match="larger has more than 536,870,912 bytes"):
        place.get("larger")


@pytest.mark.parametrize(("said", "reason"), [("no route\nDebug { at: 3 }", "no route"), ("", "OSError")])
def test_a_place_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, reason: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(said)

    place = ObjectPlace(tmp_path.as_uri())
    monkeypatch.setattr("obstore.get", fail)
    with pytest.raises(RemoteUnavailable) as caught:
        place.get("a")
    assert str(caught.value).endswith(reason), str(caught.value)


def test_what_others_put_in_a_folder_is_no_object_and_hides_none(tmp_path: Path) -> None:
    place = ObjectPlace(tmp_path.as_uri())
    for path in ("v1/a/1.hb", "v1/a/head", "v1/a/head (Ida's conflicted copy)", "v1/.DS_Store"):
        place.put(path, b"1")
    wanted = place.list("v1")
    assert len(wanted) == 4
    logs = tmp_path / "v1"
    for name in (b"line\nbreak", b"\xff\xfe", b"esc\x1b[2J", b"head#1"):
        Path(os.fsdecode(os.fsencode(logs / "a") + b"/" + name)).write_bytes(b"")
        Path(os.fsdecode(os.fsencode(logs) + b"/" + name)).mkdir()
    for link, to in (("0", "."), ("a/up", "../.."), ("a/self", "self"), ("a/nowhere", "not there"), ("00", "a")):
        (logs / link).symlink_to(to)
    assert place.list("v1") == wanted
    disk = tmp_path / "disk"  # a link to all of it would be walked at each sync
    (disk / "b" / "c" / "d").mkdir(parents=True)
    (disk / "b" / "c" / "d" / "deep").write_bytes(b"")
    (logs / "disk").symlink_to(disk)
    assert place.list("v1") == wanted
    (disk / "b" / "c" / "object").write_bytes(b"")
    assert place.list("v1") == sorted([*wanted, "v1/disk/b/c/object"])
    (logs / "disk").unlink()
    (tmp_path / "v2").symlink_to("v1")
    assert place.list("v2") == [path.replace("v1", "v2") for path in wanted]
    assert (place.list("v3"), place.list("v1/a/head")) == ([], [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on POSIX systems; run this on one")
def test_a_fork_of_a_process_that_reached_a_remote_is_told_that_it_cannot(tmp_path: Path) -> None:
    """The threads that would answer are those of the parent: a request of the child's would wait for ever."""
    place = ObjectPlace(tmp_path.as_uri())
    place.put("x", b"1")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            place.get("x")
        except RemoteUnavailable as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    answered, _, _ = select.select([reading], [], [], 60)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as told:
        assert answered
        assert b"this process was forked" in told.read()
    assert place.get("x") == b"1"


@pytest.fixture
def bucket() -> Iterator[str]:
    with started_bucket() as url:
        yield url


@pytest.mark.slow
def test_a_bucket_holds_objects(bucket: str) -> None:
    check_place(ObjectPlace(bucket))
    with pytest.raises(RemoteUnavailable):
        ObjectPlace("s3://nobody-has-this").put("x", b"")


def test_only_who_has_the_key_reads_and_nobody_else_is_taken_for_a_device() -> None:
    key, other = RemoteKey(new_secret()), RemoteKey(new_secret())
    sealed = key.seal(b"a secret")
    assert (key.open(sealed, "x"), b"secret" in sealed) == (b"a secret", False)
    for data in (other.seal(b"a secret"), sealed[:-1], b"", b"age-encryption.org/v1\n"):
        with pytest.raises(NotADevice):
            key.open(data, "x")
    assert (len(key.sums), len(key.fingerprint)) == (32, 32)
    assert len({key.sums, other.sums, key.fingerprint, other.fingerprint}) == 4


def test_what_is_derived_from_a_key_stays_as_it_is() -> None:
    """Else no remote that exists could be read, and two people would compare other digits."""
    key = RemoteKey("a secret")
    assert key.sums.hex() == "c6150d573b0a7d68c054a6dbbcfaf0bcfed5468114f69258e44540e23c3a5012"
    assert key.fingerprint == "fe7443d3ed962391a495c70ab5215fd8"


def test_a_key_is_wrapped_for_one_machine() -> None:
    key, own = RemoteKey(new_secret()), new_secret()
    wrapped = wrap(key, recipient_of(own))
    assert unwrap(wrapped, own, "x") == key
    with pytest.raises(NotADevice):
        unwrap(wrapped, new_secret(), "x")
    for recipient in ("", "age1", "ssh-ed25519 AAAA", own):
        with pytest.raises(InvalidArgument, match="not a recipient"):
            wrap(key, recipient)


def test_keys_lie_in_a_file_that_its_owner_alone_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    assert load_keys("a") is None
    own, remote = new_secret(), new_secret()
    save_keys("a", KeyPair(own))
    save_keys("a", KeyPair(own, remote))
    assert load_keys("a") == KeyPair(own, remote)
    [path] = (tmp_path / "keys").iterdir()
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    path.write_bytes(os.urandom(20))
    with pytest.raises(InvalidArgument, match="cannot be read"):
        load_keys("a")
    forget_keys("a")
    forget_keys("a")
    assert load_keys("a") is None


@pytest.mark.parametrize(
    "url",
    ["ftp://x/y", "file:relative", "file://host/x", "s3://key@bucket/x", "s3://:key@bucket/x", "s3://b/x?token=1",
     "s3://[x", "s3://[::1/x", ""],
)  # fmt: skip
def test_a_url_that_names_no_place_or_holds_a_key_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        check_url(url)


def test_what_a_remote_can_be_is_named_in_full() -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_url("ftp://x/y")
    for kind in ("file:///", "s3://", "ssh://", "https://", "cmd:", "postgresql://", "database"):
        assert kind in str(refused.value), kind


@pytest.mark.parametrize("url", ["file:///x", "file://localhost/x", "s3://bucket/x", "az://container/x#y"])
def test_a_url_of_a_place_is_taken(url: str) -> None:
    assert check_url(url) == url


def test_a_passphrase_comes_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_passphrase() is None
    monkeypatch.setenv("HEADISH_PASSPHRASE_FILE", str(tmp_path / "file"))
    with pytest.raises(InvalidArgument, match="HEADISH_PASSPHRASE_FILE names a file that cannot be read"):
        read_passphrase()
    (tmp_path / "file").write_bytes(b"gr\xfcn")
    with pytest.raises(InvalidArgument, match="HEADISH_PASSPHRASE_FILE names a file that cannot be read"):
        read_passphrase()
    for written, read in (("\n", None), (" correct horse \n", "correct horse")):
        (tmp_path / "file").write_text(written)
        assert read_passphrase() == read
    monkeypatch.setenv("HEADISH_PASSPHRASE", "another")
    assert read_passphrase() == "another"


def test_what_a_person_has_named_is_kept_until_it_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    id = "0" * 16
    assert (is_allowed(id, "cmd:x"), is_allowed(id, ""), key_env_of(id)) == (False, False, None)
    for url, place in (("cmd:x", None), ("https://example.org", "TOKEN")):
        allow_command(id, url, place)
        assert (is_allowed(id, url), is_allowed(id, f"{url}x"), key_env_of(id)) == (True, False, place)
        assert not is_allowed("1" * 16, url)
    assert stat.S_IMODE(next((tmp_path / "keys").iterdir()).stat().st_mode) == 0o600
    forget_keys(id)
    assert not is_allowed(id, "https://example.org")
