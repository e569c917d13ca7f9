"""What a program reads of a database in a normal day, all of it. Used by tests/corruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

from headish import Database, Store
from headish.errors import DatabaseError, HeadishError

HEADISHES = ("main", "@", "main@{1}")

OF_A_TURN: tuple[Callable[[Store, str], object], ...] = (
    lambda store, headish: repr(store.get(headish).options),
    lambda store, headish: store.text(headish),
    lambda store, headish: store.resolve(headish),
    lambda store, headish: store.thread(headish),
    lambda store, headish: store.tree(headish),
    lambda store, headish: store.log(headish),
    lambda store, headish: store.children(headish),
    lambda store, headish: store.options(headish),
    lambda store, headish: store.usage(headish),
    lambda store, headish: store.render(headish, "html", branches=True),
)
OF_A_SPACE: tuple[Callable[[Store], object], ...] = (
    lambda store: store.heads(),
    lambda store: list(store.turns()),
    lambda store: store.usage(None),
    lambda store: store.stats(),
    lambda store: store.bookmarks.list(),
    lambda store: store.bookmarks.list(by="recency"),
    lambda store: [store.bookmarks.history(name) for name in ("main", "side", "old")],
    lambda store: [dict(store.pointers), store.pointers.list()],
    lambda store: [store.pointers.history(name) for name in ("milli", "mega")],
    lambda store: [dict(store.tools), store.tools.list()],
    lambda store: store.streams.list(),
    lambda store: store.conversations.list(),
    lambda store: store.conversations.get("side"),
    lambda store: list(store.objects.list("state")),
    lambda store: list(store.follow(wait=False)),
)


def read_all(database: Database) -> list[HeadishError]:
    """The errors of the database that reading raises. Anything but a HeadishError is raised here."""
    return [error for read in _reads(database) if (error := _error_of(read)) is not None]


def _reads(database: Database) -> Iterator[Callable[[], object]]:
    yield database.spaces.list
    for name in ("default", "other"):
        entered: list[Store] = []
        yield partial(_enter, database, name, entered)
        for store in entered:  # one that cannot be entered was an error
            yield from (partial(read, store) for read in OF_A_SPACE)
            yield from (partial(read, store, headish) for read, headish in product(OF_A_TURN, HEADISHES))


def _enter(database: Database, name: str, entered: list[Store]) -> None:
    entered.append(database.store(name, create=False))


def _error_of(read: Callable[[], object]) -> HeadishError | None:
    try:
        read()
    except DatabaseError as error:
        return error
    except HeadishError:
        return None
    return None
