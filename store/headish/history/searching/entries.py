"""Make the index entry of a turn.

A word of the index is the number of the space, a sign, and a word. The sign is ``,`` before words that people read,
``-`` before reasoning, ``.`` before a fact: ``r`` a role, ``i`` a field that has text, ``t`` a tool, ``m`` a model
(tools and models as CRCs, since names may have any character), ``n`` a result that names only its call. A turn with
more words than fit into an entry has the fact ``x`` instead, and every search reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from headish.content.encoding import DECODED_TOGETHER, decode_payload, decode_payloads
from headish.content.media import is_text_type
from headish.content.searching.pieces import FieldText, document_pieces, pieces_of, tools_of, unnamed_in
from headish.content.searching.words import portions_of, signed_words
from headish.database.query import Connection
from headish.errors import HeadishError
from headish.history.reading.decode import mapping_in
from headish.rows.searching.matches import LargePayloads, SearchedTurn
from headish.values.blocks import ContentBlock, Text
from headish.values.turns import DOCUMENT, reply_of

READ, REASONED, FACT = ",", "-", "."
BEFORE, BEHIND = "+", "/"
"""Characters that sort before and after every sign."""
ENTRY_BYTES = 900_000
"""The largest entry. PostgreSQL takes a megabyte of words for a row."""
BYTES_AT_ONCE = 4 * 1024 * 1024
"""The most bytes of large payloads that one statement reads, unless the first alone is larger."""
LONG = 1_000_000
"""The characters that are cut into words at once; a longer turn is cut in portions."""


class SearchableTurn(NamedTuple):
    """A turn as a search reads it: its texts, the tools that its calls and results name, and the call ids of results
    that name no tool."""

    source: SearchedTurn
    pieces: list[FieldText]
    tools: Set[str]
    unnamed: Set[str] = frozenset()


_NO_TOOLS: frozenset[str] = frozenset()


def read_said(connection: Connection, space: int, sources: Iterable[SearchedTurn]) -> Iterator[SearchableTurn]:
    """Read the texts of turns. A turn that does not decode has none here; reading it and ``verify`` report the damage.

    ``sources`` are in ascending or descending order of commit numbers.
    Cost: one statement for each ``DECODED_TOGETHER`` turns with large payloads, and for each ``BYTES_AT_ONCE`` of
    those.
    """
    listed = list(sources)
    for start in range(0, len(listed), DECODED_TOGETHER):
        portion = listed[start : start + DECODED_TOGETHER]
        large_ones = [each.seq for each in portion if each.data is None and each.erased is None]
        large = LargePayloads(connection, space, large_ones, BYTES_AT_ONCE)
        small = [each for each in portion if each.data is not None and each.type != DOCUMENT]
        together = decode_payloads([each.data or b"" for each in small])
        blocks = {} if together is None else {each.seq: content for each, content in zip(small, together, strict=True)}
        for source in portion:
            content = blocks.get(source.seq)
            if content is None:
                yield _read_alone(source, large)
            elif len(content) == 1 and type(content[0]) is Text:  # most turns: skips three passes over the blocks
                yield SearchableTurn(source, [FieldText("text", content[0].text)], _NO_TOOLS)
            else:
                yield SearchableTurn(source, pieces_of(content), tools_of(content), unnamed_in(content))


def entry_of(space: int, said: SearchableTurn) -> str:
    """The words of a turn for the index, separated by blanks. Empty for an erased turn, which has no entry."""
    if said.source.erased is not None:
        return ""
    facts = _facts(space, said)
    if sum([len(text) for _, text in said.pieces]) > LONG:
        return _long_entry(space, said, facts)
    parts = [facts]
    for field, text in said.pieces:
        words = signed_words(text, f"{space}{REASONED}" if field == "reasoning" else f"{space}{READ}")
        if words:
            parts.append(words)
    entry = " ".join(parts)
    # A character has at most four bytes, so nearly every entry is known to fit without encoding it.
    if len(entry) < ENTRY_BYTES // 4 or len(" ".join(set(entry.split())).encode()) < ENTRY_BYTES:
        return entry
    return f"{facts} {unread_fact(space)}"


def _long_entry(space: int, said: SearchableTurn, facts: str) -> str:
    """``entry_of`` for a long turn, in portions: all words at once would take twenty times the memory of its text."""
    words = set(facts.split())
    size = sum(len(word.encode()) + 1 for word in words)
    for field, text in said.pieces:
        for portion in portions_of(text, LONG):
            signed = signed_words(portion, f"{space}{REASONED}" if field == "reasoning" else f"{space}{READ}")
            new = set(signed.split()) - words
            words |= new
            size += sum(len(word.encode()) + 1 for word in new)
            if size > ENTRY_BYTES:
                return f"{facts} {unread_fact(space)}"
    return " ".join(sorted(words))


def model_of(source: SearchedTurn) -> str | None:
    """The model that gave the answer; None if the turn names none."""
    model = reply_of(mapping_in(source.system)).get("model")
    return model if isinstance(model, str) else None


def last_part(model: str) -> str:
    """A model's name without the path before it."""
    return model.rpartition("/")[2]


def role_fact(space: int, role: str) -> str:
    return f"{space}{FACT}r{role}"


def field_fact(space: int, field: str) -> str:
    return f"{space}{FACT}i{field}"


def tool_fact(space: int, tool: str) -> str:
    return f"{space}{FACT}t{_code(tool)}"


def unnamed_fact(space: int) -> str:
    return f"{space}{FACT}n"


def model_fact(space: int, model: str) -> str:
    return f"{space}{FACT}m{_code(model)}"


def unread_fact(space: int) -> str:
    return f"{space}{FACT}x"


def _facts(space: int, said: SearchableTurn) -> str:
    source, pieces, tools, unnamed = said
    facts = _usual_facts(space, source.role, tuple([field for field, _ in pieces]))
    if source.system is None and not tools and not unnamed:  # most turns
        return facts
    facts = f"{facts} {unnamed_fact(space)}" if unnamed else facts
    model = model_of(source)
    models = [model_fact(space, each) for each in {model, last_part(model)}] if model else []
    return " ".join([facts, *(tool_fact(space, tool) for tool in tools), *models])


@lru_cache(maxsize=1024)
def _usual_facts(space: int, role: str, fields: tuple[str, ...]) -> str:
    return " ".join([role_fact(space, role), *(field_fact(space, field) for field in dict.fromkeys(fields))])


def _code(name: str) -> str:
    # A name may have any character, a word of the index only letters and digits. Two names with the same CRC cost at
    # most one look more: every candidate is checked.
    return f"{crc32(name.casefold().encode(errors='surrogatepass')):08x}"


def _read_alone(source: SearchedTurn, large: LargePayloads) -> SearchableTurn:
    if source.erased is not None:
        return SearchableTurn(source, [], set())
    payload = source.data if source.data is not None else large.take(source.seq)
    if payload is None:
        return SearchableTurn(source, [], set())
    if source.type == DOCUMENT:
        return SearchableTurn(source, _document(source, payload), set())
    try:
        blocks: tuple[ContentBlock, ...] = decode_payload(payload)
    except HeadishError:
        return SearchableTurn(source, [], set())
    return SearchableTurn(source, pieces_of(blocks), tools_of(blocks), unnamed_in(blocks))


def _document(source: SearchedTurn, payload: bytes) -> list[FieldText]:
    name = mapping_in(source.system).get("document_name")
    text = None
    if is_text_type(source.content_type or ""):
        try:
            text = payload.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = None  # its content type says text, but its bytes are not UTF-8
    return document_pieces(name if isinstance(name, str) else None, text)
