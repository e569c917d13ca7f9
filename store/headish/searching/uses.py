"""Which conversations use a tool: those with a call of it, or its result, on their way."""

from __future__ import annotations

from bisect import bisect_left

from headish.content.searching.pieces import FIELDS
from headish.content.searching.questions import EVERYTHING
from headish.database.query import Connection
from headish.rows.bookmarks import find_bookmark
from headish.rows.turns import turn_by_id
from headish.searching.candidates import Asked, state_of
from headish.searching.hits import Wanted, each_match
from headish.searching.scopes import Ranges, grown_into, leading_to
from headish.values.results.conversations import Conversation


class Uses:
    """The turns of a space that use a tool.

    Cost: that of the turns that use it, each of which is read; then for each conversation that is asked for two
    statements, and a step for each fork on its way.
    """

    def __init__(self, connection: Connection, space: int, tool: str) -> None:
        self._connection, self._space = connection, space
        asked = Asked(EVERYTHING, frozenset(FIELDS), tool=tool)
        wanted = Wanted(asked, None, None, (), "time", 1)
        self._used: dict[int, list[int]] = {}
        for match in each_match(connection, space, wanted, state_of(connection, space)):
            self._used.setdefault(match.source.place.chain, []).append(match.source.place.pos)
        for positions in self._used.values():
            positions.sort()

    def is_in(self, conversation: Conversation) -> bool:
        """Whether a turn that leads to the bookmark, or any of a conversation without one, uses the tool."""
        return bool(self._used) and any(
            self._has(chain, low, high)
            for chain, ranges in self._ranges_of(conversation).items()
            for low, high in ranges
        )

    def _ranges_of(self, conversation: Conversation) -> Ranges:
        if conversation.name is not None:
            end = find_bookmark(self._connection, self._space, conversation.name.encode())
            return leading_to(self._connection, self._space, [] if end is None else [end])
        first = None if conversation.first is None else turn_by_id(self._connection, self._space, conversation.first)
        return grown_into(self._connection, self._space, [] if first is None else [first.place])

    def _has(self, chain: int, low: int, high: int) -> bool:
        positions = self._used.get(chain, [])
        at = bisect_left(positions, low)
        return at < len(positions) and positions[at] <= high
