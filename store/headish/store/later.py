"""Functions of a module that is imported when one of them is first called."""

from __future__ import annotations

import os
import sys
import threading
import time
from importlib import import_module
from typing import Any

IMPORT_SECONDS = 5.0
"""The longest time that a fork waits for the imports of other threads."""


class Later:
    """Stands for a package in the body of a class: ``package.module.function`` becomes a method there, and its module
    is imported when the method is first looked up. From then on the class has the function itself.

    A type checker must see the package itself under the same name.
    """

    def __init__(self, module: str, name: str = "") -> None:
        self._module, self._name = module, name

    def __getattr__(self, name: str) -> Later:
        if name.startswith("_"):  # Python and its tools look such names up on any object; they are not modules
            raise AttributeError(name)
        child = Later(f"{self._module}.{self._name}" if self._name else self._module, name)
        setattr(self, name, child)  # kept: the next function of the same module finds it
        return child

    def __set_name__(self, owner: type, method: str) -> None:
        self._owner, self._method = owner, method

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        function = getattr(import_module(self._module), self._name)
        setattr(self._owner, self._method, function)
        return function.__get__(instance, owner)


# Python has no public way to ask who imports what. If these private names are missing, a fork does as without headish.
_locks: dict[str, Any] = getattr(sys.modules["importlib._bootstrap"], "_module_locks", {})
"""The locks of the modules that are being imported, as weak references by module name."""


def wait_for_imports() -> None:
    """Make a fork wait while other threads import modules. A child inherits the import locks that they hold, and no
    thread of its own releases them: it would hang where it imports one of those modules."""
    deadline = time.monotonic() + IMPORT_SECONDS
    while _of_others() and time.monotonic() < deadline:
        time.sleep(0.001)


def forget_imports() -> None:
    """In a child, forget the imports that other threads had begun: they began just before the fork, or took too long.
    The child imports these modules anew."""
    for name in _of_others():
        _locks.pop(name)
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


def _of_others() -> list[str]:
    """The names of the modules that other threads are importing."""
    own = {None, threading.get_ident()}
    return [name for name, lock in list(_locks.items()) if getattr(lock(), "owner", None) not in own]


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(before=wait_for_imports, after_in_child=forget_imports)
