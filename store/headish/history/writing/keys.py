"""Keys: another system's name for a turn, by which headish stores the turn once (rule R35, keys).

The space is locked, so a key that was looked up stays free, or known, until the commit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from msgspec.structs import replace

from headish.content.drafts import Draft, Reference
from headish.content.hashes import DigestFields
from headish.database.query import Connection
from headish.errors import KeyTaken, UnknownTurn
from headish.history.reading.decode import read_mapping
from headish.history.writing.append import Appended, append
from headish.history.writing.planning import ALONE, EARLIER_ITEM, BatchPlace
from headish.rows.keys import known_ids, superseding, turn_by_key, turns_by_keys
from headish.rows.turns import StoredTurn
from headish.values.ids import Mint
from headish.values.places import Place
from headish.values.turns import BLOCKS_TYPE

Where: TypeAlias = "int | StoredTurn"
"""A draft by its index among the new ones, or the turn that has its key."""


def append_once(
    connection: Connection,
    space: int,
    drafts: Sequence[Draft],
    mint: Mint,
    *,
    stream: BatchPlace = ALONE,
    carries_names: bool = True,
) -> list[Appended | StoredTurn]:
    """``append``, except that for a draft whose key is known nothing is stored and no name moves: the result is the
    turn that has the key.

    Cost: as ``append``; one statement more for each 64 keys, and one for each 64 turns that are superseded or copied.
    Raises: KeyTaken where that turn says something else; as ``append``.
    """
    keys = [draft.facts.key for draft in drafts if draft.facts.key is not None]
    known: dict[bytes, Where] = {**turns_by_keys(connection, space, keys)}
    new: list[Draft] = []
    where: list[Where] = []
    for index, draft in enumerate(drafts):
        key = draft.facts.key
        same = None if key is None else known.get(key)
        if same is None:
            same = len(new)
            # Items that were known are not stored again, so those behind them move up.
            continues = tuple(_renumbered(each, where, stream.first_index, index) for each in draft.continues)
            new.append(replace(draft, continues=continues) if continues != draft.continues else draft)
            if key is not None:
                known[key] = same
        else:
            _check_equal(draft, same, new)
        where.append(same)
    check_referred(connection, space, new)
    built = append(
        connection, space, new, mint, stream=stream, carries_names=carries_names
    ) if new else []  # fmt: skip
    return [built[each] if isinstance(each, int) else each for each in where]


def refuse_known(connection: Connection, space: int, drafts: Sequence[Draft]) -> None:
    """Refuse drafts that would have to be stored under a key that a turn has, or that two of them give.

    Raises: KeyTaken.
    """
    seen: set[bytes] = set()
    keys = [draft.facts.key for draft in drafts if draft.facts.key is not None]
    known = turns_by_keys(connection, space, keys)
    for key in keys:
        if key in known or key in seen:
            raise KeyTaken(key.decode(), known[key].id if key in known else EARLIER_ITEM)
        seen.add(key)


def check_referred(connection: Connection, space: int, drafts: Sequence[Draft]) -> None:
    """Refuse drafts that supersede or repeat turns which this space does not hold. Raises: UnknownTurn."""
    facts = [draft.facts for draft in drafts]
    named = dict.fromkeys(each for fact in facts for each in (fact.supersedes, fact.copy_of) if each is not None)
    known = known_ids(connection, space, named)
    for turn_id in named:
        if turn_id not in known:
            raise UnknownTurn(turn_id, "what a turn supersedes or repeats is stored before it")


def find_by_key(connection: Connection, space: int, key: bytes) -> StoredTurn | None:
    """The turn with a key; of one that was superseded by ``KEY;2``, ``KEY;3`` …, the newest of them.

    Cost: two statements, and one more for each version.
    """
    found = turn_by_key(connection, space, key)
    return None if found is None else versions_of(connection, space, key, found)[-1]


def versions_of(connection: Connection, space: int, key: bytes, first: StoredTurn) -> list[StoredTurn]:
    """The turn with a key, and those that superseded it under ``KEY;2``, ``KEY;3`` …, each by the next.

    Cost: one statement for each.
    """
    version = re.compile(re.escape(key) + rb";[0-9]+")
    found = [first]
    while True:
        newer = superseding(connection, space, found[-1].id)
        # Later ones alone: a damaged row must not lead in a circle.
        fitting = [each for each in newer if each.seq > found[-1].seq and version.fullmatch(each.key or b"")]
        if not fitting:
            return found
        found.append(fitting[-1])


def next_version(key: bytes, last: bytes | None) -> bytes:
    """The key of what supersedes the last version of the turn with a key."""
    number = (last or b"").removeprefix(key + b";")
    return b"%b;%d" % (key, int(number) + 1 if number.isdigit() else 2)


def _renumbered(reference: Reference, where: Sequence[Where], first_index: int, index: int) -> Reference:
    """A reference to an item of this batch, as a reference to the draft or turn that is taken for it."""
    if not isinstance(reference, int) or reference < first_index:
        return reference
    if reference >= first_index + index:
        raise UnknownTurn(str(reference), "an item can continue only the items before it")
    same = where[reference - first_index]
    return first_index + same if isinstance(same, int) else Place(same.chain, same.pos)


def _check_equal(draft: Draft, same: Where, new: Sequence[Draft]) -> None:
    """Equal is what says the same; parents, options and meta are not compared. What an erasure left is."""
    said = new[same].said if isinstance(same, int) else _said(same, draft)
    if said != draft.said:
        raise KeyTaken((draft.facts.key or b"").decode(), EARLIER_ITEM if isinstance(same, int) else same.id)


def _said(stored: StoredTurn, draft: Draft) -> DigestFields:
    if stored.key != draft.facts.key:  # found by the hash of its key: it lost its meta
        given = draft.said
        return replace(given, role=stored.role, hash=bytes(stored.hash), type=stored.type)
    return said_by(stored)


def said_by(stored: StoredTurn) -> DigestFields:
    """What a turn says: all that is compared under a key. Raises: CorruptTurn."""
    name = read_mapping(stored, "system").get("document_name") if stored.type is not None else None
    return DigestFields(
        role=stored.role,
        hash=bytes(stored.hash),
        type=stored.type,
        content_type=stored.content_type or BLOCKS_TYPE,
        document_name=name,
        attributes=stored.attributes,
    )
