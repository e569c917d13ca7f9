"""A list that a client sends again, compared with the window that it was given (rule R34, overlays).

A client that was shown a summary sends the summary, and knows nothing of what it stands for. So where the thread holds
an overlay, or a turn that is stored hidden, the list is compared message by message with what a model sees, and
continues the turn at which a model sees just the part that is known.
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
    """How many messages of a list, from the first on, a model sees at the turn at a place, or at one before it that no
    overlay follows; and that turn. None if the thread is seen as it was stored, or the list is another.

    Cost: one statement that looks at every turn of the thread, without payloads; where it holds an overlay, a walk.
    """
    if not holds_overlays(connection, space, place):
        return None
    links = read_links(connection, space, place)
    walked = walk(connection, space, [place], links)
    window, seen = see_window(walked)
    if seen is None:
        return None
    pairs = zip(drafts, window.messages, strict=False)
    known = sum(1 for _ in takewhile(lambda pair: _says(*pair), pairs))
    places = places_of(arrange([place], links))
    at = _turn_seeing(known, walked, seen, _last_line(walked, places, links))
    stored = None if at is None else turn_at(connection, space, places[at])
    return None if stored is None else (known, stored)


def match_changed_prompt(
    connection: Connection, space: int, place: Place, drafts: Sequence[Draft]
) -> tuple[int, dict[int, bytes]] | None:
    """How many messages a model sees at the turn at a place, if a list says all of them but for the words of
    instructions that the thread begins with; and which messages those are, by index, each with the digest of the turn
    that stands there. None if the list is another.

    Cost: that of a window.
    """
    walked = walk(connection, space, [place])
    window, seen = see_window(walked)
    pairs = [*zip(drafts, window.messages, strict=False)]
    changed = [index for index, pair in enumerate(pairs) if not _says(*pair)]
    lead = sum(1 for _ in takewhile(lambda message: message.role in PREAMBLE, window.messages))
    # Where nothing but instructions is known, the list is another conversation.
    if len(drafts) < len(window.messages) or not changed or not changed[-1] < lead < len(window.messages):
        return None
    if not all(_says_otherwise(*pairs[index]) for index in changed):
        return None
    at = range(len(walked)) if seen is None else [each.at for each in seen]
    return len(window.messages), {index: walked[at[index]].digest for index in changed}


def _says_otherwise(draft: Draft, message: Message) -> bool:
    """Whether a draft differs from a message by its words alone, so that an overlay can say them."""
    said = draft.said
    is_plain = said.type is None and draft.facts.key is None
    return is_plain and said.role == message.role and said.attributes == encode_attributes(message.attributes)


def _says(draft: Draft, message: Message) -> bool:
    """Whether a draft says what a message does."""
    said = draft.said
    return (
        said.role == message.role
        and draft.payload == encode_payload(message.content)
        and said.attributes == encode_attributes(message.attributes)
    )


def _turn_seeing(known: int, walked: Sequence[Walked], seen: Sequence[SeenMessage], first: int) -> int | None:
    """The turn at which a model sees just the first ``known`` messages, by index; ``first`` begins the last line.

    Behind the last overlay and the last merge each turn adds its own message, or none if it is hidden.
    """
    if known == len(seen):
        return len(walked) - 1
    # Only in a straight run without overlays does a count of messages name one turn: there the view at each turn is a
    # prefix of the next one.
    count = sum(each.at <= first for each in seen)
    if not known or known < count:
        return None
    return first if known == count else seen[known - 1].at


def _last_line(walked: Sequence[Walked], places: Sequence[Place], links: Mapping[int, Sequence[Place]]) -> int:
    """The first turn of the last stretch in which each turn continues only the one before it and none is an overlay."""
    first = len(walked) - 1
    while first and walked[first].type != OVERLAY:
        if [*places_before(places[first], links)] != [places[first - 1]]:
            break
        first -= 1
    return first
