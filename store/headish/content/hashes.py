"""The three hashes of a turn (I3, I4): BLAKE3-256, each over bytes that are fixed for good.

``hash``    over the payload bytes, nothing else.
``digest``  over *what was said*: the netstrings of ::

                "headish-digest-1", role, type, content type, document name, attributes, hash, digest of parent 1, …

``seal``    over *this record*: the netstrings of ::

                "headish-seal-1", id, digest, head, cache, inherited, system, app, id of parent 1, …

A netstring is ``<length>:<bytes>,`` with the length in decimal. Text is UTF-8; hashes are lower-case hex; ``cache`` is
``1`` or ``0``; an absent value is the empty string; ``attributes``, ``inherited``, ``system`` and ``app`` are the
stored JSON bytes. Changing anything here needs a new version word, new vectors and a migration.

Vectors: docs/explanation/digests.md, checked by tests/content/test_digests.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from blake3 import blake3
from msgspec import Struct

DIGEST_VERSION = b"headish-digest-1"
SEAL_VERSION = b"headish-seal-1"


class Said(Struct, frozen=True):
    """What enters a digest beside the parents. JSON fields are stored bytes, None where absent."""

    role: str
    hash: bytes
    type: str | None = None
    content_type: str = "application/json"
    document_name: str | None = None
    attributes: bytes | None = None


def hash_payload(payload: bytes) -> bytes:
    """The address of payload bytes: their BLAKE3-256, 32 bytes."""
    return blake3(payload).digest()


def digest_turn(said: Said, parents: Iterable[bytes]) -> bytes:
    """The digest of a turn, 32 bytes, from what it says and its parents' digests in order."""
    fields = [
        DIGEST_VERSION,
        said.role.encode(),
        (said.type or "").encode(),
        said.content_type.encode(),
        (said.document_name or "").encode(),
        said.attributes or b"",
        said.hash.hex().encode(),
        *(parent.hex().encode() for parent in parents),
    ]
    return blake3(_netstrings(fields)).digest()


def seal_turn(
    id: str,
    digest: bytes,
    parents: Iterable[str],
    *,
    head: bytes | None = None,
    cache: bool = False,
    inherited: bytes | None = None,
    system: bytes | None = None,
    app: bytes | None = None,
) -> bytes:
    """The seal of a record, 32 bytes, from its own fields and its parents' ids in order.

    JSON fields are stored bytes, None where absent; ``head`` is the bookmark that moved with the turn.
    """
    fields = [
        SEAL_VERSION,
        id.encode(),
        digest.hex().encode(),
        head or b"",
        b"1" if cache else b"0",
        inherited or b"",
        system or b"",
        app or b"",
        *(parent.encode() for parent in parents),
    ]
    return blake3(_netstrings(fields)).digest()


def _netstrings(fields: Iterable[bytes]) -> bytes:
    return b"".join([b"%d:%b," % (len(field), field) for field in fields])
