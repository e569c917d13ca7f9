"""The stream between two stores: who may write and read it, and what becomes of it where it is cut off or altered."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from headish.bundles.live import Hello, LiveKind
from headish.errors import ForeignConflict, HeadishError, InvalidBundle, RemoteUnavailable
from headish.remotes import commands
from headish.remotes.commands import Pipes
from headish.syncing.live import wire as wire_module
from headish.syncing.live.wire import Wire
from support.ends import Ends
from support.lines import line_to
from support.machines import machines, state


class TestTheWire:
    """Two threads of a side use the pipes: one asks or answers, the other says from time to time that it is there."""

    @pytest.fixture
    def ended(self) -> Iterator[list[int]]:
        """Descriptors that are closed at the end."""
        opened: list[int] = []
        yield opened
        for each in opened:
            with suppress(OSError):
                os.close(each)

    def test_nothing_follows_what_could_not_be_written(self, ended: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire_module, "BEAT_SECONDS", 0.02)
        said: list[bytes] = []

        class Failing(Pipes):
            def write(self, data: bytes) -> None:
                said.append(data)
                if data[0] == LiveKind.HELLO:
                    raise RemoteUnavailable("it", "it takes nothing any more")

        (reads, other), (taken, writes) = os.pipe(), os.pipe()
        os.close(other)
        ended += [reads, taken, writes]
        with Wire(Failing("it", reads, writes), "it") as wire:
            with pytest.raises(RemoteUnavailable, match="takes nothing"):
                wire.send(Hello("default", "x"))
            threading.Event().wait(0.3)
            wire.refuse(ForeignConflict("03hazt1vox15wqwz6ee310b73"))
        assert said[-1][0] == LiveKind.HELLO

    def test_one_that_takes_nothing_and_says_that_it_is_there_is_left(
        self, ended: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire_module, "BEAT_SECONDS", 0.02)
        monkeypatch.setattr(wire_module, "EXPLAIN_SECONDS", 0.2)
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.5)
        (reads, other), (taken, writes) = os.pipe(), os.pipe()
        idle, unused = os.pipe()
        ended += [reads, other, writes, idle, unused]
        found: list[type] = []

        def say() -> None:
            try:
                with Wire(Pipes("it", reads, writes), "it") as wire:
                    os.close(taken)
                    wire.send(Hello("default", "x"))
            except HeadishError as error:
                found.append(type(error))

        with Wire(Pipes("us", idle, other), "us"):  # its beats go on
            thread = threading.Thread(target=say, daemon=True)
            thread.start()
            thread.join(10)
            assert found == [RemoteUnavailable]

    def test_only_one_thread_reads_what_the_command_says_to_people(
        self, ended: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire_module, "BEAT_SECONDS", 0.02)
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.5)
        (reads, other), (taken, writes), (errors, tells) = os.pipe(), os.pipe(), os.pipe()
        ended += [reads, other, taken, writes, errors, tells]
        readers: set[int] = set()

        class Noted(Pipes):
            def _drain_once(self) -> bool:
                readers.add(threading.get_ident())
                return super()._drain_once()

        with Wire(Noted("it", reads, writes, errors), "it") as wire:
            os.set_blocking(writes, False)
            with suppress(BlockingIOError):
                while True:
                    os.write(writes, b"x" * 4096)
            os.set_blocking(writes, True)
            for _ in range(10):
                os.write(tells, b"said to people")
                threading.Event().wait(0.02)
            with pytest.raises(RemoteUnavailable, match="said nothing"):
                wire.next()
        assert readers <= {threading.get_ident()}


class TestCutOff:
    """The stream ends at any byte of either direction: what is stored is whole, and the next sync goes on."""

    @pytest.mark.slow
    @pytest.mark.parametrize("direction", ["cut_out", "cut_back"])
    def test_all_along_a_stream(self, tmp_path: Path, direction: str) -> None:
        """At every thirteenth byte: frames have other lengths, so each part of one is met."""
        prepared = tmp_path / "prepared"
        prepared.mkdir()
        with machines(prepared) as machine:
            desk, box = machine("desk"), machine("box").store
            desk.add("cmd:x")
            for store, name in ((desk.store, "main"), (box, "other")):
                store.add_turn("first", bookmark=name)
                store.add_turn("second", continues=name)
                store.conversations.set(name, title=name)
                store.erase(store.add_turn("gone").id, reason="r")
        cuts = 0
        for at in count(0, 13):
            folder = tmp_path / str(at)
            shutil.copytree(prepared, folder)
            with machines(folder) as machine:
                desk, box = machine("desk"), machine("box").store
                try:
                    with line_to(box, **{direction: at}):
                        desk.sync()
                    break
                except RemoteUnavailable:
                    cuts += 1
                assert desk.store.verify().problems == box.verify().problems == ()
                with line_to(box):
                    desk.sync()
                assert state(desk.store) == state(box)
                assert [each.conversations.get("main").record.title for each in (desk.store, box)] == ["main", "main"]
            shutil.rmtree(folder)
        assert cuts > 60, "the cuts have reached names and titles"

    def test_every_frame_that_is_altered_is_noticed(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        desk, box = ends
        desk.store.add_turn("here", bookmark="main")
        box.add_turn("there", bookmark="other")
        # A length that was altered asks for more than comes, and the other store goes on to say that it is at work.
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 2.0)
        monkeypatch.setattr(wire_module, "BEAT_SECONDS", 0.1)
        for at in range(1, 400, 19):

            def altered(reads: int, writes: int, at: int = at) -> None:
                relayed, out = os.pipe()
                thread = threading.Thread(target=_alter, args=(relayed, writes, at))
                thread.start()
                try:
                    box.remotes.answer(reads, out)
                finally:
                    os.close(out)
                    thread.join()
                    os.close(relayed)

            before = state(desk.store)
            with line_to(altered), pytest.raises((InvalidBundle, RemoteUnavailable)), desk as store:
                store.remotes.pull("box")
            assert dict(desk.store.bookmarks) == before[1]
            assert desk.store.verify().problems == ()


def _alter(reads: int, writes: int, at: int) -> None:
    sent = 0
    while data := os.read(reads, 65536):
        if sent <= at < sent + len(data):
            data = data[: at - sent] + bytes([data[at - sent] ^ 1]) + data[at - sent + 1 :]
        sent += len(data)
        try:
            os.write(writes, data)
        except OSError:
            return
