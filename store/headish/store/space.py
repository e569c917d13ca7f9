"""What every part of the door shares: the space, its transactions, and how rows become turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from headish.database.backend import Backend
from headish.database.query import Connection
from headish.errors import CorruptTurn
from headish.history.append import Appended
from headish.history.decode import continues_of, make_turn
from headish.history.find import find_head, find_place
from headish.history.resolve import fold_options
from headish.history.walk import walk_inherited
from headish.rows import listings
from headish.rows.turns import StoredTurn
from headish.values.grammar import parse_headish
from headish.values.ids import IdMint, TurnId
from headish.values.places import Place
from headish.values.turns import Turn

T = TypeVar("T")
Heads = str | Sequence[str]
"""One headish, or several that resolve as if one turn continued them all."""
PAGE_TURNS = 500


class OpenSpace:
    """One space of an open database. ``Store`` is all its halves together."""

    def __init__(self, database: Backend, space: str, number: int, payload_limit_bytes: int) -> None:
        self._database, self._number = database, number
        self._payload_limit_bytes = payload_limit_bytes
        self._mint = IdMint()
        self.space = space

    def options(self, headish: Heads = "@") -> dict[str, Any]:
        """The options of a headish alone, over the sparse index of the turns that set any (R12)."""
        return self._walk(
            headish, lambda connection, places: fold_options(walk_inherited(connection, self._number, places))
        )

    def _read(self, headish: str, work: Callable[[Connection, StoredTurn], T]) -> T:
        parsed = parse_headish(headish)
        return self._database.read(lambda connection: work(connection, find_head(connection, self._number, parsed)))

    def _walk(self, headish: Heads, work: Callable[[Connection, list[Place]], T]) -> T:
        parsed = [parse_headish(each) for each in ([headish] if isinstance(headish, str) else headish)]
        return self._database.read(
            lambda connection: work(connection, [find_place(connection, self._number, each) for each in parsed])
        )

    def _read_after(self, seq: int, count: int) -> list[Turn]:
        """``count`` turns from a commit number on."""
        found: list[Turn] = []
        while len(found) < count:
            start, limit = seq - 1 + len(found), min(PAGE_TURNS, count - len(found))
            page = self._database.read(partial(self._page, seq=start, limit=limit))
            if [number for number, _ in page] != list(range(start + 1, start + 1 + limit)):
                raise CorruptTurn(f"with commit number {start + 1}", "it or one behind it is missing")
            found += [turn for _, turn in page]
        return found

    def _page(self, connection: Connection, seq: int, limit: int) -> list[tuple[int, Turn]]:
        page = listings.turns_after(connection, self._number, seq, limit)
        return list(zip([stored.seq for stored in page], self._complete_all(connection, page), strict=True))

    def _complete_all(self, connection: Connection, stored: Iterable[StoredTurn]) -> list[Turn]:
        known: dict[Place, TurnId] = {}
        listed = list(stored)
        known.update((each.place, each.id) for each in listed)
        return [self._complete(connection, each, known) for each in listed]

    def _complete(
        self, connection: Connection, stored: StoredTurn, known: Mapping[Place, TurnId] | None = None
    ) -> Turn:
        before = (known or {}).get(Place(stored.chain, stored.pos - 1)) if stored.pos else None
        continues = (before,) if before else continues_of(connection, self._number, stored)
        return self._turn(Appended(stored, continues))

    def _turn(self, appended: Appended) -> Turn:
        return make_turn(appended.turn, appended.continues, self.options)
