"""Ranges of history, as git writes them: ``A..B`` and ``A...B``.

New names must not contain ``..`` (rule R24, not taken away), but older ones may. So the whole text is looked up as a
name first.
"""

from __future__ import annotations

from msgspec import Struct

from headish.database.query import Connection
from headish.errors import InvalidHeadish
from headish.history.reading.find import find_place
from headish.history.reading.order import segments_to, without
from headish.rows.bookmarks import find_bookmark
from headish.values.grammar import NEWEST, Headish, parse_headish
from headish.values.names import refusal
from headish.values.places import Place, Segment

RANGE, BOTH = "..", "..."


class Range(Struct, frozen=True):
    """Two headishes and the operator between them, ``..`` or ``...``. A single headish is ``second``, with None for the
    others.

    ``name`` is the whole text as a bookmark, if it is allowed as one.
    """

    text: str
    second: Headish
    first: Headish | None = None
    between: str | None = None
    name: bytes | None = None


def parse_range(text: object) -> Range:
    """Parse a headish, or a range of two. Raises: InvalidHeadish."""
    if not isinstance(text, str) or RANGE not in text:
        parsed = parse_headish(text)
        return Range(parsed.text, parsed)
    # The longer operator first, because it contains the shorter one.
    between = BOTH if BOTH in text else RANGE
    first, _, second = text.partition(between)
    if second.startswith("."):
        raise InvalidHeadish(text, "two headishes stand beside .. or ...")
    name = text.encode(errors="surrogatepass") if refusal(text) is None else None
    return Range(text, parse_headish(second or NEWEST), parse_headish(first or NEWEST), between, name)


def find_range(connection: Connection, space: int, asked: Range) -> tuple[Place | None, Place]:
    """The places of both sides; None and the place for a single headish. Raises: UnknownTurn, Ambiguous."""
    # Older versions allowed `..` in a name. If a bookmark has the whole text as its name, it is meant.
    place = None if asked.name is None else find_bookmark(connection, space, asked.name)
    if place is not None:
        return None, place
    first = None if asked.first is None else find_place(connection, space, asked.first)
    return first, find_place(connection, space, asked.second)


def find_segments(connection: Connection, space: int, asked: Range) -> list[Segment]:
    """The turns of a range, as ranges of chains in walk order; for a single headish, its thread.

    Cost: as ``find_turn``, and one or two statements for each side, however long the threads are.
    Raises: UnknownTurn, Ambiguous.
    """
    first, second = find_range(connection, space, asked)
    reached = segments_to(connection, space, second)
    if first is None:
        return reached
    left_out = segments_to(connection, space, first)
    only = without(reached, left_out)
    return only if asked.between == RANGE else [*without(left_out, reached), *only]
