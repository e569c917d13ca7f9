"""A server behind a real nginx, with the settings that the how-to gives."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headish.errors import RemoteRefused, RemoteUnavailable
from headish.syncing.live import answering
from support.machines import Machine, state
from support.offices import VARIABLE, Office, both_ways, office_at
from support.proxies import Nginx


@pytest.fixture
def nginx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nginx:
    made = Nginx(tmp_path / "nginx")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.certificate))
    return made


@pytest.fixture
def office(tmp_path: Path, nginx: Nginx) -> Iterator[Office]:
    with office_at(str(tmp_path / "office.db"), "default", tmp_path / "state", public_urls=(nginx.url,)) as made:
        yield made


@pytest.fixture
def desk(machine: Callable[..., Machine], nginx: Nginx, office: Office) -> Machine:
    made = machine("desk")
    made.add(nginx.url, key_env=VARIABLE)
    return made


def test_all_travels_both_ways(nginx: Nginx, office: Office, desk: Machine) -> None:
    with nginx.before(office.served.settings.port):
        both_ways(desk, office.store)


@pytest.mark.slow
def test_what_is_large_travels_and_lies_nowhere_on_the_way(nginx: Nginx, office: Office, desk: Machine) -> None:
    for store in (desk.store, office.store):
        store.add_turns({"content": f"{number} {os.urandom(4_000_000).hex()}"} for number in range(3))
    with nginx.before(office.served.settings.port):
        done = desk.sync()
    assert (done.pulled.stored, done.pushed.turns) == (3, 3)
    assert state(desk.store) == state(office.store)
    assert "buffered to a temporary file" not in nginx.log.read_text()


def test_what_nginx_refuses_or_cannot_reach_is_told_and_goes_on_later(
    nginx: Nginx, office: Office, desk: Machine
) -> None:
    port = office.served.settings.port
    desk.store.add_turn(os.urandom(2_000_000).hex(), bookmark="main")
    with nginx.before(port, client_max_body_size="1m"), pytest.raises(RemoteRefused, match="413"):
        desk.sync()
    with nginx.before(1), pytest.raises(RemoteUnavailable, match="502"):
        desk.sync()
    with nginx.before(port, proxy_set_header="Host elsewhere.example"), pytest.raises(RemoteRefused, match="421"):
        desk.sync()
    with pytest.raises(RemoteUnavailable):
        desk.sync()
    with nginx.before(port):
        assert desk.sync().pushed.turns == 1
    assert state(desk.store) == state(office.store)


@pytest.mark.slow
def test_a_server_that_is_long_at_work_is_waited_for(
    nginx: Nginx, office: Office, desk: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than nginx waits for a silent one: what a store says while it is at work passes at once."""
    from headish.serve.sync import endpoint
    from headish.syncing.live import wire

    monkeypatch.setattr(wire, "BEAT_SECONDS", 0.2)
    monkeypatch.setattr(endpoint, "TOLD_SECONDS", 0.2)
    read_head = answering._read_head

    def read_slowly(*given: object, **named: object) -> object:
        time.sleep(5)
        return read_head(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(answering, "_read_head", read_slowly)
    office.store.add_turn("there", bookmark="main")
    with nginx.before(office.served.settings.port, proxy_read_timeout="2s"):
        assert desk.sync().pulled.stored == 1
