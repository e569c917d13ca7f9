"""Prove turns that came from elsewhere, before anything is stored: nothing of what a sender says is believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from headish.bundles.records import TurnRecord
from headish.content import strictjson
from headish.content.encoding import decode_payload
from headish.errors import CorruptTurn, InvalidBundle, InvalidContent, TooLarge
from headish.history.reading.decode import read_attributes
from headish.history.writing.proofs import copy_problems, derive_digest, derive_seal, record_problems
from headish.rows.turns import StoredTurn
from headish.values.ids import TurnId, as_turn_id
from headish.values.limits import KEY_LIMIT_BYTES, MAPPING_LIMIT_BYTES
from headish.values.names import refusal
from headish.values.turns import DOCUMENT, OVERLAY

NOWHERE = -1
"""The place and the commit number of a turn that is not stored yet."""


def check_payloads(turns: Sequence[TurnRecord], file: str) -> None:
    """Whether each payload of blocks decodes: what cannot be read later is refused now. Raises: InvalidBundle."""
    # Each by itself: joined, two halves of a payload would pass for two. Equal ones are looked at once.
    said = {each.payload: each.id for each in turns if each.payload is not None and each.type != DOCUMENT}
    for payload, turn in said.items():
        try:
            decode_payload(payload)
        except InvalidContent as error:
            raise InvalidBundle(file, f"turn {turn}: {error}") from None


def prove_record(
    record: TurnRecord, parents: Mapping[TurnId, bytes], file: str, payload_limit_bytes: int
) -> StoredTurn:
    """The row of a turn, without its place, once its digest and seal derive from what it says.

    ``parents`` has the digests of what it continues. One that lost its meta is as its receipt says, and the digest is
    the sender's word.
    Raises: InvalidBundle, TooLarge.
    """
    if record.payload is not None and len(record.payload) > payload_limit_bytes:
        raise TooLarge("a payload that arrived", len(record.payload), payload_limit_bytes)
    system = _read_system(record, file)
    stored = _row(record, system, file)
    _check_words(stored, file)
    if record.left is not None:
        _check_left(record, file)
    else:
        _check_copies(stored, file)
        name = _text(system, "document_name", record, file)
        digest = derive_digest(stored, name, [parents[each] for each in record.parents])
        if derive_seal(stored, digest, record.parents) != record.seal:
            raise InvalidBundle(file, f"turn {record.id} was altered: its seal disagrees with what it says")
        stored = replace(stored, digest=digest)
    return stored


def read_row(record: TurnRecord, file: str) -> StoredTurn:
    """The row of a turn, without its place and digest, of which nothing is proven. Raises: InvalidBundle."""
    return _row(record, _read_system(record, file), file)


def _read_system(record: TurnRecord, file: str) -> dict[str, object]:
    try:
        system = {} if record.system is None else strictjson.decode(record.system, "system")
    except InvalidContent as error:
        raise InvalidBundle(file, f"turn {record.id}: {error}") from None
    if not isinstance(system, dict):
        raise InvalidBundle(file, f"turn {record.id}: its system is not a JSON object")
    return system


def _text(system: Mapping[str, object], name: str, record: TurnRecord, file: str) -> str | None:
    value = system.get(name)
    if not isinstance(value, str | None):
        raise InvalidBundle(file, f"turn {record.id}: its {name} is no text")
    return value


def _row(record: TurnRecord, system: Mapping[str, object], file: str) -> StoredTurn:
    key, supersedes = _text(system, "key", record, file), _text(system, "supersedes", record, file)
    stored_key, superseded = None if key is None else key.encode(errors="surrogatepass"), supersedes
    if record.left is not None:
        stored_key, superseded = record.left.key, record.left.supersedes
    if superseded is not None and as_turn_id(superseded) != superseded:
        raise InvalidBundle(file, f"turn {record.id}: what it supersedes is no id")
    return StoredTurn(
        chain=NOWHERE,
        pos=NOWHERE,
        seq=NOWHERE,
        id=record.id,
        role=record.role,
        type=record.type,
        content_type=record.content_type,
        cache=1 if record.cache else None,
        attributes=record.attributes,
        inherited=record.inherited,
        system=record.system,
        digest=b"" if record.left is None else record.left.digest,
        hash=record.hash,
        seal=record.seal,
        head=record.head,
        app=record.app,
        erased=None,
        key=stored_key,
        supersedes=None if superseded is None else TurnId(superseded),
    )


def _check_left(record: TurnRecord, file: str) -> None:
    """A turn that lost its meta has none: nothing could prove it."""
    attributes = None if record.type == OVERLAY else record.attributes
    if any(each is not None for each in (attributes, record.inherited, record.system, record.app, record.head)):
        raise InvalidBundle(file, f"turn {record.id} lost its meta, and still has some")


def _check_copies(stored: StoredTurn, file: str) -> None:
    """What columns copy of the sealed facts is what those say."""
    for problem in copy_problems(stored):
        raise InvalidBundle(file, f"turn {stored.id}: {problem}")


def _check_words(stored: StoredTurn, file: str) -> None:
    """What a record says is within every rule and limit of a turn that is written here."""
    problems = [*record_problems(stored)]
    if stored.key is not None and len(stored.key) > KEY_LIMIT_BYTES:
        problems.append("its key is longer than any may be")
    mappings = {
        "attributes": stored.attributes,
        "inherited": stored.inherited,
        "app": stored.app,
        "system": stored.system,
    }
    long = (name for name, each in mappings.items() if each is not None and len(each) > MAPPING_LIMIT_BYTES)
    problems += [f"its {name} has more bytes than any may have" for name in long]
    if stored.head is not None and (reason := refusal(stored.head.decode(errors="surrogateescape"))) is not None:
        problems.append(f"the name that moved with it is none: {reason}")
    if stored.content_type is not None and not (stored.content_type.isascii() and stored.content_type.isprintable()):
        problems.append("its content type is no printable ASCII")
    problems += _attribute_problems(stored)
    if problems:
        raise InvalidBundle(file, f"turn {stored.id}: {problems[0]}")


def _attribute_problems(stored: StoredTurn) -> list[str]:
    try:
        read_attributes(stored)
    except CorruptTurn as error:
        return [str(error)]
    return []
