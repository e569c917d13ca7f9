"""A SQLAlchemy connection over one of a driver's: for Alembic, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headish.database.query import SchemaConnection

if TYPE_CHECKING:
    import sqlalchemy

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}


@contextmanager
def alchemy_connection(dialect: str, driver: SchemaConnection) -> Iterator[sqlalchemy.Connection]:
    """A connection that works in the transaction that the driver is in, and neither commits it nor rolls it back.

    Raises: the driver's own errors, not SQLAlchemy's around them.
    """
    import sqlalchemy.exc  # late: it takes longer to import than a command takes to run

    engine = sqlalchemy.create_engine(
        f"{_DRIVERS[dialect]}://", creator=lambda: driver, poolclass=sqlalchemy.StaticPool, pool_reset_on_return=None
    )
    # It looks at a new connection, and rolls back what that has begun.
    vars(engine.dialect).update(do_rollback=_leave, do_commit=_leave)
    try:
        with engine.connect() as connection:
            connection.begin()
            yield connection
    except sqlalchemy.exc.DBAPIError as error:
        if error.orig is None:
            raise
        raise error.orig from error


def _leave(_driver: object) -> None:
    """Whoever opened the connection ends its transaction."""
