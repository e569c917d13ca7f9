"""Find what may repeat the words of turns: versions, copies, overlays, and titles of conversations.

Versions, copies and overlays are found by ids and digests, which an erased turn keeps. A title is compared with the
words of turns: once those are erased, only titles of the turn's own conversations can be found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from headish.content.encoding import decode_payload
from headish.content.records import read_record
from headish.database.query import Connection
from headish.errors import InvalidContent
from headish.history.conversations.changing import change_record
from headish.history.conversations.records import ListedConversation, record_of
from headish.history.conversations.times import EMPTY
from headish.history.reading.decode import read_mapping
from headish.history.reading.versions import find_firsts
from headish.rows.bookmarks import ALL
from headish.rows.conversations import every_record, find_record, names_in
from headish.rows.keys import superseding_some, turns_by_ids
from headish.rows.threads.places import grown_chains
from headish.rows.threads.walks import read_places
from headish.rows.turns import StoredTurn, turn_by_id
from headish.rows.upkeep.erasures import Erasable, copies, erasable, living_among, names_logged, overlays
from headish.values import shapes
from headish.values.blocks import join_texts
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import stored_name
from headish.values.places import Place, Segment
from headish.values.results.erasures import Repeat
from headish.values.turns import DOCUMENT

VERSION, COPY, OVERLAY, TITLE = "version", "copy", "overlay", "title"
IMPORT = "import"
"""Where an import notes in ``app`` what the source calls the conversation, as its ``title``."""
_DIGEST = re.compile(rb"[0-9a-f]{64}")
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Repeats(NamedTuple):
    """What may repeat the words of turns. ``uncompared`` counts the titles that could not be compared, because words
    are erased already."""

    found: list[Repeat]
    uncompared: int


def repeats_of(connection: Connection, space: int, turns: Sequence[Erasable]) -> Repeats:
    """Find what may repeat the words of these turns, and what repeats that, and so on. Some of the turns may have been
    erased before; their words then cannot be compared.

    Cost: reads the space twice for each step; if conversations have titles, also the payloads of the turns, and a few
    statements for each turn that was erased before.
    """
    kinds: dict[TurnId, str] = {}
    level = {each.turn.id: each.turn for each in turns}
    reached = list(level.values())
    while level:
        related = dict(_related(connection, space, list(level.values())))
        seen = kinds.keys() | {each.turn.id for each in turns}
        kinds |= (new := {id: kind for id, kind in related.items() if id not in seen})
        level = {id: turn for id in new if (turn := turn_by_id(connection, space, id)) is not None}
        reached += level.values()
    # Titles first: in a space without any, no text has to be read.
    titled = _all_titles(connection, space)
    repeating = _titles(connection, space, reached, titled) if titled else []
    titles = [Repeat(TITLE, stored_name(subject)) for subject in repeating]
    is_silent = any(each.erased is not None for each in reached)
    listed = [*(Repeat(kind, id) for id, kind in kinds.items()), *titles]
    return Repeats(listed, len(titled) - len(repeating) if is_silent else 0)


def turns_of_repeats(connection: Connection, space: int, repeats: Sequence[Repeat]) -> list[Erasable]:
    """The turns among the repeats."""
    ids = [as_turn_id(each.subject) for each in repeats if each.kind != TITLE]
    turns = [turn_by_id(connection, space, id) for id in ids if id is not None]
    places = [each.place for each in turns if each is not None]
    return erasable(connection, space, [Segment(chain, pos, pos) for chain, pos in places])


def take_titles(connection: Connection, space: int, repeats: Sequence[Repeat]) -> int:
    """Erase the titles among the repeats, with those that imports noted. Returns the number of conversations."""
    subjects = [each.subject for each in repeats if each.kind == TITLE]
    for subject in subjects:
        first = as_turn_id(subject)
        conversation = ListedConversation(None if first else subject.encode(), first, first or TurnId(""))
        stored = find_record(connection, space, conversation.subject)
        app = {} if stored is None else dict(record_of(stored).app)
        noted = shapes.record(app.get(IMPORT))
        if "title" in noted:
            app[IMPORT] = {key: value for key, value in noted.items() if key != "title"}
        change_record(connection, space, conversation, {"title": "", "app": app}, None)
    return len(subjects)


def take_records(connection: Connection, space: int, places: Sequence[Place]) -> int:
    """Erase the records of conversations without a name that contained one of the places, and of which nothing is left.
    Returns their number.

    Cost: three statements, one for each 100 records, and one for each 64 conversations of which nothing is left.
    """
    ids = [id for subject, *_ in every_record(connection, space) if (id := as_turn_id(stored_name(subject)))]
    erased = [each for each in turns_by_ids(connection, space, ids).values() if each.erased is not None]
    living = living_among(connection, space, [each.place for each in erased])
    firsts = {each.place: each.id for each in erased if each.place not in living}
    # Only conversations of these turns: an earlier erasure may have left a record on purpose.
    tops = {chain: max(pos for _, pos in at) for chain, at in groupby(sorted(places), attrgetter("chain"))}
    grown = grown_chains(connection, space, list(firsts), ALL) if firsts else ()
    gone = dict.fromkeys(firsts[at] for at, chain, low in grown if tops.get(chain, -1) >= low)
    for id in gone:
        change_record(connection, space, ListedConversation(None, id, id), EMPTY, None)
    return len(gone)


def _related(connection: Connection, space: int, turns: Sequence[Any]) -> Iterator[tuple[TurnId, str]]:
    ids = {each.id: each for each in turns}
    for each in superseding_some(connection, space, ids):
        yield each.id, VERSION
    for turn in turns:
        if turn.supersedes is not None:
            yield turn.supersedes, VERSION
        original = as_turn_id(str(read_mapping(turn, "system").get("copy_of", "")))
        if original is not None:
            yield original, COPY
    for id, system in copies(connection, space):
        if _decode(system).get("copy_of") in ids:
            yield id, COPY
    # An overlay names the turns that it covers by digest. A search in its bytes saves decoding every overlay.
    digests = {turn.digest.hex().encode() for turn in turns}
    for id, attributes in overlays(connection, space):
        if not digests.isdisjoint(_DIGEST.findall(attributes or b"")):
            yield id, OVERLAY


def _all_titles(connection: Connection, space: int) -> dict[bytes, set[str]]:
    """The titles of conversations, by subject, normalised by ``_plain`` for comparison: what each is called now, and
    what an import noted that its source calls it."""
    records = ((subject, read_record(data)) for subject, _, data, *_ in every_record(connection, space))
    titles = ((subject, each.title, shapes.record(each.app.get(IMPORT)).get("title")) for subject, each in records)
    plain = ((subject, {_plain(each) for each in raw if isinstance(each, str)} - {""}) for subject, *raw in titles)
    return {subject: found for subject, found in plain if found}


def _titles(
    connection: Connection, space: int, turns: Sequence[StoredTurn], titled: Mapping[bytes, set[str]]
) -> list[bytes]:
    """The subjects of the conversations whose titles occur in the words of the turns, or contain them, or that contain
    an erased turn."""
    placed = read_places(connection, space, [each.place for each in turns])
    texts = [words for each in placed if (words := _words(each))]
    own = {name for each in turns if each.erased is not None for name in _subjects_of(connection, space, each.place)}
    return [
        subject
        for subject, titles in titled.items()
        if subject in own or any(title in words or words in title for words in texts for title in titles)
    ]


def _subjects_of(connection: Connection, space: int, place: Place) -> Iterator[bytes]:
    """The subjects of the conversations that contain a place: names of bookmarks at or after it, names that were in its
    chain at or after it, and its first turns."""
    yield from names_in(connection, space, place, ALL)
    yield from (name for name, at in names_logged(connection, space, [Place(place.chain, ALL)]) if at.pos >= place.pos)
    yield from (first.id.encode() for first in find_firsts(connection, space, place))


def _words(turn: Any) -> str:
    if not isinstance(turn.payload, bytes):
        return ""
    if turn.type == DOCUMENT:
        return _plain(turn.payload.decode(errors="replace"))
    try:
        return _plain(join_texts(decode_payload(turn.payload)))
    except InvalidContent:
        return ""  # ``verify`` reports it


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("…. ")  # programs cut what they make a title of
