"""An export whose bytes are known is not read again, and whatever happened since, the outcome is that of reading it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from headish import Store
from headish.imports.imported import Imported
from headish.imports.keeping import known
from headish.imports.notes import ImportNote
from headish.imports.readers.shared import json_arrays
from imports.test_chatgpt import TIDES, as_json, as_zip, conversation, node, text
from imports.test_claude_ai import BREAD

MOON = conversation("m", "Moon", node("q", "root", "user", text("How far?")), node("a", "q", "assistant", text("Far.")))
SUN = conversation("s", "Sun", node("q", "root", "user", text("How hot?")))
GROWN = conversation("m", "The moon", *(node(*each) for each in (
    ("q", "root", "user", text("How far?")), ("a", "q", "assistant", text("Far.")), ("b", "a", "user", text("In km?")),
)))  # fmt: skip


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The conversations that were decoded."""
    seen: list[bytes] = []
    decode = json_arrays.decode_noted
    monkeypatch.setattr(json_arrays, "decode_noted", lambda data, *told: (seen.append(data), decode(data, *told))[1])
    return seen


def as_read(done: Imported) -> Imported:
    """What was read, whether or not it was new."""
    return replace(done, added=0, bookmarks=0)


def test_a_known_file_is_not_decoded_and_counts_as_it_did(store: Store, decoded: list[bytes]) -> None:
    done = store.import_file(as_json(TIDES, MOON))
    assert (len(decoded), done.trees, done.added, done.unmapped) == (2, 2, 6, {"empty message (left out)": 1})
    read: list[int] = []
    assert store.import_file(as_json(TIDES, MOON), progress=read.append) == as_read(done)
    assert (len(decoded), read) == (2, [len(as_json(TIDES, MOON).getvalue())])
    assert store.import_file(as_json(TIDES, MOON), "chatgpt", dry_run=True) == as_read(done)
    assert len(decoded) == 2
    assert store.verify().problems == ()


def test_of_a_longer_file_only_new_bytes_are_decoded(store: Store, decoded: list[bytes]) -> None:
    store.import_file(as_json(TIDES, MOON))
    done = store.import_file(as_json(TIDES, GROWN, SUN))
    assert len(decoded) == 4
    assert (done.trees, done.messages, done.added, done.bookmarks) == (3, 8, 2, 2)
    assert done.unmapped == {"empty message (left out)": 1}
    assert store.conversations.find("chatgpt:m").record.title == "The moon"
    store.import_file(as_json(TIDES, GROWN, SUN))
    assert len(decoded) == 4
    store.import_file(as_json({"conversations": [SUN, MOON]}))
    assert store.import_file(as_json({"conversations": [SUN, MOON]})).trees == 2


def test_other_exports_are_known_too(memory: Store, decoded: list[bytes]) -> None:
    done = memory.import_file(as_json(BREAD))
    assert memory.import_file(as_json(BREAD)) == as_read(done)
    assert len(decoded) == 1


def test_what_would_be_read_otherwise_is_read(
    memory: Store, decoded: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.import_file(as_json(MOON))
    memory.import_file(as_json(MOON), force=True)
    assert len(decoded) == 2
    monkeypatch.setattr(known, "EDITION", known.EDITION + 1)
    memory.import_file(as_json(MOON))
    assert len(decoded) == 3
    memory.import_file(as_json(MOON), "chatgpt")
    assert len(decoded) == 3
    memory.objects.put("headish.known", "chatgpt", b"damaged")
    assert memory.import_file(as_json(MOON)).messages == 2
    assert len(decoded) == 4


def test_what_is_broken_or_left_out_for_its_time_is_told_each_time(memory: Store, decoded: list[bytes]) -> None:
    broken = conversation("b", "Broken", node("q", "root", "user", text("One")), node("x", "q", "user", None))
    ahead = conversation("f", "Ahead", node("q", "root", "user", text("One"), create_time=9e9))
    for _ in range(2):
        told: list[ImportNote] = []
        done = memory.import_file(as_json(broken, ahead, MOON), told=told.append)
        assert (done.broken, done.untimed, done.trees) == (1, 1, 3)
        assert [note.kind for note in told] == ["broken"]
    assert len(decoded) == 5


def test_a_file_that_comes_to_lie_beside_a_message_is_taken(memory: Store, decoded: list[bytes]) -> None:
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-abc"}
    shown = conversation("p", "Picture", node("q", "root", "user", {"content_type": "multimodal_text", "parts": [
        "Look", pointer]}))  # fmt: skip
    memory.import_file(as_zip({"conversations.json": [shown, MOON]}))
    memory.import_file(as_zip({"conversations.json": [shown, MOON], "notes.txt": b"a"}))
    assert len(decoded) == 3
    done = memory.import_file(as_zip({"conversations.json": [shown, MOON], "file-abc-x.png": b"\x89PNG\r\n\x1a\n"}))
    assert (done.added, len(decoded)) == (1, 4)


STEPS: list[tuple[str, Callable[[Store], object]]] = [
    ("an older export", lambda store: imported(store, [MOON])),
    ("nothing", lambda store: None),
    ("the name removed", lambda store: store.bookmarks.remove(name_of(store))),
    ("the name back", lambda store: store.bookmarks.set("the-moon", "the-moon@{1}")),
    ("the name elsewhere", lambda store: store.bookmarks.set(name_of(store), store.find("chatgpt:m:q").id)),
    ("the title changed", lambda store: store.conversations.set(name_of(store), title="Mine")),
    ("the title back", lambda store: store.conversations.set(name_of(store), title="The moon")),
    ("an answer erased", lambda store: store.erase(store.find("chatgpt:m:a").id, reason="x")),
    (
        "the whole erased",
        lambda store: store.erase(name_of(store), scope="thread", meta=True, reason="x"),
    ),
]


def imported(store: Store, talks: list[Any]) -> Imported:
    return store.import_file(io.BytesIO(json.dumps(talks).encode()), "chatgpt")


def name_of(store: Store) -> str:
    return store.conversations.find("chatgpt:m").name or ""


def outcome(store: Store) -> Any:
    names = [(name, store.get(turn).digest) for name, turn in store.bookmarks.items()]
    records = [store.conversations.get(name).record for name in store.bookmarks]
    titles = [(each.title, each.tags, each.key) for each in records]
    return names, titles, store.stats().turns


def test_whatever_happened_since_the_outcome_is_that_of_reading_it_again() -> None:
    with Store.open(":memory:") as quick, Store.open(":memory:") as careful:
        for store in (quick, careful):
            imported(store, [GROWN, SUN])
        for what, step in STEPS:
            for store in (quick, careful):
                step(store)
            done = imported(quick, [GROWN, SUN])
            again = careful.import_file(as_json(GROWN, SUN), "chatgpt", force=True)
            assert (what, done, outcome(quick)) == (what, again, outcome(careful))


def test_an_erasure_forgets_what_is_known(store: Store) -> None:
    imported(store, [GROWN, SUN])
    assert len(store.objects.list("headish.known")) == 1
    store.erase(store.find("chatgpt:s:q").id, reason="x")
    assert store.objects.list("headish.known") == []
    assert imported(store, [GROWN, SUN]).added == 0
    assert len(store.objects.list("headish.known")) == 1
    store.bookmarks.erase("sun", reason="x")
    assert store.objects.list("headish.known") == []
