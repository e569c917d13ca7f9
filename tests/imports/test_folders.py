"""A folder with a coding agent's sessions: those are read, and what was not read is said."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headish import Store
from headish.errors import InvalidImport
from headish.imports.folders import files_in, passed_over
from imports.samples import DATABASES, MADE
from support.command import Command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    (made / "projects").mkdir(parents=True)
    for kind, where in (("claude-code", "projects"), ("chatgpt", "."), ("hf", ".")):
        name, make = MADE[kind]
        (made / where / name).write_bytes(make())
    (made / "notes.md").write_text("# Notes")
    (made / ".hidden.jsonl").write_bytes(MADE["hf"][1]())
    return made


def test_the_summary_names_what_was_not_read_and_what_reads_it(folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    done = Command(str(tmp_path / "ours.db")).run("import", str(folder), "--report", str(report))
    assert done.code == 0
    assert "3 files of the folder not read: chatgpt.zip, notes.md, train.jsonl.\n" in done.err
    taken = f"headish import {folder / 'chatgpt.zip'} {folder / 'train.jsonl'}\n"
    assert f"To import what is recognised among them (chatgpt, hf): {taken}" in done.err
    lines = [each for each in report.read_text().splitlines() if "not read" in each]
    assert [each.partition(": ")[0] for each in lines] == [
        str(folder / name) for name in ("chatgpt.zip", "notes.md", "train.jsonl")
    ]
    assert lines[0].endswith("as other files of the folder are; an import of its own reads it as chatgpt")
    assert lines[1].endswith("it is not a session of a coding agent, as other files of the folder are")


def test_json_has_it_as_well_and_a_path_that_is_given_too_is_none_of_it(folder: Path, tmp_path: Path) -> None:
    command = Command(str(tmp_path / "ours.db"))
    said = json.loads(command.run("import", "--json", "--dry-run", str(folder), str(folder / "train.jsonl")).out)
    assert said["unread"] == {
        "count": 2,
        "files": [str(folder / "chatgpt.zip"), str(folder / "notes.md")],
        "importable": {str(folder / "chatgpt.zip"): "chatgpt"},
        "empty": 0,
    }
    said = json.loads(command.run("import", "--json", str(folder / "train.jsonl")).out)
    assert said["unread"] == {"count": 0, "files": [], "importable": {}, "empty": 0}


def test_links_that_lead_out_and_what_is_no_file_are_told(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_bytes(MADE["codex"][1]())
    (folder / "out.jsonl").symlink_to(tmp_path / "secret.jsonl")
    os.mkfifo(folder / "pipe")
    name, make = MADE["codex"]
    (folder / name).write_bytes(make())
    (folder / f"{name}.zst").write_bytes(b"packed")
    found = {Path(each.path).name: (each.reason, each.format) for each in passed_over(folder, files_in(folder))}
    assert found.keys() == {"chatgpt.zip", "notes.md", "train.jsonl", "out.jsonl", "pipe", f"{name}.zst"}
    assert found["out.jsonl"] == ("it is a link out of the folder, or to nothing", None)
    assert found["pipe"] == ("it is not a regular file", None)
    assert found[f"{name}.zst"] == ("it lies unpacked beside it", None)


def test_sessions_of_another_program_than_the_named_one_are_told(folder: Path) -> None:
    name, make = MADE["codex"]
    (folder / name).write_bytes(make())
    assert files_in(folder, "codex") == [str(folder / name)]
    formats = {Path(each.path).name: each.format for each in passed_over(folder, files_in(folder, "codex"))}
    assert formats["session.jsonl"] == "claude-code"


def test_a_database_is_named_by_its_program_and_what_lies_beside_it_is_a_part_of_it(folder: Path) -> None:
    for statements, name in ((DATABASES["llm"][1](), "logs.db"), ("CREATE TABLE state (x)", "state.db")):
        with closing(sqlite3.connect(folder / name)) as connection:
            connection.executescript(statements)
        (folder / f"{name}-wal").write_bytes(b"")
    formats = {Path(each.path).name: each.format for each in passed_over(folder, files_in(folder))}
    assert formats == {
        "chatgpt.zip": "chatgpt",
        "logs.db": "llm",
        "notes.md": None,
        "state.db": None,
        "train.jsonl": "hf",
    }


def test_the_database_itself_is_not_imported_into_itself(tmp_path: Path) -> None:
    """SQLite's locks on a file end when its process closes the file anywhere."""
    with Store.open(tmp_path / "ours.db") as store:
        store.add_turn("Hello")
        (tmp_path / "link").symlink_to(tmp_path / "ours.db")
        for name in ("ours.db", "ours.db-wal", "ours.db-shm", "link"):
            with pytest.raises(InvalidImport, match="the database that would be imported into"):
                store.import_file(tmp_path / name)


def test_a_folder_without_sessions_is_read_whole(folder: Path, tmp_path: Path) -> None:
    (folder / "projects" / "session.jsonl").unlink()
    done = Command(str(tmp_path / "ours.db")).run("import", str(folder))
    assert (done.code, "not read" in done.err) == (1, False)
    assert "notes.md: " in done.err
    assert "2 conversations with" in done.err


@pytest.mark.parametrize("format", ["claude-code", "codex", "gemini-cli"])
def test_an_empty_session_that_is_named_itself_is_called_empty(tmp_path: Path, format: str) -> None:
    (tmp_path / "empty.jsonl").touch()
    command = Command(str(tmp_path / "ours.db"))
    done = command.run("import", "--from", format, str(tmp_path / "empty.jsonl"), "--report", str(tmp_path / "report"))
    assert (done.code, f"{tmp_path / 'empty.jsonl'}: it is empty\n" in done.err) == (0, True)
    assert (tmp_path / "report").read_text() == f"{tmp_path / 'empty.jsonl'}: left out: it is empty\n"
    assert "it is empty" not in command.run("import", "--from", format, str(tmp_path)).err


def test_empty_sessions_and_what_was_read_with_a_sub_agent_are_told_in_their_own_words(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "projects" / "empty.jsonl").touch()
    agents = folder / "projects" / "s" / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-f00.jsonl").write_bytes(MADE["claude-code"][1]())
    (agents / "agent-f00.meta.json").write_text('{"description": "Find"}')
    done = Command(str(tmp_path / "ours.db")).run("import", str(folder))
    assert "1 file of the folder is empty.\n" in done.err
    assert "3 files of the folder not read: chatgpt.zip, notes.md, train.jsonl.\n" in done.err
