"""Record: a client sends its whole message list again, and only the new tail is stored (rule I4, digest and seal;
rule R4, only the new tail).

The list is recognised by digests: the digest of a message covers all that came before it, so the last message that is
stored tells of all before it, and no thread is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from headish.content.drafts import Draft
from headish.content.hashes import digest_turn
from headish.database.query import Connection
from headish.history.append import Appended, append
from headish.history.decode import continues_of
from headish.history.find import find_turn
from headish.history.keys import refuse_known
from headish.history.matching import Wanted, match_recorded
from headish.history.order import arrange
from headish.rows.bookmarks import find_bookmark, set_bookmark
from headish.rows.turns import StoredTurn
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

    Cost: as ``match_recorded`` and ``append``.
    """
    before = None if name is None else find_bookmark(connection, space, name)
    stored_base = None if base is None else find_turn(connection, space, base)
    roots = None if name is None or base is not None else thread_roots(connection, space, before)
    wanted = Wanted(digests_of_list(drafts, stored_base), stored_base, roots)
    matched, tip = match_recorded(connection, space, wanted)
    tail = [_follow(draft, index, tip) for index, draft in enumerate(drafts[matched:])]
    refuse_known(connection, space, tail)
    # By place, not by name: only the bookmark that was given may move (rule R4, only the new tail).
    built = append(connection, space, tail, mint, carries_names=False) if tail else []
    last = built[-1] if built else _as_appended(connection, space, tip)
    if name is not None and before != last.turn.place:
        set_bookmark(connection, space, name, last.turn, drafts[-1].facts.said_at)
    return last, len(built)


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


def _follow(draft: Draft, index: int, tip: StoredTurn | None) -> Draft:
    """The draft, continuing the one before it; the first continues the matched tip."""
    before: tuple[int | Place, ...] = (index - 1,) if index else () if tip is None else (tip.place,)
    return replace(draft, continues=before)


def _as_appended(connection: Connection, space: int, tip: StoredTurn | None) -> Appended:
    assert tip is not None  # a list is not empty: what is not new was matched
    return Appended(tip, continues_of(connection, space, tip))
