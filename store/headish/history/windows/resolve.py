"""Resolve: from walked turns to a context window. Pure, but for ``holds_overlays``, which looks before a walk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING

import msgspec

from headish.content.unfinished import without_partial
from headish.database.query import Connection
from headish.history.reading.decode import (
    read_all_blocks,
    read_messages,
)
from headish.history.reading.options import resolve_options
from headish.rows.threads.walks import Walked, read_marked, read_marked_within
from headish.values.blocks import Erased, erased_in
from headish.values.messages import Attributes, ContextWindow, Note
from headish.values.places import Place, Segment
from headish.values.turns import OVERLAY

if TYPE_CHECKING:
    from headish.history.windows.view import SeenMessage


def resolve_window(walked: Sequence[Walked], *, raw: bool = False) -> ContextWindow:
    """The context window of a walk: one message per turn, and the options of all, merged in walk order (rule I8,
    options merge).

    Overlays and hidden turns have their effect, with a note each (rule R34, overlays); ``raw`` shows every turn as it
    was stored. Blocks of an answer that were cut off are left out, with a note (rule R21, cut-off calls); so are
    messages that were erased.
    Raises: CorruptTurn if a row does not decode.
    """
    return see_window(walked, raw=raw)[0]


def see_window(walked: Sequence[Walked], *, raw: bool = False) -> tuple[ContextWindow, list[SeenMessage] | None]:
    """``resolve_window``, and which turns each of its messages shows; None if each turn is a message."""
    contents = read_all_blocks(walked)
    is_marked = is_overlaid(walked)
    # The common thread, by far: it must not pay for overlays that it has not.
    if not is_marked and Erased not in {type(turn.payload) for turn in walked}:
        messages = tuple(read_messages(walked, contents))
        return without_partial(ContextWindow(messages, resolve_options(walked))), None
    from headish.history.windows.view import View, see, see_originals  # late: it brings the rules of overlays along

    view = see(walked, contents) if is_marked and not raw else View(see_originals(walked, contents), [])
    seen = [each for each in view.seen if erased_in(each.message.content) is None]
    notes = (*view.notes, *_erased_notes(view.seen))
    messages = tuple(each.message for each in seen)
    return without_partial(ContextWindow(messages, resolve_options(walked), notes)), seen


def _erased_notes(seen: Iterable[SeenMessage]) -> Iterator[Note]:
    """What is said of each message that would be seen, had it not been erased. An erased overlay goes on hiding."""
    for message in (each.message for each in seen):
        mark = erased_in(message.content)
        if mark is not None:
            yield Note(f"a message that was {mark} is left out", message.turn)


def is_overlaid(walked: Sequence[Walked]) -> bool:
    """Whether a walk holds an overlay, or a turn that is stored hidden. All that a thread without them pays."""
    # A plain loop: every turn of every resolve passes here.
    for turn in walked:
        if turn.type == OVERLAY or (turn.attributes is not None and b'"hidden":' in turn.attributes):
            return True
    return False


def holds_overlays(connection: Connection, space: int, place: Place) -> bool:
    """Whether the thread of a turn holds an overlay, or a turn that is stored hidden.

    Cost: one statement that looks at every turn of the thread, without payloads.
    """
    return any(map(is_marked, read_marked(connection, space, place)))


def is_covered(connection: Connection, space: int, digests: Set[str], segments: Iterable[Segment]) -> bool:
    """Whether an overlay in some ranges of a thread covers a turn with one of these digests (hex). One that is damaged
    counts as if it did.

    Cost: one statement for each ``AT_ONCE`` ranges, which looks at every turn of them, without payloads.
    """
    marked = read_marked_within(connection, space, segments)
    return any(type == OVERLAY and _covers(attributes, digests) for type, attributes in marked)


def _covers(attributes: bytes | None, digests: Set[str]) -> bool:
    try:
        overlay = None if attributes is None else msgspec.json.decode(attributes, type=Attributes).overlay
    except msgspec.MsgspecError:
        return True
    return overlay is None or not digests.isdisjoint(overlay.covers)


def is_marked(row: Sequence[object]) -> bool:
    """Whether a row that ends in the type and the attributes of a turn is that of an overlay, or of a hidden turn."""
    type, attributes = row[-2], row[-1]
    return type == OVERLAY or (isinstance(attributes, bytes | memoryview) and b'"hidden":' in bytes(attributes))
