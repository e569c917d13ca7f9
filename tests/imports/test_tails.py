"""Sessions in portions, and read on behind a tail: the outcome is that of one reading, the cost that of what is new."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from headish import Store
from headish.imports import source_files
from headish.imports.readers.coding import claude_code
from headish.store.writing import imports
from headish.values.checks import files
from imports.test_claude_code import answer, line, session
from imports.test_running_sessions import AGENTS, COMPACTED, PLAIN, TOOLS, age, outcome, text

SESSIONS = {"plain": PLAIN, "with tools": TOOLS, "with sub-agents": AGENTS, "compacted": COMPACTED}


@pytest.fixture(autouse=True)
def written() -> None:
    """Files are taken for what they are: just written."""


def imported(records: list[Any]) -> tuple[dict[str, Any], int, dict[str, int]]:
    """The outcome of one import into an empty store, with the turns, and what was counted."""
    with Store.open(":memory:") as store:
        done = store.import_file(session(*records))
        assert store.verify().problems == ()
        return outcome(store), done.messages, dict(done.unmapped)


@pytest.mark.parametrize("kind", SESSIONS)
def test_portions_of_any_size_give_what_the_whole_gives(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = imported(SESSIONS[kind])
    for size in (1, 2, 3, 5):
        monkeypatch.setattr(claude_code, "PORTION_LINES", size)
        assert imported(SESSIONS[kind]) == whole, f"portions of {size}"


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_tail_at_every_line_gives_what_the_whole_gives(
    kind: str, memory: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = imported(SESSIONS[kind])
    monkeypatch.setattr(claude_code, "PORTION_LINES", 2)
    path = tmp_path / "a.jsonl"
    for record in SESSIONS[kind]:
        with path.open("ab") as file:
            file.write(json.dumps(record).encode() + b"\n")
        memory.import_changed(path)
    age(path)
    memory.import_changed(path)
    assert outcome(memory) == whole[0]


LATE = {
    "a further line of an answer": [*PLAIN, answer("a9", "a3", "msg_1", text("One more thing."))],
    "a line that another hangs on": [
        PLAIN[0], PLAIN[1], PLAIN[2], line("user", "u7", "p7", "And the sun?"), line("user", "u8", "u7", "Why?"),
        line("user", "u9", "u8", "So?"), line("progress", "p7", "a2"), line("user", "u10", "u9", "Well."),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", LATE)
def test_what_is_written_late_is_found_by_reading_the_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _, unmapped = imported(LATE[kind])
    monkeypatch.setattr(claude_code, "PORTION_LINES", 2)
    late, _, counted = imported(LATE[kind])
    assert counted == unmapped
    if kind == "a further line of an answer":
        assert late == whole
    else:  # what hung on nothing was stored, and a turn never moves
        assert late["turns"] == whole["turns"]


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many bytes were read of imported files since it was last asked."""
    read = [0]

    class Counted(io.FileIO):
        def readinto(self, buffer: Any) -> int:
            got = super().readinto(buffer)
            read[0] += got or 0
            return got or 0

    def opened(path: Any) -> BinaryIO:
        return io.BufferedReader(Counted(path))

    def asked() -> int:
        found, read[0] = read[0], 0
        return found

    monkeypatch.setattr(files, "open_regular", opened)
    monkeypatch.setattr(imports, "open_regular", opened)
    return asked


def exchanges(first: int, count: int) -> bytes:
    records: list[Any] = []
    for number in range(first, first + count):
        before = f"a{number - 1}" if number else None
        records.append(line("user", f"u{number}", before, f"Question {number}, " + "and more " * 20))
        records.append(answer(f"a{number}", f"u{number}", f"msg_{number}", text(f"Answer {number}")))
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def test_what_is_added_costs_the_same_however_long_the_file_is(
    tmp_path: Path, count: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = []
    for length in (100, 1_500):
        path = tmp_path / f"{length}.jsonl"
        path.write_bytes(exchanges(0, length))
        with Store.open(":memory:") as store:
            store.import_changed(path)
            assert count() >= path.stat().st_size
            added = exchanges(length, 5)
            with path.open("ab") as file:
                file.write(added)
            assert store.import_changed(path).added == 10
            costs.append(count() - len(added))
            with monkeypatch.context() as context:
                context.setattr(source_files, "QUIET_SECONDS", 0)
                assert store.import_changed(path).added == 1, "the last answer was held back"
            assert count() < 50_000
            assert (store.stats().turns, len(store.heads())) == (2 * length + 10, 1)
    assert max(costs) < 50_000
    assert abs(costs[0] - costs[1]) < 9_000, "a block of what is compared may be cut at another place"


def test_a_reading_that_failed_is_begun_anew(memory: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(exchanges(0, 3))
    memory.import_changed(path)
    with path.open("ab") as file:
        file.write(exchanges(3, 3))

    def fail(*_: object) -> Any:
        raise RuntimeError

    with monkeypatch.context() as context:
        context.setattr(imports, "in_tree_batches", fail)
        with pytest.raises(RuntimeError):
            memory.import_changed(path)
    memory.import_changed(path)
    age(path)
    memory.import_changed(path)
    assert (memory.stats().turns, len(memory.heads())) == (12, 1)


def test_a_file_that_changed_before_its_end_is_read_from_its_beginning(
    memory: Store, tmp_path: Path, count: Callable[[], int]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(exchanges(0, 300))
    memory.import_changed(path)
    size, inode = path.stat().st_size, path.stat().st_ino
    changes = [
        exchanges(0, 300).replace(b"Question 299", b"Question CCC"),  # in its size
        exchanges(0, 150),  # cut off
        exchanges(0, 149) + exchanges(150, 200),  # longer, and other than it was where it ended
    ]
    for data in changes:
        count()
        with path.open("r+b") as file:
            file.truncate(0)
            file.write(data)
        assert path.stat().st_ino == inode
        memory.import_changed(path)
        assert count() >= len(data)
    assert memory.find("claude-code:u299").content[0].text.startswith("Question ")
    os.replace(path, tmp_path / "old")
    path.write_bytes(exchanges(0, 300) + exchanges(300, 1))
    assert path.stat().st_size > size
    count()
    memory.import_changed(path)
    assert count() >= size
    assert memory.verify().problems == ()
