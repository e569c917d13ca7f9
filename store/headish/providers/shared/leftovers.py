"""What an answer says beside what its reader understands: found by tables of known keys, and joined from its pieces.

A provider says new things before anybody here knows them. Nothing of that is sampled or guessed at: what a table does
not know is kept in its place and in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class KnownKeys(NamedTuple):
    """The keys that a reader takes: ``all`` of them, and those that it takes only as far as their own tables go."""

    all: frozenset[str]
    inner: Mapping[str, KnownKeys]


_PLACE = ("type", "index", "output_index", "content_index", "item_id")
"""Keys that say where the rest of an object stood."""
_STEADY = frozenset(("finish_reason", "format", "id", "index", "name", "object", "role", "type"))
"""Keys that every piece repeats; all other texts go on from piece to piece."""


def keys(*names: str, **inner: KnownKeys) -> KnownKeys:
    """A table of known keys: ``names`` are taken whole, ``inner`` only as far as their tables go."""
    return KnownKeys(frozenset((*names, *inner)), inner)


def rest_of(value: Any, known: KnownKeys) -> Any:
    """What the table does not know of a value, in its place; None where it knows all that says something."""
    # An object first, and a plain lookup for each table: every event of every stream passes here, with nothing new.
    if type(value) is not dict:
        if isinstance(value, list):
            return [item for each in value if (item := rest_of(each, known)) is not None] or None
        if not isinstance(value, Mapping):
            return value  # something else than the table expects
    taken, inner = known
    rest = None
    if not value.keys() <= taken:
        rest = {key: each for key, each in value.items() if key not in taken and says(each)}
    for key in inner:
        if key in value and (found := rest_of(value[key], inner[key])) is not None and says(found):
            rest = {**(rest or {}), key: found}
    return {**{key: value[key] for key in _PLACE if key in value}, **rest} if rest else None


def says(value: Any) -> bool:
    """Whether a value says something: nothing and what is empty do not."""
    return value is not None and value != [] and value != {}


def joined(pieces: Sequence[Any]) -> Any:
    """The value that pieces make, in order: texts and lists go on, objects key by key, what only repeats stays.

    Items of lists that have one ``index`` are pieces of one item. What does not join is listed.
    Cost: linear in the size of the pieces for each level of them.
    """
    said = [piece for piece in pieces if piece is not None]
    if len(said) < 2:
        return said[0] if said else None
    if all(isinstance(piece, str) for piece in said):
        return "".join(said)
    if all(isinstance(piece, Mapping) for piece in said):
        return _joined_objects(said)
    if all(isinstance(piece, list) for piece in said):
        return _joined_lists(said)
    return _steady(said)


def _joined_objects(pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    by_key: dict[str, list[Any]] = {}
    for piece in pieces:
        for key, value in piece.items():
            by_key.setdefault(key, []).append(value)
    return {key: _steady(values) if key in _STEADY else joined(values) for key, values in by_key.items()}


def _steady(values: Sequence[Any]) -> Any:
    """The one value that all pieces repeat; all of them, where they differ."""
    different: list[Any] = []
    for value in values:
        if value is not None and (not different or value != different[-1]):
            different.append(value)
    return different[0] if len(different) == 1 else different or None


def _joined_lists(pieces: Sequence[list[Any]]) -> list[Any]:
    groups: list[list[Any]] = []
    growing: dict[int, list[Any]] = {}
    for piece in pieces:
        begun: dict[int, list[Any]] = {}
        for item in piece:
            index = item.get("index") if isinstance(item, Mapping) else None
            group = growing.get(index) if isinstance(index, int) else None
            if group is not None and _goes_on(group[0], item):
                group.append(item)
                continue
            groups.append([item])
            if isinstance(index, int):
                begun[index] = groups[-1]  # two items of one piece are two, whatever their index
        growing |= begun
    return [joined(group) for group in groups]


def _goes_on(begun: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Whether an item is a piece of the one that was begun: what names it is the same, or is not said again."""
    return all(item.get(key) in (None, begun.get(key)) for key in ("type", "id"))
