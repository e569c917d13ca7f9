"""A SQLAlchemy connection over one of a driver's: for the schema, Alembic, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy


@contextmanager
def alchemy_connection(name: str, driver: Any) -> Iterator[sqlalchemy.Connection]:
    """A connection that leaves transactions to the driver: begin one inside the block, and commit it.

    ``name`` is SQLAlchemy's, such as ``sqlite``, which looks at the connection first and rolls back what that has
    begun. What was not committed is rolled back at the end; the driver's connection stays open.
    Raises: the driver's own errors, not SQLAlchemy's around them.
    """
    import sqlalchemy.exc  # late: it takes longer to import than a command takes to run

    engine = sqlalchemy.create_engine(
        f"{name}://", creator=lambda: driver, poolclass=sqlalchemy.StaticPool, pool_reset_on_return=None
    )
    try:
        with engine.connect() as connection:
            connection.begin()
            yield connection
    except sqlalchemy.exc.DBAPIError as error:
        if error.orig is None:
            raise
        raise error.orig from error
