"""What the tests of this folder share: a server, and short waits."""

from __future__ import annotations

import pytest

from support.asking import KEY


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits are short, and a key for the servers of these tests lies in the environment."""
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)
    monkeypatch.setenv("TEST_KEY", KEY)
