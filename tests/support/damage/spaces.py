"""A database with something in every column of every table, small enough to be checked a thousand times.

Used by tests/corruption.
"""

from __future__ import annotations

import time

from headish import Database, Store
from headish.values.limits import INLINE_BYTES
from support.growing import grow

DRAWING = "q? <- a <- r?, q? <- b, b + r? <- end"


def fill(database: Database) -> None:
    """Two spaces in use, one that was removed, and one that was erased."""
    _converse(database.store("default"))
    _begin(database.store("other"))
    database.spaces.rename("other", "another")
    database.spaces.rename("another", "other")
    database.spaces.add("gone")
    database.spaces.remove("gone")
    for limited, more in (("default", 1000), ("other", 2000)):
        database.spaces.limit(limited, turns=more, bytes=1000 * more)
    database.store("person").add_turn("private")
    database.spaces.erase("person", reason="asked for")


def _converse(store: Store) -> None:
    """Branches, a merge, a document, options; names that moved and were removed; answers that ended and one open."""
    grown = grow(store, DRAWING)
    store.bookmarks.set("main", grown["end"].id)
    store.add_turn(
        "full", continues="main", cache=True, inherited={"t": 1}, meta={"k": 1}, attributes={"speaker": "Ada"}
    )
    document = store.add_document(b"x", name="x.txt", continues=grown["r?"].id, inherited={"t": 2})
    store.add_turn("after", continues=document.id, bookmark="side", meta={"k": 2}, attributes={"speaker": "Eve"})
    store.bookmarks.set("old", grown["q?"].id)
    store.bookmarks.remove("old")
    store.bookmarks.set("side", grown["a"].id)
    for more in (1, 2):
        store.add_turn("y" * (INLINE_BYTES + more), continues=grown["b"].id)
    store.bookmarks.set("here", grown["b"].id)
    for begun in (grown["q?"], grow(store, "q?")["q?"]):
        store.bookmarks.set("twin", begun.id)
    store.bookmarks.remove("twin")
    _erase(store)
    _define(store)
    _describe(store)
    store.capture("main", "anthropic").finish()
    store.capture("side", "anthropic").finish()
    _begin_answer(store)
    store.streams.recover(force=True)
    _begin_answer(store)
    store.search("q")


def _erase(store: Store) -> None:
    """Turns that lost what they said, one of them its meta too; bytes that are barred, small and large."""
    for more in (7, 8):
        turn = store.add_turn("w" * (INLINE_BYTES + more), bookmark="private", meta={"k": more}, force=True)
        store.erase(turn.id, content=True, reason=f"reason {more}", by="ana")
    said = store.add_turn("said", continues="private", meta={"k": 3}, cache=True)
    more = store.add_turn("and more", continues="private", inherited={"t": 3})
    store.add_turn("kept", continues="private")
    store.erase([said.id], reason="words")
    store.erase([said.id, more.id], meta=True, reason="the rest")
    store.erase(store.add_turn("barred").id, content=True, reason="small")


def _begin_answer(store: Store) -> None:
    """An answer whose writer is gone, with a journal of two chunks."""
    capture = store.capture("main", "anthropic", lease_seconds=1_000_000)
    for event in ({"type": "ping"}, {"type": "ping", "n": 2}):
        capture.feed(event)
        capture._journal.keep()
    capture._journal.close()


def _define(store: Store) -> None:
    """Pointers and tools with their histories, one of each removed."""
    for model in ("small", "smaller"):
        store.pointers.set("milli", f"anthropic/{model}")
    store.pointers.set("mega", "openai/large")
    store.pointers.remove("mega")
    store.tools.set("files", [{"name": "read"}])
    store.tools.set("files", [{"name": "write"}])
    store.tools.set("clock", [{"name": "now"}])
    store.tools.remove("clock")


def _describe(store: Store) -> None:
    """What people say of conversations and what programs keep; keys of turns, versions, and a name that was renamed."""
    first = store.add_turn("nameless", key="a:1")
    store.conversations.set("side", title="Aside", tags=["one"], pinned=True)
    store.conversations.set("side", archived=True, key="elsewhere/1")
    store.conversations.set(first.id, title="Nobody's")
    again = store.add_turn("nameless, again", key="a:2", supersedes=first.id)
    store.add_turn("once more", key="a:3", supersedes=again.id)
    store.bookmarks.set("before", again.id)
    store.conversations.set("before", title="It had another name", key="elsewhere/2")
    time.sleep(0.002)  # renamed later than it moved, to the millisecond
    store.bookmarks.rename("before", "behind")
    for key in ("1", "2"):
        store.objects.put("state", key, b"{}" + key.encode())
        store.objects.put("state", key, b"[]" + key.encode())
    store.objects.put("blob", "x", b"y")
    store.objects.remove("state", "2")


def _begin(store: Store) -> None:
    """A conversation that has just begun."""
    grow(store, "hello? <- hi, hello? <- hey, hi <- bye?, hey <- ho")
    store.add_turn("z" * (INLINE_BYTES + 3))
    store.bookmarks.set("main", "@")
    store.pointers.set("milli", "gemini/tiny")
    store.pointers.set("kilo", "gemini/big")
    _begin_answer(store)
    store.objects.put("state", "1", b"other")
    store.conversations.set("main", title="Begun", key="elsewhere/1")
    store.search("hello")
