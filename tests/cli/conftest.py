from __future__ import annotations

from pathlib import Path

import pytest

from support.command import Command


@pytest.fixture
def headish(tmp_path: Path) -> Command:
    """The command on an empty place."""
    return Command(str(tmp_path / "cli.db"))
