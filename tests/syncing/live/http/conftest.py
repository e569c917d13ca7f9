"""What the tests of this folder share: an office that is served, and a desk whose remote it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.machines import Machine
from support.offices import VARIABLE, Office, office_at


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with office_at(str(tmp_path / "office.db"), "default", tmp_path / "state") as made:
        yield made


@pytest.fixture
def desk(machine: Callable[..., Machine], office: Office) -> Machine:
    """A machine whose remote is the office."""
    made = machine("desk")
    made.add(office.url, key_env=VARIABLE)
    return made
