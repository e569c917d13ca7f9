"""Every path that a person names goes through one door: what is no file is refused by name, and nobody waits for it.

The walk finds the paths of all commands by their type. What is asked of the library alone stands at the foot.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest

from headish import Database, Store, restore, rewrite_bundle, verify_bundle
from headish.errors import HeadishError
from headish_cli.main import main
from headish_cli.options import PLACE
from support.command import Command, at_terminal
from support.loops import failing

if not hasattr(os, "mkfifo"):
    pytest.skip("named pipes are POSIX's; run these on Linux or macOS", allow_module_level=True)

MakePlaces = Callable[[str], dict[str, str]]
UNFIT = ["pipe", "pipe-link", "/dev/zero", "/dev/full", "/proc/self/environ", "/sys/kernel/notes", "folder", "nowhere"]
"""``nowhere`` is a link to nothing: what is read is missing there, and what is written is made."""
BEFORE: dict[tuple[str, str], tuple[str, ...]] = {
    ("headish", "--db"): ("@", "list"),
    ("add", "--attach"): ("add", "hi", "--attach", "@"),
    ("ask", "--attach"): ("ask", "hi", "--to", "openai", "--model", "m", "--attach", "@"),
    ("ask", "--schema"): ("ask", "hi", "--to", "openai", "--model", "m", "--schema", "@"),
    ("ask", "--mcp-config"): ("ask", "hi", "--to", "openai", "--model", "m", "--tool-loop", "--mcp-config", "@"),
    ("backup", "dest"): ("backup", "@"),
    ("bundle create", "file"): ("bundle", "create", "@"),
    ("bundle create", "--key"): ("bundle", "create", "OUT", "--sign", "--key", "@"),
    ("bundle verify", "file"): ("bundle", "verify", "@"),
    ("bundle verify", "--signers"): ("bundle", "verify", "BUNDLE", "--signers", "@"),
    ("bundle verify", "--revoked"): ("bundle", "verify", "BUNDLE", "--revoked", "@"),
    ("bundle apply", "file"): ("bundle", "apply", "@"),
    ("bundle apply", "--signers"): ("bundle", "apply", "BUNDLE", "--require-signed", "--signers", "@"),
    ("bundle apply", "--revoked"): ("bundle", "apply", "BUNDLE", "--require-signed", "--revoked", "@"),
    ("bundle rewrite", "file"): ("bundle", "rewrite", "@", "OUT", "--erasures", "RECEIPTS"),
    ("bundle rewrite", "out"): ("bundle", "rewrite", "BUNDLE", "@", "--erasures", "RECEIPTS"),
    ("bundle rewrite", "--erasures"): ("bundle", "rewrite", "BUNDLE", "OUT", "--erasures", "@"),
    ("convert", "file"): ("convert", "@", "--to", "2.2"),
    ("cost", "--prices"): ("cost", "--prices", "@"),
    ("demo", "--keep"): ("demo", "--keep", "@"),
    ("doc", "path"): ("doc", "@"),
    ("export", "--output"): ("export", "--all", "--to", "chat", "--output", "@"),
    ("export", "--report"): ("export", "main", "--to", "chat", "--for-training", "--report", "@"),
    ("follow", "--cursor-file"): ("follow", "--no-wait", "--cursor-file", "@"),
    ("import", "files"): ("import", "@"),
    ("import", "--report"): ("import", "CHAT", "--report", "@"),
    ("log", "--signers"): ("log", "main", "--signatures", "--signers", "@"),
    ("log", "--revoked"): ("log", "main", "--signatures", "--revoked", "@"),
    ("lint-transcript", "file"): ("lint-transcript", "@"),
    ("record", "file"): ("record", "@"),
    ("reply", "file"): ("reply", "main", "--from", "openai", "@"),
    ("run", "--token-file"): ("run", "--token-file", "@", "claude"),
    ("restore", "file"): ("restore", "@", "NEW"),
    ("restore", "target"): ("restore", "BACKUP", "@"),
    ("restore", "--erasures"): ("restore", "BACKUP", "NEW", "--erasures", "@"),
    ("serve", "--export"): ("serve", "--export", "@"),
    ("sign", "--key"): ("sign", "main", "--key", "@"),
    ("verify", "--signers"): ("verify", "--signatures", "--signers", "@"),
    ("verify", "--revoked"): ("verify", "--signatures", "--revoked", "@"),
    ("tools set", "file"): ("tools", "set", "files", "@"),
}
"""Each path of a command, and how the command is called with it (``@``)."""
FOLDERS = {("export", "--output"), ("serve", "--export"), ("import", "files")}
"""Those that may be a folder."""
WRITTEN = {
    ("headish", "--db"), ("export", "--report"), ("export", "--output"), ("import", "--report"),
    ("serve", "--export"), ("restore", "target"), ("follow", "--cursor-file"), ("bundle rewrite", "out"),
}  # fmt: skip
"""Those that a link to nothing is no hindrance for."""


@contextmanager
def at_once() -> Iterator[None]:
    """Whoever waits for a pipe, or reads a device to its end, is interrupted."""

    def interrupt(*_: Any) -> None:
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(10)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a history, and of files that others wrote: what each place is a copy of."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "chat.json").write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    with Store.open(folder / "cli.db") as store:
        store.add_turns(["Hello", {"content": "Hi", "role": "assistant", "continues": [0], "bookmark": "main"}])
        store.backup(folder / "all.hbackup")
        store.bundles.create(folder / "all.hbundle")
    (folder / "receipts.jsonl").touch()
    return folder


@pytest.fixture
def make_places(stored: Path, tmp_path: Path) -> MakePlaces:
    """Makes the places that a test names, in a new folder of this name."""

    def make(name: str) -> dict[str, str]:
        folder = tmp_path / name.replace("/", "-")
        shutil.copytree(stored, folder)
        (folder / "folder").mkdir()
        os.mkfifo(folder / "pipe")
        (folder / "pipe-link").symlink_to("pipe")
        (folder / "nowhere").symlink_to("missing")
        own = {
            "DB": "cli.db", "CHAT": "chat.json", "BACKUP": "all.hbackup", "NEW": "new.db", "BUNDLE": "all.hbundle",
            "OUT": "new.hbundle", "RECEIPTS": "receipts.jsonl",
        }  # fmt: skip
        return {each: str(folder / path) for each, path in own.items()} | {
            each: str(folder / each) for each in UNFIT
        }  # an absolute path stays what it is

    return make


def paths_of(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The command and the parameter of each path; those that every command takes over from the first one, once."""
    for parameter in command.params:
        if isinstance(parameter.type, click.Path) and (parameter.name != "db" or not words):
            yield " ".join(words) or "headish", max(parameter.opts, key=len)
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from paths_of(found, (*words, name))


