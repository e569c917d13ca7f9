"""What the tests of this folder share: a desk and a box that answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.ends import Ends
from support.machines import Machine


@pytest.fixture
def ends(machine: Callable[..., Machine]) -> Ends:
    desk, box = machine("desk"), machine("box")
    desk.add("cmd:headish serve-stdio")
    return desk, box.store
