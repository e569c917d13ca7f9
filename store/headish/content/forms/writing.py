"""A thread in the words of an API: what was given in that form comes out as it was, all else is written from the blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from headish.content.forms.layout import apply
from headish.content.forms.parts import FORM, Form, Losses, Part, Said
from headish.errors import Unmappable
from headish.values.blocks import ProviderBlock
from headish.values.messages import Kept

_INSTRUCTING = ("system", "developer")


class Written(NamedTuple):
    """The entries of a thread, and those of instructions that stand before the list with how they stood there."""

    entries: list[Any]
    instructions: list[tuple[str, Any]]


def is_form(system: Mapping[str, Any]) -> bool:
    """Whether a turn was given in a form."""
    return isinstance(system.get(FORM), Mapping)


def write_thread(form: Form, thread: Sequence[Kept], drop: Collection[str] = ()) -> Written:
    """A thread in a form. ``drop`` are the words for what may be left out.

    Raises: Unmappable with all the words for ``drop`` that are needed; InvalidContent.
    """
    entries: list[Any] = []
    instructions: list[tuple[str, Any]] = []
    losses: list[Unmappable] = []
    for kept in thread:
        lost = Losses(form.name, form.provider, kept.message.turn)
        written, place = write_turn(form, kept, lost)
        losses += [loss for loss in lost.losses if loss.drop not in drop]
        is_lifted = form.name in ("anthropic", "gemini") and kept.message.role in _INSTRUCTING and not is_own(form, kept)
        if place is not None or (is_lifted and not entries):
            instructions += [(place or "", entry) for entry in written]
        else:
            entries += written
    if losses:
        first, *more = losses
        raise Unmappable(first.target, first.what, turn=first.turn, drop=first.drop, more=more)
    return Written(entries, instructions)


def write_turn(form: Form, kept: Kept, losses: Losses) -> tuple[list[Any], str | None]:
    """The entries of one turn, and how they stood before the list, if they did."""
    message, stored = kept.message, kept.system.get(FORM)
    written: Any = form.write(Said(str(message.role), message.content, message.attributes.speaker), losses)
    if not isinstance(stored, Mapping) or stored.get("name") not in (form.name, None):
        return written, None
    written = apply(stored.get("layout"), written) if _fits(stored, form) else written
    for block in message.content:
        if isinstance(block, ProviderBlock) and block.provider == form.provider and isinstance(block.data, Mapping):
            written = apply(block.data.get(FORM), written)
    return written, stored.get("place")


def is_own(form: Form, kept: Kept) -> bool:
    """Whether a turn was given in this form."""
    stored = kept.system.get(FORM)
    return isinstance(stored, Mapping) and stored.get("name") == form.name


def body_of(form: Form, written: Written) -> Part:
    """The part of a request's body that holds a thread."""
    body: Part = {form.list_name: written.entries}
    if not written.instructions:
        return body
    assert form.system_name is not None
    return {form.system_name: _as_instructions(form, written.instructions), **body}


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
    """A layout without a name is of a text that any form but Gemini's and Responses' writes so."""
    return stored.get("name") is not None or form.list_name == "messages"
