"""Switch the search index of a database on and off."""

from __future__ import annotations

from functools import partial

from headish.content.searching.words import WORDS_VERSION
from headish.database.backend import Backend
from headish.database.file.fulltext import create_index
from headish.database.query import Connection
from headish.errors import CannotIndex
from headish.rows.searching import indexing, matches


def keeps_index(connection: Connection) -> bool:
    """Whether searches use an index: it is not switched off, and the database can have one."""
    return not indexing.is_off(connection) and indexing.can_index(connection)


def switch(backend: Backend, on: bool) -> None:
    """Switch the index of a database on or off. Either way it is empty afterwards.

    It is switched off first, so that no other process fills it while it is emptied, one space at a time.
    Raises: CannotIndex.
    """
    if on:
        # The database may have been created by a SQLite without FTS5.
        with backend.schema_connection() as connection:
            if not create_index(backend.dialect, connection):
                raise CannotIndex(backend.target)
    backend.write(lambda connection: indexing.switch(connection, False, WORDS_VERSION))
    for space in backend.read(matches.all_spaces):
        backend.within(space).write(partial(_drop, space=space))
    if on:
        backend.write(lambda connection: indexing.switch(connection, True, WORDS_VERSION))


def _drop(connection: Connection, space: int) -> None:
    # On SQLite the first space empties the index of all. Each position is removed, so that no search relies on it.
    if indexing.can_index(connection):
        indexing.restart(connection, space, WORDS_VERSION)
    indexing.forget_position(connection, space)
