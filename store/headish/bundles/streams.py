"""Write and read bundles: turns for another store, in frames (``content/frames``).

::

    bundle = "headish-bundle-1" LF, header, *receipt, *page, [names], [records], *signatures, end
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import islice
from typing import Any, BinaryIO

import msgspec

from headish.bundles.pages import TurnColumns, to_page
from headish.bundles.records import (
    BUNDLE,
    FEATURES,
    PAGE_TURNS,
    RECEIPTS_LIMIT_BYTES,
    VERSION,
    BundleEnd,
    BundleHeader,
    BundleKind,
    SentName,
    SentRecord,
    SentSignature,
    check_listed,
)
from headish.content.frames import FrameWriter, read_frames
from headish.content.hashes import hash_payload
from headish.errors import InvalidBundle, NotADevice, TooLarge
from headish.signing.sshsig import BUNDLE as BUNDLE_SIGNED
from headish.signing.sshsig import signed_message

Sign = Callable[[bytes], bytes]
"""Returns the signature of a message, without its armour."""
REPEATED = (BundleKind.RECEIPT, BundleKind.PAGE, BundleKind.SIGNATURES)
ORDER = {
    int(kind): number for number, kind in enumerate(sorted(BundleKind, key=lambda each: (each is BundleKind.END, each)))
}
"""The order of the kinds in a bundle: that of their numbers, but END, whose number is not the highest, is last."""


class BundleWriter:
    """Writes a bundle to a file, or among the frames of a conversation between two stores. ``key``: 32 bytes; without
    it nobody can make the sums. Raises TooLarge for a bundle that no reader would accept.
    """

    def __init__(self, file: BinaryIO | FrameWriter, header: BundleHeader, key: bytes | None = None) -> None:
        check_listed("the list of turns that a bundle continues", header.requires)
        self._frames = file if isinstance(file, FrameWriter) else FrameWriter(file, BUNDLE, key, ahead=True)
        self._frames.write(BundleKind.HEADER, header)
        self.turns = self.receipts = self._receipt_bytes = 0
        self._covered = [_hash_part(header)]

    def receipt(self, receipt: bytes) -> None:
        """Append the receipt of an erasure, as it is stored."""
        self._receipt_bytes += len(receipt)
        if self._receipt_bytes > RECEIPTS_LIMIT_BYTES:
            raise TooLarge("the receipts of a bundle", self._receipt_bytes, RECEIPTS_LIMIT_BYTES)
        self._frames.write(BundleKind.RECEIPT, receipt)
        self._covered.append(hash_payload(receipt))
        self.receipts += 1

    def page(self, turns: TurnColumns, cursor: str | None = None) -> None:
        """Append turns, parents before children, and the sender's cursor after them."""
        self._frames.write(BundleKind.PAGE, to_page(turns, cursor))
        self.turns += len(turns)
        self._covered += turns.seals

    def end(
        self,
        names: Sequence[SentName] = (),
        records: Sequence[SentRecord] = (),
        signatures: Iterable[SentSignature] = (),
        sign: Sign | None = None,
    ) -> int:
        """Append names, records of conversations and signatures of turns, and end the bundle, signed by ``sign``.
        Returns its size in bytes."""
        self.lists(names, records, signatures)
        return self.finish(sign)

    def lists(
        self, names: Sequence[SentName], records: Sequence[SentRecord], signatures: Iterable[SentSignature]
    ) -> None:
        """Append names, records of conversations and signatures of turns, without the end."""
        check_listed("the list of a bundle's bookmarks", names)
        check_listed("the list of a bundle's conversations", records)
        for kind, listed in ((BundleKind.NAMES, tuple(names)), (BundleKind.RECORDS, tuple(records))):
            if listed:
                self._frames.write(kind, listed)
                self._covered.append(_hash_part(listed))
        # Not covered by the bundle's signature: each of them proves itself.
        rest = iter(signatures)
        while part := tuple(islice(rest, PAGE_TURNS)):
            self._frames.write(BundleKind.SIGNATURES, part)

    def finish(self, sign: Sign | None = None) -> int:
        """End the bundle, signed by ``sign``, which may wait for a person. Returns its size in bytes."""
        signed = None if sign is None else sign(signed_message(BUNDLE_SIGNED, self._covered))
        self._frames.write(BundleKind.END, BundleEnd(self.turns, self.receipts, signed))
        return self._frames.size_bytes


