"""What a store that answers takes, and from whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from headish import Store
from headish.errors import CorruptRecord, InvalidArgument, RemoteRefused, RemoteUnavailable
from headish.store.keeping.sharing import live, places
from headish.store.keeping.sharing.exchanges import find_remote
from headish.syncing.remotes import SeenLog, read_remotes, store_remote
from support.ends import Ends, outcomes, push, sync
from support.lines import line_to
from support.machines import Machine


class TestWhatIsAllowed:
    """The store that answers says what a caller may do, whatever the caller says."""

    def test_a_reader_is_only_pulled(self, ends: Ends, tmp_path: Any) -> None:
        desk, box = ends
        box.add_turn("there", bookmark="main")
        with Store.open(tmp_path / "box.db", read_only=True) as closed:
            desk.store.add_turn("here", bookmark="own")
            done = sync((desk, closed))
            assert (done.pulled.stored, done.pushed.turns) == (1, 0)
            with pytest.raises(RemoteRefused, match="readers alone"):
                push((desk, closed))
        assert desk.store.remotes.status("box").unsent == 1
        assert "own" not in box.bookmarks

    def test_names_outside_the_pattern_stay(self, ends: Ends) -> None:
        desk, box = ends
        desk.store.add_turn("a", bookmark="team/a")
        desk.store.add_turn("b", bookmark="mine")
        desk.store.conversations.set("mine", title="t")
        done = sync(ends, names="team/*")
        assert outcomes(done.pushed) == {"team/a": "made"}
        assert dict(box.bookmarks).keys() == {"team/a"}
        assert len(list(box.turns())) == 2

    def test_another_space_is_refused(self, machine: Callable[..., Machine]) -> None:
        desk, box = machine("desk", space="work"), machine("box").store
        desk.add("cmd:x")
        with pytest.raises(RemoteRefused, match=r"'work'.*'default'"):
            sync((desk, box))

    def test_a_database_from_elsewhere_names_no_command(self, ends: Ends, tmp_path: Any) -> None:
        desk, _ = ends
        desk.store.add_turn("x")
        stranger = Machine(desk.store, tmp_path / "keys of another machine", "stranger")
        with pytest.raises(RemoteUnavailable, match="has not named its command"):
            sync((stranger, ends[1]))
        with stranger as store:
            assert "has not named" in store.remotes.list()[0].waits

    def test_a_remote_whose_id_is_a_path_runs_no_command_and_takes_no_file(self, ends: Ends, tmp_path: Any) -> None:
        desk, box = ends
        theirs = tmp_path / "repo" / "x.command"
        theirs.parent.mkdir()
        theirs.write_text("cmd:headish serve-stdio")
        remote, number = find_remote(desk.store, "box"), desk.store._number
        for strange in ("../repo/x", str(theirs.with_suffix(""))):
            altered = remote._replace(settings=replace(remote.settings, id=strange))
            desk.store._write(lambda connection, altered=altered: store_remote(connection, number, altered))
            with pytest.raises(InvalidArgument, match="the id of a remote"):
                sync(ends)
            with pytest.raises(InvalidArgument, match="the id of a remote"), desk as store:
                store.remotes.remove("box")
            assert desk.store.remotes._space._read(lambda connection: read_remotes(connection, number)) == []
        assert theirs.exists()
        assert list(box.turns()) == []

    def test_a_remote_whose_device_is_a_path_is_damage(self, ends: Ends) -> None:
        desk, _ = ends
        remote, number = find_remote(desk.store, "box"), desk.store._number
        for altered in (
            remote._replace(settings=replace(remote.settings, device="../../elsewhere")),
            remote._replace(state=replace(remote.state, seen={"..": SeenLog("x")})),
        ):
            desk.store._write(lambda connection, altered=altered: store_remote(connection, number, altered))
            for work in (desk.store.remotes.list, lambda: desk.store.remotes.push("box")):
                with pytest.raises(CorruptRecord, match="the id of a device"), desk:
                    work()

    def test_a_remote_that_is_not_kept_leaves_no_command(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        desk, _ = ends
        before = set(desk.keys.iterdir())

        def fail(*_: Any) -> None:
            raise OSError

        monkeypatch.setattr(places, "store_remote", fail)
        with pytest.raises(OSError), desk as store:
            store.remotes.add("other", "cmd:headish serve-stdio")
        assert set(desk.keys.iterdir()) == before

    def test_who_only_takes_makes_no_database_there(
        self, machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk, box = machine("desk"), machine("box").store
        box.add_turn("there", bookmark="main")
        asked: list[bool] = []
        with line_to(box) as line, desk as store:

            def command(url: str, arguments: list[str]) -> Any:
                asked.append("--read-only" in arguments[-1])
                return line(url, arguments)

            monkeypatch.setattr(live, "Command", command)
            store.remotes.clone("box", "ssh://box/slip.db")
            store.remotes.pull("box")
            store.add_turn("here", continues="main")
            store.remotes.push("box")
            store.remotes.exchange("box")
        assert asked == [True, True, False, False]

    def test_nobody_is_invited_to_a_live_remote(self, ends: Ends) -> None:
        with ends[0] as store, pytest.raises(InvalidArgument, match="has no key to give"):
            store.remotes.invite("box", "age1x")

    def test_what_is_for_places_alone_is_refused(self, ends: Ends, tmp_path: Any) -> None:
        desk, _ = ends
        with desk as store:
            for work in (
                lambda: store.remotes.add("x", "cmd:x", plain=True),
                lambda: store.remotes.add("x", "ssh://h", passphrase=True),
                lambda: store.remotes.set("box", key="0" * 32),
                lambda: store.remotes.invite("box", "age1x"),
                lambda: store.remotes.revoke("box", "box"),
            ):
                with pytest.raises(InvalidArgument):
                    work()
            store.remotes.add("folder", (tmp_path / "folder").as_uri(), plain=True)
            for options in ({"delete": True}, {"force_with_lease": "main"}):
                store.add_turn("x", bookmark="main", force=True)
                with pytest.raises(InvalidArgument, match="is not a store"):
                    store.remotes.push("folder", **options)
