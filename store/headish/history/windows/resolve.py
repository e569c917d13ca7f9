"""Resolve walked turns into a context window; look for overlays before a walk (``holds_overlays``, ``is_covered``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING

import msgspec

from headish.content.unfinished import without_partial
from headish.database.query import Connection
from headish.history.reading.decode import read_all_blocks, read_messages
from headish.history.reading.options import resolve_options
from headish.rows.threads.walks import Walked, read_marked, read_marked_within
from headish.values.blocks import Erased, erased_in
from headish.values.messages import Attributes, ContextWindow, Note
from headish.values.places import Place, Segment
from headish.values.turns import OVERLAY

if TYPE_CHECKING:
    from headish.history.windows.view import SeenMessage


def resolve_window(walked: Sequence[Walked], *, raw: bool = False) -> ContextWindow:
    """The context window of a walk: one message per turn, and the options of all turns, merged in walk order (rule I8,
    options merge).

    Overlays and hidden turns take effect, each with a note (rule R34, overlays); ``raw`` shows every turn as it was
    stored. Blocks that were cut off (rule R21, cut-off calls) and erased messages are left out, with notes.
    Raises: CorruptTurn if a row does not decode.
    """
    return see_window(walked, raw=raw)[0]


def see_window(walked: Sequence[Walked], *, raw: bool = False) -> tuple[ContextWindow, list[SeenMessage] | None]:
    """``resolve_window``, and for each message the turns that it shows; None if every turn is one message."""
    contents = read_all_blocks(walked)
    is_marked = is_overlaid(walked)
    # Nearly every thread takes this way; it must not pay for overlays that it does not have.
    if not is_marked and Erased not in {type(turn.payload) for turn in walked}:
        messages = tuple(read_messages(walked, contents))
        return without_partial(ContextWindow(messages, resolve_options(walked))), None
    from headish.history.windows.view import View, see, see_originals  # late: it imports the rules of overlays

    view = see(walked, contents) if is_marked and not raw else View(see_originals(walked, contents), [])
    seen = [each for each in view.seen if erased_in(each.message.content) is None]
    notes = (*view.notes, *_erased_notes(view.seen))
    messages = tuple(each.message for each in seen)
    return without_partial(ContextWindow(messages, resolve_options(walked), notes)), seen


def _erased_notes(seen: Iterable[SeenMessage]) -> Iterator[Note]:
    """A note for each message that is left out because it was erased. The effect of an erased overlay remains."""
    for message in (each.message for each in seen):
        mark = erased_in(message.content)
        if mark is not None:
            yield Note(f"a message that was {mark} is left out", message.turn)


def is_overlaid(walked: Sequence[Walked]) -> bool:
    """Whether a walk contains an overlay or a turn that is stored hidden."""
    # A plain loop that decodes nothing, because every turn of every resolve passes here. A false hit in the bytes, such
    # as a name with these letters, only costs the slower way.
    for turn in walked:
        if turn.type == OVERLAY or (turn.attributes is not None and b'"hidden":' in turn.attributes):
            return True
    return False


def holds_overlays(connection: Connection, space: int, place: Place) -> bool:
    """Whether the thread of a turn contains an overlay or a turn that is stored hidden.

    Cost: one statement that looks at every turn of the thread, without payloads.
    """
    return any(map(is_marked, read_marked(connection, space, place)))


def is_covered(connection: Connection, space: int, digests: Set[str], segments: Iterable[Segment]) -> bool:
    """Whether an overlay in these ranges covers a turn with one of the digests (hex). A damaged overlay counts as
    covering.

    Cost: one statement for each ``AT_ONCE`` ranges, which looks at every turn of them, without payloads.
    """
    marked = read_marked_within(connection, space, segments)
    return any(type == OVERLAY and _covers(attributes, digests) for type, attributes in marked)


def _covers(attributes: bytes | None, digests: Set[str]) -> bool:
    try:
        overlay = None if attributes is None else msgspec.json.decode(attributes, type=Attributes).overlay
    except msgspec.MsgspecError:
        return True  # then the caller walks the whole thread, which reports the damage
    return overlay is None or not digests.isdisjoint(overlay.covers)


def is_marked(row: Sequence[object]) -> bool:
    """Whether a row belongs to an overlay or a hidden turn. Its last two columns are the turn's type and attributes."""
    type, attributes = row[-2], row[-1]
    return type == OVERLAY or (isinstance(attributes, bytes | memoryview) and b'"hidden":' in bytes(attributes))
