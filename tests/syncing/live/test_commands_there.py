"""Two machines, each a command of its own: ``cmd:`` here, and ssh to a real sshd on loopback with a forced command."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headish import Store
from headish.errors import InvalidBundle, RemoteRefused, RemoteUnavailable
from support.command import HEADISH
from support.machines import SYNCS, Machine, state

SSHD = shutil.which("sshd") or shutil.which("/usr/sbin/sshd")


def box_at(folder: Path) -> Path:
    """The database of the other machine."""
    return folder / "the box.db"


def command_to(path: Path, *before: str) -> str:
    return "cmd:" + shlex.join([str(HEADISH), f"--db={path}", *before, "serve-stdio", "--create"])


class TestACommand:
    def test_two_machines(self, machine: Callable[..., Machine], tmp_path: Path) -> None:
        desk = machine("desk")
        desk.add(command_to(box_at(tmp_path)))
        desk.store.add_turn("asked", bookmark="main")
        assert desk.sync().pushed.turns == 1
        with Store.open(box_at(tmp_path)) as box:
            box.add_turn("answered", continues="main", role="assistant")
            assert desk.sync().pulled.stored == 1
            assert state(desk.store) == state(box)

    def test_one_that_says_something_else(self, machine: Callable[..., Machine]) -> None:
        headish = shlex.quote(str(HEADISH))
        for number, (said, error) in enumerate(
            (
                ("echo hello, this is no headish", "does not begin as"),
                ("false", "the command ended with exit code 1"),
                (f"{headish} --db=/dev/null/x serve-stdio", "exit code 1: "),
                (f"{headish} no-such-command", "exit code 2"),
            )
        ):
            desk = machine(f"desk-{number}")
            desk.add(f"cmd:{said}")
            desk.store.add_turn("x")
            with pytest.raises((RemoteUnavailable, InvalidBundle), match=error):
                desk.sync()

    @pytest.mark.slow
    def test_a_mistake_there_is_told_in_a_line_and_its_traceback_stays_there(self, tmp_path: Path) -> None:
        Store.open(box_at(tmp_path)).close()
        words = [sys.executable, "-c", _FAILS, f"--db={box_at(tmp_path)}", "serve-stdio"]
        for state_home in (tmp_path / "state", Path("/dev/null")):
            homes = {"XDG_STATE_HOME": str(state_home), "HOME": str(state_home)}
            done = subprocess.run(
                words, env=os.environ | homes, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stdout) == (1, "")
            [line] = done.stderr.splitlines()
            assert line.startswith("headish: serve-stdio failed (ZeroDivisionError); its log ")
        [log] = (tmp_path / "state").rglob("serve-stdio.log")
        assert "ZeroDivisionError: of this machine" in log.read_text()

    @pytest.mark.slow
    def test_either_side_is_killed_again_and_again(self, machine: Callable[..., Machine], tmp_path: Path) -> None:
        desk = machine("desk")
        desk.add(command_to(box_at(tmp_path)))
        for number in range(40):
            desk.store.add_turn(f"{number} " + "x" * 300_000)
        desk.sync()
        box = Store.open(box_at(tmp_path))
        syncs = [sys.executable, "-c", SYNCS, str(tmp_path / "desk.db")]
        try:
            for turn in range(10):
                for store in (desk.store, box):
                    store.add_turns({"content": f"{turn} {number} " + "y" * 100_000} for number in range(10))
                with desk:
                    process = subprocess.Popen(syncs, start_new_session=True, stdout=subprocess.PIPE)
                    assert process.stdout is not None
                    time.sleep(0.35 + turn * 0.04)
                    if turn % 2:  # the side that answers: a child of the one that asks
                        _kill_children(process.pid)
                    else:
                        os.killpg(process.pid, signal.SIGKILL)
                    process.communicate()
                assert desk.store.verify().problems == box.verify().problems == ()
            desk.sync()
            assert state(desk.store) == state(box)
        finally:
            box.close()


_FAILS = """
import sys
from headish.store.keeping.remotes import Remotes
from headish_cli.main import main
def fail(*_, **__):
    raise ZeroDivisionError("of this machine")
