"""Find the names and the heads that reach a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headish.database.query import Connection
from headish.rows.threads.places import ends_of_chains, grown_chains
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.places import Place

GROWN_LIMIT = 2000
"""The most chains that are followed from a turn. If more grew from it, only the names and heads of these are found."""


class Reached(NamedTuple):
    """The bookmarks whose threads contain a turn, and the heads that grew from it."""

    names: tuple[str, ...]
    heads: tuple[TurnId, ...]


def reach(connection: Connection, space: int, places: Iterable[Place]) -> Mapping[Place, Reached]:
    """The names and heads that reach each of the places, those of the first ``GROWN_LIMIT`` chains that grew from it.

    Cost: a statement for each 64 places, which takes one step for each fork after them (one for each place, if those of
    the 64 are more than the limit), and one for the chains that grew from them, which looks at every bookmark of the
    space.
    """
    grown = grown_chains(connection, space, list(dict.fromkeys(places)), GROWN_LIMIT)
    chains = sorted({chain for _, chain, _ in grown})
    names: dict[int, list[tuple[int, bytes]]] = {}
    heads: dict[int, tuple[int, TurnId]] = {}
    for end in ends_of_chains(connection, space, chains):
        if end.name is not None:
            names.setdefault(end.chain, []).append((end.pos, end.name))
        elif end.id is not None:
            heads[end.chain] = (end.pos, end.id)
    collected: dict[Place, tuple[set[str], dict[int, TurnId]]] = {}
    for place, chain, low in grown:
        reached_names, reached_heads = collected.setdefault(place, (set(), {}))
        reached_names.update(stored_name(name) for pos, name in names.get(chain, ()) if pos >= low)
        if chain in heads and heads[chain][0] >= low:
            reached_heads[chain] = heads[chain][1]
    return {
        place: Reached(tuple(sorted(reached_names)), tuple(id for _, id in sorted(reached_heads.items())))
        for place, (reached_names, reached_heads) in collected.items()
    }
