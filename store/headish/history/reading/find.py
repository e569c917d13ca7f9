"""Resolve a headish to the turn that it names. Nearly always that is a bookmark or an id, so the other ways import what
they need when they are taken."""

from __future__ import annotations

from collections.abc import Iterator

from headish.database.query import Connection
from headish.errors import Ambiguous, CorruptTurn, UnknownBookmark, UnknownTurn, did_you_mean
from headish.rows.bookmarks import find_bookmark, recent_names
from headish.rows.turns import StoredTurn, links_of, newest_turn, turn_at, turn_by_id, turns_by_prefix
from headish.values.grammar import NEWEST, NO_RANGE, Back, Headish, Parent
from headish.values.limits import CANDIDATES_SHOWN, NAMES_COMPARED, PREFIX_MINIMUM
from headish.values.names import stored_name
from headish.values.places import Place

LARGEST_PORTION = 1024
"""The most forks that one statement steps over."""


def find_turn(connection: Connection, space: int, headish: Headish) -> StoredTurn:
    """The turn that a headish names.

    Cost: one or two index look-ups, and a few more if a suffix steps over many forks.
    Raises: UnknownTurn, Ambiguous.
    """
    turn = _find_base(connection, space, headish)
    for step in headish.steps:
        if isinstance(step, Back):
            turn = _step_back(connection, space, headish, turn, step)
        else:
            turn = _step_to_parent(connection, space, headish, turn, step)
    return turn


def find_place(connection: Connection, space: int, headish: Headish) -> Place:
    """The place of the turn that a headish names; as ``find_turn``, but a bare bookmark costs only one look-up."""
    place = None
    if headish.bookmark is not None:
        place = find_bookmark(connection, space, headish.bookmark.encode())
    return place or find_turn(connection, space, headish).place


def parents_of(connection: Connection, space: int, stored: StoredTurn) -> list[Place]:
    """The places of the turns that ``stored`` continues, in order."""
    if stored.pos:
        return [Place(stored.chain, stored.pos - 1)]
    return links_of(connection, space, stored.chain)


def _find_base(connection: Connection, space: int, headish: Headish) -> StoredTurn:
    if headish.id is not None:
        return _known(headish, turn_by_id(connection, space, headish.id))
    if headish.name == NEWEST:
        return _known(headish, newest_turn(connection, space), "it holds no turn yet")
    # A bookmark wins over everything that looks alike (rule R11): naming it must not start to mean another turn.
    place = _find_place(connection, space, headish)
    if place is not None:
        return _known(headish, turn_at(connection, space, place))
    return (
        _find_handle(connection, space, headish)
        or _find_elsewhere(connection, space, headish)
        or _find_prefix(connection, space, headish)
    )


def _find_place(connection: Connection, space: int, headish: Headish) -> Place | None:
    name = (headish.name or "").encode()
    if headish.past is None:
        return find_bookmark(connection, space, name)
    from headish.rows.moves import past_place

    past = headish.past if isinstance(headish.past, int) else headish.past.timestamp() * 1000
    place = past_place(connection, space, name, past)
    if place is None:
        hint = f"; turns by when they were said: headish log {headish.name} --until TIME"
        problem = "the bookmark's history does not reach back so far, or it was removed then"
        raise UnknownTurn(headish.text, problem + ("" if isinstance(headish.past, int) else hint))
    return place


def _find_handle(connection: Connection, space: int, headish: Headish) -> StoredTurn | None:
    """The turn of a handle; None if the name is not a handle, or no turn has it. A name that a bookmark has or had is
    never read as a handle (rule R25, handles)."""
    from headish.rows.keys import turns_by_handle
    from headish.rows.moves import has_log

    handle, name = headish.handle, headish.name or ""
    if handle is None or has_log(connection, space, name.encode()):
        return None
    turns = turns_by_handle(connection, space, handle.bounds, handle.end, CANDIDATES_SHOWN)
    if len(turns) > 1:
        from headish.history.reading.handles import describe_candidates

        described = describe_candidates(connection, space, turns)
        raise Ambiguous(name, tuple(turn.id for turn in turns), described)
    return turns[0] if turns else None


