"""Verify the turns of a space, in pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

from headish.content.hashes import hash_payload
from headish.database.backend import Backend
from headish.database.query import Connection
from headish.history.writing.proofs import (
    copy_problems_of,
    derive_digest,
    derive_seal,
    record_problems,
    shadowed_key,
    system_of,
)
from headish.rows.counters import read_counter
from headish.rows.elsewhere.arrivals import NEWER_THAN_LATEST, SAID_BEFORE_LATEST
from headish.rows.keys import turns_by_keys
from headish.rows.threads.listings import LINKS_BETWEEN, LINKS_OF_NOTHING, ORPHANS, UNRECEIPTED, count_again, turns_page
from headish.rows.turns import StoredTurn
from headish.values.ids import TurnId
from headish.values.places import Place
from headish.values.results.reports import Problem
from headish.verify.erasures import Receipted

PAGE_TURNS = 1000
_TEXT, _MAYBE_BYTES = (str, type(None)), (bytes, type(None))
COLUMN_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("chain", "pos", "seq"), (int,)),
    **dict.fromkeys(("digest", "hash", "seal"), (bytes,)),
    **dict.fromkeys(("id", "role"), (str,)),
    **dict.fromkeys(("type", "content_type", "supersedes"), _TEXT),
    **dict.fromkeys(("attributes", "inherited", "system", "head", "app", "key"), _MAYBE_BYTES),
    **dict.fromkeys(("cache", "erased"), (int, type(None))),
}
"""The types of a turn's columns. SQLite keeps a value of any type in any column."""
_columns = attrgetter(*COLUMN_TYPES)


class _Parent(NamedTuple):
    """A turn as its child sees it."""

    place: Place
    id: TurnId | None
    digest: bytes | None
    seq: int | None
    ordinal: int = 0


def check_turns(database: Backend, space: int) -> Iterator[tuple[int, list[Problem]]]:
    """Yield the number of turns and the problems of each page, in the order of chains and positions."""
    before: StoredTurn | None = None
    after = Place(-1, -1)
    receipted = Receipted()
    # A page that is not full was the last one when it was read. Going on to an empty page might never end beside a
    # writer.
    full = True
    while full:
        page, links, last_seq = database.read(partial(_read_page, space=space, after=after, receipted=receipted))
        if not page:
            return
        full = len(page) == PAGE_TURNS
        problems: list[Problem] = []
        shadowed: dict[TurnId, bytes] = {}
        last: Place | None = None
        for stored, data in page:
            if not _fit(tuple(map(type, _columns(stored)))):
                before = None  # reported by check_types
                continue
            last = stored.place
            problems += receipted.check(stored, data)
            system = system_of(stored)
            parents = _parents(stored, before, links)
            derives = not receipted.lost_meta(stored)
            for what in _turn_problems(stored, system, parents, last_seq, derives=derives):
                problems.append(Problem(f"turn {stored.id}", what))
            if system and (key := shadowed_key(stored, system)) is not None:
                shadowed[stored.id] = key
            problems += _check_data(stored, data)
            before = stored
        problems += database.read(partial(_check_shadowed, space=space, shadowed=shadowed))
        yield len(page), problems
        # No turn of the page has a place: those of another type sort after all others, and no page can start there.
        if last is None:
            return
        after = last


def _read_page(
    connection: Connection, space: int, after: Place, receipted: Receipted
) -> tuple[list[tuple[StoredTurn, bytes | None]], dict[int, list[_Parent]], int]:
    page = turns_page(connection, space, after, PAGE_TURNS)
    receipted.read(connection, space)  # in the same transaction: somebody may erase while verify runs
    links: dict[int, list[_Parent]] = {}
    if page:
        bounds = {"low": page[0][0].chain, "high": page[-1][0].chain}
        for row in connection.rows(LINKS_BETWEEN, space=space, **bounds):
            links.setdefault(row[0], []).append(_linked(*row[1:]))
    # Read after the page, so that no turn which a writer adds in between is past it.
    return page, links, read_counter(connection, space).seq


def _linked(ordinal: int, chain: int, pos: int, id: TurnId, digest: bytes, seq: int) -> _Parent:
    """The parent of a link. One whose row holds values of other types counts as missing."""
    if isinstance(id, str) and isinstance(digest, bytes) and isinstance(seq, int):
        return _Parent(Place(chain, pos), id, digest, seq, ordinal)
    return _Parent(Place(chain, pos), None, None, None, ordinal)


def _parents(stored: StoredTurn, before: StoredTurn | None, links: dict[int, list[_Parent]]) -> list[_Parent]:
    if stored.pos == 0:
        return links.get(stored.chain, [])
    place = Place(stored.chain, stored.pos - 1)
    if before is None or before.place != place:
        return [_Parent(place, None, None, None)]
    return [_Parent(place, before.id, before.digest, before.seq)]


