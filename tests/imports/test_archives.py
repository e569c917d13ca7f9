"""Archives and arrays that were made to fill the memory, or to say two things at once."""

from __future__ import annotations

import io
import json
import tracemalloc
import warnings
import zipfile
from typing import Any

import pytest

from headish import Store
from headish.errors import InvalidImport
from headish.imports import detection
from headish.imports.readers.shared import json_arrays
from support.sources import as_source


def export(id: str, text: str) -> str:
    message = {"id": "m", "author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}
    return json.dumps([{"id": id, "title": text, "mapping": {"m": {"id": "m", "parent": None, "message": message}}}])


def archive(*members: tuple[str, str]) -> io.BytesIO:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that stand twice
        with zipfile.ZipFile(file, "w") as made:
            for name, text in members:
                made.writestr(name, text)
    file.seek(0)
    return file


def test_two_members_of_one_name_that_differ_are_refused(memory: Store) -> None:
    file = archive(("conversations.json", export("a", "one")), ("conversations.json", export("b", "two")))
    with pytest.raises(InvalidImport, match=r"'conversations\.json' twice"):
        memory.import_file(file)
    same = archive(*[("conversations.json", export("a", "one"))] * 2)
    assert memory.import_file(same).added == 1


@pytest.mark.parametrize("around", ["before", "between", "numbers"])
def test_what_stands_around_items_is_not_held(around: str) -> None:
    wide = {"before": b" ", "between": b" ", "numbers": b"1,"}[around] * 8_000_000
    data = wide + b'[{"a": 1}]' if around == "before" else b'[{"a": 1}, ' + wide + b' {"a": 2}]'
    file: Any = io.BytesIO(data)
    tracemalloc.start()
    try:
        items = [value for _, value in json_arrays.read_items(as_source(file), unwrap=False)]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert items[-1] == ({"a": 1} if around == "before" else {"a": 2})
    assert peak_bytes < 6_000_000


def test_a_format_is_told_in_one_look_however_many_blanks_there_are() -> None:
    """By a mark that shares blanks in every way this would take hours."""
    assert detection.detect_beginning(b"[" + b" " * 1_000_000 + b"]") is None
    assert detection.detect_beginning(b"[" + b" " * 100_000 + b'{"mapping": {}}]') == "chatgpt"


@pytest.mark.parametrize("lost", [20, 60, 100])
def test_an_archive_that_lost_some_of_its_beginning_is_refused(memory: Store, lost: int) -> None:
    whole = archive(("conversations.json", export("a", "one"))).getvalue()
    with pytest.raises(InvalidImport):
        memory.import_file(io.BytesIO(whole[:4] + whole[4 + lost :]), "chatgpt")


def test_a_member_whose_own_name_is_no_text_is_refused(memory: Store) -> None:
    data = archive(("conversations.json", export("a", "one"))).getvalue()
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        begin = made.infolist()[0].header_offset
    flags, name = begin + 6, begin + 30
    broken = data[:flags] + b"\x00\x08" + data[flags + 2 : name] + b"\x99" + data[name + 1 :]
    with pytest.raises(InvalidImport, match="cannot be unpacked"):
        memory.import_file(io.BytesIO(broken), "chatgpt")
    assert memory.import_file(io.BytesIO(data), "chatgpt").added == 1