Remotes.answer = fail
main(sys.argv[1:])
"""


def _kill_children(parent: int) -> None:
    found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
    for each in found.stdout.split():
        with suppress(ProcessLookupError):  # a sync that is over by now
            os.kill(int(each), signal.SIGKILL)


class Server(NamedTuple):
    """An sshd of this test. ``allow`` sets what the key of the desk may run."""

    url: str
    allow: Callable[[str], None]


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if SSHD is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("there is no sshd: install openssh-server and openssh-client")
    folder = tmp_path / "sshd"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    keys = folder / "authorized_keys"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {keys}\nPidFile none\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
    )
    host = (folder / "host.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host}")
    # What ssh reads of this machine is a file of this test: an alias, as people have them.
    (folder / "config").write_text(
        f"Host the_box\n HostName 127.0.0.1\n Port {port}\n User {getpass.getuser()}\n IdentityFile {folder}/user\n"
        f" IdentitiesOnly yes\n UserKnownHostsFile {folder}/known_hosts\n StrictHostKeyChecking yes\n"
    )
    (folder / "bin").mkdir()
    program = folder / "bin" / "ssh"
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    if os.geteuid() == 0:  # where sshd, as root, puts the part of it that reads from strangers
        os.makedirs("/run/sshd", exist_ok=True)

    def allow(options: str) -> None:
        keys.write_text(f"{options} {(folder / 'user.pub').read_text()}")

    log = folder / "log"
    process = subprocess.Popen([SSHD, "-D", "-f", folder / "sshd_config", "-E", log], stdin=subprocess.DEVNULL)
    try:
        _await_port(port, process, log)
        yield Server("ssh://the_box", allow)
    finally:
        process.terminate()
        process.wait()


def _await_port(port: int, process: subprocess.Popen[Any], log: Path) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    pytest.fail(f"sshd did not start: {log.read_text() if log.exists() else 'it said nothing'}")


def forced(path: Path, *before: str, names: str = "*") -> str:
    """The options of a key that may sync with a database and nothing else."""
    words = [str(HEADISH), f"--db={path}", *before, "serve-stdio", "--create", f"--names={names}"]
    return f'restrict,command="{shlex.join(words)}"'


@pytest.mark.slow
class TestSsh:
    def test_a_key_with_a_forced_command(self, sshd: Server, machine: Callable[..., Machine], tmp_path: Path) -> None:
        path = box_at(tmp_path)
        sshd.allow(forced(path, names="team/*"))
        desk = machine("desk")
        # The path of the URL is not asked for: the key says which one it is.
        desk.add(f"{sshd.url}/no/such.db")
        desk.store.add_turn("for all", bookmark="team/a")
        desk.store.add_turn("for me", bookmark="mine")
        done = desk.sync()
        assert (done.pushed.turns, [each.name for each in done.pushed.names]) == (2, ["team/a"])
        with Store.open(path) as box:
            assert set(dict(box.bookmarks)) == {"team/a"}
            box.add_turn("answer", continues="team/a", role="assistant")
        assert desk.sync().pulled.stored == 1
        sshd.allow(forced(path, "--read-only"))
        desk.store.add_turn("more", continues="team/a")
        with desk as store, pytest.raises(RemoteRefused, match="readers alone"):
            store.remotes.push("box")
        assert desk.sync().pushed.turns == 0

    @pytest.mark.slow
    def test_without_a_forced_command_the_url_says_the_database(
        self, sshd: Server, machine: Callable[..., Machine], tmp_path: Path
    ) -> None:
        folder = tmp_path / "it's a box"
        folder.mkdir()
        # A login shell of sshd does not know this environment's programs: as on a machine where headish lies elsewhere.
        sshd.allow("restrict")
        desk = machine("desk", space="it's-work")
        desk.add(f"{sshd.url}{folder}/box.db")
        desk.store.add_turn("x", bookmark="main")
        if subprocess.run(["ssh", "the_box", "command -v headish"], capture_output=True, check=False).returncode:
            with pytest.raises(RemoteUnavailable, match=r"exit code 127.*not found"):
                desk.sync()
            with desk as store:
                store.remotes.remove("box")
            words = [str(HEADISH), f"--db={folder}/box.db", "--space=it's-work", "serve-stdio", "--create"]
            desk.add(f"cmd:{shlex.join(['ssh', 'the_box', shlex.join(words)])}")
        assert desk.sync().pushed.turns == 1
        with Store.open(folder / "box.db", space="it's-work") as box:
            assert set(dict(box.bookmarks)) == {"main"}

    def test_a_key_that_is_not_let_in(self, sshd: Server, machine: Callable[..., Machine]) -> None:
        desk = machine("desk")
        desk.add(sshd.url)
        desk.store.add_turn("x")
        with pytest.raises(RemoteUnavailable, match=r"exit code 255.*Permission denied"):
            desk.sync()
