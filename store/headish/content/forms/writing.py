"""Write a thread in the form of an API: messages given in that form come out unchanged, others are written from
blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.content.forms.layout import apply
from headish.content.forms.media import kind_of_media
from headish.content.forms.parts import FORM, Form, Losses, NeutralEntry, Part
from headish.content.recordings import said_aloud
from headish.errors import Unmappable
from headish.values.blocks import ContentBlock, Document, ProviderBlock, Text, ToolResult, ToolUse
from headish.values.messages import NO_ATTRIBUTES, Message
from headish.values.results.threads import TranscriptMessage

_INSTRUCTING = ("system", "developer")
_LOST = {"speaker": "name", "recipient": "to", "intent": "intent", "constrain": "constrain", "extra": "extra"}
"""Attributes that no API has a place for, and the words for ``drop`` that leave them out."""


class FormEntries(NamedTuple):
    """The entries of a thread, and those of the instructions before the list, each with its place there."""

    entries: list[Any]
    instructions: list[tuple[str, Any]]


def is_form(system: Mapping[str, Any]) -> bool:
    """Whether a turn was given in a form."""
    return isinstance(system.get(FORM), Mapping)


def write_thread(form: Form, thread: Sequence[TranscriptMessage], drop: Collection[str] = ()) -> FormEntries:
    """Write a thread in a form. ``drop`` are the words for what may be left out.

    Raises: Unmappable with all the words for ``drop`` that are needed; InvalidContent.
    """
    entries: list[Any] = []
    instructions: list[tuple[str, Any]] = []
    losses: list[Unmappable] = []
    names: dict[str | None, str] = {}
    for each in thread:
        lost = Losses(form.name, form.provider, each.message.turn, is_foreign=not is_own(form, each))
        written, place = write_turn(form, _with_names(form, each, names), lost)
        losses += [loss for loss in lost.losses if loss.drop not in drop]
        # These APIs have a place for instructions before the list. A turn of their own form says where it was.
        is_system = form.name in ("anthropic", "gemini") and each.message.role in _INSTRUCTING
        if place is not None or (is_system and not entries and not is_own(form, each)):
            instructions += [(place or "", entry) for entry in written]
        else:
            entries += written
    if losses:
        first, *more = losses
        raise Unmappable(first.target, first.what, turn=first.turn, drop=first.drop, more=more)
    return FormEntries(entries, instructions)


def write_turn(form: Form, kept: TranscriptMessage, losses: Losses) -> tuple[list[Any], str | None]:
    """Write one turn. Returns its entries, and their place before the list if they had one."""
    message, form_record = kept.message, kept.system.get(FORM)
    if message.role is None:
        raise losses.refuse("a bare sequence, which has no role")
    if message.attributes is not NO_ATTRIBUTES:
        message = _without_attributes(message, form, losses)
    if message.role == "assistant" and not is_own(form, kept):
        message = replace(message, content=tuple(_without_sound(message.content, form, losses)))
    written: Any = form.write(NeutralEntry(str(message.role), message.content, message.attributes.speaker), losses)
    if not isinstance(form_record, Mapping) or form_record.get("name") not in (form.name, None):
        return written, None
    written = apply(form_record.get("layout"), written) if _fits(form_record, form) else written
    for block in message.content:
        if isinstance(block, ProviderBlock) and block.provider == form.provider and isinstance(block.data, Mapping):
            written = apply(block.data.get(FORM), written)
    return written, form_record.get("place")


def _without_sound(blocks: Sequence[ContentBlock], form: Form, losses: Losses) -> Iterator[ContentBlock]:
    """The blocks of an answer, without recordings of other providers: no API takes another's."""
    for block in blocks:
        if isinstance(block, Document) and kind_of_media(block) == "audio" and not _has_made(form, block):
            losses.leave_out("the sound of an answer", "document")
        else:
            yield block


def _has_made(form: Form, recording: Document) -> bool:
    return said_aloud(recording, form.provider) is not None or (form.name == "gemini" and not recording.opaque)


def is_own(form: Form, kept: TranscriptMessage) -> bool:
    """Whether a turn was given in this form."""
    form_record = kept.system.get(FORM)
    return isinstance(form_record, Mapping) and form_record.get("name") == form.name


def body_of(form: Form, written: FormEntries) -> Part:
    """The part of a request's body that holds a thread."""
    body: Part = {form.list_name: written.entries}
    if not written.instructions:
        return body
    assert form.system_name is not None
    return {form.system_name: _as_instructions(form, written.instructions), **body}


def _without_attributes(message: Message, form: Form, losses: Losses) -> Message:
    """The message without the attributes that a form has no place for. Notes what is lost."""
    attributes = message.attributes
    # The analysis of a transcript is reasoning: as text, it would become part of the answer.
    if message.role == "assistant" and attributes.channel == "analysis" and message.text:
        losses.leave_out("reasoning without a signature", "thinking")
        message = replace(message, content=tuple(block for block in message.content if not isinstance(block, Text)))
    for field, word in _LOST.items():
        if getattr(attributes, field) and not (field == "speaker" and form.name == "chat"):
            losses.leave_out(f"the {field} of a message", word)
    return message


def _with_names(form: Form, kept: TranscriptMessage, names: dict[str | None, str]) -> TranscriptMessage:
    """The message with its results named after the calls that they answer, since Gemini wants names.

    Adds the message's own calls to ``names``.
    """
    calls = [block for block in kept.message.content if isinstance(block, ToolUse)]
    names.update({call.id: call.name for call in calls})
    results = [block for block in kept.message.content if isinstance(block, ToolResult) and block.name is None]
    if not results or form.list_name != "contents" or is_own(form, kept):
        return kept
    content = tuple(
        replace(block, name=names.get(block.tool_use_id)) if isinstance(block, ToolResult) and not block.name else block
        for block in kept.message.content
    )
    return kept._replace(message=replace(kept.message, content=content))


def _as_instructions(form: Form, instructions: Sequence[tuple[str, Any]]) -> Any:
    if form.list_name == "contents":
        if len(instructions) == 1 and instructions[0][0] == "text":
            return instructions[0][1]["parts"][0]["text"]
        parts = [part for _, entry in instructions for part in entry["parts"]]
        return instructions[0][1] if instructions[0][0] == "entry" and len(instructions) == 1 else {"parts": parts}
    contents = [entry["content"] for _, entry in instructions]
    if len(contents) == 1:
        return contents[0]
    listed = [[{"type": "text", "text": each}] if isinstance(each, str) else each for each in contents]
    return [part for each in listed for part in each]


def _fits(stored: Mapping[str, Any], form: Form) -> bool:
    """Whether a layout fits a form. One without a name belongs to a plain text, which Chat, Anthropic and Cohere write
    alike."""
    return stored.get("name") is not None or form.list_name == "messages"