def test_every_path_of_every_command_is_tried() -> None:
    assert set(paths_of(main)) == set(BEFORE)


def test_what_is_named_as_a_path_is_declared_so() -> None:
    """A parameter that says FILE, PATH, FOLDER or DEST has the type that the walk finds."""

    def look(command: click.Command) -> Iterator[str]:
        for each in command.params:
            words = f"{each.metavar} {each.name}".upper()
            if any(word in words for word in ("FILE", "PATH", "FOLDER", "DEST")) and not each.type.is_composite:
                is_other = isinstance(each.type, click.types.BoolParamType) or "PROFILE" in words
                if not is_other and not isinstance(each.type, click.Path):
                    yield f"{command.name} {each.name}"
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                found = command.get_command(click.Context(command), name)
                assert found is not None
                yield from look(found)

    assert list(look(main)) == []
    assert isinstance(PLACE, click.Path)


@pytest.mark.parametrize("path", BEFORE, ids=" ".join)
def test_what_is_no_file_is_refused_by_name(make_places: MakePlaces, path: tuple[str, str]) -> None:
    def refuse(unfit: str) -> None:
        places = make_places(unfit)
        words = [places[unfit] if word == "@" else places.get(word, word) for word in BEFORE[path]]
        headish = Command(words.pop(0) if path == ("headish", "--db") else places["DB"])
        with at_once():
            done = headish.run(*words)
        is_fit = (unfit == "folder" and path in FOLDERS) or (unfit == "nowhere" and path in WRITTEN)
        if is_fit and done.code == 0:
            return
        assert done.code in (1, 2), done
        assert places[unfit] in done.err
        assert "Traceback" not in done.err
        assert "it waits" not in done.err

    assert failing(UNFIT, refuse) == {}


def test_the_configuration_is_one_too(make_places: MakePlaces, monkeypatch: pytest.MonkeyPatch) -> None:
    places = make_places("places")
    headish = Command(places["DB"])
    for unfit in UNFIT:
        monkeypatch.setenv("HEADISH_CONFIG", places[unfit])
        with at_once():
            if unfit == "nowhere":
                headish("list")
            else:
                assert places[unfit] in headish.run("list").err


