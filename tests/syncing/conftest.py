"""What the tests of this folder share: machines, and two of them that sync through a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.machines import Machine, Pair, invite, machines, url_of


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    with machines(tmp_path) as make:
        yield make


@pytest.fixture
def pair(machine: Callable[..., Machine], tmp_path: Path) -> Pair:
    """The desk and the laptop, whose remote is the folder ``box``."""
    desk, laptop = machine("desk"), machine("laptop")
    url = url_of(tmp_path / "box")
    desk.add(url)
    invite(desk, laptop, url)
    return desk, laptop
