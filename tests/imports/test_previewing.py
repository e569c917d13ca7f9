"""``dry_run`` over several files counts as the import of these files does, whatever they share."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Store
from headish.imports.imported import Imported
from headish.imports.keeping import storing
from headish.imports.keeping.storing import Preview
from support.command import Command

Line = dict[str, Any]


def line(session: str, uuid: int, parent: int | None, text: str) -> Line:
    return {
        "parentUuid": None if parent is None else f"u{parent}", "sessionId": session, "type": "user",
        "uuid": f"u{uuid}", "message": {"role": "user", "content": text}, "timestamp": "2026-01-02T03:04:05.000Z",
    }  # fmt: skip


@st.composite
def sessions(draw: st.DrawFn) -> list[Line]:
    """A session whose lines other sessions may have, too, with the same words or with others."""
    ids = draw(st.lists(st.integers(0, 5), min_size=1, max_size=5, unique=True))
    name = draw(st.sampled_from(["s1", "s2"]))
    parents = [None, *ids]
    return [
        line(name, id, parents[draw(st.integers(0, at))], draw(st.sampled_from(["said", "said otherwise"])))
        for at, id in enumerate(ids)
    ]


def as_file(lines: list[Any]) -> io.BytesIO:
    return io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in lines))


def total(store: Store, files: list[list[Any]], format: str, dry_run: bool | Preview) -> Imported:
    done = Imported()
    for each in files:
        done = done.plus(store.import_file(as_file(each), format, dry_run=dry_run))
    return done


@settings(max_examples=25)
@given(st.lists(sessions(), min_size=1, max_size=4), st.integers(0, 2))
def test_sessions_that_share_lines_are_counted_as_they_are_stored(files: list[list[Line]], before: int) -> None:
    with Store.open(":memory:") as store:
        total(store, files[:before], "claude-code", False)
        expected = total(store, files, "claude-code", Preview())
        turns = store.stats(versions=True).turns
        done = total(store, files, "claude-code", False)
        assert (expected.messages, expected.added) == (done.messages, done.added)
        assert store.stats(versions=True).turns - turns == done.added


@settings(max_examples=15)
@given(st.lists(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=3), max_size=3), max_size=3))
def test_rows_without_ids_are_counted_as_they_are_stored(files: list[list[list[str]]]) -> None:
    rows = [[{"messages": [{"role": "user", "content": each} for each in row]} for row in file] for file in files]
    rows = [file for file in rows if file]
    with Store.open(":memory:") as store:
        expected = total(store, rows, "hf", Preview())
        assert expected == total(store, rows, "hf", False)


def test_batches_of_one_file_are_counted_together(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "BATCH_TURNS", 1)
    rows = [[{"messages": [{"role": "user", "content": each}]} for each in ("a", "b", "a")]]
    assert total(memory, rows, "hf", True).added == total(memory, rows, "hf", False).added == 2


def test_the_command_counts_what_two_files_share_once(tmp_path: Any) -> None:
    for name, words in (("one", "said"), ("two", "said")):
        (tmp_path / f"{name}.jsonl").write_bytes(as_file([line(name, 0, None, words)]).getvalue())
    command = Command(str(tmp_path / "ours.db"))
    files = [str(tmp_path / f"{name}.jsonl") for name in ("one", "two")]
    counted = command("import", *files, "--dry-run", "--json").json
    assert counted["added"] == 1
    assert not (tmp_path / "ours.db").exists(), "counting makes no database"
    assert command("import", *files, "--json").json["added"] == 1


def test_counting_makes_no_space(tmp_path: Any) -> None:
    file = tmp_path / "one.jsonl"
    file.write_bytes(as_file([line("one", 0, None, "said")]).getvalue())
    command = Command(str(tmp_path / "ours.db"))
    command("add", "Hi")
    done = command("--space", "new", "import", str(file), "--dry-run")
    assert "new, not stored: 1 turn" in done.err
    assert "new" not in command("spaces", "list").out


def test_a_store_that_is_read_only_counts_too(tmp_path: Any) -> None:
    file = tmp_path / "one.jsonl"
    file.write_bytes(as_file([line("one", 0, None, "said")]).getvalue())
    command = Command(str(tmp_path / "ours.db"))
    command("add", "Hi")
    assert "new, not stored: 1 turn" in command("--read-only", "import", str(file), "--dry-run").err
    assert "without --read-only" in command.fails("--read-only", "import", str(file))
