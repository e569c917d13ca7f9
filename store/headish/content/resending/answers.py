"""Recognise an answer that its client sends back as the turn that was stored when it came, though it looks different.

Clients leave out reasoning, write null where the provider wrote nothing, and lose ids. The words and the calls stay the
same. How a client writes an answer is kept once, as a difference from what a form writes of the stored turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec
from blake3 import blake3

from headish.content.forms.layout import apply, find_difference, misfit
from headish.content.forms.parts import Form, Losses, NeutralEntry, content_of, without_form
from headish.content.resending.cuts import REST, Cuts, cut, find_cuts
from headish.content.resending.joins import Joins, find_joins, join
from headish.errors import HeadishError, InvalidContent
from headish.values.blocks import ContentBlock, Document, ProviderBlock, Text, Thinking, ToolUse, to_mapping

DIFFERENCE_BYTES = 2048
"""With a longer difference, the message is not the same one written otherwise, but another one."""
_OF_ITEMS = frozenset(("id", "status", "annotations"))
"""Keys of an item that its server sets, and that clients may lose."""


_DROPS: tuple[list[str], ...] = ([], ["reasoning"])
"""What clients leave out: nothing, or the reasoning, as many do."""


def essence_of(blocks: Sequence[ContentBlock]) -> bytes | None:
    """A hash of the words, calls and media of an answer; None if it has none of them. Texts in a row are one text."""
    single = (each for block in blocks if (each := _essential(block)) is not None)
    essentials: list[Any] = []
    for kind, run in groupby(single, key=lambda each: each[0]):
        said = list(run)
        essentials += [[kind, "".join(each[1] for each in said)]] if kind == "text" else said
    return blake3(msgspec.json.encode(essentials, order="deterministic")).digest(length=16) if essentials else None


def _essential(block: ContentBlock) -> Any:
    if isinstance(block, Text):
        return ["text", block.text] if block.text else None
    if isinstance(block, ToolUse):
        said = block.raw if block.input is msgspec.UNSET else block.input
        return ["call", block.name, said or {}]  # clients write arguments that were an empty text as an empty object
    return ["document", to_mapping(block)] if isinstance(block, Document) else None


def has_chunks(form: Form) -> bool:
    """Whether clients may send the chunks of an answer back one by one: only in Gemini's form is a chunk a message."""
    return form.list_name == "contents"


def count_chunks(form: Form, stored: Sequence[ContentBlock], given: Callable[[], Iterable[Any]]) -> int:
    """The number of entries, the first ones of those that ``given`` returns, that are an answer in chunks; else 1."""
    for drops in _DROPS:
        cuts = _find_cuts(form, _write(form, stored, drops), given())
        if cuts is not None:
            return len(cuts)
    return 1


def describe_resent(form: Form, stored: Sequence[ContentBlock], given: list[Any]) -> dict[str, Any] | None:
    """How a client wrote an answer, for ``write_resent``; None if it says something else.

    ``stored`` are the blocks of the answer, ``given`` is what the client sent. The difference holds no words.
    """
    for drops in _DROPS:
        written = _write(form, stored, drops)
        if written is None:
            continue
        cuts = _find_cuts(form, written, given)
        # An answer in one piece needs no cuts.
        cuts = None if cuts is None or cuts == [[REST] * len(cuts[0])] else cuts
        joins = find_joins(given) if form.list_name == "input" else None
        refuses = form.name == "chat" and _refuses_beside(written[0], given[0])
        try:
            pieces = _pieces(written, cuts, joins, refuses=refuses)
        except InvalidContent:
            continue
        layout, said = find_difference(pieces, given, form.transport | _OF_ITEMS)
        facts = (("drops", drops), ("layout", layout), ("joins", joins), ("refuses", refuses))
        resent = {name: value for name, value in facts if value}
        if said is None and len(msgspec.json.encode(resent)) <= DIFFERENCE_BYTES:
            return resent if cuts is None else {**resent, "cuts": cuts}
    return None


def write_resent(form: Form, stored: Sequence[ContentBlock], resent: Mapping[str, Any]) -> list[Any]:
    """An answer as its client wrote it. Raises: InvalidContent."""
    written: Any = _write(form, stored, resent.get("drops", ()))
    pieces = _pieces(written, resent.get("cuts"), resent.get("joins"), refuses=bool(resent.get("refuses")))
    patched: list[Any] = apply(resent.get("layout"), pieces)
    return patched


def _find_cuts(form: Form, written: list[Any] | None, given: Iterable[Any]) -> Cuts | None:
    return find_cuts(written[0]["parts"], given) if written and has_chunks(form) else None


def _refuses_beside(written: Any, given: Any) -> bool:
    """Whether a message of Chat Completions has beside its words, as its ``refusal``, what a form writes as the last of
    several texts."""
    texts, refusal = written.get("content"), given.get("refusal") if isinstance(given, Mapping) else None
    return isinstance(refusal, str) and isinstance(texts, list) and texts[-1] == {"type": "text", "text": refusal}


def _with_refusal(written: Mapping[str, Any]) -> dict[str, Any]:
    """A message with its last text as its refusal. Raises: InvalidContent if it has no list of texts."""
    try:
        *texts, refusal = written["content"]
        return {**written, "content": content_of(texts), "refusal": refusal["text"]}
    except (KeyError, TypeError, ValueError):
        raise misfit() from None


def _pieces(written: list[Any], cuts: Cuts | None, joins: Joins | None, *, refuses: bool) -> list[Any]:
    """What a form wrote, in the pieces in which a client sends it. Raises: InvalidContent if they do not fit."""
    if refuses:
        return [_with_refusal(written[0])]
    if joins is not None:
        return join(written, joins)
    return written if cuts is None else cut(written[0], cuts)


def _write(form: Form, blocks: Sequence[ContentBlock], drops: Sequence[str]) -> list[Any] | None:
    kept = without_form(blocks)
    if drops:
        kept = tuple(each for each in kept if not isinstance(each, Thinking | ProviderBlock))
    try:
        return form.write(NeutralEntry("assistant", kept), Losses(form.name, form.provider))
    except HeadishError:
        return None
