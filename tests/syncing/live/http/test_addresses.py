"""Where a machine sends its questions and its token, and what it makes of a server's answers."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from itertools import count
from pathlib import Path

import pytest

from headish.bundles.live import LIVE, LiveKind, LiveRefusal, Welcome
from headish.calls import posting
from headish.content.frames import FrameWriter
from headish.errors import (
    HeadishError,
    InvalidAddress,
    InvalidArgument,
    InvalidBundle,
    InvalidKey,
    MissingKey,
    RemoteRefused,
    RemoteUnavailable,
)
from headish.values.access.tokens import make_token
from support.loopback import Loopback
from support.machines import Machine, state
from support.offices import KIND, VARIABLE, Office, both_ways, office_at
from support.relays import make_certificate, relayed


class TestWhereTheTokenIs:
    def test_another_place_is_named_and_what_was_synced_stays(
        self, desk: Machine, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        desk.store.add_turn("asked", bookmark="main")
        desk.sync()
        monkeypatch.setenv("ANOTHER_PLACE", office.token)
        monkeypatch.delenv(VARIABLE)
        with pytest.raises(MissingKey):
            desk.sync()
        desk.set(key_env="ANOTHER_PLACE")
        again = desk.sync()
        assert (again.pulled.stored, again.pulled.known, again.pushed.turns) == (0, 0, 0)

    def test_what_is_none_changes_nothing(self, desk: Machine, tmp_path: Path) -> None:
        with desk as store:
            store.remotes.add("folder", (tmp_path / "folder").as_uri(), plain=True)
            with pytest.raises(InvalidArgument, match="only a server"):
                store.remotes.set("folder", key_env="OTHER", names="x/*")
            for place in ("", "two words", make_token()):
                with pytest.raises(InvalidArgument) as refused:
                    store.remotes.set("box", key_env=place)
                assert "hdsh_" not in str(refused.value)
            assert store.remotes.list()[1].names == "*"
        desk.sync()

    def test_an_address_that_came_with_a_database_gets_no_token_by_it(self, desk: Machine, tmp_path: Path) -> None:
        stranger = Machine(desk.store, tmp_path / "keys of another machine", "stranger")
        with stranger as store:
            with pytest.raises(InvalidArgument, match="has not named its server"):
                store.remotes.set("box", key_env=VARIABLE)
            with pytest.raises(RemoteUnavailable, match="has not named its server"):
                store.remotes.pull("box")


class TestWhatIsNamed:
    """The URL and the token: where they come from, and where they go."""

    def test_what_is_no_server_or_tells_others_is_refused(self, machine: Callable[..., Machine]) -> None:
        with machine("desk") as store:
            for url in (
                "http://office.example",
                "https://ann@office.example",
                "https://office.example/?token=x",
                "https:",
            ):
                with pytest.raises(InvalidAddress):
                    store.remotes.add("box", url, key_env=VARIABLE)
            for key_env in (None, "hdsh_" + "-" * 49, "keyring:"):
                with pytest.raises(InvalidArgument) as caught:
                    store.remotes.add("box", "https://office.example", key_env=key_env)
                assert "hdsh_" not in str(caught.value)
            for url in ("file:///x", "cmd:headish serve-stdio"):
                with pytest.raises(InvalidArgument, match="leave out key_env"):
                    store.remotes.add("box", url, key_env=VARIABLE)
            assert store.remotes.list() == []

    def test_only_a_token_of_headish_is_sent(
        self, machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Loopback() as server, machine("desk") as store:
            store.remotes.add("box", server.url, key_env=VARIABLE)
            for found, error in ((None, MissingKey), ("sk-ant-another-secret", InvalidKey), ("two words", InvalidKey)):
                monkeypatch.delenv(VARIABLE, raising=False)
                if found:
                    monkeypatch.setenv(VARIABLE, found)
                with pytest.raises(error) as caught:
                    store.remotes.exchange("box")
                assert found is None or found not in str(caught.value)
            assert server.requests == []

    def test_a_database_from_elsewhere_sends_no_token(self, desk: Machine, office: Office, tmp_path: Path) -> None:
        stranger = Machine(desk.store, tmp_path / "keys of another machine", "stranger")
        with pytest.raises(RemoteUnavailable, match="has not named"):
            stranger.sync()
        with desk as store:
            assert office.token not in str(store.remotes.list())
        assert office.token.encode() not in (tmp_path / "desk.db").read_bytes()

    def test_certificates_are_checked(
        self, machine: Callable[..., Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        certificate, context = make_certificate(tmp_path)
        with relayed(context=context) as relay:
            url = f"https://127.0.0.1:{relay.port}"
            with office_at(str(tmp_path / "office.db"), "default", tmp_path / "state", public_urls=(url,)) as office:
                relay.target = office.served.settings.port
                desk = machine("desk")
                desk.add(url, key_env=VARIABLE)
                with pytest.raises(RemoteUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
                    desk.sync()
                monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
                both_ways(desk, office.store)


class TestAServer:
    """Whatever answers: nothing of it is believed, and the token goes nowhere else."""

    @pytest.fixture
    def told(self, machine: Callable[..., Machine], office: Office) -> Callable[..., str]:
        """What becomes of a sync with a server that answers as it was told."""
        number = count()

        def ask(server: Loopback, error: type[HeadishError]) -> str:
            desk = machine(f"desk-{next(number)}")
            desk.store.add_turn("here", bookmark="main")
            desk.add(server.url, key_env=VARIABLE)
            before = state(desk.store)
            with pytest.raises(error) as caught:
                desk.sync()
            assert state(desk.store) == before
            assert office.token not in str(caught.value)
            return str(caught.value)

        return ask

    def test_that_leads_elsewhere(self, told: Callable[..., str]) -> None:
        with Loopback() as server, Loopback() as other:
            server.answer(307, {"location": f"{other.url}/sync"})
            assert "redirects are not followed" in told(server, RemoteUnavailable)
            assert (len(server.requests), other.requests) == (1, [])

    def test_that_is_no_headish(self, told: Callable[..., str]) -> None:
        page = [b"<html>hello</html>"]
        with Loopback() as server:
            server.answer(200, {"content-type": "text/html"}, page)
            assert "no store of headish answers there, but text/html" in told(server, RemoteUnavailable)
            server.answer(200, KIND, page)
            assert "does not begin as" in told(server, InvalidBundle)
            server.answer(200, {**KIND, "content-encoding": "gzip"}, page)
            assert "no store of headish" in told(server, RemoteUnavailable)

    def test_that_repeats_the_token_and_a_terminals_codes(self, told: Callable[..., str], office: Office) -> None:
        with Loopback() as server:
            server.answer_json({"detail": f"\x1b[2J{office.token}"}, 403)
            assert told(server, RemoteRefused).endswith("refused (status 403): [2J***")
            said = BytesIO()
            FrameWriter(said, LIVE).write(LiveKind.REFUSED, LiveRefusal("E", f"\x1b[2J{office.token}"))
            server.answer(200, KIND, [said.getvalue()])
            assert told(server, RemoteRefused).endswith("refused (E): [2J***")
            server.answer_json({"detail": "later"}, 503)
            assert "status 503: later" in told(server, RemoteUnavailable)

    def test_that_breaks_off_or_says_nothing(self, told: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
        with Loopback() as server:
            server.answer(200, KIND, [b"headish-live-1\n"], cut=True)
            assert "it broke off" in told(server, RemoteUnavailable)
            server.answer(200, KIND, [b"headish-live-1\n"])
            assert "stopped in the middle" in told(server, RemoteUnavailable)
            server.hang_up()
            told(server, RemoteUnavailable)
            monkeypatch.setattr(posting, "SILENCE_SECONDS", 0.2)
            server.answer(200, KIND, [b"headish-live-1\n"] * 100, delay_seconds=1)
            assert "said nothing for 0.2 seconds" in told(server, RemoteUnavailable)

    def test_that_sends_without_end(self, told: Callable[..., str]) -> None:
        with Loopback() as server:
            server.answer(200, KIND, (b"\0" * 65536 for _ in count()))
            assert "does not begin as" in told(server, InvalidBundle)
            server.answer(200, KIND, (b"headish-live-1\n\x10\xff\xff\xff\xff" + b"\0" * 65536 for _ in count()))
            assert "larger than any that is written" in told(server, InvalidBundle)

    def test_that_closes_a_kept_connection_is_asked_once_more(self, told: Callable[..., str]) -> None:
        said = BytesIO()
        FrameWriter(said, LIVE).write(LiveKind.WELCOME, Welcome(f"{'0' * 32}.5.5.{'0' * 8}", False))
        with Loopback() as server:
            server.hang_up()  # a new one is not
            told(server, RemoteUnavailable)
            assert len(server.requests) == 1
            server.answer(200, KIND, [said.getvalue()])
            server.hang_up()
            server.answer_json({"detail": "here again"}, 403)
            assert "here again" in told(server, RemoteRefused)
            assert [each.body for each in server.requests[2:3]] == [each.body for each in server.requests[3:]]
