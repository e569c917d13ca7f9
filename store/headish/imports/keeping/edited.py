"""Link the versions of first questions that were edited in the program that an import comes from.

Versions inside a conversation continue the same turns. A first question continues what begins many conversations, or
nothing, so another version of it must name the turn that it supersedes (rule R33, conversations). An import does so for
the first questions of one source conversation that continue the same turns: each supersedes the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from headish.content.drafts import Draft, with_key
from headish.database.query import Connection
from headish.history.writing.append import Appended, append
from headish.imports.imported import ImportedTree
from headish.rows.turns import StoredTurn
from headish.values.ids import Mint
from headish.values.turns import PREAMBLE

Edited: TypeAlias = "dict[int, StoredTurn | int]"
"""The new drafts that are later versions, by their indexes, with the turn or draft that each supersedes."""


def edited_among(tree: ImportedTree, where: Sequence[StoredTurn | int], new: Sequence[Draft]) -> Edited:
    """Return the new first questions of a tree that have another one beside them. ``where`` has the turn or new draft
    of each of its messages."""
    inside: list[bool] = []
    beside: dict[tuple[int | bytes, ...], list[StoredTurn | int]] = {}
    for index, draft in enumerate(tree.drafts):
        before = tree.continues(index)
        goes_on = any(isinstance(each, bytes) or inside[each] for each in before)
        inside.append(goes_on or draft.said.role not in PREAMBLE)
        if not goes_on and draft.said.role == "user":
            beside.setdefault(before, []).append(where[index])
    versions: Edited = {}
    for met in beside.values():
        # A stored turn never changes, so it is the one to supersede, wherever it is listed.
        first = next((each for each in met if not isinstance(each, int)), met[0])
        new_ones = (each for each in met if isinstance(each, int) and each != first)
        versions |= {each: first for each in new_ones if new[each].facts.supersedes is None}
    return versions


def append_new(
    connection: Connection, space: int, new: Sequence[Draft], mint: Mint, edited: Mapping[int, StoredTurn | int]
) -> list[Appended]:
    """Store the new drafts. Versions and what follows them come last, because a version names the id of the turn that
    it supersedes.

    An import must not move the names that people set: a turn that continues one would take it along.
    """
    later = set[int]()
    for index, draft in enumerate(new):
        if index in edited or any(each in later for each in draft.continues):
            later.add(index)
    stored: dict[int, Appended] = {}
    for part in ([each for each in range(len(new)) if each not in later], sorted(later)):
        at = {index: place for place, index in enumerate(part)}
        drafts = [_as_version(_moved(new[index], at, stored), edited.get(index), stored) for index in part]
        if part:
            stored |= zip(part, append(connection, space, drafts, mint, carries_names=False).built, strict=True)
    return [stored[index] for index in range(len(new))]


def _moved(draft: Draft, at: Mapping[int, int], stored: Mapping[int, Appended]) -> Draft:
    """Return the draft with its references updated: ``at`` gives the place in its batch, ``stored`` the turns of the
    batch before."""
    moved = tuple(
        each if not isinstance(each, int) else at[each] if each in at else stored[each].turn.place
        for each in draft.continues
    )
    return draft if moved == draft.continues else replace(draft, continues=moved)


def _as_version(draft: Draft, older: StoredTurn | int | None, stored: Mapping[int, Appended]) -> Draft:
    if older is None:
        return draft
    turn = stored[older].turn if isinstance(older, int) else older
    return with_key(draft, draft.facts.key, turn.id)
