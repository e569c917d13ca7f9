"""Record: a client sends its whole message list again, and only the new tail is stored (rule I4, digest and seal;
rule R4, only the new tail).

The list is recognised by digests: the digest of a message covers all that came before it, so the longest prefix that
is stored is found by looking the digests up, without reading a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.content.hashes import digest_turn
from headish.database.query import Connection
from headish.history.append import Appended, append
from headish.history.decode import continues_of
from headish.history.find import find_turn, parents_of
from headish.history.keys import refuse_known
from headish.history.order import arrange
from headish.rows.bookmarks import find_bookmark, set_bookmark
from headish.rows.payloads import LOOKED_UP
from headish.rows.turns import StoredTurn, turns_by_digest
from headish.rows.walks import read_links
from headish.values.grammar import Headish
from headish.values.ids import Mint
from headish.values.places import Place


def record_list(
    connection: Connection,
    space: int,
    drafts: Sequence[Draft],
    base: Headish | None,
    name: bytes | None,
    mint: Mint,
) -> tuple[Appended, int]:
    """Store what is new of a list; returns the turn of its last message, and how many turns were new.

    Cost: as ``match_stored`` and ``append``.
    """
    before = None if name is None else find_bookmark(connection, space, name)
    stored_base = None if base is None else find_turn(connection, space, base)
    roots = None if name is None or base is not None else thread_roots(connection, space, before)
    digests, fits = digests_of_list(drafts, stored_base), fits_recorded(stored_base, roots)
    matched, tip = match_stored(connection, space, digests, stored_base, fits)
    tail = [_follow(draft, index, tip) for index, draft in enumerate(drafts[matched:])]
    refuse_known(connection, space, tail)
    # By place, not by name: only the bookmark that was given may move (rule R4, only the new tail).
    built = append(connection, space, tail, mint, carries_names=False) if tail else []
    last = built[-1] if built else _as_appended(connection, space, tip)
    if name is not None and before != last.turn.place:
        set_bookmark(connection, space, name, last.turn, drafts[-1].facts.said_at)
    return last, len(built)


def match_stored(
    connection: Connection,
    space: int,
    digests: Sequence[bytes],
    base: StoredTurn | None,
    fits: Callable[[int, StoredTurn], bool],
) -> tuple[int, StoredTurn | None]:
    """How many of a list's digests, from the first on, are stored below ``base``; and the last turn that matches.

    Without a base the list begins with turns that continue nothing. ``fits`` says of each index which of the turns with
    its digest may stand for it; among equals the one with the lowest commit number does.
    Cost: one statement for every 64 digests, and one for each match that begins a chain.
    """
    parents = None if base is None else {base.place}
    matched, tip = 0, base
    for start in range(0, len(digests), LOOKED_UP):
        portion = digests[start : start + LOOKED_UP]
        candidates: dict[bytes, list[StoredTurn]] = {}
        for stored in turns_by_digest(connection, space, dict.fromkeys(portion)):
            candidates.setdefault(stored.digest, []).append(stored)
        for digest in portion:
            level = [
                stored
                for stored in candidates.get(digest, [])
                if fits(matched, stored) and _continues_one(connection, space, stored, parents)
            ]
            if not level:
                return matched, tip
            matched, tip, parents = matched + 1, level[0], {stored.place for stored in level}
    return matched, tip


def fits_recorded(base: StoredTurn | None, roots: set[Place] | None) -> Callable[[int, StoredTurn], bool]:
    """What a re-sent list may match: anything below a ``base``; otherwise what begins with one of the ``roots``.

    Without either, only turns whose whole thread sets no options, because the list sets none either (rule R4, only the
    new tail).
    """

    def fits(index: int, stored: StoredTurn) -> bool:
        if base is not None:
            return True
        if roots is None:
            return stored.inherited is None
        return index > 0 or stored.place in roots

    return fits


def thread_roots(connection: Connection, space: int, place: Place | None) -> set[Place] | None:
    """The turns without parents that the thread of a place begins with; None if there is no place."""
    if place is None:
        return None
    links = read_links(connection, space, place)
    return {Place(chain, 0) for chain, _, _ in arrange([place], links) if chain not in links}


def digests_of_list(drafts: Sequence[Draft], base: StoredTurn | None) -> list[bytes]:
    """The digest of each draft, if each continues the one before, the first one ``base``."""
    digests: list[bytes] = []
    parents = [] if base is None else [base.digest]
    for draft in drafts:
        digests.append(digest_turn(draft.said, parents))
        parents = digests[-1:]
    return digests


def _continues_one(connection: Connection, space: int, stored: StoredTurn, parents: set[Place] | None) -> bool:
    """Whether a turn continues exactly one of the matched ones; if none is matched yet, whether it is a root."""
    own = parents_of(connection, space, stored)
    return not own if parents is None else len(own) == 1 and own[0] in parents


def _follow(draft: Draft, index: int, tip: StoredTurn | None) -> Draft:
    """The draft, continuing the one before it; the first continues the matched tip."""
    before: tuple[int | Place, ...] = (index - 1,) if index else () if tip is None else (tip.place,)
    return replace(draft, continues=before)


def _as_appended(connection: Connection, space: int, tip: StoredTurn | None) -> Appended:
    assert tip is not None  # a list is not empty: what is not new was matched
    return Appended(tip, continues_of(connection, space, tip))
