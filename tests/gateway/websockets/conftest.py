"""What the tests of this folder share: a provider with WebSockets, and a gateway before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.gateways import Running, running
from support.sockets import SocketUpstream


@pytest.fixture
def upstream() -> Iterator[SocketUpstream]:
    with SocketUpstream() as started:
        yield started


@pytest.fixture
def gateway(upstream: SocketUpstream, tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, upstream.url) as started:
        yield started
