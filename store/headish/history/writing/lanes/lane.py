"""A lane: the messages that a client has sent in one conversation, each with its turn.

A lane is remembered from one request to the next, so that nothing of the thread is read. Without a memory it is read
from the database, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from headish.content.forms.parts import Form, Losses
from headish.content.forms.writing import FormEntries, body_of, write_turn
from headish.content.hashes import DigestFields, digest_turn
from headish.content.resending.answers import has_chunks, write_resent
from headish.content.resending.entries import HASH_BYTES, SentEntry, natives_hash
from headish.database.query import Connection
from headish.errors import HeadishError
from headish.history.reading.decode import read_attributes, read_blocks, read_mapping
from headish.history.reading.order import segments_to
from headish.history.windows.states import REPLACE
from headish.history.writing.keys import said_by
from headish.rows.calls import find_call
from headish.rows.threads.ranges import read_range
from headish.rows.turns import StoredTurn
from headish.values.blocks import ContentBlock, Text
from headish.values.ids import TurnId
from headish.values.messages import Message
from headish.values.places import Place
from headish.values.results.calls import decode_facts
from headish.values.results.threads import TranscriptMessage
from headish.values.turns import OVERLAY

SYSTEM = ("system", "developer")
ANSWER_KEY = b"call:"
"""The prefix of the key of a captured answer; the id of its call follows."""


class LaneTurn(NamedTuple):
    """A message of a lane, and its turn.

    ``said`` is a hash of its content; for a replaced system prompt, of the replacement, which is in the turn
    ``overlay``. ``bare`` is a hash of how the client's form writes the turn, None if that is not known. ``raw`` is a
    hash of bytes from the client that were found to be exactly that. ``call`` is the call of a captured answer, which
    the client sends in so many ``chunks``.
    """

    place: Place
    id: TurnId
    role: str
    said: bytes
    bare: bytes | None = None
    raw: bytes | None = None
    call: str | None = None
    overlay: TurnId | None = None
    size_bytes: int = 0
    chunks: int = 1


class Lane(NamedTuple):
    """The turns of a lane. The first ``lead`` are instructions. ``since`` is the number of turns before the last
    overlay, and ``behind`` the overlay's place. ``sent`` is the number of turns in the last request."""

    turns: tuple[LaneTurn, ...] = ()
    lead: int = 0
    since: int = 0
    behind: Place | None = None
    sent: int = 0

    def base(self, known: int) -> Place | None:
        """The place that the message after the first ``known`` ones continues: an overlay there comes in between."""
        if self.behind is not None and known == self.since:
            return self.behind
        return self.turns[known - 1].place if known else None


class LaneForm(NamedTuple):
    """The form in which a client writes, the limit for a stored turn in bytes, and how the texts begin that the client
    writes before the words of a person."""

    form: Form
    limit_bytes: int
    preambles: tuple[str, ...] = ()

    def is_set_up_anew(self, older: Sequence[ContentBlock], newer: Sequence[ContentBlock]) -> bool:
        """Whether two messages differ only in such texts, as from one day to the next."""
        return self._words(older) == self._words(newer)

    def _words(self, blocks: Sequence[ContentBlock]) -> list[ContentBlock]:
        return [each for each in blocks if not (isinstance(each, Text) and each.text.startswith(self.preambles))]


def load_lane(connection: Connection, space: int, client: LaneForm, end: Place) -> Lane:
    """Read the lane that leads to a place. Cost: a statement for its links and one for each chain; reads all its
    payloads."""
    turns: list[LaneTurn] = []
    begins: dict[str, int] = {}
    lead = 0
    first: tuple[ContentBlock, ...] = ()
    since, behind = 0, None
    for segment in segments_to(connection, space, end):
        for each in read_range(connection, space, segment):
            turn, payload = each.turn, each.payload
            whole = payload if isinstance(payload, bytes) and turn.erased is None else None
            if turn.type == OVERLAY:
                at = _replaced(turn, begins)
                if at is not None and (at < lead or client.is_set_up_anew(first, _blocks(turn, whole))):
                    turns[at] = _overlaid(turns[at], turn)
                since, behind = len(turns), turn.place
                continue
            if len(turns) == lead:
                begins[turn.digest.hex()] = lead
                if turn.role in SYSTEM:
                    lead += 1
                else:
                    first = _blocks(turn, whole)
            turns.append(lane_turn(connection, space, client.form, turn, whole))
    return Lane(tuple(turns), lead, since, behind, len(turns))


