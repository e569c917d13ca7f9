"""A database with something in every column of every table, small enough to be checked a thousand times.

Used by tests/corruption.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from headish import Database, Store
from headish.bundles.records import SentSignature
from headish.history.signatures import store_signatures
from headish.serve.recorder.recording import CallRecorder
from headish.values.limits import INLINE_BYTES
from support.growing import grow
from support.machines import Machine, invite, machines, url_of
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, assistant, passed, responses_answer, user
from support.signers import signature_bytes

DESK_SESSION, ROOM_SESSION = "097ac834-a2b4-4deb-b006-36a0772986b0", "1d03f1f6-5f0a-4a8e-9d6e-0c1c7b8a4b11"
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
    for space, session in (("default", DESK_SESSION), ("other", ROOM_SESSION)):
        _record_calls(database.store(space), session)
        for label, right in (("phone", "read"), ("tablet", "write")):
            database.access_tokens.add(f"{label}-{space}", space=space, rights=[right], expires_seconds=1000)
        _sign(database.store(space))
    _sync(database.store("default"), database.store("other"))


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


def _sign(store: Store) -> None:
    """Signatures that were made here and that came from a remote; nobody asks whether they are good."""
    turns = [turn.id for turn in store.turns()][:3]
    for number, (turn, kind, remote) in enumerate(
        zip(turns, ("turn", "thread", "turn"), (b"", b"box", b"attic"), strict=True)
    ):
        sent = SentSignature(turn, kind, signature_bytes(b"%d" % number), number)
        store._write(partial(store_signatures, space=store._number, sent=[sent], remote=remote))


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


def _record_calls(store: Store, session: str) -> None:
    """Calls of a client that continues its list, one of another API, and one that said nothing that can be read."""
    recorder = CallRecorder(lambda _space: store)
    messages, headers = [user("Hi")], CLAUDE_CODE | {"x-claude-code-session-id": session}
    for number in range(2):
        answer = anthropic_answer("Hello", id=f"msg_{number}")
        recorder.record(passed("anthropic", anthropic_body(messages, nonce=number), answer, headers=headers))
        messages += [assistant("Hello"), user(f"And {number}?")]
    recorder.record(passed("responses", {"model": "m", "input": "Hey"}, responses_answer(id="resp_9")))
    recorder.record(passed("chat", b"no JSON", b"{}"))


def _sync(store: Store, other: Store) -> None:
    """Turns, names and titles of other machines, through a remote of one's own and plain ones, some erased there; and
    those of a file."""
    with TemporaryDirectory() as folder, machines(Path(folder)) as make:
        here, desk, laptop, tower = make("here", store), make("desk"), make("laptop"), make("tower")
        there, phone = make("there", other), make("phone", space="other")
        box, disk = url_of(Path(folder) / "box"), url_of(Path(folder) / "disk")
        desk.add(box)
        for guest in (here, laptop):
            invite(desk, guest, box)
        for machine in (here, tower, there, phone):
            with machine:
                machine.store.remotes.add("disk", disk, device=machine.name, plain=True)
        talks = ((desk, here, "box"), (laptop, here, "box"), (tower, here, "disk"), (phone, there, "disk"))
        for machine, hearer, remote in talks:
            _say_elsewhere(machine)
            _exchange(remote, machine, hearer)
        for machine, _, remote in talks:
            machine.store.erase(f"{machine.name}-talk~1", reason="elsewhere")
            _exchange(remote, machine)
        _exchange("box", here)
        _exchange("disk", here, there)
        file = Path(folder) / "talk.hbundle"
        phone.store.add_turn("said once more", bookmark="file-talk")
        phone.store.bundles.create(str(file), ["file-talk"])
        other.bundles.apply(str(file))


def _say_elsewhere(machine: Machine) -> None:
    name = f"{machine.name}-talk"
    machine.store.add_turn(f"said at the {machine.name}", bookmark=name)
    machine.store.add_turn("stays", continues=name)
    machine.store.conversations.set(name, title=f"At the {machine.name}")


def _exchange(remote: str, *among: Machine) -> None:
    for machine in among:
        with machine:
            machine.store.remotes.exchange(remote)
