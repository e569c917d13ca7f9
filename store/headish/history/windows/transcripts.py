"""Prepare a thread with overlays for a transcript: as a model sees it, or as people see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from headish.history.reading.decode import read_all_blocks, read_mapping, read_messages
from headish.history.windows.resolve import is_overlaid
from headish.history.windows.view import Contents, SeenMessage, SeenThread, read_thread, replaced, see, see_originals
from headish.rows.threads.walks import Walked
from headish.values.blocks import ContentBlock
from headish.values.ids import TurnId
from headish.values.messages import Note
from headish.values.results.threads import TranscriptMessage
from headish.values.turns import cut_off, reply_of

_FORM = ("format", "header_raw", "form")
"""The keys that say that a message is in its own form. Words that stand in its place are not."""
_HEAD = ("header", "bos", "eos")
"""What stood around an imported thread, and rides on its first turn."""


def kept_thread(walked: Sequence[Walked], *, raw: bool = False, for_people: bool = False) -> list[TranscriptMessage]:
    """The messages of a walk with headish's own keys beside them: what a transcript is written from.

    An answer that was cut off is a message without its end (``stop`` ``none``), as a transcript says it. Of a thread
    with overlays it is what a model sees, or with ``for_people`` what people see; ``raw`` shows every turn as it was
    stored.
    """
    contents = read_all_blocks(walked)
    if is_overlaid(walked):
        return [as_ended(each) for each in see_kept(walked, contents, raw=raw, for_people=for_people)]
    return [
        as_ended(TranscriptMessage(message, read_mapping(turn, "system")))
        for turn, message in zip(walked, read_messages(walked, contents), strict=True)
    ]


def as_ended(kept: TranscriptMessage) -> TranscriptMessage:
    """A message that was cut off without its end."""
    message, system = kept
    if message.attributes.stop is None and cut_off(reply_of(system), message.attributes):
        message = replace(message, attributes=replace(message.attributes, stop="none"))
    return TranscriptMessage(message, system)


def see_kept(walked: Sequence[Walked], contents: Contents, *, raw: bool, for_people: bool) -> list[TranscriptMessage]:
    """The messages that are seen, with headish's own keys of their turns. Raises: CorruptTurn."""
    if raw:
        seen = see_originals(walked, contents)
    elif for_people:
        seen = _for_people(read_thread(walked, contents))
    else:
        seen = see(walked, contents).seen
    kept = [TranscriptMessage(each.message, _beside(walked[each.at], contents[each.at], each)) for each in seen]
    if (kept and seen[0].at > 0) or (kept and seen[0].by is not None):
        head = {key: value for key, value in read_mapping(walked[0], "system").items() if key in _HEAD}
        kept[0] = TranscriptMessage(kept[0].message, {**head, **kept[0].system})
    return kept


def _for_people(thread: SeenThread) -> list[SeenMessage]:
    """What people see: the turns that are not hidden from them, in the words that replace them. A summary is the
    model's alone."""
    return [
        SeenMessage(replaced(thread, index), index, None if state.summarized else state.by)
        for index, state in enumerate(thread.states)
        if state is not None and not state.people
    ]


def see_hidden(walked: Sequence[Walked], contents: Contents) -> tuple[set[TurnId], list[Note]]:
    """The turns that are hidden from people, with the overlays whose words replace one of them; and a note for each
    turn and overlay that the model does not see as it was stored. Raises: CorruptTurn."""
    states = read_thread(walked, contents).states
    unseen = [(turn, state) for turn, state in zip(walked, states, strict=True) if state is not None and state.people]
    hidden = {turn.id for turn, _ in unseen} | {state.by for _, state in unseen if state.by is not None}
    return hidden, see(walked, contents).notes


def _beside(turn: Walked, content: tuple[ContentBlock, ...], seen: SeenMessage) -> Mapping[str, Any]:
    """The keys that hold for what is seen: all of a turn's, none for a summary."""
    if seen.covers:
        return {}
    system = read_mapping(turn, "system")
    # A layout counts blocks: it holds for all of them, or not at all.
    if seen.by is None and seen.message.content == content:
        return system
    return {key: value for key, value in system.items() if key not in _FORM}
