"""Thread records of the schema reference, read as a thread."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import InvalidArgument, InvalidImport
from headish.imports import source_files
from headish.imports.notes import ImportNote
from headish.imports.readers.shared import json_arrays
from support.command import Command
from support.insides import unchanged

FIRST, SECOND, THIRD = ("03dxl6w8q53vjhs6i91q9r7m1", "03dxl6w8q53vjhs6i91q9r7m2", "03dxl6w8q53vjhs6i91q9r7m3")
THREAD: list[dict[str, Any]] = [
    {"id": FIRST, "role": "system", "content": [{"type": "text", "text": "Be brief."}],
     "options": {"provider_ptr": "kilo", "servers": ["files"]}, "cache": True},
    {"id": SECOND, "role": "user", "content": "Capital of France?", "options": {"search": True}, "cache": False},
    {"id": THIRD, "role": "assistant", "content": ["Paris"], "options": {}, "cache": False, "head": "capitals"},
]  # fmt: skip


def as_lines(records: list[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.parametrize(
    "data",
    [as_lines(THREAD), json.dumps(THREAD, indent=1).encode(), b"\xef\xbb\xbf" + json.dumps(THREAD).encode()],
    ids=["lines", "a list", "a list behind a byte order mark"],
)
def test_the_older_key_options_is_read_as_inherited(store: Store, data: bytes) -> None:
    done = store.import_file(io.BytesIO(data), "records")
    assert (done.trees, done.messages, done.added, done.bookmarks) == (1, 3, 3, 1)
    window = store.resolve("capitals")
    assert window.options == {"provider_ptr": "kilo", "servers": ["files"], "search": True}
    assert [(each.role, each.text, each.cache) for each in window.messages] == [
        ("system", "Be brief.", True), ("user", "Capital of France?", False), ("assistant", "Paris", False),
    ]  # fmt: skip
    assert [each.inherited for each in store.thread("capitals")] == [each["options"] for each in THREAD]
    assert store.get("capitals").meta.app == {"record": {"id": THIRD, "head": "capitals"}}


def test_importing_them_again_stores_nothing(store: Store) -> None:
    store.import_file(io.BytesIO(as_lines(THREAD)), "records")
    with unchanged(store):
        assert store.import_file(io.BytesIO(as_lines(THREAD)), "records").added == 0


def test_what_thread_gives_can_be_imported_elsewhere(store: Store, tmp_path: Path) -> None:
    store.add_turn("Hi", bookmark="main", inherited={"params": {"temperature": 0.5}})
    store.add_turn("Hello", continues="main", role="assistant", cache=True)
    records = [each.to_dict() for each in store.thread("main")]
    with Store.open(":memory:") as other:
        assert other.import_file(io.BytesIO(as_lines(records)), "records").added == 2
        assert other.resolve("@").to_dict() == store.resolve("main").to_dict()
        assert other.get("@").digest == store.get("main").digest


def test_a_record_may_say_what_it_continues(store: Store) -> None:
    records = [*THREAD[:2], {**THREAD[2], "continues": [FIRST], "head": "other"}]
    store.import_file(io.BytesIO(as_lines(records)), "records")
    assert [each.text for each in store.resolve("other").messages] == ["Be brief.", "Paris"]


def test_a_record_may_continue_several(store: Store) -> None:
    joined = {"content": "So?", "continues": [SECOND, THIRD], "head": "x"}
    file = io.BytesIO(as_lines([*THREAD[:2], {**THREAD[2], "id": THIRD, "continues": [FIRST]}, joined]))
    assert store.import_file(file, "records").added == 4
    assert len(store.get("x").meta.continues) == 2
    file.seek(0)
    assert store.import_file(file, "records").added == 0


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ([], "a thread record is an object with a `content`"),
        ({"role": "user"}, "a thread record is an object with a `content`"),
        ({"content": "x", "options": {}, "inherited": {}}, "a record has one of them"),
        ({"content": "x", "options": 5}, "inherited cannot be kept: it must be a mapping"),
        ({"content": "x", "options": {"params": {"api_key": "x"}}}, "it looks like a key"),
        ({"content": "x", "role": "robot"}, "unknown role 'robot'"),
        ({"content": "x", "head": "a b"}, "its head cannot be a bookmark: it holds whitespace"),
        ({"content": "x", "head": 5}, "its head cannot be a bookmark: it must be text"),
        ({"content": "x", "continues": [FIRST, "gone"]}, "not ids of records before it"),
        ({"content": "x", "continues": "gone"}, "it continues 'gone'"),
        ({"content": [{"type": 5}]}, "a block needs a `type`"),
    ],
)
@pytest.mark.parametrize("is_list", [False, True])
def test_what_is_no_record_costs_itself_and_is_named(memory: Store, record: Any, reason: str, is_list: bool) -> None:
    records = [*THREAD[:2], record, THREAD[2]]
    notes: list[ImportNote] = []
    data = json.dumps(records).encode() if is_list else as_lines(records)
    done = memory.import_file(io.BytesIO(data), "records", told=notes.append)
    assert (done.added, done.broken, done.bookmarks) == (3, 1, 1)
    assert [(each.where, each.kind) for each in notes] == [("record 3" if is_list else "line 3", "broken")]
    assert reason in notes[0].what
    assert [each.text for each in memory.resolve("capitals").messages] == ["Be brief.", "Capital of France?", "Paris"]


def test_what_continues_a_broken_record_continues_what_is_before_it(memory: Store) -> None:
    records = [
        {"id": "a", "content": "one"}, {"id": "b", "content": "two"},
        {"id": "c", "content": "broken", "role": "robot", "continues": ["a"]},
        {"id": "d", "content": "three", "continues": ["c"]}, {"id": "e", "content": "four", "continues": ["c", "b"]},
    ]  # fmt: skip
    assert memory.import_file(io.BytesIO(as_lines(records)), "records").broken == 1
    found = {each.text: [memory.get(to).text for to in each.meta.continues] for each in memory.log("@", limit=9)}
    assert found["four"] == ["one", "two"]
    three = next(each for each in memory.heads() if each.text == "three")
    assert [memory.get(to).text for to in three.meta.continues] == ["one"]


def test_lines_that_are_no_json_are_named_by_the_command_which_fails_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "thread.jsonl").write_bytes(as_lines(THREAD[:2]) + b"{nonsense\n" + as_lines(THREAD[2:]))
    done = Command(str(tmp_path / "ours.db")).run("import", str(tmp_path / "thread.jsonl"), "--from", "records")
    assert done.code == 1
    assert "thread.jsonl, line 3: broken" in done.err
    assert "3 turns" in done.err


def test_a_list_that_is_no_json_is_refused(memory: Store) -> None:
    with pytest.raises(InvalidImport, match="ends in the middle of its JSON"):
        memory.import_file(io.BytesIO(json.dumps(THREAD).encode()[:-1]), "records")


def test_an_empty_file_holds_no_thread(store: Store) -> None:
    assert store.import_file(io.BytesIO(b"\n"), "records").messages == 0


def test_the_file_itself_names_its_thread(store: Store) -> None:
    with pytest.raises(InvalidArgument, match="a file of records names its trees itself"):
        store.import_file(io.BytesIO(as_lines(THREAD)), "records", bookmark="main")


def test_a_record_is_found_by_an_id_that_is_its_alone(store: Store) -> None:
    """Ids like 1 and 2 tell the records of their file apart, and no more."""
    global_id = "03ha5m0pv28noc9tj9w3lk7qg"
    data = json.dumps([{"id": global_id, "content": "a"}, {"id": "2", "content": "b"}]).encode()
    assert store.import_file(io.BytesIO(data), "records").added == 2
    assert store.text(store.find(f"records:{global_id}").id) == "a"
    assert store.get("@").meta.key is None
    with unchanged(store):
        store.import_file(io.BytesIO(data), "records")


@pytest.mark.parametrize("is_list", [False, True])
def test_a_record_that_is_too_long_costs_itself(memory: Store, monkeypatch: pytest.MonkeyPatch, is_list: bool) -> None:
    for module in (source_files, json_arrays):
        monkeypatch.setattr(module, "IMPORT_LINE_BYTES", 2000)
        monkeypatch.setattr(module, "CHUNK_BYTES", 7)
    records = [
        {"id": "a", "content": "one"}, {"content": "x" * 5000, "id": "b"}, {"content": "two"},
        {"content": "three", "continues": "b"},
    ]  # fmt: skip
    notes: list[ImportNote] = []
    data = json.dumps(records).encode() if is_list else as_lines(records)
    done = memory.import_file(io.BytesIO(data), "records", told=notes.append)
    assert (done.added, done.broken) == (3, 1)
    assert [(each.where, each.kind) for each in notes] == [("record 2" if is_list else "line 2", "broken")]
    assert notes[0].what.endswith("is longer than 67,108,864 bytes")
    assert [[each.text for each in memory.resolve(head.id).messages] for head in memory.heads()] == [
        ["one", "three"], ["one", "two"]
    ]  # fmt: skip
