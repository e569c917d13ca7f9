"""Functions of a module that is imported when one of them is first called."""

from __future__ import annotations

import os
import threading
from importlib import import_module
from typing import Any

# A child that is forked while another thread imports a module waits for ever where it needs that module itself: Python
# gives it the module's lock, which nobody lets go. So a fork waits for the import.
_IMPORTING = threading.RLock()
if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(
        before=_IMPORTING.acquire, after_in_parent=_IMPORTING.release, after_in_child=_IMPORTING.release
    )


class Later:
    """Stands for a module in the body of a class: an attribute of it becomes a method that imports the module."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _Function(self._module, name)


class _Function:
    """Takes itself out of its class when it is first looked up: from then on the function itself stands there."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._method = owner, name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        with _IMPORTING:
            function = getattr(import_module(self._module), self._name)
        setattr(self._owner, self._method, function)
        return function.__get__(instance, owner)