READERS: dict[str, Callable[[Store, str], object]] = {
    "add_document": lambda store, path: store.add_document(path),
    "import_file": lambda store, path: store.import_file(path),
    "cost": lambda store, path: store.cost("main", prices=path),
    "restore": lambda _, path: restore(path, ":memory:"),
    "receipts": lambda _, path: restore("all.hbackup", ":memory:", erasures=path),
    "Store.open": lambda _, path: Store.open(path, create=False),
    "Store.open read-only": lambda _, path: Store.open(path, read_only=True),
    "Database.open": lambda _, path: Database.open(f"sqlite:///{path}", create=False),
    "backup": lambda store, path: store.backup(path),
    "bundles.create": lambda store, path: store.bundles.create(path),
    "bundles.apply": lambda store, path: store.bundles.apply(path),
    "verify_bundle": lambda _, path: verify_bundle(path),
    "rewrite_bundle": lambda _, path: rewrite_bundle(path, "new.hbundle", "receipts.jsonl"),
    "rewrite_bundle to": lambda _, path: rewrite_bundle("all.hbundle", path, "receipts.jsonl"),
    "rewrite_bundle by": lambda _, path: rewrite_bundle("all.hbundle", "new.hbundle", path),
}


@pytest.mark.parametrize("verb", READERS)
def test_the_library_refuses_the_same(make_places: MakePlaces, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    def refuse(unfit: str) -> None:
        places = make_places(unfit)
        monkeypatch.chdir(Path(places["DB"]).parent)
        with Store.open(places["DB"]) as store, at_once(), pytest.raises(HeadishError) as caught:
            READERS[verb](store, places[unfit])
        assert places[unfit] in str(caught.value)

    assert failing(UNFIT, refuse) == {}


def test_a_folder_of_the_kernels_is_not_walked(headish: Command) -> None:
    with at_once():
        assert "/proc" in headish.run("import", "/proc/self").err


def test_no_path_and_no_option_steers_the_terminal(headish: Command, tmp_path: Path) -> None:
    path = f"{tmp_path}/\x1b]0;name\x07"
    headish("add", "hi")
    for words in (("backup", path), ("--db", path, "db", "path"), ("add", "hi", "--set", "para\x1b]0;x\x07ms=1")):
        shown = at_terminal("--db", headish.target, *words)
        assert "\\x1b]0;" in shown, words
        assert "\x1b]0;" not in shown, words


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS takes no file name that is not UTF-8; run these on Linux")
class TestAPathOfOtherBytes:
    """A file name is any bytes. Those that are not UTF-8 are escapes wherever the command prints the path."""

    def test_it_is_an_escape_in_lines_and_in_json(self, headish: Command, tmp_path: Path) -> None:
        headish("add", "hi")
        file, other = (f"{tmp_path}/{name}\udcff" for name in ("file", "other"))
        assert headish("backup", file).out.endswith(f"  {tmp_path}/file\\udcff\n")
        backup = headish("backup", other, "--json")
        assert backup.json["path"] == other
        assert list(backup.json) == ["path", "size_bytes", "blake3", "spaces", "turns"]
        assert headish("bundle", "create", f"{other}.bundle", "--json").json["path"] == f"{other}.bundle"
        assert headish("restore", file, f"{file}.db", "--json").json["target"] == f"{file}.db"
        assert Command(f"{file}.db")("config", "show", "--json").json_lines[0]["value"] == f"{file}.db"
        assert Command(f"{file}.db")("db", "path").out == f"{tmp_path}/file\\udcff.db\n"

    def test_the_configuration_refuses_it(
        self, headish: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEADISH_CONFIG", f"{tmp_path}/config.toml")
        assert "the value of 'db' is not UTF-8" in headish.fails("config", "set", "db", f"{tmp_path}/\udcff")
        assert os.listdir(tmp_path) == []

    def test_a_document_needs_a_name_that_is_text(self, headish: Command, tmp_path: Path) -> None:
        file = f"{tmp_path}/caf\udce9.txt"
        Path(file).write_text("coffee")
        told = headish.fails("doc", file)
        assert told.endswith("caf\\udce9.txt is not UTF-8, so it cannot be stored: --name gives another name")
        assert "attach standard input" in headish.fails("add", "-a", file)
        headish("doc", file, "--name", "café.txt")
        assert headish("get").out == "coffee\n"

    def test_a_text_of_other_bytes_is_refused_in_words(self, headish: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        for words in (("add", "caf\udce9"), ("add", "hi", "--speaker", "\udce9"), ("add", "hi", "--key", "\udce9")):
            monkeypatch.setattr(sys, "argv", ["headish", *words])
            assert headish.fails(*words).endswith("; the command line holds bytes that are not UTF-8"), words
