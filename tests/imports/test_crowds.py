"""Crowds: a hundred thousand messages of one kind take as many steps, not their square. Floods from archives end."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from headish import Store
from headish.errors import InvalidImport
from headish.imports import archives, notes, unpacking
from headish.imports.cleaning import NotJson, decode, within_limit
from headish.imports.notes import ImportNotes
from headish.imports.readers.shared import json_arrays
from imports.test_chatgpt import as_json, conversation, node, text
from imports.test_claude_code import answer, line, session
from imports.test_gemini_cli import META, say
from support.counting import calls
from support.sources import as_source


def is_linear(make: Callable[[int], Callable[[], object]]) -> bool:
    """Whether twice as much takes about twice as many calls."""
    make(10)()  # what is done once
    return calls(make(800)) < 2.5 * calls(make(400))


@pytest.mark.slow
def test_results_behind_results_find_their_call_in_one_step(memory: Store) -> None:
    def make(count: int) -> Callable[[], object]:
        called = node("call", "root", "assistant", text("ls"), recipient="bash")
        behind = [node(f"r{n}", f"r{n - 1}" if n else "call", "tool", text("x"), name="bash") for n in range(count)]
        file = as_json(conversation("c", "t", called, *behind))
        return lambda: memory.import_file(file, dry_run=True)

    assert is_linear(make)
    make(3)()
    memory.import_file(as_json(conversation(
        "c", "t", node("call", "root", "assistant", text("ls"), recipient="bash"),
        node("r0", "call", "tool", text("x")), node("r1", "r0", "tool", text("y")),
    )))  # fmt: skip
    [result] = memory.resolve("t").messages[-1].to_dict()["content"]
    assert result["tool_use_id"] == "call"


def test_results_in_a_circle_answer_no_call(memory: Store) -> None:
    file = as_json(conversation("c", "t", node("a", "b", "tool", text("x")), node("b", "a", "tool", text("y"))))
    assert memory.import_file(file).added == 2


def test_a_message_that_is_rewound_again_and_again_gets_its_number_in_one_step(memory: Store) -> None:
    again = [
        each
        for number in range(300)
        for each in (
            {**say("1", "user", "x"), "id": f"m{number}"},
            {**say("1", "user", f"y{number}"), "id": "same"},
            {"$rewindTo": "same"},
        )
    ]
    done = memory.import_file(session(META, *again), "gemini-cli")
    assert done.added == 600
    assert memory.find(f"gemini-cli:{META['sessionId']}:same+300").id


def test_lines_of_one_answer_are_put_together_once(memory: Store) -> None:
    lines = [answer(f"a{n}", "u", "msg_1", {"type": "text", "text": str(n)}) for n in range(2000)]
    copied = 0

    def counted(frame: Any, event: str, given: Any) -> None:
        nonlocal copied
        if event == "return" and frame.f_code.co_name == "_join":
            copied += sum(len(each) for each in frame.f_locals.values() if type(each) is list)

    file = session(line("user", "u", None, "go"), *lines)
    sys.setprofile(counted)
    try:
        done = memory.import_file(file, "claude-code")
    finally:
        sys.setprofile(None)
    assert done.added == 2
    assert copied < 2000 * 10
    assert len(memory.resolve("go").messages[-1].content) == 2000


def test_a_line_with_the_uuid_of_another_is_told_where_it_says_something_else(memory: Store) -> None:
    first, same = line("user", "u", None, "one"), line("user", "u", None, "one")
    done = memory.import_file(session(first, same, line("user", "u", None, "two")), "claude-code")
    assert done.added == 1
    assert done.unmapped == {"line with the uuid of another that says something else (left out)": 1}


def test_keys_beside_a_message_are_weighed_once() -> None:
    def make(count: int) -> Callable[[], object]:
        meta = {f"k{number}": "x" * 3000 for number in range(count)}
        return lambda: within_limit(meta)

    assert is_linear(make)
    kept, gone = within_limit({"a": 1, "large": "x" * 10_000_000, "larger": "x" * 20_000_000})
    assert (kept, gone) == ({"a": 1}, ["larger", "large"])


def test_equal_messages_with_other_keys_are_not_looked_at_one_by_one(memory: Store) -> None:
    def make(count: int) -> Callable[[], object]:
        talks = [
            conversation(id, "t", node("a", "root", "user", text(f"p{count}")), *(
                node(f"n{number}", "a", "user", text("same")) for number in range(count)
            ))
            for id in (f"c{count}", f"d{count}")
        ]  # fmt: skip
        memory.import_file(as_json(talks[0]))
        return lambda: memory.import_file(as_json(talks[1]), dry_run=True)

    assert is_linear(make)


def test_what_is_counted_and_told_stays_small_whatever_a_file_names(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    made = ImportNotes("it", lambda note: told.append(str(note)))
    for number in range(notes.KINDS_LIMIT + 500):
        made.leave_out("x" * 1_000_000 if number == 0 else "", f"{number} " + "y" * 1_000)
    assert len(made.counts) == notes.KINDS_LIMIT + 1
    assert made.counts[notes.MORE_KINDS] == 500
    assert max(map(len, [*told, *made.counts])) < 3 * notes.SHOWN_CHARACTERS


@pytest.mark.parametrize("depth", [300, 600, 900, 2000, 100_000])
@pytest.mark.parametrize("shape", ["[%s]", '{"a":%s}'])
def test_json_that_is_nested_too_deep_is_named_with_or_without_half_characters(depth: int, shape: str) -> None:
    opening, closing = shape.split("%s")
    for word in ('""', '"\\ud800"'):
        try:
            decode((opening * depth + word + closing * depth).encode())
        except NotJson as error:
            assert str(error) == "it is nested too deep"


def test_an_item_that_is_too_large_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_arrays, "IMPORT_LINE_BYTES", 100)
    monkeypatch.setattr(json_arrays, "CHUNK_BYTES", 16)
    large = {"a": ['x"]}' * 20, {"b": [[]] * 40}, "\\" * 7]}
    data = json.dumps([{"n": 1}, large, "y" * 300, [large], {"n": 2}]).encode()
    told: list[str] = []
    items = list(json_arrays.read_items(as_source(io.BytesIO(data), lambda note: told.append(str(note))), unwrap=False))
    assert items == [("record 1", {"n": 1}), ("record 4", {"n": 2})]
    assert told == [f"it, record {number}: broken: it is longer than 100 bytes" for number in (2, 3)]
    for end in range(20, len(data) - 1, 40):
        with pytest.raises(InvalidImport, match="ends in the middle"):
            list(json_arrays.read_items(as_source(io.BytesIO(data[:end]))))
    with pytest.raises(InvalidImport, match="one value in it is longer"):
        list(json_arrays.read_items(as_source(io.BytesIO(json.dumps(large).encode()))))


def test_small_items_behind_a_large_one_do_not_copy_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b'[{"a": "' + b"x" * 3_000_000 + b'"}' + b",{}" * 2000 + b"]"
    copied = 0
    cut = json_arrays._ArrayScan._cut

    def counted(scan: Any, at: int) -> None:
        nonlocal copied
        copied += len(scan._data) - at
        cut(scan, at)

    monkeypatch.setattr(json_arrays._ArrayScan, "_cut", counted)
    assert len(list(json_arrays.read_items(as_source(io.BytesIO(data)), unwrap=False))) == 2001
    assert copied < 5 * len(data)


def flood(members: int, *, inside: bool = False) -> io.BytesIO:
    """An archive of members that are harmless one by one."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(members):
            made.writestr(f"conversations-{number}.json", b" " * 100_000 + b"[]")
    if not inside:
        return file
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("one.zip", file.getvalue())
        made.writestr("two.zip", file.getvalue() + b" ")
    return outer


@pytest.mark.parametrize("inside", [False, True])
def test_many_members_are_bounded_together(memory: Store, monkeypatch: pytest.MonkeyPatch, inside: bool) -> None:
    file = flood(30, inside=inside)
    file.seek(0)
    memory.import_file(file, "chatgpt")
    monkeypatch.setattr(archives, "WHOLE_BYTES", 1_000_000)
    monkeypatch.setattr(archives, "RATIO_LIMIT", 50)
    monkeypatch.setattr(unpacking, "RATIO_LIMIT", 50)
    file.seek(0)
    with pytest.raises(InvalidImport, match="its archive swells to more than 50 times its size"):
        memory.import_file(file, "chatgpt", force=True)
