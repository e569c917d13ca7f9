"""Readers of other programs' files, each an iterator of trees: lines in, ``ImportedTree`` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headish.imports.imported import Imported, ImportedTree
from headish.imports.readers import oasst

__all__ = ["IMPORTERS", "Imported", "ImportedTree"]

IMPORTERS: dict[str, Callable[[Iterable[bytes], str], Iterator[ImportedTree]]] = {"oasst": oasst.read_trees}
