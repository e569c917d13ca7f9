"""Readers of other programs' files: a folder per family, a module per format. A file in, ``ImportedTree`` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headish.imports.imported import ImportedTree
from headish.imports.notes import Notes
from headish.imports.readers.datasets import oasst, records

READERS: dict[str, Callable[[Iterable[bytes], Notes], Iterator[ImportedTree]]] = {
    "oasst": oasst.read_trees,
    "records": records.read_thread,
}
