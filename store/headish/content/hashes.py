"""The three hashes of a turn (rule I3, one address; rule I4, digest and seal): BLAKE3-256, each over bytes that are
fixed for good.

``hash``    over the payload bytes, nothing else.
``digest``  over *what was said*: the netstrings of ::

                "headish-digest-1", role, type, content type, document name, attributes, hash, digest of parent 1, …

``seal``    over *this record*: the netstrings of ::

                "headish-seal-1", id, digest, head, cache, inherited, system, app, id of parent 1, …

``running`` over a log up to a row, so that no row changes or disappears without a trace: the netstrings of ::

                word, running hash of the row before (empty for the first), number, what was logged, milliseconds

            ``headish-log-1`` for the moves of a name (the digest of its turn, empty where the name was removed),
            ``headish-definition-1`` for a pointer or tools (the address, empty where they were removed),
            ``headish-space-1`` for the names of a space (the name).

``receipt`` over the receipts of a space up to one: the netstrings of ::

                "headish-erasure-1", receipt hash of the one before (empty for the first), the receipt's JSON bytes

``rest``    over what remains of a record that lost its meta: the netstrings of ::

                "headish-rest-1", role, type, content type, cache, key, supersedes

``object``, ``record``, ``entry``, ``call``
            over a row that no turn covers: an object of a program, the record of a conversation, a row of the log of
            these records, and a call that passed the gateway: the netstrings of ::

                "headish-object-1", kind, key, revision, milliseconds, data
                "headish-record-1", subject, revision, milliseconds, data
                "headish-record-log-1", number of the change, commit number, subject, milliseconds
                "headish-call-1", id, milliseconds, client, session, lane, tip, answer, response, data

``arrival`` over a row that says which turns came from elsewhere: the netstrings of ::

                "headish-arrival-1", first and last commit number, kind, remote, device, by, milliseconds

``remote``  over a remote, over a name that one of its devices has for a turn or the record of a conversation, and over
            the receipt of an erasure that came from there: the netstrings of ::

                "headish-remote-1", name, url, settings, state, milliseconds
                "headish-remote-bookmark-1", remote, device, name, turn, record, milliseconds
                "headish-notice-1", id of the receipt, remote, device, the receipt's JSON bytes, state, milliseconds

``signature``
            over a row that says who signed a turn: the netstrings of ::

                "headish-signature-1", number, turn, kind, key, bytes, milliseconds, remote

``mark``    over a name of a bookmark that was erased, for its receipt: the netstrings of ::

                "headish-name-1", name, running hash of the first move of its log

A netstring is ``<length>:<bytes>,`` with the length in decimal. Text is UTF-8; hashes are lower-case hex; ``cache`` is
``1`` or ``0``; an absent value is the empty string; ``attributes``, ``inherited``, ``system`` and ``app`` are the
stored JSON bytes. Changing anything here needs a new version word, new vectors and a migration.

Vectors: docs/explanation/digests.md, checked by tests/content/test_digests.py.
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Iterable, Sequence
from functools import lru_cache

from blake3 import blake3
from msgspec import Struct

DIGEST_VERSION = b"headish-digest-1"
SEAL_VERSION = b"headish-seal-1"
MOVE_LOG, DEFINITION_LOG, SPACE_LOG = b"headish-log-1", b"headish-definition-1", b"headish-space-1"
"""What is logged: the moves of a name, the definitions under a name, the names of a space."""
RECEIPT_VERSION, REST_VERSION, NAME_VERSION = b"headish-erasure-1", b"headish-rest-1", b"headish-name-1"
OBJECT_VERSION, RECORD_VERSION, ENTRY_VERSION = b"headish-object-1", b"headish-record-1", b"headish-record-log-1"
ARRIVAL_VERSION = b"headish-arrival-1"
REMOTE_VERSION, REMOTE_BOOKMARK_VERSION = b"headish-remote-1", b"headish-remote-bookmark-1"
NOTICE_VERSION = b"headish-notice-1"
SIGNATURE_VERSION = b"headish-signature-1"
CALL_VERSION = b"headish-call-1"


class DigestFields(Struct, frozen=True, gc=False):
    """The fields that enter a digest beside the parents. JSON fields are stored bytes, None if absent."""

    role: str
    hash: bytes
    type: str | None = None
    content_type: str = "application/json"
    document_name: str | None = None
    attributes: bytes | None = None


def hash_payload(payload: bytes) -> bytes:
    """The address of payload bytes: their BLAKE3-256, 32 bytes."""
    return blake3(payload).digest()


def digest_turn(said: DigestFields, parents: Iterable[bytes]) -> bytes:
    """The digest of a turn, 32 bytes, from what it says and its parents' digests in order."""
    beginning = begin_digest(said.role, said.type, said.content_type, said.document_name)
    return digest_from(beginning, said.attributes or b"", said.hash, parents)


