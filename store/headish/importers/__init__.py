"""Readers of other programs' files, each an iterator of trees: lines in, ``ImportedTree`` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headish.importers import oasst
from headish.importers.trees import Imported, ImportedTree

__all__ = ["IMPORTERS", "Imported", "ImportedTree"]

IMPORTERS: dict[str, Callable[[Iterable[bytes], str], Iterator[ImportedTree]]] = {"oasst": oasst.read_trees}
