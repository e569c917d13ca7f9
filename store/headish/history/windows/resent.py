"""Compare a list that a client sends again with the window that it was given (rule R34, overlays).

A client that was shown a summary sends back the summary, not the turns that it covers. So if the thread contains an
overlay or a turn that is stored hidden, the list is compared message by message with what a model sees. It continues
the turn at which a model sees exactly the known part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from headish.content.drafts import Draft, encode_attributes
from headish.content.encoding import encode_payload
from headish.database.query import Connection
from headish.history.reading.order import arrange, places_before, places_of
from headish.history.reading.walk import walk
from headish.history.windows.resolve import holds_overlays, see_window
from headish.history.windows.view import SeenMessage
from headish.rows.threads.walks import Walked, read_links
from headish.rows.turns import StoredTurn, turn_at
from headish.values.messages import Message
from headish.values.places import Place
from headish.values.turns import OVERLAY, PREAMBLE


def match_window(
    connection: Connection, space: int, place: Place, drafts: Sequence[Draft]
) -> tuple[int, StoredTurn] | None:
    """The number of messages at the beginning of a list that a model sees, and the turn at which it sees exactly these:
    the turn at ``place``, or an earlier one that no overlay follows. None if the thread is seen as it was stored, or no
    such turn exists.

    Cost: one statement that looks at every turn of the thread, without payloads; a walk if it contains an overlay.
    """
    if not holds_overlays(connection, space, place):
        return None
    links = read_links(connection, space, place)
    walked = walk(connection, space, [place], links)
    window, seen = see_window(walked)
    if seen is None:
        return None
    pairs = zip(drafts, window.messages, strict=False)
    matched = sum(1 for _ in takewhile(lambda pair: _says(*pair), pairs))
    places = places_of(arrange([place], links))
    at = _turn_seeing(matched, walked, seen, _last_line(walked, places, links))
    turn = None if at is None else turn_at(connection, space, places[at])
    return None if turn is None else (matched, turn)


def match_changed_prompt(
    connection: Connection, space: int, place: Place, drafts: Sequence[Draft]
) -> tuple[int, dict[int, bytes]] | None:
    """Match a list that repeats the whole window at a place, except for the words of instructions at its beginning.

    Returns the number of messages in the window, and the digests of the turns whose words changed, by the index of the
    message. None if the list differs in anything else, or in nothing.
    Cost: that of a window.
    """
    walked = walk(connection, space, [place])
    window, seen = see_window(walked)
    pairs = [*zip(drafts, window.messages, strict=False)]
    changed = [index for index, pair in enumerate(pairs) if not _says(*pair)]
    lead = sum(1 for _ in takewhile(lambda message: message.role in PREAMBLE, window.messages))
    # A list that shares nothing but instructions with the thread is another conversation.
    if len(drafts) < len(window.messages) or not changed or not changed[-1] < lead < len(window.messages):
        return None
    if not all(_says_otherwise(*pairs[index]) for index in changed):
        return None
    at = range(len(walked)) if seen is None else [each.at for each in seen]
    return len(window.messages), {index: walked[at[index]].digest for index in changed}


def _says_otherwise(draft: Draft, message: Message) -> bool:
    """Whether a draft may differ from a message only in its words, so that an overlay can replace them."""
    said = draft.said
    is_plain = said.type is None and draft.facts.key is None
    return is_plain and said.role == message.role and said.attributes == encode_attributes(message.attributes)


def _says(draft: Draft, message: Message) -> bool:
    """Whether a draft and a message are the same: role, content and attributes."""
    said = draft.said
    return (
        said.role == message.role
        and draft.payload == encode_payload(message.content)
        and said.attributes == encode_attributes(message.attributes)
    )


def _turn_seeing(known: int, walked: Sequence[Walked], seen: Sequence[SeenMessage], first: int) -> int | None:
    """The index of the turn at which a model sees exactly the first ``known`` messages; None if there is none.
    ``first`` is the index at which the last line begins.

    After the last overlay and the last merge, each turn adds its own message, or none if it is hidden.
    """
    if known == len(seen):
        return len(walked) - 1
    # A count of messages identifies a turn only in a straight run without overlays, where each view is a prefix of the
    # next one.
    count = sum(each.at <= first for each in seen)
    if not known or known < count:
        return None
    return first if known == count else seen[known - 1].at


def _last_line(walked: Sequence[Walked], places: Sequence[Place], links: Mapping[int, Sequence[Place]]) -> int:
    """The index at which the last line begins: from there each turn continues only the one before it, and none is an
    overlay."""
    first = len(walked) - 1
    while first and walked[first].type != OVERLAY:
        if [*places_before(places[first], links)] != [places[first - 1]]:
            break
        first -= 1
    return first
