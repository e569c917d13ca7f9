"""What a signature of a turn covers."""

from __future__ import annotations

from headish.content.sshsig import THREAD, signed_message
from headish.database.query import Connection
from headish.history.reading.order import arrange
from headish.rows.threads.ranges import seals_of_range
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import StoredTurn


def message_of(connection: Connection, space: int, kind: str, stored: StoredTurn) -> bytes:
    """The bytes that a signature of a kind covers: the seal of a turn, or those of all that leads to it, in walk order.

    Cost: none for a turn; for a thread a statement for each of its branches, and one.
    """
    return signed_message(kind, seals_of(connection, space, stored) if kind == THREAD else [stored.seal])


def seals_of(connection: Connection, space: int, stored: StoredTurn) -> list[bytes]:
    """The seals of the turns that lead to one, in walk order. Cost: as ``message_of`` of a thread."""
    segments = arrange([stored.place], read_links_of(connection, space, [stored.place]))
    return [seal for segment in segments for seal in seals_of_range(connection, space, segment)]
