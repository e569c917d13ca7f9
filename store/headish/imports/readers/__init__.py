"""Readers of other programs' files, one module per format: lines in, ``ImportedTree`` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headish.imports.imported import ImportedTree
from headish.imports.readers import oasst, records

READERS: dict[str, Callable[[Iterable[bytes], str], Iterator[ImportedTree]]] = {
    "oasst": oasst.read_trees,
    "records": records.read_thread,
}
