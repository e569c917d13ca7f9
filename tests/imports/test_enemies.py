"""What nobody meant to be imported: zeros that a crash left, lines without end; and several imports at once."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headish import Store
from headish.imports import source_files
from imports.test_chatgpt import TIDES
from imports.test_claude_code import WORK, line, session
from imports.test_gemini_cli import WORK as GEMINI
from imports.test_gemini_cli import lines as gemini
from imports.test_rows import ASK, called
from imports.test_rows import lines as rows
from support.places import Place

WHOLE = session(*WORK).getvalue()


def test_zeros_that_a_crash_left_cost_their_line(store: Store) -> None:
    at = WHOLE.index(b"\n", 2000) + 1
    done = store.import_file(io.BytesIO(WHOLE[:at] + bytes(4096) + b"\n" + WHOLE[at:] + bytes(100)), "claude-code")
    assert (done.broken, done.added) == (1, 5)
    assert done.unmapped["half-written last line (left out)"] == 1


def test_a_zero_in_a_text_a_title_an_id_or_a_key_is_kept_or_costs_its_message(store: Store) -> None:
    odd = "a\0b"
    talk = {**TIDES, "title": f"Tides {odd}", "conversation_id": "c1"}
    talk["mapping"] = {**talk["mapping"], odd: {
        "id": odd, "parent": None, "message": {"id": odd, "author": {"role": "user"}, "metadata": {odd: odd},
                                               "content": {"content_type": "text", "parts": [odd]}},
    }}  # fmt: skip
    file = io.BytesIO(json.dumps([talk]).encode())
    done = store.import_file(file)
    assert (done.added, done.broken) == (5, 0)
    assert odd in [store.text(head.id) for head in store.heads()]
    file.seek(0)
    assert store.import_file(file).added == 0
    assert store.verify().problems == ()


class LongLine(io.RawIOBase):
    """A session with a line of 100 MB in its middle, made while it is read."""

    def __init__(self) -> None:
        at = WHOLE.index(b"\n", 1000) + 1
        self._parts: Iterator[bytes] = iter([WHOLE[:at], *[b"x" * 1_000_000] * 100, b"\n", WHOLE[at:]])
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._left = self._left or next(self._parts, b"")
        data, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


@pytest.mark.slow
def test_a_line_of_a_hundred_megabytes_costs_itself(memory: Store) -> None:
    told: list[str] = []
    done = memory.import_file(io.BufferedReader(LongLine()), "claude-code", told=lambda note: told.append(str(note)))
    assert (done.broken, done.added) == (1, 5)
    [broken] = [each for each in told if ": broken: " in each]
    assert broken.endswith("the line is longer than 67,108,864 bytes")


def test_a_line_that_is_too_long_is_passed_over_to_its_end(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "IMPORT_LINE_BYTES", 2000)
    monkeypatch.setattr(source_files, "CHUNK_BYTES", 7)
    records = [*WORK, line("user", "u7", "a5", "x" * 3000), line("user", "u8", "a5", "Go on")]
    done = memory.import_file(session(*records), "claude-code")
    assert (done.broken, done.added) == (1, 6)


def import_all(store: Store) -> int:
    files = [session(*WORK), gemini(*GEMINI), rows({"messages": [ASK]}), rows(called(ASK, answer="4"))]
    files.append(io.BytesIO(json.dumps([TIDES]).encode()))
    return sum(store.import_file(file).added for file in files)


def test_imports_at_the_same_moment_store_everything_once(durable_place: Place) -> None:
    stores = [durable_place.open() for _ in range(3)]
    with ThreadPoolExecutor(len(stores)) as pool:
        added = list(pool.map(import_all, stores))
    assert stores[0].stats().turns == sum(added)
    assert import_all(stores[0]) == 0
    assert len(stores[0].bookmarks) == 3
    assert stores[0].verify().problems == ()
