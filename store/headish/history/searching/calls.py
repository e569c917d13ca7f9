"""Find the tool of a result that names only its call.

The index knows which turns have such results, but not the tool: an entry is derived from its own turn alone, so that it
can be removed with the turn, even if the turns before it are erased. So a search for a tool looks for the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from headish.content.encoding import DECODED_TOGETHER, decode_payload
from headish.database.query import Connection
from headish.errors import HeadishError
from headish.history.searching.entries import SearchableTurn
from headish.rows.threads.walks import Walked, read_links_of, read_places
from headish.values.blocks import ToolUse
from headish.values.places import Place
from headish.values.turns import DOCUMENT

_Found = TypeVar("_Found")
NEAR = 32
"""The number of turns before a result in which its call is looked for. Other results of the same answer may come
between."""


def may_use(said: SearchableTurn, tool: str | None, *, unnamed: bool) -> bool:
    """Whether a turn may use a tool: it calls it, has its result, or with ``unnamed`` has a result that names no
    tool."""
    return tool is None or (unnamed and bool(said.unnamed)) or _uses(said.tools, tool)


def using(
    connection: Connection, space: int, turns: Iterable[tuple[SearchableTurn, _Found]], tool: str
) -> Iterator[_Found]:
    """Pass on what was found in the turns that call a tool or have its result, in their order.

    Cost: for each 64 turns with results that name only their calls, two statements, and one for each step back to the
    calls, at most ``NEAR``.
    """
    listed = iter(turns)
    while portion := list(islice(listed, DECODED_TOGETHER)):
        unnamed = [each for each, _ in portion if each.unnamed and not _uses(each.tools, tool)]
        names = _names(connection, space, unnamed) if unnamed else {}
        for each, found in portion:
            if _uses(each.tools, tool) or _uses(names.get(each.source.seq, ()), tool):
                yield found


def _uses(tools: Iterable[str], tool: str) -> bool:
    return tool.casefold() in {each.casefold() for each in tools}


def _names(connection: Connection, space: int, turns: Sequence[SearchableTurn]) -> dict[int, set[str]]:
    """The tools of the results in turns, by the turns' commit numbers. If several calls have the same id,
    the nearest counts."""
    links = read_links_of(connection, space, [each.source.place for each in turns])
    names: dict[int, set[str]] = {each.source.seq: set() for each in turns}
    unresolved = {each.source.seq: set(each.unnamed) for each in turns}
    at = {each.source.seq: [each.source.place] for each in turns}
    for _ in range(NEAR):
        at = {seq: list(_before(places, links)) for seq, places in at.items() if unresolved[seq]}
        calls = _calls_at(connection, space, {each for places in at.values() for each in places})
        if not calls:
            break
        for seq, places in at.items():
            for place in places:
                tools = calls.get(place, {})
                names[seq] |= {tools[id] for id in unresolved[seq] & tools.keys()}
                unresolved[seq] -= tools.keys()
    return names


def _before(places: Iterable[Place], links: Mapping[int, Sequence[Place]]) -> Iterator[Place]:
    for place in places:
        if place.pos:
            yield Place(place.chain, place.pos - 1)
        else:
            yield from links.get(place.chain, ())


def _calls_at(connection: Connection, space: int, places: Iterable[Place]) -> dict[Place, dict[str, str]]:
    """For each place with a turn, the tools of its calls by the calls' ids."""
    return {each.place: _calls_of(each) for each in read_places(connection, space, places)}


def _calls_of(turn: Walked) -> dict[str, str]:
    if turn.type == DOCUMENT or not isinstance(turn.payload, bytes):
        return {}
    try:
        blocks = decode_payload(turn.payload)
    except HeadishError:
        return {}  # a search goes on; reading the turn and ``verify`` report the damage
    return {block.id: block.name for block in blocks if isinstance(block, ToolUse) and block.id is not None}
