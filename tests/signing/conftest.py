from __future__ import annotations

from pathlib import Path

import pytest

from support.signers import Keys


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """A folder with the key of Anna."""
    made = Keys(tmp_path / "keys")
    made.make("anna")
    return made


@pytest.fixture
def signers(keys: Keys) -> Path:
    return keys.signers("anna@x {anna}")
