"""Write and read bundles: turns on their way to another store, in frames (``content/frames``).

::

    bundle = "headish-bundle-1" LF, header, *receipt, *page, [names], [records], end
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from enum import IntEnum
from typing import Any, BinaryIO

from headish.bundles.records import (
    BUNDLE,
    FEATURES,
    RECEIPTS_LIMIT_BYTES,
    VERSION,
    BundleEnd,
    BundleHeader,
    BundleKind,
    SentName,
    SentRecord,
    TurnRecord,
    check_listed,
    to_page,
)
from headish.content.frames import FrameWriter, read_frames
from headish.errors import InvalidBundle, NotADevice, TooLarge


class BundleWriter:
    """Writes a bundle to a file, or among the frames of a conversation between two stores. ``key``: 32 bytes; only its
    holder can make the sums. Raises TooLarge for what no reader would take.
    """

    def __init__(self, file: BinaryIO | FrameWriter, header: BundleHeader, key: bytes | None = None) -> None:
        check_listed("the list of turns that a bundle continues", header.requires)
        self._frames = file if isinstance(file, FrameWriter) else FrameWriter(file, BUNDLE, key)
        self._frames.write(BundleKind.HEADER, header)
        self.turns = self.receipts = self._receipt_bytes = 0

    def receipt(self, receipt: bytes) -> None:
        """Append the receipt of an erasure, as it is stored."""
        self._receipt_bytes += len(receipt)
        if self._receipt_bytes > RECEIPTS_LIMIT_BYTES:
            raise TooLarge("the receipts of a bundle", self._receipt_bytes, RECEIPTS_LIMIT_BYTES)
        self._frames.write(BundleKind.RECEIPT, receipt)
        self.receipts += 1

    def page(self, turns: Sequence[TurnRecord], cursor: str | None = None) -> None:
        """Append turns, each after those that it continues, and how far the sender is after them."""
        self._frames.write(BundleKind.PAGE, to_page(turns, cursor))
        self.turns += len(turns)

    def end(self, names: Sequence[SentName] = (), records: Sequence[SentRecord] = ()) -> int:
        """Append names and records of conversations, and end the bundle. Returns its size in bytes."""
        check_listed("the list of a bundle's bookmarks", names)
        check_listed("the list of a bundle's conversations", records)
        if names:
            self._frames.write(BundleKind.NAMES, tuple(names))
        if records:
            self._frames.write(BundleKind.RECORDS, tuple(records))
        self._frames.write(BundleKind.END, BundleEnd(self.turns, self.receipts))
        return self._frames.size_bytes


class BundleReader:
    """Reads a bundle once, from its beginning: a file, or its frames. ``header`` is read at once; memory holds one
    frame.

    Raises: InvalidBundle; NotADevice where its sums are not those of the key.
    """

    def __init__(self, file: BinaryIO | Generator[tuple[IntEnum, Any]], name: str, key: bytes | None = None) -> None:
        self.name = name
        # What is encrypted cannot be altered unseen: sums that disagree under a key were made without it.
        format = BUNDLE if key is None else BUNDLE._replace(altered=_refuse_writer)
        self._frames = file if isinstance(file, Generator) else read_frames(file, name, format, key)
        kind, header = next(self._frames)
        if kind is not BundleKind.HEADER:
            raise InvalidBundle(name, "it has no header")
        self.header: BundleHeader = header
        unknown = sorted(set(self.header.features) - set(FEATURES))
        if self.header.version != VERSION or unknown:
            told = f"its version is {self.header.version}" if not unknown else f"it needs {', '.join(unknown)}"
            raise InvalidBundle(name, f"{told}, which this headish does not know; upgrade headish")

    def parts(self) -> Iterator[tuple[IntEnum, Any]]:
        """The frames between the header and the end, in their order: receipts, pages, names, records.

        Raises: InvalidBundle where one stands in another order, or the end counts others.
        """
        before: IntEnum = BundleKind.HEADER
        turns = receipts = receipt_bytes = 0
        for kind, value in self._frames:
            if kind < before or (kind == before and kind not in (BundleKind.RECEIPT, BundleKind.PAGE)):
                raise InvalidBundle(self.name, f"a frame of the kind {kind.name} stands behind one of {before.name}")
            before = kind
            if kind is BundleKind.END:
                if (value.turns, value.receipts) != (turns, receipts):
                    raise InvalidBundle(self.name, "its end counts other turns or receipts than came")
                return
            turns += len(value.turns) if kind is BundleKind.PAGE else 0
            if kind is BundleKind.RECEIPT:
                receipts, receipt_bytes = receipts + 1, receipt_bytes + len(value)
                if receipt_bytes > RECEIPTS_LIMIT_BYTES:
                    raise InvalidBundle(self.name, "its receipts have more bytes than those of any that is read")
            yield kind, value


def _refuse_writer(name: str, _reason: str) -> NotADevice:
    return NotADevice(name, "no device that has the key of this remote has written it")
