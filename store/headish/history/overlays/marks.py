"""Whether a thread is seen otherwise than it was stored, found without reading what it says."""

from __future__ import annotations

from collections.abc import Sequence

from headish.database.query import Connection
from headish.rows.threads.walks import read_marked
from headish.values.places import Place
from headish.values.turns import OVERLAY


def holds_overlays(connection: Connection, space: int, place: Place) -> bool:
    """Whether the thread of a turn holds an overlay, or a turn that is stored hidden.

    Cost: one statement that looks at every turn of the thread, without payloads.
    """
    return any(map(_is_marked, read_marked(connection, space, place)))


def _is_marked(row: Sequence[object]) -> bool:
    type, attributes = row[0], row[1]
    return type == OVERLAY or (isinstance(attributes, bytes | memoryview) and b'"hidden":' in bytes(attributes))
