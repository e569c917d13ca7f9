"""Fixtures of the importers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headish import Store


@pytest.fixture
def memory() -> Iterator[Store]:
    """A store in memory alone, for what the database makes no difference to."""
    with Store.open(":memory:") as store:
        yield store
