from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.houses import House, house_in
from support.looking import Looking, looking_at


@pytest.fixture(scope="session")
def looking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looking]:
    """One browser and one server for all tests of a process: a browser takes seconds to start."""
    with looking_at(tmp_path_factory.mktemp("browser")) as seen:
        yield seen


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_in(tmp_path_factory.mktemp("page")) as made:
        yield made
