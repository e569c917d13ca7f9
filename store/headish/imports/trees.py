"""Storing imported trees, so that a second import of the same file stores nothing.

A message that its source names is recognised by its key (rule R35, keys). One that says something else than the turn
with its key has changed: it becomes a turn under ``KEY;2`` that supersedes the first. What has no key, or was imported
before it had one, is recognised by its digest, which covers all that leads to it. Equal siblings have equal digests, so
digests are counted: the n-th message with a digest stands for the n-th stored turn that has it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from headish.content.drafts import Draft, with_key
from headish.content.hashes import digest_turn
from headish.database.query import Connection
from headish.history.append import Appended, append
from headish.history.decode import read_mapping
from headish.history.keys import next_version, said_by, versions_of
from headish.imports.imported import Imported, ImportedTree
from headish.limits import BATCH_BYTES, BATCH_TURNS
from headish.rows.bookmarks import bookmark_if_free
from headish.rows.keys import turns_by_keys
from headish.rows.turns import StoredTurn, turns_by_digest
from headish.values.ids import Mint
from headish.values.names import check_name
from headish.values.places import Place
from headish.values.turns import said_of


def store_trees(connection: Connection, mint: Mint, space: int, trees: Sequence[ImportedTree]) -> Imported:
    """Store what is new of the trees, then set their bookmarks where the name is still free (rule R2, one name moves).

    Cost: two statements for every 64 messages, one append of the new ones, two statements a tree for its bookmark; one
    for each version of a message that has changed.
    """
    met = _Met(connection, space, trees)
    roots: list[tuple[str | None, StoredTurn | int]] = []
    for tree in trees:
        where: list[StoredTurn | int] = []
        for draft, parent, digest in zip(tree.drafts, tree.parents, digests_of(tree), strict=True):
            continues = () if parent is None else (_reference(where[parent]),)
            where.append(met.meet(replace(draft, continues=continues), digest))
        roots.append((tree.bookmark, where[tree.named]))
    built = append(connection, space, met.new, mint, carries_names=False) if met.new else []
    free = {name: root for name, root in reversed(roots) if name is not None}
    # In the order of the names, as every writer goes about them.
    named = sum(
        bookmark_if_free(connection, space, check_name(name), root, said_of(read_mapping(root, "system")))
        for name, root in sorted((name, _stored(root, built)) for name, root in free.items())
    )
    return Imported(
        trees=len(trees),
        messages=sum(len(tree.drafts) for tree in trees),
        added=len(met.new),
        bookmarks=named,
        untimed=sum(tree.untimed for tree in trees),
    )


class _Met:
    """The messages that were met: each one stands for a stored turn, or for one of the drafts that are ``new``."""

    def __init__(self, connection: Connection, space: int, trees: Sequence[ImportedTree]) -> None:
        self._connection, self._space = connection, space
        keys = dict.fromkeys(draft.facts.key for tree in trees for draft in tree.drafts if draft.facts.key is not None)
        self._by_key = turns_by_keys(connection, space, keys)
        self._by_digest = _stored_turns(connection, space, trees)
        self._met_keys: set[bytes] = set()
        self.new: list[Draft] = []

    def meet(self, draft: Draft, digest: bytes) -> StoredTurn | int:
        """The turn that a message stands for, or its index among the new ones."""
        key = draft.facts.key
        if key is None:
            return self._by_its_digest(draft, digest)
        if key in self._met_keys:  # two messages of one id: the first has it, and neither is lost
            return self._by_its_digest(with_key(draft, None), digest)
        self._met_keys.add(key)
        first = self._by_key.get(key)
        versions = [] if first is None else self._versions(key, first, draft)
        for version in versions:
            if said_by(version) == draft.said:
                return version
        if versions:
            last = versions[-1]
            draft = with_key(draft, next_version(key, last.key), last.id)
        return self._by_its_digest(draft, digest)

    def _versions(self, key: bytes, first: StoredTurn, draft: Draft) -> list[StoredTurn]:
        """Nearly every message says what it said: then no other version is looked for."""
        return [first] if said_by(first) == draft.said else versions_of(self._connection, self._space, key, first)

    def _by_its_digest(self, draft: Draft, digest: bytes) -> StoredTurn | int:
        """A turn that has another key is another message."""
        known = self._by_digest[digest]
        for _ in range(len(known)):
            stored = known.popleft()
            if draft.facts.key is None or stored.key is None:
                return stored
            known.append(stored)
        self.new.append(draft)
        return len(self.new) - 1


def in_tree_batches(trees: Iterable[ImportedTree]) -> Iterator[list[ImportedTree]]:
    """Trees together until they hold a batch's turns or bytes; a tree is never split."""
    batch: list[ImportedTree] = []
    turns = size_bytes = 0
    for tree in trees:
        batch.append(tree)
        turns += len(tree.drafts)
        size_bytes += sum(draft.size_bytes for draft in tree.drafts)
        if turns >= BATCH_TURNS or size_bytes >= BATCH_BYTES:
            yield batch
            batch, turns, size_bytes = [], 0, 0
    if batch:
        yield batch


def digests_of(tree: ImportedTree) -> list[bytes]:
    """The digest of every message of a tree, in order."""
    digests: list[bytes] = []
    for draft, parent in zip(tree.drafts, tree.parents, strict=True):
        digests.append(digest_turn(draft.said, () if parent is None else (digests[parent],)))
    return digests


def _stored_turns(
    connection: Connection, space: int, trees: Sequence[ImportedTree]
) -> defaultdict[bytes, deque[StoredTurn]]:
    known: defaultdict[bytes, deque[StoredTurn]] = defaultdict(deque)
    wanted = dict.fromkeys(digest for tree in trees for digest in digests_of(tree))
    for stored in turns_by_digest(connection, space, wanted):
        known[stored.digest].append(stored)
    return known


def _stored(root: StoredTurn | int, built: Sequence[Appended]) -> StoredTurn:
    return built[root].turn if isinstance(root, int) else root


def _reference(turn: StoredTurn | int) -> Place | int:
    return turn if isinstance(turn, int) else turn.place
