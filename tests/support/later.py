"""Modules that are imported when a test first asks for something of them.

The official SDKs take longer to import than all tests to collect. Used by the tests of providers, which ask them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """A module by its name; its attributes are those of the module, which is imported for the first of them."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # what pytest asks of everything that lies in a module
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)
