"""``bundle``, ``remote``, ``sync``, ``push``, ``pull`` and ``status``."""

from __future__ import annotations

import os
import shlex
from itertools import product
from pathlib import Path

import pytest

from headish import Database, Store
from support.command import HEADISH, Command
from support.machines import bundles


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Command, Command, str]:
    """Two databases and a folder. Both have their keys in one place, each in a file of its own."""
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("HEADISH_PASSPHRASE", "four words of ours")
    return Command(str(tmp_path / "desk.db")), Command(str(tmp_path / "laptop.db")), (tmp_path / "box").as_uri()


def test_a_bundle_goes_and_comes_back(headish: Command, tmp_path: Path) -> None:
    headish("add", "hello", "-b", "main")
    cursor = headish("bundle", "create", str(tmp_path / "1")).out.strip()
    headish("add", "more", "-c", "main")
    assert headish("bundle", "create", str(tmp_path / "2"), "--since", cursor, "--json").json["turns"] == 1
    assert "1 turn, 0 proven" in headish("bundle", "verify", str(tmp_path / "2")).err
    assert headish("bundle", "verify", str(tmp_path / "1"), "--json").json["proven"] == 1
    assert "--key goes with --sign" in headish.misused("bundle", "create", str(tmp_path / "x"), "--key", "a")
    other = Command(str(tmp_path / "other.db"))
    assert "continues turns that are not here" in other.fails("bundle", "apply", str(tmp_path / "2"))
    assert other("bundle", "apply", str(tmp_path / "1")).err == "1 turn arrived, 0 were here.\nmain: new here\n"
    assert other("bundle", "apply", str(tmp_path / "2"), "--json").json["stored"] == 1
    assert "exists already" in headish.fails("bundle", "create", str(tmp_path / "2"))
    headish("add", "sk-" + "a1B2c3D4e5F6g7H8", "-c", "main")
    assert "--allow-secrets" in headish.fails("bundle", "create", str(tmp_path / "3"))
    assert "3 turns" in headish("bundle", "create", str(tmp_path / "3"), "--allow-secrets").err