class BundleReader:
    """Reads a bundle once, from its beginning: a file, or its frames. ``header`` is read at once. Memory holds one
    frame, and for a signed bundle a hash per turn.

    Raises: InvalidBundle; NotADevice if its sums were made without the key.
    """

    def __init__(self, file: BinaryIO | Generator[tuple[IntEnum, Any]], name: str, key: bytes | None = None) -> None:
        self.name = name
        self.signature: bytes | None = None
        """The signature at the end of the bundle, once that was read."""
        self._covered: list[bytes] = []
        self._first: BundleReader | None = None
        # Encryption shows damage by itself. So wrong sums inside mean that somebody without the key wrote the bundle.
        format = BUNDLE if key is None else BUNDLE._replace(altered=_refuse_writer)
        self._frames = file if isinstance(file, Generator) else read_frames(file, name, format, key)
        kind, header = next(self._frames)
        if kind is not BundleKind.HEADER:
            raise InvalidBundle(name, "it has no header")
        self.header: BundleHeader = header
        unknown = sorted(set(self.header.features) - set(FEATURES))
        if self.header.version != VERSION or unknown:
            reason = f"its version is {self.header.version}" if not unknown else f"it needs {', '.join(unknown)}"
            raise InvalidBundle(name, f"{reason}, which this headish does not know; upgrade headish")
        self._cover([_hash_part(header)])

    def again(self, file: BinaryIO) -> BundleReader:
        """Read a bundle a second time, from its beginning, after it was read to its end. Each part that its signature
        covers is compared with the first reading before it is yielded. Raises: InvalidBundle, also if a signed bundle
        was changed in between."""
        reader = BundleReader(file, self.name)
        reader._first = self
        if reader.header != self.header:
            raise reader._is_another()
        return reader

    def parts(self) -> Iterator[tuple[IntEnum, Any]]:
        """The frames between the header and the end, in their order: receipts, pages, names, records, signatures.

        Raises: InvalidBundle if one is out of order, or if the end has other counts.
        """
        before: IntEnum = BundleKind.HEADER
        turns = receipts = receipt_bytes = 0
        for kind, value in self._frames:
            if ORDER[kind] < ORDER[before] or (kind == before and kind not in REPEATED):
                raise InvalidBundle(self.name, f"a frame of the kind {kind.name} stands behind one of {before.name}")
            before = kind
            if kind is BundleKind.END:
                if (value.turns, value.receipts) != (turns, receipts):
                    raise InvalidBundle(self.name, "its end counts other turns or receipts than came")
                if (value.signature is not None) != self.header.signed:
                    raise InvalidBundle(self.name, "its header and its end disagree on whether it is signed")
                self.signature = value.signature
                # ``_cover`` compared each part that came; parts that are missing now show only in the number.
                if self._first is not None and len(self._first._covered) != len(self._covered):
                    raise self._is_another()
                return
            if kind is BundleKind.PAGE:
                turns += len(value.turns)
                self._cover(each.seal for each in value.turns)
            if kind is BundleKind.RECEIPT:
                self._cover([hash_payload(value)])
                receipts, receipt_bytes = receipts + 1, receipt_bytes + len(value)
                if receipt_bytes > RECEIPTS_LIMIT_BYTES:
                    raise InvalidBundle(self.name, "its receipts have more bytes than those of any that is read")
            if kind in (BundleKind.NAMES, BundleKind.RECORDS):
                self._cover([_hash_part(value)])
            yield kind, value

    def _cover(self, hashes: Iterable[bytes]) -> None:
        if not self.header.signed:  # nothing will ask for it, and it takes a hash per turn
            return
        before = len(self._covered)
        self._covered += hashes
        if self._first is not None and self._first._covered[before : len(self._covered)] != self._covered[before:]:
            raise self._is_another()

    def _is_another(self) -> InvalidBundle:
        return InvalidBundle(self.name, "it was changed while it was read")

    @property
    def message(self) -> bytes:
        """The bytes that the signature covers, after the bundle was read to its end."""
        return signed_message(BUNDLE_SIGNED, self._covered)


def _hash_part(part: BundleHeader | Sequence[SentName | SentRecord]) -> bytes:
    """The hash by which a signature covers the header, a list of names, or records of conversations."""
    return hash_payload(msgspec.msgpack.encode(part))


def _refuse_writer(name: str, _reason: str) -> NotADevice:
    return NotADevice(name, "no device that has the key of this remote has written it")
