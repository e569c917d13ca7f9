"""Where a turn comes from, before what it says of servers, keys and calls may act here."""

from __future__ import annotations

from headish.rows.elsewhere.arrivals import arrived
from headish.rows.turns import turn_by_id
from headish.store.space import Space
from headish.values.ids import TurnId


def has_arrived(space: Space, turn_id: TurnId) -> bool:
    """Whether a turn came from elsewhere, by a bundle or a remote. Cost: two statements."""
    number = space._number
    stored = space._read(lambda connection: turn_by_id(connection, number, turn_id))
    return stored is not None and space._read(lambda connection: arrived(connection, number, stored.seq))
