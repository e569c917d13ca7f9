"""A reply that any turn can hold: whatever the provider sent, storing it must not fail.

A turn holds no lone surrogates, overlong integers or bottomless nesting, and keeps little beside its content. This
module replaces or cuts what does not fit, with a note, and leaves a reply that fits as it is.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from headish.content import strictjson
from headish.content.encoding import read_content
from headish.errors import InvalidContent
from headish.providers.shared.shapes import healed
from headish.providers.shared.values import Reply
from headish.values.blocks import ContentBlock, ProviderBlock, to_mapping
from headish.values.messages import Note

NAME_LIMIT = 1000
"""The number of characters that are kept of a model's name, an id, or a reason why the answer ended."""
NOTES_LIMIT = 100
"""The number of notes that are kept for one answer; further ones are only counted."""
NOTE_LIMIT = 1000
"""The number of characters that are kept of one note."""
_NAMES = ("model", "id", "stop", "stop_reason")


def storable(reply: Reply) -> Reply:
    """The reply as a turn can hold it."""
    return _healed(_cut(reply))


def _cut(reply: Reply) -> Reply:
    """The reply with its names and notes cut to the limits."""
    texts: dict[str, Any] = {key: getattr(reply, key) for key in _NAMES}
    long = [key for key, value in texts.items() if value is not None and len(value) > NAME_LIMIT]
    notes = [*reply.notes, *(Note(f"the {key} is cut: it has {len(texts[key]):,} characters") for key in long)]
    more = len(notes) - NOTES_LIMIT
    if more > 0:
        notes = [*notes[:NOTES_LIMIT], Note(f"{more} more notes are not kept")]
    if not long and more <= 0 and all(len(note.what) <= NOTE_LIMIT for note in notes):
        return reply
    names = {key: texts[key][:NAME_LIMIT] for key in long}
    return replace(reply, notes=tuple(replace(note, what=note.what[:NOTE_LIMIT]) for note in notes), **names)


def _healed(reply: Reply) -> Reply:
    """The reply with replacements, and a note, for values that JSON cannot hold."""
    blocks = [to_mapping(block) for block in reply.content]
    kept = {"content": blocks, "meta": reply.to_meta()}
    try:
        strictjson.check(kept, "a reply")
    except InvalidContent as error:
        note = Note(f"the answer held what cannot be kept and was replaced: {error.reason}")
        names = {key: healed(getattr(reply, key)) for key in (*_NAMES, "details", "error")}
        notes = tuple(Note(healed(each.what), each.turn) for each in (*reply.notes, note))
        return replace(reply, content=_read(healed(blocks), reply.provider), notes=notes, **names)
    return reply


def _read(blocks: list[dict[str, Any]], provider: str) -> tuple[ContentBlock, ...]:
    """The blocks of healed values. A value that is no longer a valid block is kept whole, as the provider's own."""
    content: list[ContentBlock] = []
    for block in blocks:
        try:
            content += read_content([block])
        except InvalidContent:
            content.append(ProviderBlock(provider, {"unreadable": block}, partial=True))
    return tuple(content)
