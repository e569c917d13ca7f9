"""Which turns came from elsewhere."""

from __future__ import annotations

from headish import Store
from headish.database.query import Connection
from headish.rows.elsewhere.arrivals import OWN, ArrivalOrigin, add_arrival, arrivals_among, arrived_with

RANGES = [(3, 5), (6, 6), (10, 20)]


def test_arrivals_are_found_by_any_turn_of_theirs(store: Store) -> None:
    def work(connection: Connection) -> None:
        number = store._number
        for first, last in RANGES:
            add_arrival(connection, number, first, last, ArrivalOrigin(OWN))
        for low in range(23):
            for high in range(low, 23):
                found = arrivals_among(connection, number, low, high)
                reaching = [each for each in RANGES if each[0] <= high and each[1] >= low]
                assert [(each.first, each.last) for each in found] == reaching
                seqs = range(low, high + 1)
                came = {seq for seq in seqs for first, last in RANGES if first <= seq <= last}
                assert arrived_with(found, seqs) == came

    store._write(work)
