"""What starting loads, and that nothing on the way to it belongs to one system alone."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from runpy import run_module

import pytest

from support.command import HEADISH, Command

pytestmark = pytest.mark.slow
COMMAND = {"headish", "headish_cli", "click"}
STORE = {"headish", "blake3", "msgspec", "scru128", "typing_extensions"}
"""What may be loaded beside the standard library: each costs everybody who starts, whether or not it is used."""
COSTLY = {"asyncio", "concurrent", "email", "http", "json", "logging", "socket", "sqlite3", "ssl", "subprocess"}
"""Of the standard library, what nothing needs before a store is opened."""
LATE_ERRORS = {f"headish.errors.{each}" for each in ("beside", "calls", "formats", "outside", "records", "remotes")}
WRITERS = {f"headish.database.file.{each}" for each in ("queue", "sharing", "wal")}
FEW_NEED = {"headish.content.numbers", "headish.database.file.failures", "headish.database.file.fulltext",
            "headish.rows.moves"}  # fmt: skip
_IMPORTED = re.compile(r"^import time: .*\| +([\w.]+)$", re.M)


def loaded(*words: object) -> set[str]:
    """The modules that Python loads for these arguments, beyond those that it loads for none."""
    return _loaded(*words) - _loaded("-c", "")


def _loaded(*words: object) -> set[str]:
    python = [sys.executable, "-X", "importtime", *map(str, words)]
    done = subprocess.run(python, capture_output=True, text=True, check=True, timeout=60)
    return set(_IMPORTED.findall(done.stderr))


def packages(modules: set[str]) -> set[str]:
    """The installed ones that they are of. Python also tells of those that something has looked for in vain."""
    names = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names
    return {name for name in names if not name.startswith("_") and find_spec(name) is not None}


class TestWhatIsLoaded:
    def test_by_importing_the_library(self) -> None:
        modules = loaded("-c", "import headish")
        assert packages(modules) == {"headish"}
        assert not modules & COSTLY
        assert {module for module in modules if module.startswith("headish")} == {"headish"}

    @pytest.mark.parametrize("words", [["--version"], ["--help"], ["add", "--help"], ["db", "--help"]], ids=" ".join)
    def test_by_asking_the_command_for_help(self, words: list[str]) -> None:
        modules = loaded(HEADISH, *words)
        assert {"headish_cli"} < packages(modules) <= COMMAND
        assert not modules & COSTLY

    def test_by_storing_and_resolving_a_turn(self, headish: Command) -> None:
        """Alembic is for a store that needs an upgrade; transcripts and pages are for what leaves."""
        using = f"import headish\nstore = headish.Store.open({headish.target!r})\nstore.add_turn('hi')\nstore.resolve()"
        headish.run("add", "-b", "main", "the tables are there")
        modules = loaded("-c", using)
        assert {"headish"} < packages(modules) <= STORE
        assert not modules & {"headish.transcripts", "headish.renderings"}

    def test_by_reading_a_log(self, headish: Command) -> None:
        """A command that reads waits for nothing that writes, asks or draws."""
        headish.run("add", "-b", "main", "hi")
        modules = loaded(HEADISH, "--db", headish.target, "log", "main")
        assert {"headish", "headish_cli"} < packages(modules) <= COMMAND | STORE - {"scru128"}
        assert not modules & (COSTLY - {"sqlite3"} | {"hashlib", "pathlib", "random", "shutil", "tempfile", "urllib"})
        assert not modules & {"headish.errors.calls", "headish.errors.remotes", "headish_cli.topics", "signal"}
        assert not modules & LATE_ERRORS
        parts = {"append", "drafts", "record", "verify", "imports", "answers", "tools", "providers", "statements"}
        parts |= {"receipts", "halves", "twins", "trees", "planning", "listings", "elsewhere", "streams"}
        assert not {module for module in modules if parts.intersection(module.split("."))}
        few_need = {"headish.values.results.reports", "headish.rows.tokens", "headish_cli.printing.hints", "array"}
        assert not modules & (few_need | WRITERS | {"headish_cli.printing.briefs"})
        assert not modules & FEW_NEED

    def test_by_listing_conversations(self, headish: Command) -> None:
        """What looks for a pattern, for errors or for tokens is not there before something asks for it."""
        headish.run("add", "-b", "main", "hi")
        modules = loaded(HEADISH, "--db", headish.target, "list")
        assert "headish.store.keeping.conversations" in modules
        assert packages(modules) <= COMMAND | STORE - {"scru128"}
        assert not modules & WRITERS
        few_need = {"headish.values.results.reports", "headish.rows.tokens", "headish_cli.printing.hints", "array"}
        assert not modules & (LATE_ERRORS | few_need | {"fnmatch", "headish_cli.printing.briefs", "signal"})

    def test_by_listing_conversations_that_all_have_names(self, headish: Command) -> None:
        """Nothing walks through threads, or knows what a headish is."""
        headish.run("add", "-b", "main", "hi")
        headish.run("add", "-c", "main", "ho")
        modules = loaded(HEADISH, "--db", headish.target, "list")
        parts = {"find", "walk", "versions", "halves", "twins", "arrivals", "erasures", "beginnings", "grammar"}
        assert not {module for module in modules if parts.intersection(module.split("."))}

    def test_by_adding_the_first_turn(self, headish: Command) -> None:
        """A new database is made of text."""
        modules = loaded(HEADISH, "--db", headish.target, "add", "hi")
        assert {"headish", "headish_cli"} < packages(modules) <= COMMAND | STORE
        assert "headish.database.ddl" in modules

    def test_by_adding_a_turn(self, headish: Command) -> None:
        """Nothing opens a file of the caller, or an address."""
        headish.run("add", "-b", "main", "hi")
        modules = loaded(HEADISH, "--db", headish.target, "add", "-c", "main", "ho")
        assert {"headish", "headish_cli"} < packages(modules) <= COMMAND | STORE
        assert not modules & (COSTLY - {"sqlite3"} | {"ipaddress", "pathlib", "shutil", "tempfile", "urllib"})
        lists = {"headish.history.writing.record", "headish.history.writing.batches", "headish.rows.objects"}
        assert not modules & (lists | {"headish.rows.upkeep.receipts", "headish.rows.elsewhere.arrivals"})
        assert not modules & (LATE_ERRORS | {"signal", "headish.content.media", "headish.content.secrecy"})
        parts = {"walk", "keys", "threads", "conversations"}
        assert not FEW_NEED & modules | {each for each in modules if parts.intersection(each.split("."))}

    def test_by_starting_the_web_server(self) -> None:
        """The SDK of MCP takes longer to import than all else, and waits for whoever asks for it."""
        modules = loaded("-c", "import headish.serve.web.running")
        assert {"headish", "starlette", "uvicorn"} < packages(modules)
        assert not packages(modules) & {"mcp", "mcp_types", "pydantic", "aiohttp", "httpx2"}

    @pytest.mark.parametrize("module", ["processes.supervising", "recorder.following"])
    def test_by_starting_what_speaks_no_http(self, module: str) -> None:
        """The process that keeps the others, and the recorder, know the gateway's settings without its server."""
        modules = loaded("-c", f"import headish.serve.{module}")
        assert "headish.gateway.settings" in modules
        assert not packages(modules) & {"aiohttp", "starlette", "uvicorn", "httpx2"}


