"""Find the ranges of chains that a search by name or tag covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

import msgspec

from headish.content.records import read_record
from headish.database.query import Connection
from headish.history.reading.versions import find_firsts
from headish.rows.bookmarks import ALL, find_bookmark, list_bookmarks
from headish.rows.searching.matches import subjects_page
from headish.rows.threads.places import grown_chains
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import turn_by_id
from headish.values.ids import as_turn_id
from headish.values.names import stored_name
from headish.values.places import Place

PAGE = 500
Ranges = Mapping[int, list[tuple[int, int]]]
"""For each chain, ranges of positions: from and to, both included."""
END = 2**63 - 1


def is_within(ranges: Ranges, place: Place) -> bool:
    """Whether a place is in one of the ranges."""
    return any(low <= place.pos <= high for low, high in ranges.get(place.chain, ()))


def of_names(connection: Connection, space: int, glob: str) -> Ranges:
    """The turns that lead to a bookmark whose name matches ``glob``. Cost: looks at every bookmark of the space."""
    return leading_to(
        connection, space, [place for name, place in _bookmarks(connection, space) if fnmatchcase(name, glob)]
    )


def of_tag(connection: Connection, space: int, tag: str) -> Ranges:
    """The turns of the conversations with a tag. Cost: looks at every record of a conversation,
    and a few statements for each that has the tag."""
    ends: list[Place] = []
    ranges: dict[int, list[tuple[int, int]]] = {}
    for subject in _tagged(connection, space, tag):
        first = as_turn_id(stored_name(subject))
        turn = None if first is None else turn_by_id(connection, space, first)
        if turn is not None:
            firsts = [each.place for each in find_firsts(connection, space, turn.place)]
            for chain, grown in grown_into(connection, space, firsts).items():
                ranges.setdefault(chain, []).extend(grown)
        elif (place := find_bookmark(connection, space, subject)) is not None:
            ends.append(place)
    for chain, more in leading_to(connection, space, ends).items():
        ranges.setdefault(chain, []).extend(more)
    return ranges


def grown_into(connection: Connection, space: int, firsts: Iterable[Place]) -> Ranges:
    """The turns that grew from places, including the turns there. Cost: one step for each fork after them."""
    ranges: dict[int, list[tuple[int, int]]] = {}
    for _, chain, low in grown_chains(connection, space, list(dict.fromkeys(firsts)), ALL):
        ranges.setdefault(chain, []).append((low, END))
    return ranges


def leading_to(connection: Connection, space: int, ends: Iterable[Place]) -> Ranges:
    """The turns that lead to places, including the turns there."""
    listed = list(dict.fromkeys(ends))
    links = read_links_of(connection, space, listed) if listed else {}
    top: dict[int, int] = {}
    while listed:
        place = listed.pop()
        if place.pos <= top.get(place.chain, -1):
            continue
        # The links belong to the start of the chain, so following them once is enough for all its turns.
        if place.chain not in top:
            listed += links.get(place.chain, ())
        top[place.chain] = place.pos
    return {chain: [(0, pos)] for chain, pos in top.items()}


def _bookmarks(connection: Connection, space: int) -> Iterator[tuple[str, Place]]:
    after = b""
    while page := list_bookmarks(connection, space, prefix=b"", after=after, limit=PAGE):
        for name, _, chain, pos in page:
            yield stored_name(name), Place(chain, pos)
        after = page[-1][0]


def _tagged(connection: Connection, space: int, tag: str) -> Iterator[bytes]:
    after = b""
    while page := subjects_page(connection, space, after, PAGE):
        for subject, data in page:
            try:
                record = read_record(data)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue  # ``verify`` reports it
            if tag in record.tags:
                yield subject
        after = page[-1][0]
