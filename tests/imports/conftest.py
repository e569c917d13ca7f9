"""Fixtures of the importers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headish import Store
from headish.imports import source_files


@pytest.fixture
def memory() -> Iterator[Store]:
    """A store in memory alone, for what the database makes no difference to."""
    with Store.open(":memory:") as store:
        yield store


@pytest.fixture(autouse=True)
def written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of these tests are whole as they are; ``test_running_sessions`` has another fixture of this name."""
    monkeypatch.setattr(source_files, "QUIET_SECONDS", 0)
