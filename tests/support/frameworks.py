"""Frameworks that adapters are for. Where one is not installed, its tests say how they are run.

Used by tests/integrations. The frameworks are imported by the tests that need them, late: they take seconds.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(module: str, package: str) -> list[pytest.MarkDecorator]:
    """The marks of a test module that needs a framework; its tests run in one worker."""
    return [
        pytest.mark.peers,
        pytest.mark.xdist_group(package),
        pytest.mark.skipif(not _is_there(module), reason=not_installed(package)),
    ]


def not_installed(package: str) -> str:
    """Why the tests of a framework are skipped, and what runs them."""
    return f"{package} is not installed here: `make test-peers` installs it in an environment of its own"


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False
