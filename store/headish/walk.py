"""The turns that lead to a head: each once, parents before children, depth first along ``continues`` (I7)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from headish.canonical import hash_payload
from headish.dialects import Connection
from headish.errors import CorruptTurn
from headish.order import Place, Segment, arrange
from headish.threads import read_inherited, read_links, read_thread, read_tree, read_tree_links
from headish.turns import StoredTurn, turns_of


class Walked(NamedTuple):
    """A turn met on a walk, and its payload; what it continues is told by the places of the others."""

    turn: StoredTurn
    payload: bytes


def walk(connection: Connection, space: int, heads: Sequence[Place]) -> list[Walked]:
    """The turns that lead to the heads, in walk order; several heads count as if one turn continued them all.

    Cost: two statements a head, however long its thread; one step of the database's for each fork.
    Raises: CorruptTurn where a payload disagrees with its address or a turn of the thread is missing.
    """
    links: dict[int, list[Place]] = {}
    chains: dict[int, list[Walked]] = {}
    for head in dict.fromkeys(heads):
        links |= read_links(connection, space, head)
        for chain, walked in _read_chains(connection, space, head):
            if len(walked) > len(chains.get(chain, ())):
                chains[chain] = walked
    return [each for segment in arrange(heads, links) for each in _cut(chains, segment)]


def walk_backwards(connection: Connection, space: int, head: Place) -> Iterator[StoredTurn]:
    """The turns of a walk, last first, without payloads; a range is read when it is reached."""
    for segment in reversed(arrange([head], read_links(connection, space, head))):
        for low in range(segment.high, segment.low - 1, -_PORTION):
            portion = Segment(segment.chain, max(segment.low, low - _PORTION + 1), low)
            yield from reversed(turns_of(connection, space, portion))


def walk_inherited(connection: Connection, space: int, heads: Sequence[Place]) -> list[tuple[str, bytes]]:
    """``(turn id, inherited)`` of the turns that set options on the way to the heads, in walk order.

    Cost: two statements a head, over the sparse index alone.
    """
    links: dict[int, list[Place]] = {}
    found: dict[int, dict[int, tuple[str, bytes]]] = {}
    for head in dict.fromkeys(heads):
        for chain, pos, turn_id, inherited in read_inherited(connection, space, head):
            found.setdefault(chain, {})[pos] = (turn_id, inherited)
        links |= read_links(connection, space, head)
    positions = {chain: sorted(members) for chain, members in found.items()}
    return [
        found[chain][pos]
        for chain, low, high in arrange(heads, links)
        for pos in _between(positions.get(chain, []), low, high)
    ]


def walk_tree(connection: Connection, space: int, place: Place) -> tuple[list[Walked], dict[int, list[Place]]]:
    """All turns of the tree that a place belongs to, in commit order, and the links of its chains."""
    turns = [_checked(*each) for each in read_tree(connection, space, place)]
    return turns, read_tree_links(connection, space, place)


_PORTION = 256


def _read_chains(connection: Connection, space: int, head: Place) -> Iterator[tuple[int, list[Walked]]]:
    turns = sorted(read_thread(connection, space, head), key=lambda pair: (pair[0].chain, pair[0].pos))
    for chain, members in groupby(turns, key=lambda pair: pair[0].chain):
        yield chain, [_checked(turn, payload) for turn, payload in members]


def _cut(chains: dict[int, list[Walked]], segment: Segment) -> list[Walked]:
    chain, low, high = segment
    members = chains.get(chain, [])
    # Positions count from 0 without gaps, so the last member is at its own index, or one of them is missing.
    if len(members) <= high or members[high].turn.pos != high:
        raise CorruptTurn(f"{chain}/{high}", "a turn that others continue is missing")
    return members[low : high + 1]


def _checked(turn: StoredTurn, payload: bytes | None) -> Walked:
    if payload is None or hash_payload(payload) != turn.hash:
        reason = "its payload is missing" if payload is None else "its payload disagrees with its hash"
        raise CorruptTurn(turn.id, reason)
    return Walked(turn, payload)


def _between(positions: list[int], low: int, high: int) -> list[int]:
    return positions[bisect_left(positions, low) : bisect_right(positions, high)]
