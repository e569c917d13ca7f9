"""Record: a client sends its whole message list again, and only the new tail is stored (rule I4, digest and seal;
rule R4, only the new tail).

A stored turn's parents are stored, and its digest covers theirs. So the stored messages of a list are its first ones,
and looking up a few digests finds the last of them, wherever in the list it is. No thread is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from headish.content.drafts import Draft, as_overlay
from headish.content.hashes import digest_turn
from headish.database.query import Connection
from headish.history.reading.decode import continues_of, read_mapping
from headish.history.reading.find import find_turn, parents_of
from headish.history.reading.order import arrange, last_turns, segments_to
from headish.history.reading.versions import find_root_versions
from headish.history.writing.append import Appended, append
from headish.history.writing.keys import refuse_known
from headish.rows.bookmarks import find_bookmark, set_bookmark
from headish.rows.payloads import LOOKED_UP
from headish.rows.threads.walks import read_inherited, read_links
from headish.rows.turns import At, StoredTurn, places_by_digest, turn_at, turns_by_digest
from headish.rows.upkeep.erasures import count_erased
from headish.rows.upkeep.receipts import has_erasures
from headish.values.grammar import Headish
from headish.values.ids import Mint
from headish.values.places import Place, Segment
from headish.values.turns import PREAMBLE, said_of

TWINS_TRIED = 4
"""The most turns with one digest that are examined one by one. If there are more, every message is looked up."""


Matched = tuple[int, StoredTurn | None]
"""The number of messages of a list that are stored, and the turn of the last of them."""


class ListMatch(NamedTuple):
    """A list to look for: the digest of each message. The first message continues ``base``.

    ``roots`` are the turns that it may begin with. Without base and roots only turns match whose whole threads set no
    options, because the list sets none either (rule R4, only the new tail).
    """

    digests: Sequence[bytes]
    base: StoredTurn | None
    roots: set[Place] | None


def record_list(
    connection: Connection, space: int, drafts: Sequence[Draft], base: Headish | None, name: bytes | None, mint: Mint
) -> tuple[Appended, int, int]:
    """Store the new messages of a list. Returns the turn of its last message, the number of new turns, and the number
    of known turns that are erased (their words are not stored again).

    If the list is not found as it is, it is compared with what a model sees of the thread. Instructions that changed at
    its beginning are laid over the stored ones, if the list repeats everything else of the name's thread.
    Cost: as ``match_recorded`` and ``append``; if the list is not found, as ``match_window`` and
    ``match_changed_prompt``, too.
    """
    before = None if name is None else find_bookmark(connection, space, name)
    stored_base = None if base is None else find_turn(connection, space, base)
    roots = None if name is None or base is not None else thread_roots(connection, space, before)
    wanted = ListMatch(digests_of_list(drafts, stored_base), stored_base, roots)
    matched, tip = match_recorded(connection, space, wanted)
    end = before if stored_base is None else stored_base.place
    # In a thread with overlays a client sends back what it was shown, which has other digests than the stored turns.
    if end is not None and (not matched if base is not None else tip is None or tip.place != end):
        matched, tip = _match_seen(connection, space, drafts, end, (matched, tip))
    laid = 0
    if end is not None and base is None and matched < len(drafts) and drafts[0].said.role in PREAMBLE:
        laid, matched, tip = _lay_prompt(connection, space, drafts, end, (matched, tip), mint)
    tail = [_follow(draft, index, tip) for index, draft in enumerate(drafts[matched:])]
    refuse_known(connection, space, tail)
    # By place, not by name: only the bookmark that was given may move (rule R4, only the new tail).
    built = append(connection, space, tail, mint, carries_names=False).built if tail else []
    last = built[-1] if built else _as_appended(connection, space, tip)
    if name is not None and before != last.turn.place:
        said_at = drafts[-1].facts.said_at if built else said_of(read_mapping(last.turn, "system"))
        set_bookmark(connection, space, name, last.turn, said_at)
    return last, laid + len(built), 0 if tip is None else _count_erased(connection, space, matched, tip)


def _match_seen(connection: Connection, space: int, drafts: Sequence[Draft], end: Place, matched: Matched) -> Matched:
    """Match the list with what a model sees, if the thread contains overlays (rule R34, overlays); else return
    ``matched``."""
    from headish.history.windows.resent import match_window  # late: few lists need a window

    found = match_window(connection, space, end, drafts)
    if found is None:
        return matched
    known, tip = found
    rest = drafts[known:]
    further, last = match_recorded(connection, space, ListMatch(digests_of_list(rest, tip), tip, None))
    return known + further, last


def _lay_prompt(
    connection: Connection, space: int, drafts: Sequence[Draft], end: Place, matched: Matched, mint: Mint
) -> tuple[int, int, StoredTurn | None]:
    """Store overlays for instructions that changed. Returns their number, and the new match; zero and ``matched`` if
    the list differs in more than that."""
    from headish.history.windows.resent import match_changed_prompt  # late: as in ``_match_seen``
    from headish.history.windows.resolve import holds_overlays

    known, tip = matched
    is_edit = any(draft.said.role not in PREAMBLE for draft in drafts[: known + 1])
    found = None
    # Without overlays, a list that differs only after its instructions was edited: its own branch is right, and reading
    # the thread would be in vain.
    if (tip is None or tip.place != end) and (not is_edit or holds_overlays(connection, space, end)):
        found = match_changed_prompt(connection, space, end, drafts)
    if found is None:
        return 0, *matched
    known, changed = found
    base = end
    for index, digest in changed.items():
        overlay = replace(as_overlay(drafts[index], "replace", [digest.hex()]), continues=(base,), cache=False)
        [appended] = append(connection, space, [overlay], mint, carries_names=False).built
        tip, base = appended.turn, appended.turn.place
    return len(changed), known, tip


def match_recorded(connection: Connection, space: int, wanted: ListMatch) -> tuple[int, StoredTurn | None]:
    """The number of messages at the beginning of a list that are stored where it belongs, and the turn of the last one.

    Among equal turns the one with the lowest commit number is taken.
    Cost: one or two statements to find the last known message, however long the list; three or four to see that it
    belongs there. If it does not, as ``match_stored``.
    """
    last, twins = find_last_known(connection, space, wanted.digests)
    if not twins:
        return 0, wanted.base
    # Each twin costs a walk of links: a greeting with which a thousand threads begin would cost a thousand walks.
    for twin in twins if len(twins) <= TWINS_TRIED else ():
        if _belongs(connection, space, wanted, last, twin.place):
            return last + 1, turn_at(connection, space, twin.place)
    return match_by_each(connection, space, wanted)


def match_by_each(connection: Connection, space: int, wanted: ListMatch) -> tuple[int, StoredTurn | None]:
    """``match_recorded`` by looking up every message. Cost: as ``match_stored``."""
    return match_stored(connection, space, wanted.digests, wanted.base, _fits(wanted))


def find_last_known(connection: Connection, space: int, digests: Sequence[bytes]) -> tuple[int, list[At]]:
    """The index of the last digest that is stored, and the places of the turns that have it, in commit order; -1 and no
    places if none is.

    Cost: one statement if the last known message is among the last ``LOOKED_UP // 2``; else one more for each time that
    the length of the list can be divided by that number.
    """
    low, high = 0, len(digests)  # those before low are known, those from high on are not
    last, twins = -1, list[At]()
    while low < high:
        probed = _spread(low, high)
        by_digest: dict[bytes, list[At]] = {}
        for at in places_by_digest(connection, space, [digests[index] for index in probed]):
            by_digest.setdefault(at.digest, []).append(at)
        known = [index for index in probed if digests[index] in by_digest]
        if known:
            last = known[-1]
            low, twins = last + 1, sorted(by_digest[digests[last]], key=lambda at: at.seq)
        # A digest covers its parents, so after an unknown one all are unknown, and the list can be bisected.
        high = min((index for index in probed if index > last), default=high)
    return last, twins


def match_stored(
    connection: Connection,
    space: int,
    digests: Sequence[bytes],
    base: StoredTurn | None,
    fits: Callable[[int, StoredTurn], bool],
) -> tuple[int, StoredTurn | None]:
    """The number of digests at the beginning of a list that are stored after ``base``, and the last turn that matches.

    Without a base the list must begin at a root. ``fits`` decides for an index whether a turn with its digest may
    match; among several, the one with the lowest commit number is taken.
    Cost: one statement for each 64 digests, and one for each match that begins a chain.
    """
    parents = None if base is None else {base.place}
    matched, tip = 0, base
    for start in range(0, len(digests), LOOKED_UP):
        portion = digests[start : start + LOOKED_UP]
        candidates: dict[bytes, list[StoredTurn]] = {}
        for turn in turns_by_digest(connection, space, dict.fromkeys(portion)):
            candidates.setdefault(turn.digest, []).append(turn)
        for digest in portion:
            level = [
                turn
                for turn in candidates.get(digest, [])
                if fits(matched, turn) and _continues_one(connection, space, turn, parents)
            ]
            if not level:
                return matched, tip
            matched, tip, parents = matched + 1, level[0], {turn.place for turn in level}
    return matched, tip


def thread_roots(connection: Connection, space: int, place: Place | None) -> set[Place] | None:
    """The roots of the thread of a place, and their other versions; None if there is no place."""
    if place is None:
        return None
    links = read_links(connection, space, place)
    roots = {Place(chain, 0) for chain, _, _ in arrange([place], links) if chain not in links}
    return roots | find_root_versions(connection, space, roots)


def digests_of_list(drafts: Sequence[Draft], base: StoredTurn | None) -> list[bytes]:
    """The digests that the drafts would have if each continued the one before, and the first one ``base``."""
    digests: list[bytes] = []
    parents = [] if base is None else [base.digest]
    for draft in drafts:
        digests.append(digest_turn(draft.said, parents))
        parents = digests[-1:]
    return digests


def _spread(low: int, high: int) -> list[int]:
    """The indexes of a range to look up: the last ones, because a client mostly adds a few messages, and an even spread
    of the rest."""
    near = max(low, high - LOOKED_UP // 2)
    # Rounded up: one digest too many would not fit into one statement.
    step = -(-(near - low) // (LOOKED_UP // 2)) or 1
    return [*range(low, near, step), *range(near, high)]


def _belongs(connection: Connection, space: int, wanted: ListMatch, last: int, place: Place) -> bool:
    """Whether the turn at a place, which has the digest of message ``last``, is in a thread that the list may
    continue."""
    segments = segments_to(connection, space, place)
    if wanted.base is not None:
        return _place_before(segments, last + 1) == wanted.base.place
    if wanted.roots is not None:
        return Place(segments[0].chain, 0) in wanted.roots
    return not read_inherited(connection, space, [place])


def _count_erased(connection: Connection, space: int, matched: int, tip: StoredTurn) -> int:
    """Count the matched turns that are erased. Cost: one statement; more only if anything in the space was erased."""
    if not matched or not has_erasures(connection, space):
        return 0
    segments = segments_to(connection, space, tip.place)
    return count_erased(connection, space, last_turns(segments, matched))


def _place_before(segments: Sequence[Segment], steps: int) -> Place | None:
    """The place ``steps`` turns before the last one of a thread without merges; None if the thread is shorter."""
    for chain, low, high in reversed(segments):
        if steps <= high - low:
            return Place(chain, high - steps)
        steps -= high - low + 1
    return None


def _fits(wanted: ListMatch) -> Callable[[int, StoredTurn], bool]:
    """Return a test for the turns that a message of the list may match, by the rule of ``ListMatch``. It takes the
    message's index and the turn."""

    def fits(index: int, stored: StoredTurn) -> bool:
        if wanted.base is not None:
            return True
        if wanted.roots is None:
            return stored.inherited is None
        return index > 0 or stored.place in wanted.roots

    return fits


def _continues_one(connection: Connection, space: int, stored: StoredTurn, parents: set[Place] | None) -> bool:
    """Whether a turn continues one of the matched ones and nothing else; or, if none is matched yet, is a root."""
    own = parents_of(connection, space, stored)
    return not own if parents is None else len(own) == 1 and own[0] in parents


def _follow(draft: Draft, index: int, tip: StoredTurn | None) -> Draft:
    """Make a draft continue the one before it; the first continues the matched tip."""
    before: tuple[int | Place, ...] = (index - 1,) if index else () if tip is None else (tip.place,)
    return replace(draft, continues=before)


def _as_appended(connection: Connection, space: int, tip: StoredTurn | None) -> Appended:
    assert tip is not None  # a list is not empty: what is not new was matched
    return Appended(tip, continues_of(connection, space, tip))
