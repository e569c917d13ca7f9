"""Store imported trees, so that a second import of the same file stores nothing.

A message that its source names is recognised by its key (rule R35, keys). If it says something else than the turn with
its key, it has changed: it becomes a turn under ``KEY;2`` that supersedes the first. A message without a key, or one
that was imported before it had one, is recognised by its digest, which covers all turns that lead to it. Equal siblings
have equal digests, so digests are counted: the n-th message with a digest stands for the n-th stored turn that has it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias, cast

from msgspec.structs import replace

from headish.content.drafts import Draft, as_overlay, with_key
from headish.content.hashes import digest_turn
from headish.database.query import Connection
from headish.history.reading.decode import read_mapping
from headish.history.reading.versions import outgrown_by
from headish.history.writing.append import Appended
from headish.history.writing.keys import next_version, said_by, versions_of
from headish.imports.imported import Imported, ImportedTree
from headish.imports.keeping.conversation_names import find_record, is_named_already, may_name, name_conversation
from headish.imports.keeping.edited import Edited, append_new, edited_among
from headish.imports.keeping.editions import only_grew, says_it_as_before
from headish.rows.bookmarks import set_bookmark
from headish.rows.keys import turns_by_keys
from headish.rows.turns import StoredTurn, turns_by_digest
from headish.values.ids import Mint, TurnId
from headish.values.limits import BATCH_BYTES, BATCH_TURNS, COVERED_LIMIT
from headish.values.names import check_name, stored_name
from headish.values.places import Place
from headish.values.turns import said_of

Before: TypeAlias = "tuple[StoredTurn | int, ...]"
"""What a message continues: stored turns, and new ones by their index."""


def store_trees(connection: Connection, mint: Mint, space: int, trees: Sequence[ImportedTree]) -> Imported:
    """Store the new messages of the trees, then set their bookmarks if the names are still free (rule R2, one name
    moves).

    Cost: two statements for every 64 messages, one append of the new ones (two if first questions were edited), two
    statements per tree for its bookmark, about six for the record of a conversation; one for each version of a message
    that has changed.
    """
    met = _MetMessages(connection, space, trees)
    tips = met.meet_all(trees)
    built = append_new(connection, space, met.new, mint, met.edited) if met.new else []
    name_count = 0
    for name, tip in _names_to_set(connection, space, trees, tips):
        turn = _stored(tip, built)
        set_bookmark(connection, space, name, turn, said_of(read_mapping(turn, "system")))
        name_count += 1
    # A conversation may go on in a later tree: only its last tip counts, because a batch moves a name once (rule R39).
    talks = {
        tree.about.key or index: (tree.about, tip)
        for index, (tree, tip) in enumerate(zip(trees, tips, strict=True))
        if tree.about
    }
    for about, tip in talks.values():
        turn, is_new = _stored(tip, built), isinstance(tip, int)
        name_count += name_conversation(connection, space, about, turn, is_new=is_new)
    return _imported(trees, len(met.new), name_count)


def _names_to_set(
    connection: Connection, space: int, trees: Sequence[ImportedTree], tips: Sequence[StoredTurn | int]
) -> Iterator[tuple[bytes, StoredTurn | int]]:
    """The names that the trees bring along and an import may set, with their turns.

    In the order of the names, as every writer locks them: two writers in different orders could wait for each other.
    """
    pairs = reversed(list(zip(trees, tips, strict=True)))
    brought = {check_name(tree.bookmark): tip for tree, tip in pairs if tree.bookmark}
    for name in sorted(brought):
        stored = _stored_before(brought[name])
        # The name of an erased turn went with its words, and may be made of them.
        if (stored is None or stored.erased is None) and may_name(connection, space, name, stored):
            yield name, brought[name]


def _stored_before(tip: StoredTurn | int) -> StoredTurn | None:
    return tip if isinstance(tip, StoredTurn) and tip.chain != NOWHERE else None


class Preview:
    """Messages that were counted and not stored, so that a message shared by several files counts once, as if it were
    stored.

    Memory: some hundred bytes for each message.
    """

    def __init__(self) -> None:
        self.versions: defaultdict[bytes, list[StoredTurn]] = defaultdict(list)
        self.by_digest: defaultdict[bytes, list[StoredTurn]] = defaultdict(list)
        self.named: set[object] = set()
        self._turns: list[StoredTurn] = []

    def add(self, draft: Draft, parents: Iterable[bytes]) -> StoredTurn:
        """Add the turn that a draft would become."""
        facts, said = draft.facts, draft.said
        turn = StoredTurn(
            chain=NOWHERE, pos=len(self._turns), seq=NOWHERE, id=TurnId(f"preview {len(self._turns)}"),
            role=said.role or "", type=said.type, content_type=said.content_type, cache=None,
            attributes=said.attributes, inherited=None, system=draft.system, digest=digest_turn(said, list(parents)),
            hash=said.hash, seal=b"", head=None, app=None, erased=None, key=facts.key, supersedes=facts.supersedes,
        )  # fmt: skip
        self._turns.append(turn)
        self.by_digest[turn.digest].append(turn)
        if turn.key is not None:
            first = turn.key if turn.supersedes is None else turn.key.rpartition(b";")[0]
            self.versions[first].append(turn)
        return turn

    def count_name(self, name: object) -> bool:
        """Whether a name, or the key of a conversation, is counted for the first time."""
        is_new = name not in self.named
        self.named.add(name)
        return is_new


NOWHERE = -1
"""The chain of a turn that is counted, and not stored."""


def preview_trees(connection: Connection, space: int, trees: Sequence[ImportedTree], preview: Preview) -> Imported:
    """Count what ``store_trees`` would do after everything in a preview, storing nothing.

    A name counts if its conversation was not imported before.
    """
    met = _MetMessages(connection, space, trees, preview)
    tips = met.meet_all(trees)
    met.count_new(preview)
    name_count = sum(preview.count_name(stored_name(name)) for name, _ in _names_to_set(connection, space, trees, tips))
    for tree, tip in zip(trees, tips, strict=True):
        about, stored = tree.about, _stored_before(tip)
        if about is None or find_record(connection, space, about) is not None:
            continue
        if about.key is not None:
            name_count += preview.count_name(about.key.encode())
        else:
            name_count += stored is None or not is_named_already(connection, space, about, stored)
    return _imported(trees, len(met.new), name_count)


def _imported(trees: Sequence[ImportedTree], added: int, named: int) -> Imported:
    return Imported(
        trees=sum(not tree.goes_on for tree in trees),
        messages=sum(len(tree.drafts) for tree in trees),
        added=added,
        bookmarks=named,
        untimed=sum(tree.untimed for tree in trees),
    )


class _MetMessages:
    """The messages met so far: each is a stored turn, or one of the drafts in ``new``."""

    def __init__(
        self, connection: Connection, space: int, trees: Sequence[ImportedTree], preview: Preview | None = None
    ) -> None:
        self._connection, self._space = connection, space
        keys = dict.fromkeys(draft.facts.key for tree in trees for draft in tree.drafts if draft.facts.key is not None)
        linked = (each for tree in trees for index in range(len(tree.drafts)) for each in tree.continues(index))
        covered = (each for tree in trees for listed in tree.covers.values() for each in listed)
        parents = dict.fromkeys(each for each in chain(linked, covered) if isinstance(each, bytes))
        self._by_key = turns_by_keys(connection, space, [*keys, *(parent for parent in parents if parent not in keys)])
        self._derived = [digests_of(tree) for tree in trees]
        self._by_digest = _stored_turns(connection, space, self._derived)
        self._preview = Preview() if preview is None else preview
        if preview is not None:
            self._take_in(preview, keys.keys() | parents.keys())
        self._keyless: dict[bytes, int] = {}
        self._met_keys: dict[bytes, StoredTurn | int] = {}
        self._digests: dict[Place, bytes] = {}
        self._new_digests: dict[int, bytes] = {}
        self.new: list[Draft] = []
        self.edited: Edited = {}

    def _take_in(self, preview: Preview, keys: Iterable[bytes]) -> None:
        """Treat what a preview only counted as if it were stored."""
        self._by_key |= {
            key: preview.versions[key][0] for key in keys if key in preview.versions and key not in self._by_key
        }
        for digest, known in self._by_digest.items():
            known.extend(preview.by_digest.get(digest, ()))

    def count_new(self, preview: Preview) -> None:
        """Add what is new here to a preview."""
        turns: list[StoredTurn] = []
        for draft in self.new:
            parents = [
                turns[each].digest if isinstance(each, int) else self._digests[cast(Place, each)]
                for each in draft.continues
            ]
            turns.append(preview.add(draft, parents))

    def meet_all(self, trees: Sequence[ImportedTree]) -> list[StoredTurn | int]:
        """Return, for each tree, the stored turn or the new draft of its named message."""
        return [self._meet_tree(tree, digests)[tree.named] for tree, digests in zip(trees, self._derived, strict=True)]

    def _meet_tree(self, tree: ImportedTree, digests: Sequence[bytes]) -> list[StoredTurn | int]:
        where: list[StoredTurn | int] = []
        for index, (draft, digest) in enumerate(zip(tree.drafts, digests, strict=True)):
            listed = tree.continues(index)
            parents = (self._elsewhere(each) if isinstance(each, bytes) else where[each] for each in listed)
            before = tuple(each for each in parents if each is not None)
            linked = replace(draft, continues=tuple(map(self._reference, before)))
            covered = _covered_by(tree, index)
            if covered:
                places = (self._elsewhere(each) if isinstance(each, bytes) else where[each] for each in covered)
                linked = _summing_up(linked, (self._digest_of(each) for each in places if each is not None))
                digest = self._digest(linked, before)
            where.append(self._meet_logged(linked, before) if tree.logged else self.meet(linked, digest))
        if tree.edits:
            self.edited |= edited_among(tree, where, self.new)
        return where

    def _reference(self, turn: StoredTurn | int) -> Place | int:
        if isinstance(turn, int):
            return turn
        self._digests[turn.place] = turn.digest
        return turn.place

    def _elsewhere(self, key: bytes) -> StoredTurn | int | None:
        """Find the turn of a message in another file, in its newest version."""
        met, first = self._met_keys.get(key), self._by_key.get(key)
        if met is not None or first is None:
            return met
        return self._all_versions(key, first)[-1]

    def _meet_logged(self, draft: Draft, before: Before) -> StoredTurn | int:
        """Meet a message of a log: one key is one message, in whatever file.

        If it follows a newer version of a message, it becomes a newer version of itself. Otherwise the thread of that
        version would end there.
        """
        key = draft.facts.key
        met = None if key is None else self._met_keys.get(key)
        if met is not None:
            return met
        follows = any(map(self._is_version, before))
        first = None if key is None else self._by_key.get(key)
        if key is None or first is None or not follows:
            return self.meet(draft, self._digest(draft, before))
        versions = self._all_versions(key, first)
        same = next((each for each in versions if self._is_behind(each, draft, before)), None)
        if same is None:
            self.new.append(self._as_version(draft, key, versions[-1], before))
        self._met_keys[key] = len(self.new) - 1 if same is None else same
        return self._met_keys[key]

    def _digest_of(self, turn: StoredTurn | Place | int) -> bytes:
        """Return the digest of a turn; of a new one, the digest that it will be stored with."""
        if isinstance(turn, StoredTurn):
            return turn.digest
        if isinstance(turn, Place):
            return self._digests[turn]
        if turn not in self._new_digests:
            waiting = [turn]
            while waiting:  # a thread is longer than a stack is deep
                draft = self.new[waiting[-1]]
                missing = [each for each in draft.continues if isinstance(each, int) and each not in self._new_digests]
                if missing:
                    waiting += missing
                    continue
                parents = [self._digest_of(cast("Place | int", each)) for each in draft.continues]
                self._new_digests[waiting.pop()] = digest_turn(draft.said, parents)
        return self._new_digests[turn]

    def _digest(self, draft: Draft, before: Before) -> bytes:
        """Return the digest of a draft after stored turns; empty if a parent is new, because no stored turn continues
        that."""
        parents = [each.digest for each in before if isinstance(each, StoredTurn)]
        return digest_turn(draft.said, parents) if len(parents) == len(before) else b""

    def _is_behind(self, version: StoredTurn, draft: Draft, before: Before) -> bool:
        """Whether a version of a message says what the draft says, after the same turns."""
        parents = [each.digest for each in before if isinstance(each, StoredTurn)]
        if len(parents) < len(before):
            return False
        if version.digest == digest_turn(draft.said, parents):
            return True
        return version.digest == digest_turn(said_by(version), parents) and self._is_older(version, draft)

    def _is_older(self, version: StoredTurn, draft: Draft) -> bool:
        # A turn of a preview has no payload to compare.
        return version.chain != NOWHERE and says_it_as_before(self._connection, self._space, version, draft)

    def _is_version(self, turn: StoredTurn | int) -> bool:
        facts_of = self.new[turn].facts if isinstance(turn, int) else turn
        return facts_of.supersedes is not None

    def _as_version(self, draft: Draft, key: bytes, last: StoredTurn, before: Before) -> Draft:
        """Return the draft under the next key. It is marked as grown if it says all that the last version said, and the
        same is true of the turns that it follows (rule R40, grown versions)."""
        grew = all(self._grew(each) for each in before if self._is_version(each))
        grew = grew and last.chain != NOWHERE and only_grew(self._connection, self._space, last, draft)
        return with_key(draft, next_version(key, last.key), last.id, grew=grew)

    def _grew(self, turn: StoredTurn | int) -> bool:
        return self.new[turn].facts.grew is True if isinstance(turn, int) else outgrown_by(turn) is not None

    def meet(self, draft: Draft, digest: bytes) -> StoredTurn | int:
        """Return the turn that a message is stored as, or its index among the new ones."""
        key = draft.facts.key
        if key is None:
            return self._by_its_digest(draft, digest)
        if key in self._met_keys:  # two messages of one id: the first has it, and neither is lost
            return self._by_its_digest(with_key(draft, None), digest)
        self._met_keys[key] = self._by_its_key(draft, key, digest)
        return self._met_keys[key]

    def _by_its_key(self, draft: Draft, key: bytes, digest: bytes) -> StoredTurn | int:
        first = self._by_key.get(key)
        if first is None:
            return self._by_its_digest(draft, digest)
        if said_by(first) == draft.said:  # nearly always, so that other versions need not be looked for
            return first
        versions = self._all_versions(key, first)
        for version in versions:
            if said_by(version) == draft.said or self._is_older(version, draft):
                return version
        return self._by_its_digest(self._as_version(draft, key, versions[-1], ()), digest)

    def _all_versions(self, key: bytes, first: StoredTurn) -> list[StoredTurn]:
        stored = [] if first.chain == NOWHERE else versions_of(self._connection, self._space, key, first)
        return [*stored, *self._preview.versions.get(key, ())]

    def _by_its_digest(self, draft: Draft, digest: bytes) -> StoredTurn | int:
        """Find a turn by digest. A turn with another key is another message."""
        turns = self._by_digest[digest]
        has_key = draft.facts.key is not None
        for _ in range(len(turns) if not has_key or self._has_keyless(digest) else 0):
            stored = turns.popleft()
            met = None if stored.key is None else self._met_keys.get(stored.key)
            if isinstance(met, StoredTurn) and met.id == stored.id:
                continue  # it stands for a message before this one, of the same id
            if not has_key or stored.key is None:
                # The count of keyless turns left in the queue must follow what leaves it.
                if digest in self._keyless:
                    self._keyless[digest] -= stored.key is None
                return stored
            # Back to the end of the queue: a message without a key may still be recognised as this turn.
            turns.append(stored)
        self.new.append(draft)
        return len(self.new) - 1

    def _has_keyless(self, digest: bytes) -> bool:
        """Whether a turn without a key is left for a digest. Counted once: among a hundred thousand equal messages with
        other keys, a search per message would take the square of their number."""
        if digest not in self._keyless:
            self._keyless[digest] = sum(each.key is None for each in self._by_digest[digest])
        return self._keyless[digest] > 0


def in_tree_batches(trees: Iterable[ImportedTree]) -> Iterator[list[ImportedTree]]:
    """Yield trees together until they hold a batch's turns or bytes; a tree is never split.

    A portion of a log ends its batch: what follows it may be a message that has grown since, and growth is only seen
    beside stored turns. So does what comes before a conversation's second tree: in one batch, messages without keys
    that both trees hold would be stored for each.
    """
    batch: list[ImportedTree] = []
    turns = size_bytes = 0
    for tree in trees:
        key = None if tree.about is None else tree.about.key
        if key is not None and any(each.about is not None and each.about.key == key for each in batch):
            yield batch
            batch, turns, size_bytes = [], 0, 0
        batch.append(tree)
        turns += len(tree.drafts)
        size_bytes += sum(draft.size_bytes for draft in tree.drafts)
        is_portion = tree.logged and tree.about is None
        if is_portion or turns >= BATCH_TURNS or size_bytes >= BATCH_BYTES:
            yield batch
            batch, turns, size_bytes = [], 0, 0
    if batch:
        yield batch


def digests_of(tree: ImportedTree) -> list[bytes]:
    """Return the digest of every message of a tree, in order."""
    digests: list[bytes] = []
    for index, draft in enumerate(tree.drafts):
        parents = [digests[each] for each in tree.continues(index) if isinstance(each, int)]
        covered = [digests[each] for each in _covered_by(tree, index) if isinstance(each, int)]
        said = _summing_up(draft, covered).said if covered else draft.said
        digests.append(digest_turn(said, parents))
    return digests


def _covered_by(tree: ImportedTree, index: int) -> tuple[int | bytes, ...]:
    """Return what a message becomes an overlay over. A summary of more turns than an overlay can cover stays a plain
    message, so that its words are not lost."""
    covered = tree.covers.get(index, ())
    return covered if len(covered) <= COVERED_LIMIT else ()


def _summing_up(draft: Draft, covered: Iterable[bytes]) -> Draft:
    return as_overlay(draft, "summarize", dict.fromkeys(each.hex() for each in covered))


def _stored_turns(
    connection: Connection, space: int, derived: Sequence[Sequence[bytes]]
) -> defaultdict[bytes, deque[StoredTurn]]:
    wanted = dict.fromkeys(digest for digests in derived for digest in digests)
    known: defaultdict[bytes, deque[StoredTurn]] = defaultdict(deque, {digest: deque() for digest in wanted})
    for stored in turns_by_digest(connection, space, wanted):
        known[stored.digest].append(stored)
    return known


def _stored(root: StoredTurn | int, built: Sequence[Appended]) -> StoredTurn:
    return built[root].turn if isinstance(root, int) else root