ELSEWHERE = """
import importlib, os, pkgutil, signal, socket, sys

def modules():
    for root in ("headish", "headish_cli", "headish_migrations"):
        package = importlib.import_module(root)
        yield from (module.name for module in pkgutil.walk_packages(package.__path__, root + "."))

def import_one(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:  # an adapter, where its framework is not installed
        assert name.startswith("headish.integrations."), name

def import_all():
    # Alembic runs this one, in a context of its own.
    found = [import_one(name) for name in modules() if name != "headish_migrations.env"]
    return [module for module in found if module is not None]

# What they depend on is loaded by now: it has ways of its own on each system.
before = {module.__name__ for module in import_all()}
for name in [name for name in sys.modules if name.startswith("headish")]:
    del sys.modules[name]
for name in "crypt fcntl grp nis posix pty pwd readline resource spwd syslog termios tty".split():
    sys.modules[name] = None
for place, names in {
    os: "fork forkpty getuid geteuid getgid getegid getpgid getpgrp killpg mkfifo nice openpty register_at_fork setsid "
        "setuid statvfs sysconf uname wait3 chown fchmod O_NOFOLLOW O_CLOEXEC",
    signal: "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH alarm pthread_sigmask "
            "setitimer siginterrupt",
    socket: "AF_UNIX socketpair",
}.items():
    for name in names.split():
        vars(place).pop(name, None)
assert {module.__name__ for module in import_all()} == before
print(len(before))
"""


