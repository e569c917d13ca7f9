"""Functions of a module that is imported when one of them is first called."""

from __future__ import annotations

import os
import sys
import threading
import time
from importlib import import_module
from typing import Any

IMPORT_SECONDS = 5.0
"""How long a fork waits for imports of other threads."""


class Later:
    """Stands for a package in the body of a class: ``package.module.function`` becomes a method there, and its module
    is imported when the method is first looked up. From then on the function itself stands in the class.

    A type checker must see the package itself under the same name.
    """

    def __init__(self, module: str, name: str = "") -> None:
        self._module, self._name = module, name

    def __getattr__(self, name: str) -> Later:
        if name.startswith("_"):  # what Python and its tools ask every object for is no module
            raise AttributeError(name)
        found = Later(f"{self._module}.{self._name}" if self._name else self._module, name)
        setattr(self, name, found)  # a module is asked for each of its functions
        return found

    def __set_name__(self, owner: type, method: str) -> None:
        self._owner, self._method = owner, method

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        function = getattr(import_module(self._module), self._name)
        setattr(self._owner, self._method, function)
        return function.__get__(instance, owner)


def wait_for_imports() -> None:
    """Let a fork wait while other threads import. A child gets the locks of the modules that they are at, and nobody
    lets these go: it would wait for ever where it needs one of them."""
    deadline = time.monotonic() + IMPORT_SECONDS
    while _others_import() and time.monotonic() < deadline:
        time.sleep(0.001)


def _others_import() -> bool:
    # Python tells nobody else who holds the lock of a module; where it is kept otherwise, nothing is waited for.
    locks = getattr(sys.modules["importlib._bootstrap"], "_module_locks", {})
    owners = {getattr(found(), "owner", None) for found in list(locks.values())}
    return bool(owners - {None, threading.get_ident()})


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(before=wait_for_imports)
