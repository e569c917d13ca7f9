"""Keys: another system's names for turns, by which headish stores each turn once (rule R35, keys).

The space is locked, so a key that was looked up stays free or taken until the commit.
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
from headish.history.writing.append import Appended, Written, append
from headish.history.writing.planning import ALONE, EARLIER_ITEM, BatchPlace
from headish.rows.keys import known_ids, superseding, turn_by_key, turns_by_keys
from headish.rows.turns import StoredTurn
from headish.values.ids import Mint
from headish.values.places import Place
from headish.values.turns import BLOCKS_TYPE

Where: TypeAlias = "int | StoredTurn"
"""The index of a draft among the new ones, or the stored turn that has its key."""


def write_once(
    connection: Connection,
    space: int,
    drafts: Sequence[Draft],
    mint: Mint,
    *,
    stream: BatchPlace = ALONE,
    carries_names: bool = True,
) -> tuple[Written | None, list[Appended | StoredTurn]]:
    """``append``, except for drafts whose keys are known: these are not stored, no name moves for them, and the
    result has the turn with the key. The first value is None if nothing was stored.

    Cost: as ``append``, one statement more for each 64 keys, and one for each 64 turns that are superseded or copied.
    Raises: KeyTaken if that turn says something else; as ``append``.
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
            # Known items are not stored again, so the indexes of later ones change.
            continues = tuple(_renumbered(each, where, stream.first_index, index) for each in draft.continues)
            new.append(replace(draft, continues=continues) if continues != draft.continues else draft)
            if key is not None:
                known[key] = same
        else:
            _check_equal(draft, same, new)
        where.append(same)
    check_referred(connection, space, new)
    written = append(
        connection, space, new, mint, stream=stream, carries_names=carries_names
    ) if new else None  # fmt: skip
    built = written.built if written else []
    return written, [built[each] if isinstance(each, int) else each for each in where]


def refuse_known(connection: Connection, space: int, drafts: Sequence[Draft]) -> None:
    """Refuse drafts whose key a stored turn or another draft has.

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
    """Refuse drafts that supersede or copy turns that are not in this space. Raises: UnknownTurn."""
    facts = [draft.facts for draft in drafts]
    referred = dict.fromkeys(each for fact in facts for each in (fact.supersedes, fact.copy_of) if each is not None)
    known = known_ids(connection, space, referred)
    for turn_id in referred:
        if turn_id not in known:
            raise UnknownTurn(turn_id, "what a turn supersedes or repeats is stored before it")


def find_by_key(connection: Connection, space: int, key: bytes) -> StoredTurn | None:
    """The turn with a key; if it was superseded by ``KEY;2``, ``KEY;3`` …, the newest of these.

    Cost: two statements, and one more for each version.
    """
    first = turn_by_key(connection, space, key)
    return None if first is None else versions_of(connection, space, key, first)[-1]


def versions_of(connection: Connection, space: int, key: bytes, first: StoredTurn) -> list[StoredTurn]:
    """The turn with a key, and those that superseded it under ``KEY;2``, ``KEY;3`` …, each by the next.

    Cost: one statement for each.
    """
    version = re.compile(re.escape(key) + rb";[0-9]+")
    versions, met = [first], {first.id}
    while True:
        newer = superseding(connection, space, versions[-1].id)
        # Each once: a damaged row must not lead in a circle. A later version may have arrived before this one.
        fitting = [each for each in newer if each.id not in met and version.fullmatch(each.key or b"")]
        if not fitting:
            return versions
        versions.append(fitting[-1])
        met.add(fitting[-1].id)


def next_version(key: bytes, last: bytes | None) -> bytes:
    """The key for a new version of the turn with a key; ``last`` is the key of the newest version so far."""
    number = (last or b"").removeprefix(key + b";")
    return b"%b;%d" % (key, int(number) + 1 if number.isdigit() else 2)


def _renumbered(reference: Reference, where: Sequence[Where], first_index: int, index: int) -> Reference:
    """Translate a reference to an item of this batch into one to the new draft or stored turn that stands for it."""
    if not isinstance(reference, int) or reference < first_index:
        return reference
    if reference >= first_index + index:
        raise UnknownTurn(str(reference), "an item can continue only the items before it")
    same = where[reference - first_index]
    return first_index + same if isinstance(same, int) else Place(same.chain, same.pos)


def _check_equal(draft: Draft, same: Where, new: Sequence[Draft]) -> None:
    """Refuse a draft that says something else than what has its key. Parents, options and meta are not compared; an
    erased turn is compared by what is left of it. Raises: KeyTaken."""
    said = new[same].said if isinstance(same, int) else _said(same, draft)
    if said != draft.said:
        raise KeyTaken((draft.facts.key or b"").decode(), EARLIER_ITEM if isinstance(same, int) else same.id)


def _said(stored: StoredTurn, draft: Draft) -> DigestFields:
    if stored.key != draft.facts.key:  # found by the hash of its key, so its meta was erased
        fields = draft.said
        return replace(fields, role=stored.role, hash=bytes(stored.hash), type=stored.type)
    return said_by(stored)


def said_by(stored: StoredTurn) -> DigestFields:
    """The digest fields of a turn, which are what keys compare. Raises: CorruptTurn."""
    name = read_mapping(stored, "system").get("document_name") if stored.type is not None else None
    return DigestFields(
        role=stored.role,
        hash=bytes(stored.hash),
        type=stored.type,
        content_type=stored.content_type or BLOCKS_TYPE,
        document_name=name,
        attributes=stored.attributes,
    )
