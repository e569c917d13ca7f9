"""Write a bundle of a space or of some threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from headish.bundles.pages import TurnColumns
from headish.bundles.records import BundleHeader, SentName, SentRecord, SentSignature
from headish.bundles.streams import BundleWriter
from headish.content.receipts import decode_receipt
from headish.database.query import Connection
from headish.history.feeds.cursors import Position, find_end
from headish.history.reading.order import arrange
from headish.history.signatures import as_sent
from headish.rows.signatures import all_signatures, signatures_of
from headish.rows.threads.ranges import ids_of_ranges
from headish.rows.threads.walks import read_links_of
from headish.rows.upkeep.receipts import all_receipts
from headish.syncing.departing import Departing, Span, all_names, all_records, count_paths, find_keys, find_said_keys
from headish.values.ids import TurnId, as_turn_id
from headish.values.names import stored_name
from headish.values.places import Place
from headish.values.results.erasures import SCRUB, SPACE

Progress = Callable[[int], None]
"""Called with the number of turns since the last call."""


class SentBundle(NamedTuple):
    """A bundle without its end yet: the numbers of turns, receipts and names, and the position of the space. The caller
    ends it with ``writer``, unless ``keys`` or ``said`` forbid that.

    ``keys`` are the turns, and ``said`` the names and conversations, that contain text that looks like a key; ``paths``
    counts documents that record their path.
    """

    turns: int
    receipts: int
    names: int
    writer: BundleWriter
    end: Position
    keys: tuple[TurnId, ...]
    said: tuple[str, ...]
    paths: int


class BundlePart(NamedTuple):
    """Some threads: their last turns, and the bookmarks and records of conversations that go along."""

    ends: Sequence[Place]
    names: Sequence[SentName]
    records: Sequence[SentRecord]


class _Scanned:
    """Search pages on their way out for keys and paths."""

    def __init__(self, progress: Progress | None) -> None:
        self.keys: list[TurnId] = []
        self.paths = 0
        self._progress = progress

    def through(self, pages: Iterator[TurnColumns]) -> Iterator[TurnColumns]:
        for page in pages:
            self.keys += find_keys(page)
            self.paths += count_paths(page)
            yield page
            if self._progress:
                self._progress(len(page))


def write_all(
    connection: Connection,
    space: int,
    file: BinaryIO,
    after: Position | None,
    progress: Progress | None = None,
    *,
    signed: bool = False,
) -> SentBundle:
    """Write a whole space, or what came after a position: receipts, turns, names, records of conversations and
    signatures, but not the end of the bundle. ``signed`` announces a signature in the header.

    The bundle is a snapshot, that of the connection's transaction. Memory holds a page.
    """
    end = find_end(connection, space)
    span = Span(0 if after is None else after.seq, end.seq)
    names, records = all_names(connection, space), all_records(connection, space)
    departing, scanned = Departing(connection, space), _Scanned(progress)
    header = BundleHeader(
        made_at=time.time_ns() // 1_000_000,
        requires=tuple(departing.required_by(span, _spoken_of(connection, space, names, records))),
        after=None if after is None else str(after.cursor),
        signed=signed,
    )
    writer = BundleWriter(file, header)
    # Receipts first: who applies the bundle must know what is erased before its turns arrive.
    for receipt in receipts_behind(connection, space, 0 if after is None else after.change):
        writer.receipt(receipt)
    for page in scanned.through(departing.since(span)):
        writer.page(page)
    # All of them, even after a position: one may be new on a turn that went with an earlier bundle.
    return _list(writer, end, scanned, names, records, map(as_sent, all_signatures(connection, space)))


def _spoken_of(
    connection: Connection, space: int, names: Iterable[SentName], records: Iterable[SentRecord]
) -> Iterator[TurnId]:
    """The turns that names, records of conversations without a name, and signatures speak of. A store that lacks one
    has nothing to store them with: they would be lost there."""
    yield from (TurnId(each.turn) for each in names)
    yield from (first for each in records if (first := as_turn_id(stored_name(each.subject))) is not None)
    yield from (each.turn for each in all_signatures(connection, space))


def write_part(
    connection: Connection,
    space: int,
    file: BinaryIO,
    part: BundlePart,
    progress: Progress | None = None,
    *,
    signed: bool = False,
) -> SentBundle:
    """Write the threads of ``part`` with the documents that they refer to, and nothing else; not the end of the bundle.
    ``signed`` announces a signature in the header."""
    end = find_end(connection, space)
    departing, scanned = Departing(connection, space), _Scanned(progress)
    writer = BundleWriter(file, BundleHeader(made_at=time.time_ns() // 1_000_000, signed=signed))
    for receipt in _receipts_of(connection, space, part.ends):
        writer.receipt(receipt)
    signatures: list[SentSignature] = []
    for page in scanned.through(departing.leading_to(part.ends)):
        writer.page(page)
        signatures += map(as_sent, signatures_of(connection, space, page.ids))
    return _list(writer, end, scanned, part.names, part.records, signatures)


def _list(
    writer: BundleWriter,
    end: Position,
    scanned: _Scanned,
    names: Sequence[SentName],
    records: Sequence[SentRecord],
    signatures: Iterable[SentSignature],
) -> SentBundle:
    writer.lists(names, records, signatures)
    said, keys = tuple(find_said_keys(names, records)), tuple(scanned.keys)
    return SentBundle(writer.turns, writer.receipts, len(names), writer, end, keys, said, scanned.paths)


def receipts_behind(connection: Connection, space: int, change: int) -> Iterator[bytes]:
    """The receipts of erasures of turns and names after a change number, as they are stored."""
    for logged in all_receipts(connection, space):
        if logged.change > change and decode_receipt(logged.receipt, logged.number).scope not in (SCRUB, SPACE):
            yield bytes(logged.receipt)


def _receipts_of(connection: Connection, space: int, ends: Sequence[Place]) -> list[bytes]:
    """The receipts of erasures in the threads that lead to ``ends``."""
    segments = arrange(ends, read_links_of(connection, space, ends))
    wanted = {erased for _, erased in ids_of_ranges(connection, space, segments)} - {None}
    return [bytes(each.receipt) for each in all_receipts(connection, space) if each.number in wanted] if wanted else []