def digest_from(beginning: bytes, attributes: bytes, hash: bytes, parents: Iterable[bytes]) -> bytes:
    """As ``digest_turn``, for callers that derive many: ``beginning`` is what ``begin_digest`` gives."""
    own = b"%b%d:%b," % (beginning, len(attributes), attributes)
    return digest_behind(own, hash, [each.hex() for each in parents])


def digest_behind(own: bytes, hash: bytes, parents: Sequence[str]) -> bytes:
    """As ``digest_turn``, from the netstrings up to the attributes, the hash, and the parents' digests in hex."""
    # Put together as text, which takes half the time of bytes. Nearly every turn has one parent.
    if len(parents) == 1:
        return blake3(own + f"64:{hash.hex()},64:{parents[0]},".encode()).digest()
    before = "".join([f"64:{each}," for each in parents])
    return blake3(own + f"64:{hash.hex()},{before}".encode()).digest()


# A conversation repeats the same few of these, and each walk derives every digest anew.
@lru_cache(maxsize=256)
def begin_digest(role: str, type: str | None, content_type: str, document_name: str | None) -> bytes:
    """The netstrings that a digest begins with, up to the document name."""
    fields = (role, type or "", content_type, document_name or "")
    return _netstrings([DIGEST_VERSION, *(each.encode() for each in fields)])


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

    JSON fields are stored bytes, None if absent; ``head`` is the bookmark that moved with the turn.
    """
    is_bare = head is inherited is system is app is None and not cache  # nearly every turn
    beside = _BARE if is_bare else seal_beside(head, bool(cache), inherited, system, app)
    return seal_from(id, digest.hex(), beside, [*parents])


def seal_beside(
    head: bytes | None, cache: bool, inherited: bytes | None, system: bytes | None, app: bytes | None
) -> str:
    """The netstrings of a seal between the digest and the parents, as ``seal_from`` takes them."""
    fields = (head or b"", b"1" if cache else b"0", inherited or b"", system or b"", app or b"")
    # Through text and back unchanged, whatever bytes they are: ``verify`` derives the seals of damaged rows, too.
    return _netstrings(fields).decode(errors="surrogateescape")


def seal_from(id: str, digest: str, beside: str, parents: Sequence[str]) -> bytes:
    """As ``seal_turn``, from the digest in hex and what ``seal_beside`` gives."""
    # Formatted once, as text: a quarter of the time that an append spends on hashes goes into joining the fields.
    before = f"{len(parents[0])}:{parents[0]}," if len(parents) == 1 else "".join([f"{len(p)}:{p}," for p in parents])
    record = f"{_SEAL_BEGINNING}{len(id)}:{id},64:{digest},{beside}{before}"
    return blake3(record.encode(errors="surrogateescape")).digest()


def run_on(word: bytes, before: bytes, number: int, logged: bytes, milliseconds: int) -> bytes:
    """The running hash of a log at a row, from that of the row before, 32 bytes.

    ``logged`` enters as it is: a digest or an address in hex, a name in UTF-8, nothing for a removal.
    """
    # Formatted once, as in ``seal_from``: each append derives one.
    last, count, time = hexlify(before), b"%d" % number, b"%d" % milliseconds
    record = b"%d:%b,%d:%b,%d:%b,%d:%b,%d:%b," % (
        len(word), word, len(last), last, len(count), count, len(logged), logged, len(time), time,
    )  # fmt: skip
    return blake3(record).digest()


def seal_object(kind: str, key: bytes, revision: int, milliseconds: int, data: bytes) -> bytes:
    """The seal of an object, 32 bytes."""
    return blake3(
        _netstrings([OBJECT_VERSION, kind.encode(), key, b"%d" % revision, b"%d" % milliseconds, data])
    ).digest()


def seal_record(subject: bytes, revision: int, milliseconds: int, data: bytes) -> bytes:
    """The seal of the record of a conversation, 32 bytes. ``data`` repeats all that its other columns say."""
    return blake3(_netstrings([RECORD_VERSION, subject, b"%d" % revision, b"%d" % milliseconds, data])).digest()


def seal_entry(change: int, seq: int, subject: bytes, milliseconds: int) -> bytes:
    """The seal of a row of the log of records, 32 bytes. A missing row shows as a gap in the numbers of changes."""
    return blake3(_netstrings([ENTRY_VERSION, b"%d" % change, b"%d" % seq, subject, b"%d" % milliseconds])).digest()


def seal_arrival(
    first: int, last: int, kind: str, remote: bytes | None, device: str | None, by: bytes | None, milliseconds: int
) -> bytes:
    """The seal of a row that says where turns came from, 32 bytes."""
    origin = [kind.encode(), remote or b"", (device or "").encode(), by or b""]
    return blake3(_netstrings([ARRIVAL_VERSION, b"%d" % first, b"%d" % last, *origin, b"%d" % milliseconds])).digest()


def seal_remote(name: bytes, url: bytes, settings: bytes, state: bytes, milliseconds: int) -> bytes:
    """The seal of a remote, 32 bytes."""
    return blake3(_netstrings([REMOTE_VERSION, name, url, settings, state, b"%d" % milliseconds])).digest()


def seal_remote_bookmark(
    remote: bytes, device: bytes, name: bytes, turn: str | None, record: bytes | None, milliseconds: int
) -> bytes:
    """The seal of a name as a device of a remote has it, 32 bytes."""
    fields = [REMOTE_BOOKMARK_VERSION, remote, device, name, (turn or "").encode(), record or b""]
    return blake3(_netstrings([*fields, b"%d" % milliseconds])).digest()


def seal_notice(id: str, remote: bytes, device: bytes, receipt: bytes, state: str, milliseconds: int) -> bytes:
    """The seal of the notice of an erasure in another store, 32 bytes."""
    fields = [NOTICE_VERSION, id.encode(), remote, device, receipt, state.encode(), b"%d" % milliseconds]
    return blake3(_netstrings(fields)).digest()


def seal_signature(number: int, turn: str, kind: str, key: str, data: bytes, milliseconds: int, remote: bytes) -> bytes:
    """The seal of a signature's row, 32 bytes; ``data`` is the signature."""
    fields = [b"%d" % number, turn.encode(), kind.encode(), key.encode(), data, b"%d" % milliseconds, remote]
    return blake3(_netstrings([SIGNATURE_VERSION, *fields])).digest()


