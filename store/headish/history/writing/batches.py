"""Batches: drain an iterable of any length in bounded portions, each before its transaction opens (rule R3, whole
batches).

No transaction is open while the caller's iterable runs, and only one batch is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from headish.content.drafts import Draft
from headish.errors import InvalidArgument
from headish.history.writing.planning import Earlier
from headish.values.grammar import Headish
from headish.values.limits import BATCH_BYTES, BATCH_TURNS
from headish.values.turns import Turn


def read_item(item: object) -> tuple[Any, Mapping[str, Any]]:
    """Split an item of ``add_turns`` into content and options. An item is a mapping of both, or content alone.

    Raises: InvalidArgument for a mapping without content.
    """
    # A content block is a mapping, too, but only a block has a ``type``.
    if not (type(item) is dict or isinstance(item, Mapping)) or "type" in item:
        return item, {}
    if "content" not in item:
        raise InvalidArgument("content is missing: an item is content, or a mapping of it and a turn's options")
    options = dict(item)
    return options.pop("content"), options


class DraftBatch:
    """Collects drafts for one transaction: at most ``BATCH_TURNS`` turns, and about ``BATCH_BYTES`` bytes.

    A draft that names its parent with a suffix begins a new batch: the turns that the suffix counts must be stored.
    """

    def __init__(self) -> None:
        self._drafts: list[Draft] = []
        self._size_bytes = 0

    def add(self, draft: Draft) -> list[Draft]:
        """Add a draft. Returns the batch that ends before it; empty if none does."""
        count = len(self._drafts)
        is_full = count == BATCH_TURNS or self._size_bytes >= BATCH_BYTES
        # A full batch ends at the next draft, so that no empty batch follows a last one that is exactly full.
        ended = self.take() if count and (is_full or _needs_stored(draft)) else []
        self._drafts.append(draft)
        self._size_bytes += draft.size_bytes
        return ended

    def take(self) -> list[Draft]:
        """End the batch, and return its drafts."""
        drafts, self._drafts, self._size_bytes = self._drafts, [], 0
        return drafts


def in_batches(drafts: Iterable[Draft]) -> Iterator[list[Draft]]:
    """Group drafts into batches, lazily."""
    batch = DraftBatch()
    for draft in drafts:
        if ended := batch.add(draft):
            yield ended
    if last := batch.take():
        yield last


def _needs_stored(draft: Draft) -> bool:
    for reference in draft.continues:
        if isinstance(reference, Headish) and (reference.steps or reference.past is not None):
            return True
    return False


class StoredTurns(Sequence[Turn]):
    """The turns that ``add_turns`` stored, in order: a sequence that reads from the store on access.

    It keeps two numbers per batch, and one per turn only for batches with known keys. ``revisions`` are those of the
    objects that were stored with the turns, in the order given.
    """

    def __init__(
        self,
        read: Callable[[int, int], list[Turn]],
        batches: Sequence[Earlier],
        count: int,
        revisions: Iterable[int] = (),
    ) -> None:
        self._read, self._batches, self._count, self.revisions = read, batches, count, tuple(revisions)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Turn: ...
    @overload
    def __getitem__(self, index: slice) -> list[Turn]: ...
    def __getitem__(self, index: int | slice) -> Turn | list[Turn]:
        if isinstance(index, slice):
            return self._slice(range(*index.indices(self._count)))
        position = index + self._count if index < 0 else index
        if not 0 <= position < self._count:
            raise IndexError(index)
        [turn] = self._between(position, position + 1)
        return turn

    def __iter__(self) -> Iterator[Turn]:
        return self._between(0, self._count)

    def _slice(self, positions: range) -> list[Turn]:
        """Read a slice without gaps in pages, and any other turn by turn."""
        if abs(positions.step) != 1:
            return [self[each] for each in positions]
        turns = list(self._between(min(positions, default=0), max(positions, default=-1) + 1))
        return turns if positions.step == 1 else turns[::-1]

    def _between(self, low: int, high: int) -> Iterator[Turn]:
        """The turns from position ``low`` to before ``high``, read lazily, batch by batch."""
        # A batch ends where the next begins; only the last one needs the count.
        ends = [*(each.first_index for each in self._batches[1:]), self._count] if self._batches else []
        for batch, end in zip(self._batches, ends, strict=True):
            first, behind = max(low, batch.first_index), min(high, end)
            if first >= behind:
                continue
            if batch.seqs is None:
                yield from self._read(batch.seq_of(first), behind - first)
            else:
                yield from (turn for each in range(first, behind) for turn in self._read(batch.seq_of(each), 1))

    def __repr__(self) -> str:
        return f"<{self._count} stored turns>"
