"""Every writing verb against itself and against every other, at once: what comes out is what a sequence would leave."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import combinations_with_replacement
from threading import Barrier, Event
from typing import Any

import pytest

from headish import ABSENT, Store
from headish.errors import (
    BookmarkMoved,
    BookmarkTaken,
    RecordChanged,
    UnknownBookmark,
    UnknownObject,
    UnknownPointer,
    UnknownServer,
)
from support.growing import texts
from support.places import Place

pytestmark = pytest.mark.slow

WRITERS = 8
LIST = [{"role": role, "content": text} for role, text in zip(["user", "assistant"] * 3, "abcdef", strict=True)]
TRANSCRIPT = "".join(f"<|start|>user<|message|>{text}<|end|>\n" for text in "abcde")


def together(place: Place, work: Callable[[Store, int], Any], count: int = WRITERS) -> list[Any]:
    """What ``work`` returns on a store of its own in each of so many threads that begin at one moment."""
    stores = [place.open() for _ in range(count)]
    barrier = Barrier(count)

    def run(number: int) -> Any:
        barrier.wait()
        return work(stores[number], number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


class TestTheSameListRecorded:
    @pytest.mark.parametrize("name", [None, "new", "old"])
    def test_it_is_stored_once(self, durable_place: Place, name: str | None) -> None:
        store = durable_place.open()
        if name == "old":
            store.record(LIST[:2], bookmark="old")
        tips = {done.tip.id for done in together(durable_place, lambda each, _: each.record(LIST, bookmark=name))}
        assert (len(tips), store.stats().turns, len(store.heads())) == (1, 6, 1)
        assert store.verify().problems == ()

    def test_a_tail_is_stored_once(self, durable_place: Place) -> None:
        store = durable_place.open()
        known = store.record(LIST).tip.id
        tail = [{"role": "user", "content": "the tail"}]
        tips = {done.tip.id for done in together(durable_place, lambda each, _: each.record(tail, continues=known))}
        assert (len(tips), store.stats().turns) == (1, 7)

    def test_a_changed_prompt_is_laid_over_the_old_one_once(self, durable_place: Place) -> None:
        store = durable_place.open()
        store.record([{"role": "system", "content": "It is one."}, *LIST], bookmark="main")
        later = [{"role": "system", "content": "It is two."}, *LIST, {"role": "user", "content": "the tail"}]
        tips = {done.tip.id for done in together(durable_place, lambda each, _: each.record(later, bookmark="main"))}
        assert (len(tips), store.stats().turns, len(store.heads())) == (1, 9, 1)
        assert [each.text for each in store.resolve("main").messages] == [each["content"] for each in later]


class TestOneLine:
    @pytest.mark.parametrize("how", [{"respond": True}, {"continues": "@"}], ids=["respond", "@"])
    def test_whoever_answers_the_newest_turn_makes_one(self, durable_place: Place, how: dict[str, Any]) -> None:
        store = durable_place.open()
        store.add_turn("root")
        together(durable_place, lambda each, number: [each.add_turn(f"{number}/{index}", **how) for index in range(5)])
        assert (len(store.heads()), len(store.log("@"))) == (1, WRITERS * 5 + 1)

    def test_one_of_many_makes_a_name(self, durable_place: Place) -> None:
        def get_or_create(store: Store, number: int) -> str:
            try:
                return store.add_turn(f"first of {number}", bookmark="chat", expect=ABSENT).id
            except BookmarkMoved:
                return store.add_turn(f"then {number}", continues="chat").id

        together(durable_place, get_or_create)
        store = durable_place.open()
        assert (len(store.heads()), len(store.log("chat"))) == (1, WRITERS)

    def test_a_name_that_is_not_where_it_was_read_takes_nothing_from_anybody(self, durable_place: Place) -> None:
        store = durable_place.open()
        store.add_turns({"content": str(index), "respond": index > 0} for index in range(20))
        store.bookmarks.set("main", "@")

        def work(each: Store, number: int) -> int:
            if number % 2:
                return each.add_turn(f"by {number}", continues="main") is not None
            before = each.bookmarks["main"]
            try:
                each.bookmarks.set("main", f"{before}~1", expect=before)
            except BookmarkMoved:
                return 0
            return -1

        moved = together(durable_place, work)
        thread = texts(store, "main")
        for text in (f"by {number}" for number in range(1, WRITERS, 2)):
            # An appended turn is on the branch, unless a later undo, which had seen it, took it off.
            assert text in thread or -1 in moved
        assert store.verify().problems == ()


class TestRename:
    def test_one_of_many_renames_a_name_and_no_turn_of_it_is_lost(self, durable_place: Place) -> None:
        durable_place.open().add_turn("root", bookmark="name")

        def work(store: Store, number: int) -> int:
            if number % 2:
                with suppress(UnknownBookmark, BookmarkMoved):
                    store.bookmarks.rename("name", f"name{number}")
                    return 1
                return 0
            store.add_turn(str(number), respond=True)
            return 0

        done = together(durable_place, work)
        store = durable_place.open()
        [name] = store.bookmarks
        assert (sum(done), len(store.log(name))) == (1, WRITERS // 2 + 1)
        assert store.verify().problems == ()


class TestObjects:
    def test_of_many_that_count_on_none_is_lost(self, durable_place: Place) -> None:
        def count(store: Store, number: int) -> None:
            while True:
                try:
                    found = store.objects.get("counter", "one")
                    value, expect = int(found.data), found.revision
                except UnknownObject:
                    value, expect = 0, ABSENT
                with suppress(RecordChanged):
                    store.objects.put("counter", "one", b"%d" % (value + 1), expect=expect)
                    return

        together(durable_place, count)
        found = durable_place.open().objects.get("counter", "one")
        assert (found.data, found.revision) == (b"%d" % WRITERS, WRITERS)


class TestEdits:
    def test_beside_edits_that_keep_the_branch_no_turn_falls_off_it(self, durable_place: Place) -> None:
        durable_place.open().add_turns({"content": str(index), "respond": index > 0} for index in range(6))
        durable_place.open().bookmarks.set("main", "@")

        def work(store: Store, number: int) -> None:
            for index in range(3):
                if number % 2:
                    store.add_turn(f"by {number}.{index}", continues="main")
                else:
                    store.edit("main~3", f"edit {number}.{index}", keep=True)

        together(durable_place, work)
        store = durable_place.open()
        thread = texts(store, "main")
        versions = {store.text(turn.id) for each in store.log("main") for turn in store.siblings(each.id).turns}
        # An edit may have taken the place of a turn that was added: it is a version of one of the branch then.
        assert {f"by {number}.{index}" for number in range(1, WRITERS, 2) for index in range(3)} <= {*thread, *versions}
        assert len(thread) == 6 + 3 * WRITERS // 2
        assert store.verify().problems == ()

    def test_of_editors_that_saw_one_branch_one_moves_the_name(self, durable_place: Place) -> None:
        first = durable_place.open()
        first.add_turn("q?")
        seen = first.add_turn("a", respond=True, bookmark="main").id

        def work(store: Store, number: int) -> int:
            try:
                return store.edit("main~1", f"by {number}", keep=True, expect=seen).kept
            except BookmarkMoved:
                return 0

        assert sorted(together(durable_place, work)) == [0] * (WRITERS - 1) + [1]
        store = durable_place.open()
        assert (store.stats().turns, len(store.siblings("main~1").turns)) == (4, 2)

    def test_first_messages_that_are_edited_at_once_are_versions_of_one(self, durable_place: Place) -> None:
        first = durable_place.open().add_turn("q?").id
        together(durable_place, lambda store, number: store.edit(first, f"by {number}"))
        store = durable_place.open()
        assert len(store.siblings(first).turns) == WRITERS + 1
        assert len(store.conversations.list().entries) == 1


class TestOverlays:
    def test_overlays_that_are_laid_at_once_follow_one_another(self, durable_place: Place) -> None:
        first = durable_place.open()
        first.add_turns({"content": f"{index} says something", "respond": index > 0} for index in range(12))
        first.bookmarks.set("main", "@")
        begun = [turn.id for turn in reversed(first.log("main"))]

        def work(store: Store, number: int) -> None:
            at = begun[number + 2]
            store.hide(at, viewer="model", continues="main")
            store.unhide(at, continues="main")
            store.replace(at, f"by {number}", continues="main")
            store.original(at, continues="main")
            store.keep(at, continues="main")
            store.summarize(at, at, f"sum {number}", continues="main")

        together(durable_place, work)
        store = durable_place.open()
        assert len(store.log("main")) == 12 + 6 * WRITERS
        assert {f"sum {number}" for number in range(WRITERS)} <= {each.text for each in store.resolve("main").messages}
        assert store.verify().problems == ()

    def test_of_compactions_at_once_each_leaves_the_thread_smaller(self, durable_place: Place) -> None:
        first = durable_place.open()
        first.add_turns({"content": f"{index} " + "word " * 200, "respond": index > 0} for index in range(20))
        first.bookmarks.set("main", "@")
        before = first.tokens("main").tokens
        together(durable_place, lambda store, _: store.compact("main", to=0.5))
        store = durable_place.open()
        assert store.tokens("main").tokens < before
        assert store.verify().problems == ()


class TestDefaults:
    def test_the_last_default_that_was_set_holds(self, durable_place: Place) -> None:
        names = [f"p{number}" for number in range(WRITERS)]
        for name in names:
            durable_place.open().pointers.set(name, "openai/m")
        together(durable_place, lambda store, number: store.pointers.set_default(names[number]))
        assert durable_place.open().pointers.default in names
        assert durable_place.open().verify().problems == ()


class TestCopies:
    def test_copies_at_once_store_each_turn_once(self, durable_place: Place) -> None:
        other = durable_place.open("copies")
        durable_place.open().add_turns({"content": str(index), "respond": index > 0} for index in range(5))
        durable_place.open().bookmarks.set("main", "@")
        together(durable_place, lambda store, _: store.copy_to(other.space, "main"))
        assert (other.stats().turns, len(other.log("main"))) == (5, 5)
        assert other.verify().problems == ()


class TestImports:
    def test_one_file_at_once_is_stored_once(self, durable_place: Place) -> None:
        done = together(durable_place, lambda each, _: each.import_file(io.BytesIO(TRANSCRIPT.encode()), "2.2"), 4)
        store = durable_place.open()
        assert (store.stats().turns, len(store.heads()), sum(each.added for each in done)) == (5, 1, 5)

    def test_a_file_of_several_portions_is_stored_once(
        self, durable_place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headish.history.writing.batches.BATCH_TURNS", 2)
        together(durable_place, lambda each, _: each.import_file(io.BytesIO(TRANSCRIPT.encode()), "2.2"), 4)
        assert durable_place.open().stats().turns == 5


class TestReading:
    @pytest.mark.parametrize("verb", ["tree", "render"])
    def test_a_tree_has_one_root_beside_writers_that_fork_it(self, durable_place: Place, verb: str) -> None:
        store, reader = durable_place.open(), durable_place.open()
        root = store.add_turn("root").id
        done = Event()

        def read() -> list[int]:
            roots = []
            while not done.is_set():
                if verb == "tree":
                    roots.append(sum(not turn.continues for turn in reader.tree(root)))
                else:
                    roots.append(1 if "root" in reader.render(root, "text") else 0)
            return roots

        with ThreadPoolExecutor(2) as pool:
            reading = pool.submit(read)
            for index in range(60):
                store.add_turn(f"fork {index}", continues=root)
            done.set()
            assert set(reading.result()) <= {1}


def add(store: Store, tag: str) -> None:
    store.add_turn(tag, continues="main")


def add_batch(store: Store, tag: str) -> None:
    store.add_turns([{"content": tag, "continues": "main"}, {"content": f"{tag}!", "continues": 0}])


def answer(store: Store, tag: str) -> None:
    store.add_turn(tag, respond=True)


def record(store: Store, tag: str) -> None:
    store.record([{"role": "user", "content": tag}], continues="main")


def take(store: Store, tag: str) -> None:
    store.add_turn(tag, bookmark="taken", force=True)


def claim(store: Store, tag: str) -> None:
    try:
        store.add_turn(tag, bookmark="claimed")
    except BookmarkTaken:
        store.add_turn(tag, continues="claimed")


def move(store: Store, tag: str) -> None:
    store.bookmarks.set("moving", "main")
    with suppress(UnknownBookmark):
        store.bookmarks.undo("moving")
    with suppress(UnknownBookmark):
        store.bookmarks.remove("moving")


def point(store: Store, tag: str) -> None:
    store.pointers.set("pointer", f"openai/{tag.replace(' ', '-')}")
    store.pointers.set("passing", "openai/m")
    with suppress(UnknownPointer):
        store.pointers.remove("passing")
    store.tools.set("passing", [])
    with suppress(UnknownServer):
        store.tools.remove("passing")


def document(store: Store, tag: str) -> None:
    store.add_document(tag.encode(), name="d.txt", continues="main")


def reply(store: Store, tag: str) -> None:
    store.reply("main", "openai", {"object": "chat.completion", "id": tag, "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": tag}}]})  # fmt: skip


def keep(store: Store, tag: str) -> None:
    store.objects.put("kept", tag, tag.encode())
    with suppress(UnknownObject):
        store.objects.remove("passing", "one")
    store.add_turns([{"content": tag, "continues": "main"}], objects=[{"kind": "passing", "key": "one", "data": b""}])


def call(store: Store, tag: str) -> None:
    store.conversations.set("main", title="the title")
    with suppress(RecordChanged):
        store.conversations.set("main", app={"said": tag}, expect=1)


def edit(store: Store, tag: str) -> None:
    with suppress(BookmarkMoved):
        store.add_turn("to be edited", bookmark="edited", expect=ABSENT)
    store.edit("edited", tag)


VERBS = (add, add_batch, answer, record, take, claim, move, point, document, reply, keep, call, edit)
LINEAR = {add, add_batch, answer, document, point, keep, call}
"""Verbs that continue what ``main`` names when they store, or store no turn: they leave one line."""


def run(stores: Sequence[Store], number: int, verbs: tuple[Callable[..., None], ...]) -> None:
    verb = verbs[number % 2]
    for index in range(3):
        verb(stores[number], f"{verb.__name__} {number} {index}")


def said(store: Store) -> list[tuple[str | None, bytes]]:
    """What all turns of a space say, in no order."""
    return sorted((turn.meta.role or "", store.payload(turn.id)) for turn in store.turns())


def kept(store: Store) -> list[tuple[str, bytes]]:
    return [(each.key, each.data) for each in store.objects.list("kept")]


@pytest.mark.parametrize("verbs", list(combinations_with_replacement(VERBS, 2)),
                         ids=lambda verbs: " ".join(verb.__name__ for verb in verbs))  # fmt: skip
def test_two_verbs_at_once_leave_what_a_sequence_leaves(
    durable_place: Place, verbs: tuple[Callable[..., None], ...]
) -> None:
    store, sequence = durable_place.open(), durable_place.open("sequence")
    for each in (store, sequence):
        each.add_turn("root", bookmark="main")
    for number in range(4):
        run([sequence] * 4, number, verbs)
    together(durable_place, lambda each, number: run([each] * 4, number, verbs), 4)
    assert said(store) == said(sequence)
    assert dict(store.bookmarks).keys() == dict(sequence.bookmarks).keys()
    assert len(store.pointers) == len(sequence.pointers)
    assert kept(store) == kept(sequence)
    for each in (store, sequence):
        assert each.conversations.get("main").record.title == ("the title" if call in verbs else "")
    if set(verbs) <= LINEAR:
        assert (len(store.heads()), len(store.log("main"))) == (1, len(sequence.log("main")))
    assert store.verify().problems == ()