def seal_call(id: str, milliseconds: int, texts: Iterable[bytes | None], data: bytes) -> bytes:
    """The seal of a call, 32 bytes. ``texts`` are its client, session, lane, tip, answer and response, None if
    absent."""
    parts = [each or b"" for each in texts]
    return blake3(_netstrings([CALL_VERSION, id.encode(), b"%d" % milliseconds, *parts, data])).digest()


def chain_receipt(before: bytes, receipt: bytes) -> bytes:
    """The hash of a receipt, 32 bytes, from that of the one before (empty for the first) and its stored bytes."""
    return blake3(_netstrings([RECEIPT_VERSION, before.hex().encode(), receipt])).digest()


def hash_rest(
    role: str, type: str | None, content_type: str | None, cache: int | None, key: bytes | None, supersedes: str | None
) -> bytes:
    """The hash of what remains of a record that lost its meta, 32 bytes. ``key`` is the hash that takes its place."""
    texts = [each or "" for each in (role, type, content_type)]
    fields = [REST_VERSION, *(each.encode() for each in texts), b"1" if cache else b"0", (key or b"").hex().encode()]
    return blake3(_netstrings([*fields, (supersedes or "").encode()])).digest()


def hash_key(key: bytes) -> bytes:
    """The replacement for the key of a turn that lost its meta: its BLAKE3-256, 32 bytes."""
    return blake3(key).digest()


def mark_name(name: bytes, first: bytes) -> bytes:
    """The mark that a receipt has instead of the erased name of a bookmark, 32 bytes. ``first`` is the running hash of
    the first move of its log: nobody can confirm a guess of the name from the receipt alone."""
    return blake3(_netstrings([NAME_VERSION, name, first.hex().encode()])).digest()


def _netstrings(fields: Iterable[bytes]) -> bytes:
    return b"".join([b"%d:%b," % (len(field), field) for field in fields])


_SEAL_BEGINNING, _BARE = _netstrings([SEAL_VERSION]).decode(), seal_beside(None, False, None, None, None)


def witness(seal: bytes, mark: bytes) -> str:
    """The 8 hex digits by which a cursor recognises the turn and the change that it follows."""
    return blake3(_netstrings([b"headish-cursor-1", hexlify(seal), hexlify(mark)])).hexdigest(length=4)
