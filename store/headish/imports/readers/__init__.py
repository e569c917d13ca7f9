"""Readers of other programs' files: a folder per family, a module per format. A file in, ``ImportedTree`` out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headish.imports.imported import ImportedTree
from headish.imports.readers.datasets import oasst, records
from headish.imports.sources import Given

READERS: dict[str, Callable[[Given], Iterator[ImportedTree]]] = {
    "oasst": oasst.read_trees,
    "records": records.read_thread,
}
