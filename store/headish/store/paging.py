"""Check the limit and the starting point of a page of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headish.database.query import Connection
from headish.errors import InvalidArgument, shown
from headish.rows.bookmarks import ALL
from headish.rows.turns import StoredTurn

T = TypeVar("T")


def check_limit(limit: int | None, most: int = ALL) -> int:
    """Return the largest number of entries of a list; None means all. Raises: InvalidArgument for less than 1, and for
    more than ``most``."""
    if limit is None:
        return ALL
    # Python takes True for the number 1.
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 < limit <= most:
        raise InvalidArgument(f"limit is a number from 1 {'on' if most == ALL else f'to {most:,}'}, not {shown(limit)}")
    return limit


def check_order(by: str, orders: tuple[str, str], what: str) -> None:
    """Check that a list is ordered in one of its two ways. Raises: InvalidArgument."""
    if by not in orders:
        raise InvalidArgument(f"{what} are listed by {orders[0]} or by {orders[1]}, not by {shown(by)}")


def position(after: str | None, of: Callable[[StoredTurn], T], start: T) -> Callable[[Connection, int], T]:
    """Return a function that finds where a page begins, in the page's own transaction: after the turn that ``after``
    names, or at ``start``.

    Raises: InvalidHeadish; that function raises UnknownTurn.
    """
    if after is None:
        return lambda _connection, _space: start
    from headish.history.reading.find import find_turn  # late: most lists begin at their beginning
    from headish.values.grammar import parse_headish

    parsed = parse_headish(after)
    return lambda connection, space: of(find_turn(connection, space, parsed))
