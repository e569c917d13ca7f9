"""Whether a database keeps a search index at all."""

from __future__ import annotations

from functools import partial

from headish.content.searching.words import WORDS_VERSION
from headish.database.backend import Backend
from headish.database.file.fulltext import create_index
from headish.database.query import Connection
from headish.errors import CannotIndex
from headish.rows.upkeep import matches, searches


def keeps_index(connection: Connection) -> bool:
    """Whether searches ask an index: it is not switched off, and the database can have one."""
    return not searches.is_off(connection) and searches.can_index(connection)


def switch(backend: Backend, on: bool) -> None:
    """Switch the index of a database on or off. Either way it is empty afterwards.

    First it is off, so that nobody fills it while it is emptied, one space at a time.
    Raises: CannotIndex.
    """
    if on:
        # The file may have been made by a SQLite that had no FTS5.
        with backend.schema_connection() as connection:
            if not create_index(backend.dialect, connection):
                raise CannotIndex(backend.target)
    backend.write(lambda connection: searches.switch(connection, False, WORDS_VERSION))
    for space in backend.read(matches.all_spaces):
        backend.within(space).write(partial(_drop, space=space))
    if on:
        backend.write(lambda connection: searches.switch(connection, True, WORDS_VERSION))


def _drop(connection: Connection, space: int) -> None:
    # SQLite empties the index of all spaces: from then on, no search takes it for one that holds anything.
    if searches.can_index(connection):
        searches.restart(connection, space, WORDS_VERSION)
    searches.forget_position(connection, space)
