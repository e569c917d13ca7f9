"""Find the conversations that use a tool: those whose thread contains a call of it, or its result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headish.content.searching.pieces import FIELDS
from headish.content.searching.questions import EVERYTHING
from headish.database.query import Connection
from headish.history.reading.versions import find_firsts
from headish.history.searching.candidates import Criteria, state_of
from headish.history.searching.hits import HitFilter, each_match
from headish.history.searching.scopes import Ranges, grown_into, is_within, leading_to
from headish.rows.searching.indexing import LAST
from headish.rows.turns import turn_by_id
from headish.values.results.conversations import Conversation


class _Way(NamedTuple):
    """The turns of a conversation, and the commit numbers around them, both exclusive."""

    subject: str
    ranges: Ranges
    low: int
    high: int


def subjects_with(connection: Connection, space: int, tool: str, conversations: Iterable[Conversation]) -> set[str]:
    """The subjects of the conversations that use the tool: in a turn that leads to the bookmark, or, without a
    bookmark, in any turn.

    Cost: two statements for each conversation, a few more for one without a bookmark, and one step for each fork on its
    way. Then a search for turns that use the tool, from the newest turn of these conversations back to their first, as
    long as one is undecided. It reads only turns of undecided conversations.
    """
    undecided = [way for each in conversations if (way := _way_of(connection, space, each)).ranges]
    subjects: set[str] = set()
    if not undecided:
        return subjects
    merged: dict[int, list[tuple[int, int]]] = {}
    for way in undecided:
        for chain, ranges in way.ranges.items():
            merged.setdefault(chain, []).extend(ranges)
    # Results that name only their calls need no look: the call is in the same conversation, and names the tool.
    criteria = Criteria(EVERYTHING, frozenset(FIELDS), tool=tool, unnamed=False)
    between = min(way.low for way in undecided), max(way.high for way in undecided)
    wanted = HitFilter(criteria, None, None, (merged,), "time", len(undecided), between)
    for match in each_match(connection, space, wanted, state_of(connection, space)):
        reached = [way for way in undecided if is_within(way.ranges, match.source.place)]
        subjects |= {way.subject for way in reached}
        # Matches come newest first: a conversation that begins after this one can have no more of them.
        undecided = [way for way in undecided if way not in reached and way.low < match.source.seq]
        if not undecided:
            break
        for chain in [chain for way in reached for chain in way.ranges]:
            merged[chain] = [each for way in undecided for each in way.ranges.get(chain, ())]
    return subjects


def _way_of(connection: Connection, space: int, conversation: Conversation) -> _Way:
    # A chain's number is the commit number of its first turn, so the lowest chain is where the conversation begins.
    if conversation.name is not None:
        end = turn_by_id(connection, space, conversation.turn)
        ranges = leading_to(connection, space, [] if end is None else [end.place])
        return _Way(conversation.subject, ranges, min(ranges, default=0) - 1, LAST if end is None else end.seq + 1)
    first = None if conversation.first is None else turn_by_id(connection, space, conversation.first)
    firsts = [] if first is None else find_firsts(connection, space, first.place)
    ranges = grown_into(connection, space, [each.place for each in firsts])
    return _Way(conversation.subject, ranges, min(ranges, default=0) - 1, LAST)
