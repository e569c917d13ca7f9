"""Record: a client sends its whole message list again, and only the new tail is stored (I4, R4).

The list is recognised by digests: the digest of a message covers all that came before it, so the longest prefix that
is stored is found by looking the digests up, without reading a thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from headish.canonical import digest_turn
from headish.dialects import Connection
from headish.drafts import Draft
from headish.heads import parents_of
from headish.order import Place, arrange
from headish.threads import read_links
from headish.turns import StoredTurn, turns_by_digest


def match_stored(
    connection: Connection,
    space: int,
    drafts: Sequence[Draft],
    base: StoredTurn | None,
    roots: set[Place] | None,
) -> tuple[int, StoredTurn | None]:
    """How many of the drafts, from the first on, are stored below ``base``; and the last turn that matches.

    Without a base the list begins with turns that continue nothing: those among ``roots``, where given; else only
    turns count whose whole thread sets no options, since the list sets none either (R4). Among equals the one with
    the lowest commit number is taken.
    Cost: one statement for every 64 drafts, and one for each match that begins a chain.
    """
    digests = _digests(drafts, base)
    candidates: dict[bytes, list[StoredTurn]] = {}
    for stored in turns_by_digest(connection, space, dict.fromkeys(digests)):
        candidates.setdefault(stored.digest, []).append(stored)
    parents = None if base is None else {base.place}
    matched, tip = 0, base
    for digest in digests:
        level = [
            stored
            for stored in candidates.get(digest, [])
            if _continues_one(connection, space, stored, parents, roots)
            and (base is not None or roots is not None or stored.inherited is None)
        ]
        if not level:
            break
        matched, tip, parents = matched + 1, level[0], {stored.place for stored in level}
    return matched, tip


def thread_roots(connection: Connection, space: int, place: Place | None) -> set[Place] | None:
    """The turns without parents that the thread of a place begins with; None where there is no such place."""
    if place is None:
        return None
    links = read_links(connection, space, place)
    return {Place(chain, 0) for chain, _, _ in arrange([place], links) if chain not in links}


def _digests(drafts: Sequence[Draft], base: StoredTurn | None) -> list[bytes]:
    digests: list[bytes] = []
    parents = [] if base is None else [base.digest]
    for draft in drafts:
        digests.append(digest_turn(draft.said, parents))
        parents = digests[-1:]
    return digests


def _continues_one(
    connection: Connection, space: int, stored: StoredTurn, parents: set[Place] | None, roots: set[Place] | None
) -> bool:
    """Whether a turn continues exactly one of the matched ones; where none is matched yet, whether it is a root."""
    own = parents_of(connection, space, stored)
    if parents is None:
        return not own and (roots is None or stored.place in roots)
    return len(own) == 1 and own[0] in parents
