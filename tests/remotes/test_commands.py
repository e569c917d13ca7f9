"""URLs of live remotes, and the pipes to the command. Nothing of a URL becomes an option of ssh; silence ends."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from headish.errors import InvalidArgument, RemoteUnavailable
from headish.remotes import commands
from headish.remotes.commands import Command, Pipes, check_command, command_of
from headish.remotes.kinds import is_live

SERVES = "headish serve-stdio"


class TestUrls:
    def test_what_ssh_is_told(self) -> None:
        said = {
            "ssh://box": ["--", "box", SERVES],
            "ssh://box/": ["--", "box", SERVES],
            "ssh://box/srv/a.db": ["--", "box", "headish --db=/srv/a.db serve-stdio"],
            "ssh://box/~/a.db": ["--", "box", "headish --db=./a.db serve-stdio"],
            "ssh://me@my_box:2222/a%20b": ["-p", "2222", "-l", "me", "--", "my_box", "headish '--db=/a b' serve-stdio"],
            "ssh://[::1]:22/a": ["-p", "22", "--", "::1", "headish --db=/a serve-stdio"],
            "ssh://box/a;rm -rf ~": ["--", "box", "headish '--db=/a;rm -rf ~' serve-stdio"],
            "ssh://box/$(id)'": ["--", "box", """headish '--db=/$(id)'"'"'' serve-stdio"""],
        }  # fmt: skip
        for url, wanted in said.items():
            assert command_of(url, "default", trust=False) == ["ssh", "-T", *wanted], url

    def test_a_space_is_named_and_a_device_of_ones_own_says_so(self) -> None:
        asked = command_of("ssh://box", "it's mine", trust=True)[-1]
        assert asked == """headish '--space=it'"'"'s mine' serve-stdio --trust"""

    def test_where_nothing_is_to_change_the_database_is_opened_read_only(self) -> None:
        asked = command_of("ssh://box/a.db", "work", trust=False, writes=False)[-1]
        assert asked == "headish --db=/a.db --space=work --read-only serve-stdio"
        own = "cmd:headish serve-stdio"
        assert command_of(own, "work", trust=False, writes=False) == ["headish", "serve-stdio"]

    def test_a_command_of_ones_own_is_not_read_by_a_shell(self) -> None:
        url = "cmd:ssh -p 22 'my box' /opt/bin/headish serve-stdio; rm $HOME"
        wanted = ["ssh", "-p", "22", "my box", "/opt/bin/headish", "serve-stdio;", "rm", "$HOME"]
        assert command_of(url, "other", trust=True) == wanted

    def test_what_ssh_could_take_for_an_option_is_refused(self) -> None:
        for url in (
            "ssh://-oProxyCommand=touch%20x", "ssh://-oProxyCommand=touch x/a", "ssh://-l@box", "ssh://box:-1/",
            "ssh://-F@-oX/", "ssh://me:word@box/", "ssh:///a", "ssh:box", "ssh://box?x=1", "ssh://box/#a",
            "ssh://b ox/", "ssh://box:22222222/", "ssh://[-o]/", "ssh://a@b@c/", "ssh://$(id)/", "ssh://`id`/", "ssh://box/a\nb",
            "ssh://box/a%0ab", "ssh://box/%00", "cmd:", "cmd:  ", "cmd:'", "cmd:a\0b", "SSH://box",
            "ssh://box:0/", "ssh://box:65536/",
        ):  # fmt: skip
            with pytest.raises(InvalidArgument):
                check_command(url)

    def test_which_urls_are_live(self) -> None:
        assert [is_live(each) for each in ("ssh://box", "cmd:x", "file:///x", "s3://ssh:x")] == [
            True,
            True,
            False,
            False,
        ]


class TestPipes:
    def test_silence_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.05)
        (reads, other), (full_reads, full) = os.pipe(), os.pipe()
        try:
            pipes = Pipes("it", reads, full)
            os.write(other, b"abc")
            assert pipes.read(3) == b"abc"
            with pytest.raises(RemoteUnavailable, match=r"said nothing for 0\.05 seconds"):
                pipes.read(1)
            with pytest.raises(RemoteUnavailable, match="said nothing"):
                pipes.write(b"x" * 10_000_000)
        finally:
            for each in (reads, other, full_reads, full):
                os.close(each)

    def test_what_comes_drop_by_drop_is_no_message(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.3)
        reads, other = os.pipe()
        stopped = threading.Event()

        def beat() -> None:
            while not stopped.wait(0.02):
                os.write(other, b"x" * 25)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            with pytest.raises(RemoteUnavailable, match=r"only a part of a message in 0\.3 seconds"):
                Pipes("it", reads, other).read(16_777_225)
        finally:
            stopped.set()
            thread.join()
            os.close(reads)
            os.close(other)

    def test_a_message_that_takes_longer_than_a_silence_comes_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.3)
        reads, other = os.pipe()
        data = os.urandom(100_000)

        def send() -> None:
            for at in range(0, len(data), 10_000):
                time.sleep(0.1)
                os.write(other, data[at : at + 10_000])

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        try:
            assert Pipes("it", reads, other).read(len(data)) == data
        finally:
            thread.join()
            os.close(reads)
            os.close(other)

    def test_one_that_talks_while_it_takes_nothing_is_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.5)
        (reads, other), (taken, writes) = os.pipe(), os.pipe()
        data, came = os.urandom(500_000), bytearray()

        def work_long() -> None:
            for _ in range(15):
                time.sleep(0.1)
                os.write(other, b"w")
            while len(came) < len(data):
                came.extend(os.read(taken, 65536))

        thread = threading.Thread(target=work_long, daemon=True)
        thread.start()
        pipes = Pipes("it", reads, writes)
        pipes.write(data)
        thread.join()
        assert (bytes(came), pipes.read(15)) == (data, b"w" * 15)
        for each in (reads, other, taken, writes):
            os.close(each)

    def test_one_that_talks_for_ever_and_takes_nothing_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commands, "AT_WORK_SECONDS", 0.5)
        (reads, other), (taken, writes) = os.pipe(), os.pipe()
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(0.02):
                os.write(other, b"w")

        thread = threading.Thread(target=beat)
        thread.start()
        with pytest.raises(RemoteUnavailable, match=r"taken nothing for 0\.5 seconds"):
            Pipes("it", reads, writes).write(b"x" * 500_000)
        ended.set()
        thread.join()
        for each in (reads, other, taken, writes):
            os.close(each)

    def test_one_that_talks_without_end_is_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.3)
        (reads, other), (taken, writes) = os.pipe(), os.pipe()

        def talk() -> None:
            with suppress(OSError):
                while True:
                    os.write(other, b"w" * 65536)

        thread = threading.Thread(target=talk)
        thread.start()
        pipes = Pipes("it", reads, writes)
        with pytest.raises(RemoteUnavailable, match="said nothing"):
            pipes.write(b"x" * 500_000)
        assert len(pipes._buffer) < 1_200_000
        os.close(reads)
        thread.join()
        for each in (other, taken, writes):
            os.close(each)

    def test_one_that_ends_gives_fewer_bytes(self) -> None:
        reads, other = os.pipe()
        pipes = Pipes("it", reads, 1)
        os.write(other, b"abc")
        os.close(other)
        assert (pipes.read(5), pipes.ended, pipes.read(1)) == (b"abc", True, b"")
        os.close(reads)

    def test_one_that_takes_nothing_is_told(self) -> None:
        reads, writes = os.pipe()
        os.close(reads)
        with pytest.raises(RemoteUnavailable, match="takes nothing"):
            Pipes("it", 0, writes).write(b"x")
        os.close(writes)

    def test_megabytes_go_both_ways(self) -> None:
        reads, writes = os.pipe()
        data = os.urandom(3_000_000)
        sender = threading.Thread(target=Pipes("it", 0, writes).write, args=(data,))
        sender.start()
        assert Pipes("it", reads, 1).read(len(data)) == data
        sender.join()
        for each in (reads, writes):
            os.close(each)


class TestCommands:
    def test_one_that_is_not_there(self) -> None:
        with pytest.raises(RemoteUnavailable, match="cannot be started"):
            Command("cmd:x", ["/no/such/program"])

    def test_what_it_says_to_people_is_told_without_control_characters(self) -> None:
        told = "import sys; sys.stderr.write('x' * 200000 + '\\nnot \\x1b[31mfound\\n'); sys.exit(7)"
        with Command("cmd:x", [sys.executable, "-c", told]) as command:
            assert command.pipes.read(1) == b""
            assert command.why("?") == "the command ended with exit code 7: not �[31mfound"

    def test_one_that_does_not_end_is_killed(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(commands, "_END_SECONDS", 0.1)
        stays = (
            "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
            "print(os.getpid(), flush=True); time.sleep(600)"
        )
        with Command("cmd:x", [sys.executable, "-c", stays]) as command:
            number = int(b"".join(iter(lambda: command.pipes.read(1), b"\n")))
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_whether_a_pipe_takes_more_is_told_without_waiting() -> None:
    reads, writes = os.pipe()
    try:
        os.set_blocking(writes, False)
        pipes = Pipes("x", reads, writes)
        told = [pipes.takes()]
        with suppress(BlockingIOError):
            while True:
                os.write(writes, bytes(65536))
        asking = threading.Thread(target=lambda: told.append(pipes.takes()), daemon=True)
        asking.start()
        asking.join(60)
        assert told == [True, False]
    finally:
        os.close(reads)
        os.close(writes)