@cache
def _fit(kinds: tuple[type, ...]) -> bool:
    """Whether a turn's columns may have these types. Cached: nearly all turns have one of a few combinations."""
    return all(issubclass(kind, held) for kind, held in zip(kinds, COLUMN_TYPES.values(), strict=True))


def _turn_problems(
    stored: StoredTurn, system: Mapping[str, Any] | None, parents: Sequence[_Parent], last_seq: int, *, derives: bool
) -> Iterator[str]:
    """Yield the problems of a turn. ``derives`` is false for a turn that lost its meta: its digest and seal can no
    longer be derived, and its receipt says what they were.

    ``system`` is what the turn has under its seal, None if that does not decode: then nothing can be derived either.
    """
    yield from record_problems(stored, decoded="" if system is None else "system")
    if derives and system is not None:
        yield from copy_problems_of(stored, system)
    yield from _position_problems(stored, parents, last_seq)
    if derives and system is not None:
        yield from _hash_problems(stored, system.get("document_name"), parents)


def _check_shadowed(connection: Connection, space: int, shadowed: Mapping[TurnId, bytes]) -> list[Problem]:
    """Check that a key which only the seal has belongs to another turn (rule R45, shadowed keys)."""
    holders = turns_by_keys(connection, space, shadowed.values()) if shadowed else {}
    return [
        Problem(f"turn {turn_id}", "its key is not the one under its seal")
        for turn_id, key in shadowed.items()
        if key not in holders
    ]


def _position_problems(stored: StoredTurn, parents: Sequence[_Parent], last_seq: int) -> Iterator[str]:
    if stored.pos == 0 and stored.chain != stored.seq:
        yield f"it begins chain {stored.chain}, which is not its commit number {stored.seq}"
    if stored.seq > last_seq:
        yield f"its commit number {stored.seq} is past the space's last, {last_seq}"
    if [parent.ordinal for parent in parents] != list(range(len(parents))):
        yield "its links are not numbered from 0 on"
    for parent in parents:
        if parent.id is None:
            yield f"the turn that it continues, at {parent.place.chain}/{parent.place.pos}, is missing"
        elif parent.seq is not None and parent.seq >= stored.seq:
            yield f"it continues {parent.id}, which was stored after it"


def _hash_problems(stored: StoredTurn, document_name: str | None, parents: Sequence[_Parent]) -> Iterator[str]:
    if any(parent.digest is None for parent in parents):
        return  # reported by _position_problems
    if derive_digest(stored, document_name, [each.digest for each in parents if each.digest]) != stored.digest:
        yield "its digest disagrees with what it says: its role, type, attributes, payload or links were altered"
    if derive_seal(stored, stored.digest, [each.id for each in parents if each.id]) != stored.seal:
        yield "its seal disagrees with the record: its id, links, head, cache, options or meta were altered"


def _check_data(stored: StoredTurn, data: object) -> Iterator[Problem]:
    """Check the bytes in the row. Large payloads are stored apart, and each is checked once."""
    if isinstance(data, bytes) and hash_payload(data) != stored.hash:  # another type is reported by check_types
        yield Problem(f"turn {stored.id}", f"its payload hashes to {hash_payload(data).hex()}")


def check_completeness(connection: Connection, space: int) -> list[Problem]:
    """Find what is missing or counted wrong. Commit numbers have no gaps, so a turn that was removed leaves one."""
    problems = [
        Problem(f"turn {turn_id}", "its payload is missing") for (turn_id,) in connection.rows(ORPHANS, space=space)
    ]
    problems += [
        Problem(f"link {chain}/{ordinal}", "the turn that it belongs to is missing")
        for chain, ordinal in connection.rows(LINKS_OF_NOTHING, space=space)
    ]
    counter, counted = read_counter(connection, space), count_again(connection, space)
    if counted.turns != counter.seq:
        problems.append(Problem("space", f"it gave out {counter.seq} commit numbers and holds {counted.turns} turns"))
    problems += [
        Problem(f"turn {turn_id}", "it is erased, and no receipt says so")
        for (turn_id,) in connection.rows(UNRECEIPTED, space=space)
    ]
    newer = connection.row(NEWER_THAN_LATEST, space=space, latest=counter.latest)
    if counter.latest > counter.seq or newer is not None:
        problems.append(Problem("space", f"its newest turn is {counter.latest}, and its last {counter.seq}"))
    elif connection.row(SAID_BEFORE_LATEST, space=space, latest=counter.latest) is not None:
        problems.append(Problem("space", f"its newest turn is {counter.latest}, which came from elsewhere"))
    for name in ("roots", "heads", "given_bytes"):
        stated, actual = getattr(counter, name), getattr(counted, name)
        if stated != actual:
            problems.append(Problem("space", f"its counter says {name} {stated}, and there are {actual}"))
    return problems
