"""The head of a device's log: where the log ends, and the device's names. One frame (``content/frames``)."""

from __future__ import annotations

from enum import IntEnum
from io import BytesIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headish.bundles.records import BUNDLE, SentNames, SentRecords, check_listed
from headish.content.frames import FrameWriter, read_frames
from headish.content.hashes import hash_payload
from headish.errors import InvalidBundle, NotADevice
from headish.signing.sshsig import HEAD as HEAD_SIGNED
from headish.signing.sshsig import signed_message
from headish.values.limits import LAST_MILLISECOND
from headish.values.names import new_refusal

LAST_GENERATION = LAST_MILLISECOND + 1
"""The highest generation that a head may have: ``_is_sound`` refuses a higher one."""


class HeadKind(IntEnum):
    """The kinds of frames: a head is one."""

    HEAD = 1


class LogHead(Struct, frozen=True, omit_defaults=True):
    """The head of a log.

    ``device`` is the folder of the log, and ``label`` the name of the device for people. ``recipient`` is its age
    recipient; others use it only to take a key away, never to give one (ADR 0091). ``number`` is the last bundle of
    this ``generation`` of the log, ``hash`` its BLAKE3, and ``cursor`` the device's cursor after it. ``erased`` are the
    ids of the receipts that the device has applied: what they list is not in its log. ``revoked`` are devices that were
    taken out, whose logs are gone. ``serial`` grows by one with each head of the log through all generations, so an
    older head can be told from the one that replaced it. ``signature`` covers all other fields, and through ``hash``
    every bundle of the generation. ``place`` is the id of the place for which it was signed (``syncing/signers``).
    """

    device: str
    label: str
    recipient: str | None
    generation: int
    number: int
    hash: bytes
    cursor: str
    made_at: int
    names: SentNames = ()
    records: SentRecords = ()
    erased: tuple[str, ...] = ()
    revoked: tuple[str, ...] = ()
    serial: int = 0
    place: str | None = None
    signature: bytes | None = None

    @property
    def is_last(self) -> bool:
        """Whether no head can follow: its generation or serial would exceed the highest one."""
        return self.generation >= LAST_GENERATION or self.serial >= LAST_MILLISECOND

    @property
    def message(self) -> bytes:
        """The bytes that the signature covers."""
        unsigned = msgspec.msgpack.encode(replace(self, signature=None))
        return signed_message(HEAD_SIGNED, [hash_payload(unsigned)])


HEAD = BUNDLE._replace(
    magic=b"headish-head-1\n",
    kinds=HeadKind,
    last=HeadKind.HEAD,
    called="the head of a log",
    decoders={HeadKind.HEAD: msgspec.msgpack.Decoder(LogHead).decode},
)


def write_head(head: LogHead, key: bytes | None) -> bytes:
    """Encode a head; ``key`` keys the sums. Raises: InvalidContent, TooLarge if no reader would accept it."""
    check_listed("the list of this store's bookmarks", head.names)
    check_listed("the list of this store's conversations", head.records)
    file = BytesIO()
    FrameWriter(file, HEAD, key).write(HeadKind.HEAD, head)
    return file.getvalue()


def read_head(data: bytes, name: str, key: bytes | None) -> LogHead:
    """Read the head of a log. Raises: InvalidBundle; NotADevice if its sums were made without the key."""
    format = HEAD if key is None else HEAD._replace(altered=NotADevice)
    [(_, head)] = read_frames(BytesIO(data), name, format, key)
    if not isinstance(head, LogHead) or not _is_sound(head):
        raise InvalidBundle(name, "it says what no head says")
    return head


def _is_sound(head: LogHead) -> bool:
    """Whether a store could have written this head: anybody may write to a place without a key."""
    # One limit for all counts: no log has as many bundles as the year 9999 has milliseconds since 1970.
    counts = (head.generation - 1, head.number, head.serial, head.made_at)
    if not all(0 <= each <= LAST_MILLISECOND for each in counts) or len(head.hash) not in (0, 32):
        return False
    return new_refusal(head.label) is None and "/" not in head.label
