"""The names of imported conversations: there is always one, and an import moves it once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from headish import Store
from imports.test_chatgpt import TIDES, as_json, as_zip
from imports.test_claude_code import SESSION, WORK, answer, line, session
from imports.test_records import THREAD, as_lines
from imports.test_transcripts import HEADED, file_of
from support.command import Command
from support.insides import unchanged


def agent(number: int) -> list[dict[str, Any]]:
    """A sub-agent whose task and whose first eight letters are those of the others."""
    further = {"isSidechain": True, "agentId": f"aaaaaaaa{number:02}"}
    return [
        {**line("user", f"g{number}", None, f"Find the tests {'x' * 60}"), **further},
        {**answer(f"h{number}", f"g{number}", f"msg_{number}", {"type": "text", "text": f"{number}."}), **further},
    ]


def test_names_never_run_out_and_nothing_of_a_conversation_is_dropped(store: Store) -> None:
    records = [each for number in range(12) for each in agent(number)]
    done = store.import_file(session(*records))
    assert (done.trees, done.bookmarks, len(store.bookmarks)) == (12, 12, 12)
    for number in range(12):
        found = store.conversations.find(f"claude-code:{SESSION}:aaaaaaaa{number:02}")
        assert found.record.tags[-1] == "sub-agent"
        assert store.text(found.name) == f"{number}."
    with unchanged(store):
        assert store.import_file(session(*records)).bookmarks == 0


def test_conversations_of_one_title_and_without_ids_have_names_as_well(store: Store) -> None:
    talks = [
        {
            **TIDES,
            "id": None,
            "conversation_id": None,
            "mapping": json.loads(json.dumps(TIDES["mapping"]).replace("Why", f"{number} why")),
        }
        for number in range(5)
    ]
    assert store.import_file(as_zip({"conversations.json": talks})).bookmarks == 5
    with unchanged(store):
        assert store.import_file(as_zip({"conversations.json": talks})).bookmarks == 0


def test_sub_agents_are_folded_in_lists_and_named_by_what_they_belong_to(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(session(*WORK, *agent(1), *agent(2)).getvalue())
    os.utime(tmp_path / "s.jsonl", (1_700_000_000, 1_700_000_000))
    command = Command(str(tmp_path / "ours.db"))
    command.run("import", str(tmp_path / "s.jsonl"))
    listed = command.run("list")
    assert len(listed.out.splitlines()) == 1
    assert "2 sub-agents folded: --agents shows them.\n" in listed.err
    assert len(command.run("list", "-n", "1").out.splitlines()) == 1
    assert len(command.run("list", "--agents").out.splitlines()) == 3
    assert len(command.run("list", "--tag", "sub-agent").out.splitlines()) == 2
    assert len(command.run("list", "--agents", "--without", "tides").out.splitlines()) == 0
    shown = [line for line in command.run("show", "list-the-files").out.splitlines() if line.startswith("sub-agent:")]
    assert len(shown) == 2
    assert "Find the tests" in shown[0]


def test_parts_are_those_of_a_key_alone(store: Store) -> None:
    store.import_file(session(*WORK, *agent(1)))
    [part] = store.conversations.parts(f"claude-code:{SESSION}")
    assert part.record.key == f"claude-code:{SESSION}:aaaaaaaa01"
    assert store.conversations.parts("claude-code") != []
    assert store.conversations.parts("claude") == []


SOURCES: dict[str, tuple[Callable[[], BinaryIO], str | None]] = {
    "a transcript": (lambda: file_of(HEADED), None),
    "a session": (lambda: session(*WORK), None),
    "an export": (lambda: as_json(TIDES), None),
    "an export without ids": (lambda: as_json({**TIDES, "id": None, "conversation_id": None}), None),
    "thread records": (lambda: BytesIO(as_lines(THREAD)), "records"),
}
CHANGES: dict[str, Callable[[Store, str], object]] = {
    "removed": lambda store, name: store.bookmarks.remove(name),
    "renamed": lambda store, name: store.bookmarks.rename(name, "mine"),
    "renamed, and used since": lambda store, name: (
        store.bookmarks.rename(name, "his"),
        store.bookmarks.rename("his", "mine"),
        store.add_turn("And then?", continues="mine"),
    ),
    "erased": lambda store, name: store.bookmarks.erase(name, reason="asked for"),
    "renamed and removed": lambda store, name: (
        store.bookmarks.rename(name, "mine"),
        store.bookmarks.remove("mine"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("source", SOURCES)
def test_a_name_that_somebody_took_away_does_not_come_back(store: Store, source: str, change: str) -> None:
    make, format = SOURCES[source]
    store.import_file(make(), format)
    [name] = store.bookmarks
    CHANGES[change](store, name)
    names = dict(store.bookmarks)
    if source != "a transcript":  # of which no import is tried
        assert store.import_file(make(), format, dry_run=True).bookmarks == 0
    done = store.import_file(make(), format)
    assert (dict(store.bookmarks), done.added, done.bookmarks) == (names, 0, 0)


def test_another_file_of_that_name_gets_it(store: Store) -> None:
    store.import_file(file_of(HEADED))
    store.bookmarks.remove("chat")
    other = store.import_file(file_of(HEADED.replace("Hello.", "Good day.")))
    assert store.bookmarks["chat"] == other.tips[0]


def test_a_removed_name_of_a_session_that_somebody_brings_back_moves_on(store: Store) -> None:
    store.import_file(session(*WORK[:2]))
    [name] = store.bookmarks
    store.bookmarks.remove(name)
    assert store.import_file(session(*WORK)).added > 0
    assert list(store.bookmarks) == []
    store.bookmarks.set(name, f"{name}@{{1}}")
    store.import_file(session(*WORK))
    assert store.bookmarks[name] == store.heads()[0].id
