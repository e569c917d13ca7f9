"""The processes of ``headish serve``, as they are started, killed and ended."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import os
import resource
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from headish import Store
from headish.errors import InvalidArgument
from headish.gateway.files import write_whole
from headish.gateway.passing.access import ACCESS_FILE, Access
from headish.gateway.spool import SpoolReader
from headish.serve.processes.children import ChildTold
from headish.serve.processes.settings import ServeSettings, find_folder
from headish.serve.processes.supervising import Child, find_addresses
from headish.values.access.tokens import Token, is_token, make_token, token_hash
from headish_cli.commands.serving.passed import gateway_problems
from headish_cli.options import GlobalOptions
from support.command import Command
from support.processes import is_alive
from support.served import PATIENCE_SECONDS, Served, served
from support.upstream import LAST, Asked, Step, Upstream, answer, chunked, head

pytestmark = pytest.mark.slow

PATH = "/anthropic/v1/messages"


def wait_until_gone(numbers: list[int]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while any(map(is_alive, numbers)):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as started:
        yield started


def test_one_command_serves_the_page_and_the_gateway_and_ends_in_order(tmp_path: Path, upstream: Upstream) -> None:
    going = threading.Event()

    def slow(_: Asked) -> Iterator[Step]:
        yield head(200, "text/event-stream")
        yield from chunked([b"data: 1\n\n"])
        going.set()
        yield 1.0
        yield from chunked([b"data: 2\n\n"])
        yield LAST

    upstream.script = slow
    with served(tmp_path, upstream) as server:
        with urllib.request.urlopen(server.login, timeout=PATIENCE_SECONDS) as page:
            assert page.status == 200
        second = subprocess.run(
            [sys.executable, "-m", "headish_cli", "--db", str(server.database), "serve", "--port", "0"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 1
        assert "is served already at http://127.0.0.1:" in second.stderr
        assert str(server.process.pid) in second.stderr
        found = find_addresses(find_folder(str(server.database)))
        assert found is not None
        assert (found.pid, found.gateway) == (server.process.pid, server.gateway)
        answered: list[tuple[int, bytes]] = []
        asking = threading.Thread(target=lambda: answered.append(server.ask(PATH)))
        asking.start()
        assert going.wait(PATIENCE_SECONDS)
        children = list(server.children().values())
        assert server.end() == 0
        asking.join(PATIENCE_SECONDS)
        assert answered == [(200, b"data: 1\n\ndata: 2\n\n")], "a call that had begun has its time"
        wait_until_gone(children)
        assert find_addresses(find_folder(str(server.database))) is None


def test_a_killed_gateway_is_there_again_and_its_port_never_refuses(tmp_path: Path, upstream: Upstream) -> None:
    upstream.script = lambda _: answer(b'{"ok": true}')
    broken = (OSError, http.client.HTTPException)
    with served(tmp_path, upstream) as server:
        for round in range(2):
            assert server.ask(PATH)[0] == 200
            killed = server.kill("gateway")
            wait_until_gone([killed])
            status, body = 0, b""
            while status == 0:  # a connection that the dead one had taken is broken, and none is refused
                try:
                    status, body = server.ask(PATH)
                except ConnectionRefusedError:
                    raise
                except broken:
                    continue
            assert (round, status, body) == (round, 200, b'{"ok": true}')
        assert server.told().count("gateway has ended (killed by signal 9)") == 2


def test_children_end_with_a_parent_that_was_killed(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream) as server:
        server.ask("/healthz", None)
        children = list(server.children().values())
        server.process.kill()
        server.process.wait()
        wait_until_gone(children)
        assert len(children) >= 2


def test_what_was_spooled_when_the_gateway_was_killed_is_there(tmp_path: Path, upstream: Upstream) -> None:
    def endless(_: Asked) -> Iterator[Step]:
        yield head(200, "text/event-stream")
        yield from chunked([b"data: half\n\n"])
        while True:
            yield 0.05

    upstream.script = endless
    with served(tmp_path, upstream) as server:
        connection = http.client.HTTPConnection(urlsplit(server.gateway).netloc, timeout=PATIENCE_SECONDS)
        connection.request("POST", PATH, b'{"asked": 1}')
        assert connection.getresponse().read(12) == b"data: half\n\n"
        assert upstream.asked[0].body == b'{"asked": 1}'
        reader, call, until = SpoolReader(server.spool), None, time.monotonic() + PATIENCE_SECONDS
        while call is None or call.response == b"":
            call = next(iter(reader.read()), call)
            assert time.monotonic() < until
        server.kill("gateway")
        assert upstream.gone.wait(PATIENCE_SECONDS), "the upstream sees it, too"
        list(reader.read(is_over=True))
        assert (call.request, call.response, call.is_abandoned) == (b'{"asked": 1}', b"data: half\n\n", True)
        connection.close()


def test_health_says_that_the_recorder_is_gone_and_that_it_is_back(tmp_path: Path, upstream: Upstream) -> None:
    def wait_for(status: str) -> list[str]:
        until = time.monotonic() + PATIENCE_SECONDS
        while (health := json.loads(server.ask("/healthz", None)[1]))["status"] != status:
            assert time.monotonic() < until, (health, server.told())
            time.sleep(0.01)
        problems: list[str] = health["problems"]
        return problems

    upstream.script = lambda _: answer(b'{"ok": true}')
    with served(tmp_path, upstream) as server:
        assert wait_for("ok") == []
        for _ in range(2):
            server.kill("recorder")
            assert wait_for("degraded") == ["the recorder does not run"]
            assert server.ask(PATH)[0] == 200
            assert wait_for("ok") == []


def test_a_full_disk_fails_no_call_and_whoever_lists_calls_hears_of_it(tmp_path: Path, upstream: Upstream) -> None:
    """The limit of a file's size stands for the disk, for the gateway alone."""
    upstream.script = lambda _: answer(b'{"ok": true}')
    settings = GlobalOptions(str(tmp_path / "history.db"), "default")
    with served(tmp_path, upstream) as server:
        gateway = server.child("gateway")
        assert server.ask(PATH)[0] == 200
        soft, hard = resource.prlimit(gateway, resource.RLIMIT_FSIZE)
        resource.prlimit(gateway, resource.RLIMIT_FSIZE, (0, hard))
        until, missed = time.monotonic() + PATIENCE_SECONDS, 0
        while (health := json.loads(server.ask("/healthz", None)[1]))["status"] != "unrecorded" or missed < 5:
            assert server.ask(PATH) == (200, b'{"ok": true}')
            missed += 1
            assert time.monotonic() < until, health
        resource.prlimit(gateway, resource.RLIMIT_FSIZE, (soft, hard))
        assert server.ask(PATH)[0] == 200
        while (health := json.loads(server.ask("/healthz", None)[1]))["status"] != "degraded":
            assert time.monotonic() < until, health
            time.sleep(0.02)
        told = f"calls that were not recorded: {health['unrecorded']:,} (the spool cannot be written: File too large)"
        assert 0 < health["unrecorded"] <= missed + 1, "the end of the first may come too late, too"
        assert told in gateway_problems(settings)
        assert server.end() == 0
    with Store.open(server.database) as store:
        assert len(store.calls.list(limit=1000)) >= 2 + missed - health["unrecorded"]
    assert gateway_problems(settings) == []


