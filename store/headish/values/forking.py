"""State that a process keeps for itself, and that a forked child starts anew.

The child does not have the parent's threads, and one of them may have held a lock at the fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, Self, TypeVar, overload
from weakref import WeakSet

fcntl: Any
"""The system's file locks; None on a system without them, so that every module can be imported there."""
try:
    fcntl = import_module("fcntl")
except ImportError:
    fcntl = None

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value of this process, as ``now``: a lock, a pool, a cache of connections."""

    def __init__(self, make: Callable[[], T]) -> None:
        self.now = make()
        self._make = make
        self._of_parents: list[T] = []
        """Kept in the child: taking down a pool or a connection of the parent would wait, or speak in its name."""
        _per_process.add(self)

    def begin_anew(self) -> None:
        """Make another value; for the child of a fork."""
        self._of_parents.append(self.now)
        self.now = self._make()


_per_process: WeakSet[PerProcess[Any]] = WeakSet()


def _begin_all_anew() -> None:
    for each in list(_per_process):
        each.begin_anew()


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(after_in_child=_begin_all_anew)


class cached_property(Generic[T]):  # named as in functools
    """A method that is called once per object; its result then is an attribute of the object.

    ``functools.cached_property`` of Python 3.11 has one lock for the objects of all threads, and a child whose parent
    forks while another thread has it waits for ever. This one has none, as that of Python 3.12: two threads that ask
    at once may both call the method.
    """

    def __init__(self, method: Callable[[Any], T]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = vars(instance)[self._method.__name__] = self._method(instance)
        return value