def _find_elsewhere(connection: Connection, space: int, headish: Headish) -> StoredTurn | None:
    """The turn of another device's bookmark, as of the last read of its remote: ``laptop/main``."""
    from headish.rows.elsewhere.remotes import turns_named_there

    device, _, name = (headish.name or "").encode().partition(b"/")
    # A set: several remotes may carry the log of one device, and mostly agree.
    ids = set(turns_named_there(connection, space, device, name)) if name else set()
    if len(ids) > 1:
        raise Ambiguous(headish.name or "", tuple(sorted(ids)))
    return turn_by_id(connection, space, ids.pop()) if ids else None


def _find_prefix(connection: Connection, space: int, headish: Headish) -> StoredTurn:
    prefix = headish.prefix
    turns = turns_by_prefix(connection, space, prefix, CANDIDATES_SHOWN) if prefix else []
    if len(turns) > 1:
        raise Ambiguous(headish.name or "", tuple(turn.id for turn in turns))
    return turns[0] if turns else _unknown(connection, space, headish)


def _unknown(connection: Connection, space: int, headish: Headish) -> StoredTurn:
    """Refuse a name, and suggest what may have been meant."""
    from headish.rows.moves import has_log

    name = headish.name or ""
    # Ids begin with 0 until the year 2558, so another short word is more likely a misspelt name.
    if len(name) < PREFIX_MINIMUM and name.isascii() and name.isalnum() and name[:1] == "0":
        raise UnknownTurn(headish.text, f"the beginning of an id has at least {PREFIX_MINIMUM} digits")
    if has_log(connection, space, name.encode()):
        raise UnknownTurn(headish.text, f"the bookmark was removed; {name}@{{1}} is where it was")
    if ".." in name:
        raise UnknownTurn(headish.text, NO_RANGE)
    raise UnknownTurn(headish.text, did_you_mean(name, recent_names(connection, space, NAMES_COMPARED)))


def unknown_bookmark(
    connection: Connection, space: int, name: bytes, reason: str = "there is no such bookmark"
) -> UnknownBookmark:
    """The error for a name that is not a bookmark, with the names that may have been meant."""
    missing = stored_name(name)
    hint = did_you_mean(missing, recent_names(connection, space, NAMES_COMPARED))
    return UnknownBookmark(missing, f"{reason}; {hint}" if hint else reason)


def _step_back(connection: Connection, space: int, headish: Headish, stored: StoredTurn, step: Back) -> StoredTurn:
    place, remaining = stored.place, step.steps
    leading = _leading(connection, space, place.chain)
    while remaining > place.pos:
        remaining -= place.pos + 1
        parent = next(leading, None)
        if parent is None:
            raise UnknownTurn(headish.text, "its thread does not go back so far")
        # A chain's number is the commit number of its first turn, so its parents are in chains of lower numbers.
        # Damaged links could otherwise keep this loop running forever.
        if parent.pos < 0 or parent.chain >= place.chain:
            raise CorruptTurn(stored.id, "its thread runs in a circle")
        place = parent
    return _known(headish, turn_at(connection, space, Place(place.chain, place.pos - remaining)))


def _leading(connection: Connection, space: int, chain: int) -> Iterator[Place]:
    """The place that a chain continues first, then the place that its chain continues first, and so on. Reads lazily,
    in portions that grow fourfold."""
    from headish.rows.threads.walks import first_parents

    size = 1  # most suffixes step over one fork at most
    while len(parents := first_parents(connection, space, chain, size)) == size:
        yield from parents
        chain, size = parents[-1].chain, min(4 * size, LARGEST_PORTION)
    yield from parents


def _step_to_parent(
    connection: Connection, space: int, headish: Headish, stored: StoredTurn, step: Parent
) -> StoredTurn:
    if step.number == 0:
        return stored
    parents = parents_of(connection, space, stored)
    if step.number > len(parents):
        raise UnknownTurn(
            headish.text, f"turn {stored.id} continues {len(parents)} turn{'' if len(parents) == 1 else 's'}"
        )
    return _known(headish, turn_at(connection, space, parents[step.number - 1]))


def _known(headish: Headish, stored: StoredTurn | None, reason: str = "") -> StoredTurn:
    if stored is None:
        raise UnknownTurn(headish.text, reason)
    return stored