def test_settings_that_do_not_go_together_are_refused_before_anything_listens(tmp_path: Path) -> None:
    target = str(tmp_path / "a.db")
    refused = [
        ServeSettings(target=target, host="0.0.0.0"),
        ServeSettings(target=target, host="2001:db8::7"),
        ServeSettings(target=target, read_only=True, require_record=True),
        ServeSettings(target=target, upstreams={"other": "http://127.0.0.1:1"}),
        ServeSettings(target=target, behind_proxy=("many",)),
        ServeSettings(target=":memory:"),
    ]
    for settings in refused:
        with pytest.raises(InvalidArgument):
            settings.check()
    assert not (tmp_path / "a.db.serve").exists()
    for host in ("localhost", "127.0.0.2", "::1", "[::1]"):
        ServeSettings(target=target, host=host).check()


def test_a_command_that_cannot_serve_makes_no_database(tmp_path: Path) -> None:
    target = tmp_path / "a.db"
    refused = Command(str(target)).refuses("serve", "--host", "192.0.2.7")
    assert "'192.0.2.7' can be reached from other machines" in refused
    assert not target.exists()


def test_a_port_that_is_taken_is_named(tmp_path: Path, upstream: Upstream) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "headish_cli", "--db", str(tmp_path / "a.db"), "serve", "--port", str(upstream.port)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HEADISH_CONFIG": os.devnull},
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert f"port {upstream.port} cannot be taken" in run.stderr
    assert "--port" in run.stderr