def test_no_module_needs_posix_to_be_imported() -> None:
    """All of ours are imported anew where the modules, functions and constants that Windows lacks are gone."""
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 150


COLLECTED = """
import atexit, gc, sys
passes = 0
def count(phase, info):
    global passes
    passes += phase == "start"
def tell():
    print(gc.isenabled(), passes, len(gc.get_objects()))
gc.callbacks.append(count)
atexit.register(tell)  # behind what the command registers later
from headish_cli.__main__ import main
main()
"""


def test_the_collector_looks_at_no_module() -> None:
    """It rests while the command is imported, works while it runs, and at the end nothing is left to look at."""
    done = subprocess.run([sys.executable, "-c", COLLECTED, "--version"], capture_output=True, text=True, check=True)
    is_on, passes, left = done.stdout.splitlines()[-1].split()
    assert (is_on, int(left) < 1_000) == ("True", True)
    assert int(passes) < 5


@pytest.mark.parametrize("words", [["log", "main"], ["list"]], ids=" ".join)
def test_nor_at_those_of_a_store(headish: Command, words: list[str]) -> None:
    """What it would otherwise pass over twenty times."""
    headish.run("add", "-b", "main", "hi")
    command = [sys.executable, "-c", COLLECTED, "--db", headish.target, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    is_on, passes, left = done.stdout.splitlines()[-1].split()
    assert (is_on, int(left) < 1_000) == ("True", True)
    assert int(passes) < 12


def test_the_installed_script_is_that_process() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"headish": "headish_cli.__main__:main"}


def test_the_package_itself_is_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["anything", "--version"])
    before = gc.get_threshold()
    with pytest.raises(SystemExit) as ended:
        run_module("headish_cli", run_name="__main__")
    gc.set_threshold(*before)  # it set one for a process of its own, and how that ends at Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("headish ")


def test_ctrl_c_while_the_command_is_loaded_ends_it_without_a_traceback() -> None:
    program = """
import sys
from headish_cli.__main__ import main

class Interrupting:
    def find_spec(self, name, *_):
        if name == "headish_cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
main("headish")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


STRUCK_AT_ITS_END = """
import os, signal, sys, threading

def strike():
    threading.main_thread().join()  # the interpreter has begun to end, and waits for this thread
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(1)

signal.signal(signal.SIGINT, {handler})
threading.Thread(target=strike).start()
from headish_cli.__main__ import main
main("headish")
"""


@pytest.mark.skipif(os.name == "nt", reason="on Windows no process can send itself a Ctrl-C")
@pytest.mark.parametrize(
    ("handler", "code"),
    [("signal.default_int_handler", -signal.SIGINT), ("signal.SIG_IGN", 0)],
    ids=["heard", "ignored"],
)
def test_ctrl_c_while_the_process_ends_says_nothing(handler: str, code: int) -> None:
    words = [sys.executable, "-c", STRUCK_AT_ITS_END.format(handler=handler), "--version"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith("headish ")
