from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.looking import Looking, looking_at


@pytest.fixture(scope="session")
def looking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looking]:
    """One browser and one server for all tests of a process: a browser takes seconds to start."""
    with looking_at(tmp_path_factory.mktemp("browser")) as seen:
        yield seen
