"""The parts of an answer that its reader does not understand: found by tables of known keys, joined from their pieces.

Providers add things before headish knows them. Nothing of that is sampled or guessed: whatever a table does not know is
kept in its place and in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class KnownKeys(NamedTuple):
    """The keys that a reader understands: ``all``, with an ``inner`` table for each that it knows only in part."""

    all: frozenset[str]
    inner: Mapping[str, KnownKeys]


_PLACE = ("type", "index", "output_index", "content_index", "item_id")
"""Keys that say where an object belongs; they are kept with its rest."""
_STEADY = frozenset(("finish_reason", "format", "id", "index", "name", "object", "role", "type"))
"""Keys whose value every piece repeats; the texts of all other keys continue from piece to piece."""


def keys(*names: str, **inner: KnownKeys) -> KnownKeys:
    """A table of known keys: ``names`` are understood whole, ``inner`` only as far as their own tables go."""
    return KnownKeys(frozenset((*names, *inner)), inner)


def rest_of(value: Any, known: KnownKeys) -> Any:
    """The part of a value that the table does not know, in its place; None if it knows all that is not empty."""
    # An object first, and a plain lookup for each table: every event of every stream passes here, with nothing new.
    if type(value) is not dict:
        if isinstance(value, list):
            return [item for each in value if (item := rest_of(each, known)) is not None] or None
        if not isinstance(value, Mapping):
            return value  # something else than the table expects
    all_keys, inner = known
    rest = None
    if not value.keys() <= all_keys:
        rest = {key: each for key, each in value.items() if key not in all_keys and says(each)}
    for key in inner:
        if key in value and (remainder := rest_of(value[key], inner[key])) is not None and says(remainder):
            rest = {**(rest or {}), key: remainder}
    return {**{key: value[key] for key in _PLACE if key in value}, **rest} if rest else None


def says(value: Any) -> bool:
    """Whether a value is neither None nor an empty list or object."""
    return value is not None and value != [] and value != {}


def joined(pieces: Sequence[Any]) -> Any:
    """Join pieces, in order, to one value: texts and lists are concatenated, objects joined key by key, values that
    only repeat stay.

    Items of lists that share an ``index`` are pieces of one item. Pieces that do not join are listed.
    Cost: linear in the size of the pieces for each level of them.
    """
    values = [piece for piece in pieces if piece is not None]
    if len(values) < 2:
        return values[0] if values else None
    if all(isinstance(piece, str) for piece in values):
        return "".join(values)
    if all(isinstance(piece, Mapping) for piece in values):
        return _joined_objects(values)
    if all(isinstance(piece, list) for piece in values):
        return _joined_lists(values)
    return _steady(values)


def grown(before: Any, value: Any) -> Any:
    """Join the pieces of a detail, list by list.

    A list that begins with the earlier list repeats it and replaces it; any other list continues it.
    """
    if not isinstance(value, Mapping):
        return value
    merged: dict[str, Any] = before if isinstance(before, dict) else {}
    for key, each in value.items():
        earlier = merged.get(key)
        if isinstance(each, list) and isinstance(earlier, list) and each[: len(earlier)] != earlier:
            earlier += each
        elif each is not None:
            merged[key] = list(each) if isinstance(each, list) else each
    return merged


def _joined_objects(pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    by_key: dict[str, list[Any]] = {}
    for piece in pieces:
        for key, value in piece.items():
            by_key.setdefault(key, []).append(value)
    return {key: _steady(values) if key in _STEADY else joined(values) for key, values in by_key.items()}


def _steady(values: Sequence[Any]) -> Any:
    """The one value that all pieces repeat; all of them if they differ."""
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
    """Whether an item is a piece of the one that was begun: its type and id are the same or absent."""
    return all(item.get(key) in (None, begun.get(key)) for key in ("type", "id"))
