"""A machine of a spread database is away, and with it the row that says whether there is an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headish import Store
from headish.database.query import Connection, Query
from headish.errors import DatabaseUnavailable
from headish.history.searching.index import catch_up, keeps_none
from headish.rows.searching.indexing import NO_SPACE
from support.places import Place

T = TypeVar("T")


class WithoutOneMachine:
    """A backend whose connections do not reach the machine that holds the space 0."""

    def __init__(self, store: Store) -> None:
        self._backend = store._backend
        self.read_only, self.has_segments = self._backend.read_only, self._backend.has_segments

    def read(self, work: Callable[[Connection], T]) -> T:
        return self._backend.read(lambda connection: work(Away(connection)))  # type: ignore[arg-type]

    def write(self, work: Callable[[Connection], T]) -> T:
        return self._backend.write(lambda connection: work(Away(connection)))  # type: ignore[arg-type]


class Away:
    """A connection on which every statement of the space 0 fails."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> object:
        method = getattr(self._connection, name)

        def call(query: Query, *values: object, **named: object) -> object:
            if named.get("space") == NO_SPACE:
                raise DatabaseUnavailable("a server", "connection to the remote node failed")
            return method(query, *values, **named)

        return call if name in ("row", "rows", "run") else method


def test_turns_of_a_live_machine_are_indexed_and_found(store: Store) -> None:
    store.add_turns({"content": f"heron {index}"} for index in range(5))
    backend = WithoutOneMachine(store)
    assert not keeps_none(backend)  # type: ignore[arg-type]
    catch_up(backend, store._number)  # type: ignore[arg-type]
    assert len(list(store.search("heron"))) == 5


def test_a_switch_that_can_be_read_holds(place: Place) -> None:
    store = place.open()
    store.add_turn("heron")
    assert not keeps_none(store._backend)
