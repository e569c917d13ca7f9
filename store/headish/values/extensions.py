"""Load objects that other packages bring under an entry point group, by name and on first use.

A package that cannot be loaded raises an error that names it, and does not stop the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from headish.errors import BrokenExtension


class Extension(NamedTuple):
    """An entry point of another package, which is imported by ``load`` and not before."""

    group: str
    name: str
    package: str
    entry: EntryPoint

    def load(self) -> Any:
        """Import and return the object of the entry point. Raises: BrokenExtension."""
        try:
            loaded = self.entry.load()
        except Exception as error:  # importing another's package may raise anything
            raise BrokenExtension(self.group, self.name, self.package, error) from error
        if not callable(loaded):
            raise BrokenExtension(self.group, self.name, self.package, TypeError("it cannot be called"))
        return loaded


def list_extensions(group: str) -> list[str]:
    """The names that installed packages bring under a group, sorted. Cost: reads the metadata of every package."""
    return sorted({each.name for each in _extensions(group)})


def find_extension(group: str, name: str) -> Extension | None:
    """The entry point of a name; None if there is none. If several packages bring it, the first by name wins."""
    return min((each for each in _extensions(group) if each.name == name), key=lambda each: each.package, default=None)


def _extensions(group: str) -> Iterator[Extension]:
    for entry in entry_points(group=group):
        yield Extension(group, entry.name, entry.dist.name if entry.dist is not None else entry.value, entry)