def test_a_bundle_that_is_missing_makes_no_database(tmp_path: Path) -> None:
    other = Command(str(tmp_path / "other.db"))
    assert "cannot be read (No such file" in other.fails("bundle", "apply", str(tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_a_bundle_makes_no_database(tmp_path: Path) -> None:
    other, file = Command(str(tmp_path / "other.db")), tmp_path / "notes.txt"
    for text, reason in (("a text that somebody wrote", "does not begin as a bundle"), ("", str(file))):
        file.write_text(text)
        assert reason in other.fails("bundle", "apply", str(file))
        assert list(tmp_path.iterdir()) == [file]


def test_what_is_refused_of_a_bundle_makes_no_database(headish: Command, tmp_path: Path) -> None:
    headish("add", "hello", "-b", "main")
    cursor = headish("bundle", "create", str(tmp_path / "1")).out.strip()
    headish("add", "more", "-c", "main")
    headish("bundle", "create", str(tmp_path / "2"), "--since", cursor)
    altered = bytearray((tmp_path / "1").read_bytes())
    altered[200] ^= 1
    (tmp_path / "3").write_bytes(altered)
    other = Command(str(tmp_path / "new" / "other.db"))
    for file, *options, reason in (
        ("1", "--require-signed", "signed by nobody"),
        ("1", "--require-signed", "--signers", str(tmp_path / "none"), "list of signers"),
        ("2", "continues turns that are not here"),
        ("3", "was altered"),
    ):
        assert reason in other.fails("bundle", "apply", str(tmp_path / file), *options)
        assert not (tmp_path / "new").exists()
    assert other("bundle", "apply", str(tmp_path / "1")).err.startswith("1 turn arrived")


def test_a_remote_that_is_refused_makes_no_database(
    headish: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    sealed, plain = (tmp_path / "sealed").as_uri(), (tmp_path / "plain").as_uri()
    headish("add", "hello", "-b", "main")
    headish("remote", "add", "sealed", sealed)
    headish("remote", "add", "plain", plain, "--plain")
    headish("sync")
    (tmp_path / "keys" / "file").touch()
    other = Command(str(tmp_path / "new" / "other.db"))
    for url, *options, reason in (
        (sealed, "--plain", "is encrypted"),
        (plain, "is not encrypted"),
        (sealed, "--key", "0" * 32, "not the one that was given"),
        (sealed, "--key", "x", "32 hex digits"),
        (sealed, "--passphrase", "HEADISH_PASSPHRASE"),
        (sealed, "--device", "a/b", "holds no /"),
        (sealed, "--key-env", "X", "leave out --key-env"),
        ((tmp_path / "keys" / "file" / "x").as_uri(), "file"),
        ("ftp://x", "a remote is a folder"),
        ("http://x", "use https"),
        ("cmd:x", "--plain", "nothing lies at a live remote"),
        (str(tmp_path / "new" / "other.db"), "is this database itself"),
    ):
        for verb in (("remote", "add", "box"), ("clone",)):
            if verb != ("clone",) or "://" in url:
                said = other.fails(*verb, url, *options)
                assert verb == ("clone",) or reason in said
                assert not (tmp_path / "new").exists(), (verb, url, options)
    assert "no history" in other.fails("clone", (tmp_path / "none").as_uri())
    assert "there is no database" in other.fails("clone", str(tmp_path / "none.db"))
    assert not (tmp_path / "new").exists()
    other("remote", "add", "box", plain, "--plain")
    assert Command(str(tmp_path / "new" / "third.db"))("clone", plain, "--plain").err.count("1 turn")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the command is a shell's; run this on a POSIX system")
def test_a_clone_that_broke_off_is_made_again_by_the_same_command(
    headish: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    last = headish("add", "hello", "-b", "main").out.strip()
    breaks, script = tmp_path / "breaks", tmp_path / "script"
    # The first conversation looks whether there is a history, and the second one breaks off.
    script.write_text(
        f"#!/bin/sh\nif [ -e {breaks} ]; then rm {breaks}; exit 1; fi\n[ -e {tmp_path}/new.db ] || touch {breaks}\n"
        f"exec {HEADISH} --db {headish.target} serve-stdio\n"
    )
    script.chmod(0o755)
    new = Command(str(tmp_path / "new.db"))
    assert "nothing came, and the database is empty: clone into it again" in new.fails("clone", f"cmd:{script}")
    assert (tmp_path / "new.db").exists()
    assert new("clone", f"cmd:{script}").err.count("1 turn") == 1
    assert new("get", "@", "--json").out.count(last) > 0


def test_a_new_database_is_not_a_remote_of_itself_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").symlink_to("new.db")
    (tmp_path / "folder").symlink_to(".")
    names = ("new.db", "~/new.db", str(tmp_path / "new.db"), "link.db", "folder/new.db")
    for own, url in product((*names, f"sqlite:///{tmp_path}/new.db"), names):
        assert "is this database itself" in Command(own).fails("remote", "add", "box", url), (own, url)
        assert not (tmp_path / "new.db").exists()


@pytest.mark.slow
def test_a_clone_that_a_live_remote_refuses_leaves_nothing(
    headish: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADISH_KEYS", str(tmp_path / "keys"))
    headish("add", "hello")
    monkeypatch.setenv("TOKEN", headish("token", "add", "desk", "--right", "sync").out.strip())
    there, empty = headish.target, str(tmp_path / "empty.db")
    Store.open(empty).close()
    serves = shlex.join([str(HEADISH), f"--db={empty}", "serve-stdio"])
    other = Command(str(tmp_path / "new" / "other.db"))
    for space, url, *options, reason in (
        ("work", there, "no space 'work'"),
        ("default", empty, "no history of the space 'default'"),
        ("default", f"cmd:{serves}", "no history of the space 'default'"),
        ("work", f"cmd:{serves}", "the space there is 'work', and here it is 'default'"),
        ("default", "cmd:false", "exit code 1"),
        ("default", "https://127.0.0.1:9", "--key-env", "TOKEN", "onnection refused"),
        ("default", "postgresql://127.0.0.1:9/x", "Connection refused"),
    ):
        assert reason in other.fails("--space", space, "clone", url, *options), url
        assert not (tmp_path / "new").exists(), url
        assert list((tmp_path / "keys").iterdir()) == [], url
    assert other("clone", there).err.endswith("1 turn came.\n")
    assert "no space 'work'" in other.fails("--space", "work", "clone", there)
    with Database.open(other.target) as database:
        assert database.spaces.list() == ["default"]


def test_without_a_remote_a_sync_says_how_to_add_one(headish: Command) -> None:
    headish("add", "hello", "-b", "main")
    for verb in (("sync",), ("push",), ("pull",), ("status",), ("remote", "list")):
        done = headish(*verb)
        assert (done.out, done.err) == ("", "There is no remote: 'headish remote add NAME URL' adds one.\n")
        assert done.code == 0
    assert headish("remote", "list", "--json").out == ""


@pytest.mark.slow
def test_two_machines_sync_and_go_apart(two: tuple[Command, Command, str]) -> None:
    desk, laptop, url = two
    desk("add", "hello", "-b", "main")
    assert "this machine is desk" in desk("remote", "add", "box", url, "--device", "desk", "--passphrase").err
    assert desk("push").err == "box: 1 turn sent.\n"
    laptop("remote", "add", "box", url, "--device", "laptop", "--passphrase")
    assert laptop("pull", "box").err == "box: 1 turn came.\ndesk/main: new here\n"
    desk("add", "of the desk", "-c", "main")
    laptop("add", "of the laptop", "-c", "main")
    [status] = desk("status", "--json").json_lines
    assert (status["unsent"], status["diverged"]) == (1, [])
    desk("sync")
    done = laptop.run("sync")
    assert done.code == 1
    assert "headish diff main..desk/main" in done.err
    assert "[-laptop-]{+desk+}" in laptop("diff", "main..desk/main").out
    assert laptop("bookmark", "list", "--remotes").out.startswith("desk/main")
    for option in (["--recent"], ["--after", "desk/main"]):
        done = laptop.run("bookmark", "list", "--remotes", *option)
        assert (done.code, "leave --after and --recent out" in done.err) == (2, True)
    assert "desk/main goes apart from main" in laptop("status").out
    assert [each["label"] for each in laptop("remote", "devices", "box", "--json").json_lines] == ["laptop", "desk"]
    assert "laptop (this machine)" in laptop("remote", "devices", "box").out
    assert laptop("remote", "list").out == f"box  {url}  encrypted  as laptop\n"
    laptop("remote", "remove", "box")
    assert "no remote 'box'" in laptop.fails("sync", "box")


def test_a_machine_is_invited_and_taken_out(two: tuple[Command, Command, str]) -> None:
    desk, laptop, url = two
    desk("add", "hello", "-b", "main")
    desk("remote", "add", "box", url, "--device", "desk")
    added = laptop("remote", "add", "box", url, "--device", "laptop", "--json").json
    assert "must invite this one" in laptop.fails("sync")
    confirm = desk("remote", "invite", "box", added["recipient"]).out.split()
    assert confirm[:4] == ["headish", "remote", "set", "box"]
    laptop(*confirm[1:])
    laptop("sync")
    desk("sync")
    assert desk("remote", "revoke", "box", "laptop").out.startswith("headish remote set box key=")
    assert "key=" in laptop.fails("sync")
    assert "not one of key=" in laptop.misused("remote", "set", "box", "colour=red")
    assert "not a recipient" in desk.fails("remote", "invite", "box", "bob")


def test_erasures_wait_where_it_is_asked(two: tuple[Command, Command, str]) -> None:
    desk, laptop, url = two
    desk("add", "hello", "-b", "main")
    for each, name in ((desk, "desk"), (laptop, "laptop")):
        each("remote", "add", "box", url, "--device", name, "--plain")
        each("sync")
    desk("sync")
    desk("erase", "main", "--reason", "mistake", "--yes")
    desk("sync")
    assert "not reached: 1 of 2 devices on box" in desk("erasures").out
    assert "erasures not reached: 1 of 2 devices" in desk("status").out
    laptop("sync")
    [line] = laptop("erasures", "--pending").out.splitlines()
    assert "mistake" in line
    assert "is pending" not in laptop.misused("erasures", "--pending", "--apply")
    assert "has the number" in laptop.fails("erasures", "--dismiss", "03hapqwkbfc5blg7smu5a74ph")
    assert "--export goes with a list" in laptop.misused("erasures", "--apply", "--export")
    assert laptop("erasures", "--apply").err == "Erased 1 turn.\n"
    assert laptop("erasures", "--apply", "--json").out == '{"turns":0}\n'
    assert laptop("erasures", "--dismiss", "--json").out == '{"erasures":0}\n'
    assert laptop("erasures", "--pending").err == "Nothing is pending.\n"
    laptop("sync")
    desk("sync")
    assert "not reached" not in desk("erasures").out


def test_a_server_is_named_with_the_place_of_its_token(
    two: tuple[Command, Command, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    headish, _, _ = two
    headish("add", "hello")
    monkeypatch.delenv("OFFICE_TOKEN", raising=False)
    given = ("remote", "add", "office")
    assert "use https" in headish.fails(*given, "http://office.example", "--key-env", "OFFICE_TOKEN")
    assert "--key-env" in headish.fails(*given, "https://office.example")
    assert "leave out --key-env" in headish.fails(*given, "file:///x", "--key-env", "OFFICE_TOKEN")
    headish(*given, "https://office.example", "--device", "desk", "--key-env", "OFFICE_TOKEN")
    assert headish("remote", "list").out == "office  https://office.example  live  as desk\n"
    assert "the environment variable OFFICE_TOKEN" in headish.fails("sync")


def test_a_history_is_cloned(two: tuple[Command, Command, str], tmp_path: Path) -> None:
    desk, laptop, url = two
    assert "no history of the space" in laptop.fails("clone", url)
    assert not (tmp_path / "laptop.db").exists()
    desk("add", "hello", "-b", "main")
    desk("remote", "add", "box", url, "--device", "desk", "--plain")
    desk("sync")
    cloned = laptop("clone", url, "--device", "laptop", "--plain")
    assert cloned.err == "origin: plain; this machine is laptop.\norigin: 1 turn came.\ndesk/main: new here\n"
    assert laptop("get", "@").out == "hello\n"
    assert "a history here already" in laptop.fails("clone", url, "--name", "again", "--plain")
    assert "is on or off" in laptop.misused("remote", "set", "origin", "trust=yes")
    assert "only a server" in laptop.fails("remote", "set", "origin", "key-env=TOKEN")
    assert "is not one of key=, names=, erasures=" in laptop.misused("remote", "set", "origin", "token=TOKEN")
    assert laptop("remote", "set", "origin", "trust=on", "--json").json["trust"] is True


@pytest.mark.parametrize("as_json", [False, True])
def test_a_clone_that_lacks_what_has_not_come_yet_says_so(
    two: tuple[Command, Command, str], tmp_path: Path, as_json: bool
) -> None:
    desk, laptop, url = two
    desk("add", "hello", "-b", "main")
    desk("remote", "add", "box", url, "--device", "desk", "--plain")
    desk("sync")
    first = bundles(tmp_path / "box")
    desk("add", "again", "-c", "main")
    desk("sync")
    [newest] = set(bundles(tmp_path / "box")).difference(first)
    data = newest.read_bytes()
    newest.unlink()
    cloned = laptop.run("clone", url, "--device", "laptop", "--plain", *(["--json"] if as_json else []))
    assert cloned.code == 1
    assert cloned.err.endswith("headish: not all of the history has come yet: 'headish sync origin' goes on\n")
    if as_json:
        assert len(cloned.json["pulled"]["waiting"]) == 1
    else:
        assert "waiting: desk: bundle 2 of 2 has not come yet\n" in cloned.err
    newest.write_bytes(data)
    assert laptop("sync", "origin").code == 0
    assert laptop("get", "main").out == "again\n"


def test_a_clone_waits_for_its_invitation(two: tuple[Command, Command, str]) -> None:
    desk, laptop, url = two
    desk("add", "hello", "-b", "main")
    desk("remote", "add", "box", url, "--device", "desk")
    desk("sync")
    cloned = laptop("clone", url, "--name", "box", "--device", "laptop", "--json").json
    assert (cloned["pulled"], "must invite this one" in cloned["remote"]["waits"]) == (None, True)
    confirm = desk("remote", "invite", "box", cloned["remote"]["recipient"]).out.split()
    laptop(*confirm[1:])
    assert "box: 1 turn came." in laptop("sync").err


@pytest.mark.parametrize("verb", ["sync", "push", "pull"])
def test_a_remote_that_fails_keeps_no_other_one_out(
    two: tuple[Command, Command, str], verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failing ones come before, between and behind, by name; what the others brought is printed as ever."""
    desk, laptop, url = two
    for each in (desk, laptop):
        each("add", "hello", "-b", "main")
        each("remote", "add", "b-box", url, "--device", "desk" if each is desk else "laptop", "--plain")
        each("remote", "add", "d-box", url + "2", "--device", "desk" if each is desk else "laptop", "--plain")
    desk("sync")
    monkeypatch.delenv("OFFICE_TOKEN", raising=False)
    for name in ("a-office", "c-office", "e-office"):
        laptop("remote", "add", name, "https://office.example", "--key-env", "OFFICE_TOKEN")
    done = laptop.run(verb, "--json")
    assert done.code == 1
    reached = [each.get("remote") or each["pulled"]["remote"] for each in done.json_lines]
    assert reached == ["b-box", "d-box"]
    lines = done.err.splitlines()
    assert [each.split(": ")[:2] for each in lines] == [["headish", f"{each}-office"] for each in "ace"]
    assert all("the environment variable OFFICE_TOKEN" in each for each in lines)
    for each in "bd":
        assert laptop(verb, f"{each}-box", "--json").json.keys() == done.json_lines[0].keys()
    assert "a-office" not in laptop.fails(verb, "a-office"), "the one that was named needs no name"
