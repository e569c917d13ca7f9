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
"""The keys that describe the outside form of a message. They do not apply to words that replace the message."""
_HEAD = ("header", "bos", "eos")
"""The keys for what surrounded an imported transcript; they are stored with its first turn (rule R15)."""


def kept_thread(walked: Sequence[Walked], *, raw: bool = False, for_people: bool = False) -> list[TranscriptMessage]:
    """The messages of a walk, each with headish's own keys of its turn: the input of a transcript.

    An answer that was cut off gets ``stop`` ``none``: a transcript writes it without an end mark. With overlays these
    are the messages that a model sees, or with ``for_people`` those that people see; ``raw`` shows every turn as it was
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
    """Mark a message that was cut off as having no end (``stop`` ``none``)."""
    message, system = kept
    if message.attributes.stop is None and cut_off(reply_of(system), message.attributes):
        message = replace(message, attributes=replace(message.attributes, stop="none"))
    return TranscriptMessage(message, system)


def see_kept(walked: Sequence[Walked], contents: Contents, *, raw: bool, for_people: bool) -> list[TranscriptMessage]:
    """The messages that are seen, each with headish's own keys of its turn. Raises: CorruptTurn."""
    if raw:
        seen = see_originals(walked, contents)
    elif for_people:
        seen = _for_people(read_thread(walked, contents))
    else:
        seen = see(walked, contents).seen
    messages = [TranscriptMessage(each.message, _beside(walked[each.at], contents[each.at], each)) for each in seen]
    # If the first turn is hidden or covered, the first message that is seen takes the header, or the export loses it.
    if (messages and seen[0].at > 0) or (messages and seen[0].by is not None):
        head = {key: value for key, value in read_mapping(walked[0], "system").items() if key in _HEAD}
        messages[0] = TranscriptMessage(messages[0].message, {**head, **messages[0].system})
    return messages


def _for_people(thread: SeenThread) -> list[SeenMessage]:
    """What people see: the turns that are not hidden from them, with replaced words. Only the model sees summaries;
    people see the originals."""
    return [
        SeenMessage(replaced(thread, index), index, None if state.summarized else state.by)
        for index, state in enumerate(thread.states)
        if state is not None and not state.people
    ]


def see_hidden(walked: Sequence[Walked], contents: Contents) -> tuple[set[TurnId], list[Note]]:
    """The turns that are hidden from people, and the overlays with words for one of them; and a note for each hidden
    turn and each overlay that changes what the model sees. Raises: CorruptTurn."""
    states = read_thread(walked, contents).states
    unseen = [(turn, state) for turn, state in zip(walked, states, strict=True) if state is not None and state.people]
    hidden = {turn.id for turn, _ in unseen} | {state.by for _, state in unseen if state.by is not None}
    return hidden, see(walked, contents).notes


def _beside(turn: Walked, content: tuple[ContentBlock, ...], seen: SeenMessage) -> Mapping[str, Any]:
    """The keys that apply to a seen message: all keys of its turn, none for a summary, and none about the form if the
    content changed."""
    if seen.covers:
        return {}
    system = read_mapping(turn, "system")
    # A form refers to blocks by position, so it applies to the unchanged content only.
    if seen.by is None and seen.message.content == content:
        return system
    return {key: value for key, value in system.items() if key not in _FORM}