def is_led_by(lane: Lane, lead: Sequence[SentEntry]) -> bool:
    """Whether a list that begins with these instructions has the present system prompt of a lane."""
    turns = lane.turns[: lane.lead]
    return len(turns) == len(lead) and all(
        turn.raw == entry.hash or turn.bare == entry.bare_hash for turn, entry in zip(turns, lead, strict=True)
    )


def _blocks(stored: StoredTurn, payload: bytes | None) -> tuple[ContentBlock, ...]:
    return () if payload is None else read_blocks(stored, payload)


def _replaced(overlay: StoredTurn, begins: dict[str, int]) -> int | None:
    """The index of the instruction, or of the first message, that an overlay replaces; None if it does not."""
    effect = read_attributes(overlay).overlay
    if effect is None or effect.does != REPLACE or len(effect.covers) != 1:
        return None
    return begins.get(effect.covers[0])


def _overlaid(turn: LaneTurn, overlay: StoredTurn) -> LaneTurn:
    """A turn of the lane with the content of the overlay that replaces it."""
    # How the client writes the new words is not known until it sends them.
    return turn._replace(said=said_there(turn.role, overlay.hash), overlay=overlay.id, bare=None, raw=None)


def said_there(role: str, hash: bytes) -> bytes:
    """The ``said`` of a plain message with a payload hash: a digest without parents, so that it is the same
    everywhere."""
    return digest_turn(DigestFields(role, bytes(hash)), ())[:HASH_BYTES]


def lane_turn(connection: Connection, space: int, form: Form, stored: StoredTurn, payload: bytes | None) -> LaneTurn:
    key = stored.key or b""
    call = key.removeprefix(ANSWER_KEY).decode() if key.startswith(ANSWER_KEY) else None
    said = digest_turn(said_by(stored), ())[:HASH_BYTES]
    natives = None if payload is None else natives_of(connection, space, form, stored, payload, call)
    bare = None if natives is None else natives_hash(natives)
    chunks = len(natives) if natives and call is not None and has_chunks(form) else 1
    return LaneTurn(stored.place, stored.id, stored.role, said, bare, None, call, None, len(payload or b""), chunks)


def natives_of(
    connection: Connection, space: int, form: Form, stored: StoredTurn, payload: bytes, call: str | None
) -> list[Any] | None:
    """The entries that write a turn in a form; for a captured answer, as its client writes it. None if that is not
    known."""
    blocks = read_blocks(stored, payload)
    if call is not None:
        found = find_call(connection, space, call)
        # Only the client knows how it writes an answer, and it has not sent this one back yet.
        how = None if found is None else decode_facts(found.data).resent
        return None if how is None else write_resent(form, blocks, how)
    return write_natives(form, stored, blocks)


def write_natives(form: Form, stored: StoredTurn, blocks: tuple[ContentBlock, ...]) -> list[Any] | None:
    """The entries of a turn in a form; for instructions that the form puts beside the list, their value there. None if
    the form cannot express the turn."""
    message = Message(role=stored.role or None, content=blocks, attributes=read_attributes(stored))
    system = {} if stored.system is None else read_mapping(stored, "system")
    try:
        entries, place = write_turn(form, TranscriptMessage(message, system), Losses(form.name, form.provider))
    # A form that cannot express the turn is not an error here: the message is compared by its content instead.
    except HeadishError:
        return None
    if place is None:
        return entries
    return [body_of(form, FormEntries([], [(place, entry) for entry in entries]))[str(form.system_name)]]
