"""The tests of another folder as a module, for whoever runs them again elsewhere or asks what they call."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).parents[1]


def load(path: str) -> ModuleType:
    """A module of tests, by its path in the folder of all tests."""
    spec = importlib.util.spec_from_file_location(f"again_{Path(path).stem}", TESTS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