def test_a_server_without_a_gateway_has_none(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream, "--no-gateway") as server:
        with urllib.request.urlopen(server.login, timeout=PATIENCE_SECONDS) as page:
            assert page.status == 200
        assert set(server.children()) == {"web"}
        assert "gateway:" not in server.told()


def test_a_server_answers_at_the_address_on_which_it_listens(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream, "--host", "127.0.0.2") as server:
        assert server.login.startswith("http://127.0.0.2:")
        with urllib.request.urlopen(server.login, timeout=PATIENCE_SECONDS) as page:
            assert page.status == 200
        assert server.gateway.startswith("http://127.0.0.2:")
        assert server.ask("/healthz", None)[0] == 200


SERVING = """
import os, signal, threading
from headish import Store
from headish.serve.processes.children import ChildTold
from headish.serve.processes.settings import ServeSettings
from headish.serve.processes.supervising import run_server

def opened(address):
    {opened}

Store.open("history.db").close()
serving = ServeSettings(target="history.db", port=0, gateway_port=0)
assert run_server(serving, say=lambda line: None, opened=opened)
"""


def serve_with(folder: Path, opened: str) -> subprocess.CompletedProcess[str]:
    """Serve until the server ends by itself; ``opened`` is what opens the page."""
    return subprocess.run(
        [sys.executable, "-c", SERVING.format(opened=opened)], cwd=folder, capture_output=True, text=True,
        timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("then", ["pass", "threading.Event().wait()"], ids=["returns", "blocks"])
def test_a_server_that_is_told_to_end_when_it_says_where_it_is_ends_in_order(
    tmp_path: Path, name: str, then: str
) -> None:
    run = serve_with(tmp_path, f"os.kill(os.getpid(), signal.{name}); {then}")
    assert run.returncode == 0, run.stderr


def test_a_server_that_cannot_say_where_it_is_ends(tmp_path: Path) -> None:
    run = serve_with(tmp_path, "raise OSError('no place for the page')")
    assert run.returncode == 1
    assert run.stderr.endswith("OSError: no place for the page\n")


def test_a_server_whose_messages_nobody_reads_any_more_restarts_its_children(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headish_cli", "--db", str(tmp_path / "history.db")]
    with subprocess.Popen([*command, "serve", "--port", "0", "--no-gateway"], stderr=subprocess.PIPE) as process:
        server = Served(tmp_path, process)
        assert process.stderr is not None
        assert b"headish serve: http" in process.stderr.readline()
        process.stderr.close()
        killed = server.kill("web")
        until = time.monotonic() + PATIENCE_SECONDS
        while server.children().get("web") in (None, killed):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        assert server.end() == 0


def test_a_child_that_cannot_start_ends_the_server(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream) as server:
        assert isinstance(server, Served)
        assert server.end() == 0
    server.database.unlink()
    server.database.mkdir()
    run = subprocess.run(
        [sys.executable, "-m", "headish_cli", "--db", str(server.database), "--read-only", "serve", "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert run.returncode == 1
    assert "headish web: " in run.stderr


def test_a_child_for_which_the_machine_has_no_room_is_started_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Child] = []
    said: list[str] = []
    start = Child._start

    async def scarce(self: Child) -> asyncio.subprocess.Process:
        started.append(self)
        if len(started) in (2, 3):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        process = await start(self)
        if len(started) == 1:
            process.kill()
        else:
            self.kill()
        return process

    monkeypatch.setattr("headish.serve.processes.supervising.FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(Child, "_start", scarce)
    assert asyncio.run(Child(ChildTold("web", msgspec.Raw(b"{}")), said.append).keep())
    assert len(started) == 4
    assert ["cannot be started (Resource temporarily unavailable)" in each for each in said] == [False, True, True]
    del started[1:]  # so that the next one is the first of its child, and finds no room
    with pytest.raises(BlockingIOError):
        asyncio.run(Child(ChildTold("web", msgspec.Raw(b"{}")), said.append).keep())


SHOWING = """#!{python}
import json, os, sys
shown = dict(arguments=sys.argv[1:], variables=dict(os.environ), page="")
if sys.argv[-1].startswith("file://"):
    path = sys.argv[-1].removeprefix("file://")
    shown["page"], shown["mode"] = open(path).read(), os.stat(path).st_mode & 0o777
with open("{shown}.part", "w") as file:
    json.dump(shown, file)
os.replace("{shown}.part", "{shown}")
"""


def showing(folder: Path, name: str) -> tuple[Path, Path]:
    """A program that writes down how it was started, and where it does."""
    program, shown = folder / name, folder / f"{name}.json"
    program.write_text(SHOWING.format(python=sys.executable, shown=shown))
    program.chmod(0o700)
    return program, shown


def test_what_opens_a_space_stands_in_no_argument_and_no_old_token_is_believed(
    tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script = lambda _: answer(b"{}")
    opened, shown = showing(tmp_path, "browser")
    monkeypatch.setenv("BROWSER", f"{opened} %s")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    old, folder = make_token(), tmp_path / "history.db.serve"
    folder.mkdir(0o700)
    known = Token("old", 1, "default", ("gateway",), token_hash(old), created=0)
    write_whole(folder / ACCESS_FILE, Access(tokens=(known,)))
    with served(tmp_path, upstream, "--open") as server:
        assert server.ask(PATH, headers={"x-headish-token": old})[0] == 401
        until = time.monotonic() + PATIENCE_SECONDS
        while not shown.exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        browser = json.loads(shown.read_text())
        code = server.login.partition("code=")[2]
        assert code not in " ".join(browser["arguments"])
        assert (browser["mode"], server.login in browser["page"]) == (0o600, True)
        token = Command(str(server.database)).run("token", "add", "tool", "--right", "gateway").out.strip()
        assert is_token(token)
        _, shown = showing(tmp_path, "codex")
        run = [sys.executable, "-m", "headish_cli", "--db", str(server.database), "run", "codex", "--", "--model", "m"]
        subprocess.run(run, check=True, env={**os.environ, "HEADISH_TOKEN": token, "HEADISH_CONFIG": os.devnull})
        started = json.loads(shown.read_text())
        assert token not in " ".join(started["arguments"])
        assert started["arguments"][-2:] == ["--model", "m"]
        assert started["variables"]["HEADISH_TOKEN"] == token
        assert 'env_http_headers={"x-headish-token"="HEADISH_TOKEN"}}' in started["arguments"][3]
        told = folder / ACCESS_FILE
        while not told.exists() or '"tool"' not in told.read_text():
            assert time.monotonic() < until
            time.sleep(0.05)
        while (status := server.ask(PATH, headers={"x-headish-token": token})[0]) != 200:  # it hears of it in a second
            assert (status, time.monotonic() < until) == (401, True)
            time.sleep(0.5)  # who tries often has to wait
        assert server.end() == 0
    assert not [path.name for path in tmp_path.glob("history.db*") if path.name.endswith(("-wal", "-shm"))]
    assert not (folder / "open.html").exists()
